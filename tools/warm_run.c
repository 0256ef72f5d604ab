#include "warm_run.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "disk/recipe_crashes.h"
#include "output.h"
#include "warm_child.h"
#include "warm_process.h"
#include "warm_stop.h"

/* A driver that crashes as often is not given more. */
#define MAX_CRASHES 32

/* How often one looks, and how long a process that was asked to end may take for it. */
#define LOOK_NS     (100 * CLOCK_MS)
#define FAREWELL_NS (30 * CLOCK_S)

/* One child, and what the watcher knows of it. */
struct watch {
    const struct warm_target *target;
    struct warm_page *page;
    struct warm_scout *scout;
    struct warm_progress *progress;
    pid_t pid;
    int fd;
    uint64_t active_ns; /* when a thread was last seen at work */
    uint64_t asked_ns;  /* when it was asked to end; 0: it was not */
    int stops;          /* how often it was asked */
    size_t hung;        /* the item that it was killed for, or WARM_ALL */
};

static void ask_to_end(struct watch *watch)
{
    uint64_t now = clock_now_ns();
    const int stops = warm_stop_count();
    if (stops > watch->stops) {
        kill(watch->pid, watch->stops == 0 ? SIGTERM : SIGKILL);
        watch->asked_ns = watch->stops == 0 ? now : watch->asked_ns;
        watch->stops = stops;
    }
    if (watch->asked_ns != 0 && now - watch->asked_ns > FAREWELL_NS) {
        kill(watch->pid, SIGKILL);
    }
}

/* A thread that is at one pipeline for too long, or a process that does nothing at all. */
static void look_for_hang(struct watch *watch)
{
    uint64_t now = clock_now_ns();
    for (int i = 0; i < WARM_MAX_JOBS; i++) {
        struct warm_slot *slot = &watch->page->slots[i];
        uint32_t item = atomic_load(&slot->item);
        uint64_t since = atomic_load(&slot->since_ns);
        if (item == 0) {
            continue;
        }
        watch->active_ns = now;
        if (now > since && now - since > watch->target->patience_ns &&
            atomic_load(&slot->item) == item && atomic_load(&slot->since_ns) == since) {
            watch->hung = item - 1;
            kill(watch->pid, SIGKILL);
            return;
        }
    }
    if (now - watch->active_ns > watch->target->patience_ns) {
        kill(watch->pid, SIGKILL);
    }
}

static void show_progress(struct watch *watch)
{
    struct warm_counts counts = warm_page_count(watch->page);
    size_t open = counts.of[WARM_PENDING];
    size_t total = watch->progress->total;
    size_t foreign = watch->page->item_count - total; /* of programs with another identity */
    warm_progress_show(watch->progress, total - (open > foreign ? open - foreign : 0));
}

/* Until the child has ended. */
static void watch_child(struct watch *watch)
{
    watch->active_ns = clock_now_ns();
    watch->hung = WARM_ALL;
    while (!warm_stop_wait(watch->fd, clock_now_ns() + LOOK_NS)) {
        ask_to_end(watch);
        if (watch->asked_ns == 0) {
            look_for_hang(watch);
        }
        show_progress(watch);
    }
    close(watch->fd);
    warm_process_wait(watch->pid);
}

/* One that replays all items, or one: that which is there already, where there is one. */
static void start_child(struct watch *watch, size_t only)
{
    watch->pid = only == WARM_ALL ? warm_scout_send(watch->scout, watch->target, &watch->fd) : 0;
    if (watch->pid != 0) {
        return;
    }
    watch->pid = warm_process_start(&watch->fd);
    if (watch->pid == 0) {
        warm_child_run(watch->target, watch->page, only);
    }
}

/* Starts one and waits. False: it crashed, hung, or was killed. */
static bool run_child(struct watch *watch, size_t only)
{
    struct warm_page *page = watch->page;
    warm_page_restart(page);
    start_child(watch, only);
    if (watch->pid < 0) {
        page->end = WARM_END_FAILED;
        snprintf(page->failure, sizeof page->failure, "no process can be started");
        return true;
    }
    watch_child(watch);
    return page->end != WARM_END_NONE;
}

/* In a child that dies at it, as one that crashes: so that every process that replays for this
 * driver passes it over from now on. */
static void deny(struct watch *watch, size_t item)
{
    const struct warm_target *target = watch->target;
    int fd;
    pid_t pid = warm_process_start(&fd);
    atomic_store(&watch->page->outcomes[item], WARM_CRASHED);
    if (pid == 0) {
        struct recipe_crashes *crashes;
        if (recipe_crashes_open(target->root, target->app, target->digest, 1, &crashes) ==
            REASON_ok) {
            recipe_crashes_begin(crashes, 0, target->recipes->items[item].pipeline);
        }
        _exit(0);
    }
    if (pid > 0) {
        close(fd);
        warm_process_wait(pid);
    }
}

static size_t list_suspects(const struct warm_page *page, size_t suspects[WARM_MAX_JOBS])
{
    size_t count = 0;
    for (int i = 0; i < WARM_MAX_JOBS; i++) {
        uint32_t item = atomic_load(&page->slots[i].item);
        if (item != 0) {
            suspects[count++] = item - 1;
        }
    }
    return count;
}

/* Of several that were at work one has done it: each is tried alone. Whether one was found. */
static bool convict(struct watch *watch, const size_t *suspects, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count && !warm_stop_is_wanted(); i++) {
        if (!run_child(watch, suspects[i])) {
            deny(watch, suspects[i]);
            found = true;
        }
    }
    return found;
}

/* After a crash or hang. False: nothing can be done about it. */
static bool recover(struct watch *watch, struct warm_target *target)
{
    size_t suspects[WARM_MAX_JOBS];
    size_t count = list_suspects(watch->page, suspects);
    if (watch->hung != WARM_ALL) {
        deny(watch, watch->hung);
        return true;
    }
    if (count == 1) {
        deny(watch, suspects[0]);
        return true;
    }
    if (count > 1 && !convict(watch, suspects, count)) {
        target->jobs = 1; /* it takes several at once: so that the next crash names one */
    }
    return count > 0;
}

void warm_run(const struct warm_target *original, struct warm_page *page, struct warm_scout *scout,
              struct warm_progress *progress)
{
    struct warm_target target = *original;
    struct watch watch = {.target = &target, .page = page, .scout = scout, .progress = progress};
    int crashes = 0;
    while (!run_child(&watch, WARM_ALL)) {
        if (watch.asked_ns != 0) {
            page->end = WARM_END_INTERRUPTED;
            break;
        }
        if (++crashes == MAX_CRASHES || !recover(&watch, &target)) {
            page->end = WARM_END_FAILED;
            snprintf(page->failure, sizeof page->failure, "the driver keeps crashing");
            break;
        }
    }
    warm_progress_clear(progress);
}
