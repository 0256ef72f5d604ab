// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
#include "common/files/names.h"

#define PROGRESS_DONE        "########################"
#define PROGRESS_OPEN        "........................"
#define PROGRESS_BAR_WIDTH   24
#define PROGRESS_TERMINAL_NS (100 * CLOCK_MS)
#define PROGRESS_LINE_NS     (10 * CLOCK_S)

struct driver_identity warm_basic_identity(const struct driver_identity *identity)
{
    struct driver_identity basic = *identity;
    basic.driver_id = 0;
    memset(basic.conformance, 0, sizeof basic.conformance);
    memset(basic.driver_name, 0, sizeof basic.driver_name);
    memset(basic.driver_info, 0, sizeof basic.driver_info);
    return basic;
}

bool warm_target_has(const struct warm_target *target, const struct environment *environment)
{
    const struct driver_identity basic = warm_basic_identity(&target->identity);
    const bool is_basic = digest_equal(identity_digest(&basic), target->digest);
    return environment_device_of(environment).has_properties2 == !is_basic;
}

size_t warm_target_count(const struct warm_target *target)
{
    const struct warm_recipes *recipes = target->recipes;
    size_t count = 0;
    for (size_t i = 0; i < recipes->item_count; i++) {
        count += warm_target_has(target, recipes->environments[recipes->items[i].environment]);
    }
    return count;
}

struct store *warm_target_store(const struct warm_target *target, bool read_only)
{
    const struct store_options options = {
        .root = target->root,
        .app = target->app,
        .max_blob = target->max_blob,
        .read_only = read_only,
    };
    return store_open(&options, &target->identity);
}

bool warm_many_have_died(const char *root, const char *app, struct digest identity)
{
    struct recipe_crashes *crashes = NULL;
    recipe_crashes_open(root, app, identity, 0, &crashes);
    const bool died = crashes && recipe_crashes_are_many(crashes);
    recipe_crashes_close(crashes);
    return died;
}

/* The program's folder; -1: there is none, and nothing is found or noted in it. */
static int warm_unfinished_open(const struct warm_target *target, bool create,
                                char ret_identity[DIGEST_HEX_SIZE], char ret_name[NAMES_SIZE])
{
    int folder_fd;
    digest_format(target->digest, ret_identity);
    snprintf(ret_name, NAMES_SIZE, "%s" WANTED_SUFFIX, ret_identity);
    return file_open_directory(target->root, target->app, create, &folder_fd) == STATUS_ok
               ? folder_fd
               : -1;
}

bool warm_unfinished_is(const struct warm_target *target)
{
    char identity[DIGEST_HEX_SIZE];
    char name[NAMES_SIZE];
    AUTO_CLOSE const int folder_fd = warm_unfinished_open(target, false, identity, name);
    return unfinished_is(folder_fd, identity);
}

bool warm_unfinished_begin(const struct warm_target *target)
{
    char identity[DIGEST_HEX_SIZE];
    char name[NAMES_SIZE];
    AUTO_CLOSE const int folder_fd = warm_unfinished_open(target, true, identity, name);
    const bool made = folder_fd >= 0 && faccessat(folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    unfinished_set(folder_fd, identity, true);
    return made;
}

void warm_unfinished_end(const struct warm_target *target, bool made)
{
    char identity[DIGEST_HEX_SIZE];
    char name[NAMES_SIZE];
    AUTO_CLOSE const int folder_fd = warm_unfinished_open(target, false, identity, name);
    if (made) {
        unlinkat(folder_fd, name, 0);
    } else {
        unfinished_set(folder_fd, identity, false);
    }
}

struct warm_shared *warm_shared_new(size_t item_count)
{
    const size_t size = sizeof(struct warm_shared) + item_count * sizeof(struct warm_item_state);
    struct warm_shared *shared =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return NULL;
    }
    shared->size = size;
    shared->item_count = item_count;
    warm_shared_reset(shared);
    return shared;
}

void warm_shared_delete(struct warm_shared *shared)
{
    if (shared) {
        munmap(shared, shared->size);
    }
}

void warm_shared_reset(struct warm_shared *shared)
{
    warm_shared_restart(shared);
    atomic_store(&shared->lacks.count, 0);
    shared->save_reason = STATUS_ok;
    shared->saved_bytes = 0;
    for (size_t i = 0; i < shared->item_count; i++) {
        atomic_store(&shared->items[i].outcome, WARM_PENDING);
        atomic_store(&shared->items[i].lacks, 0);
    }
}

void warm_shared_restart(struct warm_shared *shared)
{
    for (int i = 0; i < WARM_MAX_JOBS; i++) {
        atomic_store(&shared->slots[i].item, 0);
    }
    shared->end = WARM_END_NONE;
    shared->failure[0] = '\0';
}

struct warm_counts warm_shared_count(const struct warm_shared *shared)
{
    struct warm_counts counts = {0};
    for (size_t i = 0; i < shared->item_count; i++) {
        const uint32_t lacks = atomic_load_explicit(&shared->items[i].lacks, memory_order_relaxed);
        counts.of[atomic_load_explicit(&shared->items[i].outcome, memory_order_relaxed)]++;
        for (uint32_t name = 0; name < WARM_MAX_LACKS && lacks >> name != 0; name++) {
            counts.lacking[name] += lacks >> name & 1;
        }
    }
    return counts;
}

void warm_progress_begin(struct warm_progress *progress, const struct warm_target *target,
                         const struct warm_shared *shared)
{
    uint64_t now = clock_now_ns();
    *progress = (struct warm_progress){
        .target = target,
        .shared = shared,
        .total = warm_target_count(target),
        .terminal = isatty(STDERR_FILENO),
        .begin_ns = now,
    };
    progress->next_ns = now + (progress->terminal ? PROGRESS_TERMINAL_NS : PROGRESS_LINE_NS);
}

/* "812/s, 0:05 left"; "" while nothing is done. */
static void progress_put_rate(const struct warm_progress *progress, size_t done, char *text,
                              size_t size)
{
    uint64_t elapsed = clock_now_ns() - progress->begin_ns;
    text[0] = '\0';
    if (done == 0 || elapsed == 0) {
        return;
    }
    uint64_t rate = done * CLOCK_S / elapsed;
    uint64_t left = (uint64_t)(progress->total - done) * (elapsed / done) / CLOCK_S;
    snprintf(text, size, ", %" PRIu64 "/s, %" PRIu64 ":%02" PRIu64 " left", rate, left / 60,
             left % 60);
}

static size_t progress_done(const struct warm_progress *progress)
{
    const size_t open = warm_shared_count(progress->shared).of[WARM_PENDING];
    const size_t foreign =
        progress->shared->item_count - progress->total; /* of programs with another identity */
    return progress->total - (open > foreign ? open - foreign : 0);
}

void warm_progress_show(struct warm_progress *progress)
{
    char rate[64];
    uint64_t now = clock_now_ns();
    if (now < progress->next_ns) {
        return;
    }
    const size_t done = progress_done(progress);
    progress_put_rate(progress, done, rate, sizeof rate);
    if (progress->terminal) {
        const size_t filled =
            progress->total > 0 ? done * PROGRESS_BAR_WIDTH / progress->total : PROGRESS_BAR_WIDTH;
        fprintf(stderr, "\r\033[K[%.*s%.*s] %zu of %zu%s", (int)filled, PROGRESS_DONE,
                PROGRESS_BAR_WIDTH - (int)filled, PROGRESS_OPEN, done, progress->total, rate);
        fflush(stderr);
        progress->shown = true;
    } else {
        output_message("%s on %s: %zu of %zu%s", progress->target->app,
                       progress->target->identity.device_name, done, progress->total, rate);
    }
    progress->next_ns = now + (progress->terminal ? PROGRESS_TERMINAL_NS : PROGRESS_LINE_NS);
}

void warm_progress_clear(struct warm_progress *progress)
{
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress->shown = false;
    }
}
