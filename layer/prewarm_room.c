#include "prewarm_room.h"

#include "base/clock.h"
#include "base/machine.h"
#include "injector.h"

/* So long the program must not have asked for a pipeline: it may be about to ask for the next. */
#define QUIET_NS (10 * CLOCK_MS)

/* Between two looks at the machine's memory, and what is short: less than a tenth, and less than
 * this, is left. */
#define MEMORY_POLL_NS (100 * CLOCK_MS)
#define MEMORY_SPARE   (UINT64_C(1) << 30)

bool prewarm_room_is_taken(struct prewarm_room *room, const struct prewarm_setup *setup,
                           uint64_t now_ns)
{
    uint64_t requests = stats_get(setup->stats, STATS_pipelines_requested);
    if (requests != room->seen_requests || injector_is_creating(setup->injector)) {
        room->seen_requests = requests;
        room->busy_ns = now_ns;
    }
    return room->busy_ns != 0 && now_ns - room->busy_ns < QUIET_NS;
}

bool prewarm_room_is_short(struct prewarm_room *room, uint64_t now_ns)
{
    if (now_ns - room->memory_ns < MEMORY_POLL_NS) {
        return false;
    }
    room->memory_ns = now_ns;
    uint64_t total = 0;
    uint64_t available = machine_free_memory("", &total);
    return available < MEMORY_SPARE && available < total / 10;
}
