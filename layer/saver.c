#include "saver.h"

#include <stdlib.h>

#include "base/clock.h"
#include "timed_lock.h"

/* Quiet time before a snapshot, longest wait under steady compiling, least time between steps. */
#define QUIET_NS   (50 * CLOCK_MS)
#define STEADY_NS  (30000 * CLOCK_MS)
#define SPACING_NS (1000 * CLOCK_MS)

/* A step may take this share of the time: it is not repeated before it has rested so many times its
 * own length. */
#define REST_FACTOR 50

/* Longest wait, at the end of a process, for a step that is under way. */
#define EXIT_WAIT_NS (2 * CLOCK_S)

void saver_init(struct saver *saver, const struct driver_caches *caches, struct store *store,
                bool may_merge, uint32_t flush_idle_ms)
{
    *saver = (struct saver){
        .caches = caches,
        .store = store,
        .may_merge = may_merge,
        .flush_idle_ns = flush_idle_ms * CLOCK_MS,
    };
    pthread_mutex_init(&saver->lock, NULL);
}

void saver_release(struct saver *saver)
{
    store_close(saver->store);
    free(saver->snapshot);
    pthread_mutex_destroy(&saver->lock);
}

void saver_set_known(struct saver *saver, struct digest digest, size_t size)
{
    saver->known_digest = digest;
    saver->known_size = size;
}

void saver_begin(struct saver *saver)
{
    atomic_fetch_add_explicit(&saver->running, 1, memory_order_relaxed);
}

void saver_end(struct saver *saver)
{
    atomic_fetch_sub_explicit(&saver->running, 1, memory_order_release);
}

void saver_compiled(struct saver *saver, uint64_t now_ns)
{
    atomic_store_explicit(&saver->last_compile_ns, now_ns, memory_order_relaxed);
    if (!saver_is_dirty(saver)) {
        atomic_store_explicit(&saver->first_unsaved_ns, now_ns, memory_order_relaxed);
    }
    atomic_fetch_add(&saver->compiled, 1);
}

bool saver_is_dirty(const struct saver *saver)
{
    return atomic_load(&saver->compiled) != atomic_load(&saver->taken);
}

size_t saver_pending(struct saver *saver)
{
    pthread_mutex_lock(&saver->lock);
    size_t size = saver->snapshot ? saver->snapshot_size : 0;
    pthread_mutex_unlock(&saver->lock);
    return size;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The earliest moment for another step, by how long the last one took. */
static uint64_t rested_ns(const struct saver *saver)
{
    uint64_t last = atomic_load(&saver->last_step_ns);
    return last ? last + later(SPACING_NS, atomic_load(&saver->last_cost_ns) * REST_FACTOR) : 0;
}

uint64_t saver_due(const struct saver *saver, uint64_t now_ns, enum saver_step *ret_step)
{
    uint64_t last_compile = atomic_load(&saver->last_compile_ns);
    bool dirty = saver_is_dirty(saver);
    if (atomic_load(&saver->pending)) {
        uint64_t quiet = last_compile + saver->flush_idle_ns;
        uint64_t steady = atomic_load(&saver->first_pending_ns) + STEADY_NS;
        *ret_step = SAVER_COMMIT;
        return quiet < steady ? quiet : steady;
    }
    if (!dirty) {
        return SAVER_NEVER;
    }
    *ret_step = SAVER_SNAPSHOT;
    uint64_t due = last_compile + QUIET_NS;
    if (atomic_load(&saver->running) > 0) {
        due = later(due, now_ns + QUIET_NS);
    }
    uint64_t steady = atomic_load(&saver->first_unsaved_ns) + STEADY_NS;
    return later(due < steady ? due : steady, rested_ns(saver));
}

static void note_step(struct saver *saver, uint64_t start_ns)
{
    uint64_t end = clock_now_ns();
    atomic_store(&saver->last_step_ns, end);
    atomic_store(&saver->last_cost_ns, end - start_ns);
}

/* Under the lock. */
static void set_snapshot(struct saver *saver, uint8_t *data, size_t size)
{
    free(saver->snapshot);
    saver->snapshot = data;
    saver->snapshot_size = size;
    atomic_store(&saver->pending, data != NULL);
}

/* Merges `count` sources into a fresh cache, which nobody else uses, and reads that. */
static bool read_merged(const struct driver_caches *caches, uint32_t count,
                        const VkPipelineCache *sources, uint8_t **ret_data, size_t *ret_size)
{
    VkPipelineCache fresh = driver_cache_create(caches, NULL, 0);
    bool done = fresh != VK_NULL_HANDLE && driver_cache_merge(caches, fresh, count, sources) &&
                driver_cache_read(caches, fresh, ret_data, ret_size);
    driver_cache_destroy(caches, fresh);
    return done;
}

/* The hot cache's data; with harvested caches, that of all together, merged from copies. */
static bool read_all(const struct saver *saver, VkPipelineCache hot, uint32_t harvested_count,
                     const VkPipelineCache *harvested, uint8_t **ret_data, size_t *ret_size)
{
    if (harvested_count == 0 || !saver->may_merge) {
        return hot != VK_NULL_HANDLE && driver_cache_read(saver->caches, hot, ret_data, ret_size);
    }
    VkPipelineCache *copies = calloc((size_t)harvested_count + 1, sizeof *copies);
    uint32_t count = 0;
    for (uint32_t i = 0; copies && i <= harvested_count; ++i) {
        VkPipelineCache source = i < harvested_count ? harvested[i] : hot;
        VkPipelineCache copy =
            source != VK_NULL_HANDLE ? driver_cache_copy(saver->caches, source) : VK_NULL_HANDLE;
        if (copy != VK_NULL_HANDLE) {
            copies[count++] = copy;
        }
    }
    bool done = count > 0 && read_merged(saver->caches, count, copies, ret_data, ret_size);
    for (uint32_t i = 0; i < count; ++i) {
        driver_cache_destroy(saver->caches, copies[i]);
    }
    free(copies);
    return done;
}

enum reason saver_snapshot(struct saver *saver, VkPipelineCache hot, uint32_t harvested_count,
                           const VkPipelineCache *harvested)
{
    uint64_t start = clock_now_ns();
    enum reason reason = REASON_ok;
    uint8_t *data = NULL;
    size_t size = 0;
    pthread_mutex_lock(&saver->lock);
    uint64_t compiled = atomic_load(&saver->compiled);
    atomic_store(&saver->first_pending_ns, atomic_load(&saver->first_unsaved_ns));
    if (hot == VK_NULL_HANDLE && harvested_count == 0) {
        atomic_store(&saver->taken, compiled);
    } else if (!read_all(saver, hot, harvested_count, harvested, &data, &size) ||
               size <= DRIVER_CACHE_HEADER_SIZE) {
        free(data);
        reason = REASON_ineffective;
    } else if (size == saver->known_size &&
               digest_equal(digest_of(data, size), saver->known_digest)) {
        free(data);
    } else {
        set_snapshot(saver, data, size);
    }
    atomic_store(&saver->taken, compiled);
    note_step(saver, start);
    pthread_mutex_unlock(&saver->lock);
    return reason;
}

/* The blobs of other processes together with the snapshot, as driver caches; merged and read. */
static bool merge_foreign(struct saver *saver, const struct store_foreign *foreign)
{
    VkPipelineCache *sources = calloc(foreign->count + 1, sizeof *sources);
    uint32_t count = 0;
    uint8_t *data = NULL;
    size_t size = 0;
    if (!sources) {
        return false;
    }
    for (size_t i = 0; i <= foreign->count; ++i) {
        bool ours = i == foreign->count;
        VkPipelineCache cache =
            driver_cache_create(saver->caches, ours ? saver->snapshot : foreign->blobs[i].data,
                                ours ? saver->snapshot_size : foreign->blobs[i].size);
        if (cache != VK_NULL_HANDLE) {
            sources[count++] = cache;
        }
    }
    bool done = count > 0 && read_merged(saver->caches, count, sources, &data, &size);
    for (uint32_t i = 0; i < count; ++i) {
        driver_cache_destroy(saver->caches, sources[i]);
    }
    free(sources);
    if (done) {
        set_snapshot(saver, data, size);
    }
    return done;
}

/* Under the store's lock file: the file is ours to replace. Where the driver must not have a second
 * cache object nothing can be merged, and the last to save stays. */
static enum reason commit_locked(struct saver *saver, const struct store_foreign *foreign,
                                 bool (*enter_driver)(void), void (*leave_driver)(void))
{
    if (foreign->count > 0 && saver->may_merge) {
        if (enter_driver && !enter_driver()) {
            store_abort(saver->store);
            return store_commit_unmerged(saver->store, saver->snapshot, saver->snapshot_size);
        }
        bool merged = merge_foreign(saver, foreign);
        if (leave_driver) {
            leave_driver();
        }
        if (!merged) {
            store_survived(saver->store);
            store_abort(saver->store);
            return REASON_driver_refused;
        }
    }
    return store_commit(saver->store, saver->snapshot, saver->snapshot_size);
}

/* Under the lock: what is on disk now is what we hold. */
static void note_committed(struct saver *saver, enum reason reason, size_t *ret_saved)
{
    if (reason == REASON_ok) {
        *ret_saved = saver->snapshot_size;
        saver->known_digest = digest_of(saver->snapshot, saver->snapshot_size);
        saver->known_size = saver->snapshot_size;
    }
    set_snapshot(saver, NULL, 0);
}

enum reason saver_commit(struct saver *saver, bool (*enter_driver)(void),
                         void (*leave_driver)(void), size_t *ret_saved)
{
    uint64_t start = clock_now_ns();
    enum reason reason = REASON_ok;
    *ret_saved = 0;
    pthread_mutex_lock(&saver->lock);
    if (saver->snapshot) {
        struct store_foreign foreign;
        reason = store_begin(saver->store, &foreign);
        if (reason == REASON_ok) {
            reason = commit_locked(saver, &foreign, enter_driver, leave_driver);
        } else if (reason == REASON_locked || reason == REASON_suspect) {
            reason = store_commit_unmerged(saver->store, saver->snapshot, saver->snapshot_size);
        }
        note_committed(saver, reason, ret_saved);
        note_step(saver, start);
    }
    pthread_mutex_unlock(&saver->lock);
    return reason;
}

enum reason saver_commit_without_driver(struct saver *saver, size_t *ret_saved)
{
    enum reason reason = REASON_ok;
    *ret_saved = 0;
    if (!timed_lock(&saver->lock, EXIT_WAIT_NS)) {
        return REASON_locked;
    }
    if (saver->snapshot) {
        reason = store_commit_unmerged(saver->store, saver->snapshot, saver->snapshot_size);
        note_committed(saver, reason, ret_saved);
    }
    pthread_mutex_unlock(&saver->lock);
    return reason;
}

bool saver_survived(struct saver *saver)
{
    if (pthread_mutex_trylock(&saver->lock) != 0) {
        return false;
    }
    store_survived(saver->store);
    pthread_mutex_unlock(&saver->lock);
    return true;
}
