#include "warm_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "disk/recipe_crashes.h"
#include "warm_cache.h"
#include "warm_crew.h"
#include "warm_vulkan.h"

/* What was compiled is saved so often, or, where that takes long, so much less often. */
#define SAVE_INTERVAL_NS (10 * CLOCK_S)
#define SAVE_SHARE       20

struct child {
    const struct warm_target *target;
    struct warm_page *page;
    struct warm_cache cache;
    pthread_mutex_t alone;
    sigset_t signals;
    uint64_t next_save_ns;
};

static _Noreturn void finish(struct child *child, enum warm_end end)
{
    child->page->end = end;
    _exit(0);
}

static _Noreturn void fail(struct child *child, const char *text)
{
    snprintf(child->page->failure, sizeof child->page->failure, "%s", text);
    finish(child, WARM_END_FAILED);
}

/* Ends with the watcher, leaves no core dumps of a driver that crashes, and hears of signals only
 * where it waits for them: so do all threads that are started from now on. */
static void prepare_process(struct child *child)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigemptyset(&child->signals);
    sigaddset(&child->signals, SIGINT);
    sigaddset(&child->signals, SIGTERM);
    sigaddset(&child->signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &child->signals, NULL);
}

/* What crashed once never gets to the driver again. */
static void pass_over_crashed(struct child *child)
{
    const struct warm_target *target = child->target;
    struct recipe_crashes *crashes;
    enum reason reason =
        recipe_crashes_open(target->root, target->app, target->digest, 1, &crashes);
    if (reason != REASON_ok) {
        fail(child, reason_text(reason));
    }
    for (size_t i = 0; i < target->recipes->item_count; i++) {
        if (recipe_crashes_have(crashes, target->recipes->items[i].pipeline)) {
            atomic_store(&child->page->outcomes[i], WARM_CRASHED);
        }
    }
    recipe_crashes_close(crashes);
}

/* What is to be replayed of the environment that the item `from` is of: also what was compiled by a
 * process that died. *ret_end: the first item of the next one. */
static size_t select_items(const struct child *child, size_t from, size_t only, size_t *items,
                           size_t *ret_end)
{
    const struct warm_recipes *recipes = child->target->recipes;
    const uint32_t environment = recipes->items[from].environment;
    size_t count = 0;
    size_t i = from;
    for (; i < recipes->item_count && recipes->items[i].environment == environment; i++) {
        uint8_t outcome = atomic_load(&child->page->outcomes[i]);
        bool due = outcome == WARM_PENDING || outcome == (uint8_t)REPLAY_COMPILED ||
                   outcome == (uint8_t)REPLAY_HIT;
        if (due && (only == WARM_ALL || only == i)) {
            items[count++] = i;
        }
    }
    *ret_end = i;
    return count;
}

static void save(struct child *child)
{
    uint64_t begin = clock_now_ns();
    size_t size = 0;
    enum reason reason = warm_cache_save(&child->cache, &size);
    uint64_t end = clock_now_ns();
    uint64_t pause = SAVE_SHARE * (end - begin);
    child->page->save_reason = reason;
    if (reason == REASON_ok) {
        child->page->saved_bytes = size;
    }
    child->next_save_ns = end + (pause > SAVE_INTERVAL_NS ? pause : SAVE_INTERVAL_NS);
}

/* Until the crew has ended, or somebody wants an end: then what there is is saved at once, for a
 * compile may last. */
static void watch_crew(struct child *child)
{
    for (;;) {
        uint64_t now = clock_now_ns();
        uint64_t left = child->next_save_ns > now ? child->next_save_ns - now : 0;
        const struct timespec wait = {(time_t)(left / CLOCK_S), (long)(left % CLOCK_S)};
        int number = sigtimedwait(&child->signals, NULL, &wait);
        if (number == SIGUSR1) {
            return;
        }
        if (number < 0 && errno != EAGAIN) {
            continue;
        }
        save(child);
        if (number > 0) {
            finish(child, WARM_END_INTERRUPTED);
        }
    }
}

static void replay_items(struct child *child, const struct warm_vulkan *vulkan, const size_t *items,
                         size_t count)
{
    static struct warm_crew crew;
    crew = (struct warm_crew){
        .vulkan = vulkan,
        .cache = &child->cache,
        .recipes = child->target->recipes,
        .page = child->page,
        .items = items,
        .item_count = count,
    };
    if (!warm_cache_attach(&child->cache, vulkan)) {
        fail(child, "the driver makes no pipeline cache");
    }
    if (!warm_crew_start(&crew, child->target->jobs)) {
        fail(child, "no thread can be started");
    }
    watch_crew(child);
    warm_crew_join(&crew);
    save(child);
    warm_cache_detach(&child->cache);
}

static void replay_environment(struct child *child, uint32_t place, const size_t *items,
                               size_t count)
{
    const struct warm_target *target = child->target;
    struct warm_page *page = child->page;
    struct warm_vulkan vulkan;
    char text[sizeof page->missing] = "";
    switch (warm_vulkan_open(target->recipes->environments.environments[place], target->device,
                             target->digest, target->offer_only, &vulkan, text, sizeof text)) {
    case WARM_MADE:
        if (!target->offer_only) {
            replay_items(child, &vulkan, items, count);
        }
        break;
    case WARM_NOT_MADE:
        memcpy(page->missing, text, sizeof page->missing);
        for (size_t i = 0; i < count; i++) {
            atomic_store(&page->outcomes[items[i]], WARM_NOT_OFFERED);
        }
        break;
    case WARM_NO_DEVICE:
        fail(child, text);
    }
    warm_vulkan_close(&vulkan);
}

static void open_cache(struct child *child)
{
    const struct warm_target *target = child->target;
    const struct store_options options = {
        .root = target->root,
        .app = target->app,
        .max_blob = target->max_blob,
        .read_only = target->offer_only,
    };
    struct store *store = store_open(&options, &target->identity);
    if (!store) {
        fail(child, "out of memory");
    }
    warm_cache_open(&child->cache, store, !target->policy.single_cache,
                    target->policy.serialize ? &child->alone : NULL);
    child->next_save_ns = clock_now_ns() + SAVE_INTERVAL_NS;
}

void warm_child_run(const struct warm_target *target, struct warm_page *page, size_t only)
{
    struct child child = {.target = target, .page = page};
    size_t *items = malloc((target->recipes->item_count + 1) * sizeof *items);
    prepare_process(&child);
    pthread_mutex_init(&child.alone, NULL);
    if (!items) {
        fail(&child, "out of memory");
    }
    if (!target->offer_only) {
        pass_over_crashed(&child);
    }
    open_cache(&child);
    const struct warm_recipes *recipes = target->recipes;
    size_t end;
    for (size_t i = 0; i < recipes->item_count; i = end) {
        uint32_t place = recipes->items[i].environment;
        size_t count = select_items(&child, i, only, items, &end);
        if (count > 0 && warm_target_has(target, recipes->environments.environments[place])) {
            replay_environment(&child, place, items, count);
        }
    }
    store_close(child.cache.store);
    finish(&child, WARM_END_DONE);
}
