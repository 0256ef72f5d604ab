#include "warm_page.h"

#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

struct warm_page *warm_page_new(size_t item_count)
{
    size_t size = sizeof(struct warm_page) + item_count;
    struct warm_page *page =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return NULL;
    }
    page->size = size;
    page->item_count = item_count;
    warm_page_reset(page);
    return page;
}

void warm_page_reset(struct warm_page *page)
{
    warm_page_restart(page);
    page->missing[0] = '\0';
    page->save_reason = REASON_ok;
    page->saved_bytes = 0;
    for (size_t i = 0; i < page->item_count; i++) {
        atomic_store(&page->outcomes[i], WARM_PENDING);
    }
}

void warm_page_delete(struct warm_page *page)
{
    if (page) {
        munmap(page, page->size);
    }
}

struct warm_counts warm_page_count(const struct warm_page *page)
{
    struct warm_counts counts = {0};
    for (size_t i = 0; i < page->item_count; i++) {
        counts.of[atomic_load_explicit(&page->outcomes[i], memory_order_relaxed)]++;
    }
    return counts;
}

void warm_page_restart(struct warm_page *page)
{
    for (int i = 0; i < WARM_MAX_JOBS; i++) {
        atomic_store(&page->slots[i].item, 0);
    }
    page->end = WARM_END_NONE;
    page->failure[0] = '\0';
}

void warm_page_begin(struct warm_page *page, unsigned thread, size_t item)
{
    struct warm_slot *slot = &page->slots[thread];
    atomic_store(&slot->since_ns, clock_now_ns());
    atomic_store(&slot->item, (uint32_t)item + 1);
}

/* What was compiled by a process that then died is a hit in the next one: the first success counts.
 */
void warm_page_end(struct warm_page *page, unsigned thread, enum warm_outcome outcome)
{
    struct warm_slot *slot = &page->slots[thread];
    _Atomic uint8_t *place = &page->outcomes[atomic_load(&slot->item) - 1];
    if (!(atomic_load(place) == (uint8_t)REPLAY_COMPILED &&
          outcome == (enum warm_outcome)REPLAY_HIT)) {
        atomic_store(place, (uint8_t)outcome);
    }
    atomic_store(&slot->item, 0);
}
