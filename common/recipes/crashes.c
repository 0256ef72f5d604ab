// SPDX-License-Identifier: Apache-2.0
/* The crashed pipelines of recipes.h: the list of those that have crashed a driver,
 * <identity>.crashed, with the number of processes that died, and what dead processes left to be
 * added to it. The list and the file of a process have the same format (docs/FORMAT.md, "Crashes"):
 * the magic, then places, each a digest and its check, or zeros. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/files/file.h"
#include "common/recipes/recipes.h"

#define DIGEST_SIZE 16
#define MAX_LISTED  ((size_t)65536)
#define NAME_SIZE   80

/* Behind its places the list has the number of deaths, unless that is 0. */
#define DEATHS_SIZE 8

/* Wait for the folder's lock in a program, and in the tool. */
#define LOCK_WAIT_MS      200
#define LOCK_WAIT_TOOL_MS 10000

#define CRASH_MAGIC_SIZE 8
#define CRASH_PLACE_SIZE 24

static const uint8_t crash_list_magic[CRASH_MAGIC_SIZE] = {'w', 'p', 'c', 'r', 's', 'h', '\n', 1};

/* Zero-initialize; free with crash_list_free. */
struct crash_list {
    struct digest *digests; /* sorted */
    size_t count;
    bool died_late;  /* a place of the digest 0: a process died in a compile that took long */
    uint64_t deaths; /* of processes, since they were last forgiven */
};

static void crash_list_free(struct crash_list *list)
{
    free(list->digests);
    *list = (struct crash_list){0};
}

static bool crash_list_has(const struct crash_list *list, struct digest digest)
{
    return list->count && bsearch(&digest, list->digests, list->count, sizeof digest, digest_order);
}

/* Makes room for `more` digests behind those of the list. False: out of memory. */
static bool list_reserve(struct crash_list *list, size_t more)
{
    struct digest *digests = reallocarray(list->digests, list->count + more + 1, sizeof *digests);
    list->digests = digests ? digests : list->digests;
    return digests;
}

/* Sorts the list, each digest once. False: there are too many. */
static bool list_sort(struct crash_list *list)
{
    list->count = digest_sort(list->digests, list->count);
    return list->count <= MAX_LISTED;
}

/* False: out of memory, or too many. */
static bool list_add(struct crash_list *list, const struct digest *digests, size_t count)
{
    if (!list_reserve(list, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        list->digests[list->count++] = digests[i];
    }
    return list_sort(list);
}

/* Appends a place. */
static void crash_list_put_place(struct bytes *out, struct digest digest)
{
    uint8_t memory[DIGEST_SIZE];
    struct bytes encoded = {.data = memory, .capacity = sizeof memory};
    digest_put(&encoded, digest);
    digest_put(out, digest);
    bytes_put_u64(out, digest_of(memory, sizeof memory).low);
}

/* Adds the places, and replaces the number of deaths. Skips places with a wrong check: one was
 * being written when its process died. False: out of memory, or too many. */
static bool crash_list_add_places(struct crash_list *list, const uint8_t *data, size_t size)
{
    struct bytes_reader reader = bytes_reader_over(data, size);
    const uint8_t *found = bytes_get(&reader, CRASH_MAGIC_SIZE);
    if (!found || memcmp(found, crash_list_magic, CRASH_MAGIC_SIZE) != 0) {
        return true;
    }
    if (!list_reserve(list, bytes_left(&reader) / CRASH_PLACE_SIZE)) {
        return false;
    }
    while (bytes_left(&reader) >= CRASH_PLACE_SIZE) {
        const uint64_t check = digest_of(reader.next, DIGEST_SIZE).low;
        const struct digest digest = digest_get(&reader);
        const bool is_place = bytes_get_u64(&reader) == check;
        const bool is_late = digest_equal(digest, (struct digest){0});
        list->digests[list->count] = digest;
        list->count += is_place && !is_late;
        list->died_late |= is_place && is_late;
    }
    list->deaths = bytes_left(&reader) == DEATHS_SIZE ? bytes_get_u64(&reader) : 0;
    return list_sort(list);
}

/* False: out of memory, or it cannot be read. */
static bool crash_list_read_places(int folder_fd, const char *name, struct crash_list *list)
{
    uint8_t *data;
    size_t size;
    const uint64_t limit = CRASH_MAGIC_SIZE + (uint64_t)MAX_LISTED * CRASH_PLACE_SIZE + DEATHS_SIZE;
    const enum status status = file_read(folder_fd, name, limit, &data, &size);
    list->deaths = 0;
    if (status != STATUS_ok) {
        return status != STATUS_out_of_memory && status != STATUS_io_error;
    }
    const bool read = crash_list_add_places(list, data, size);
    free(data);
    return read;
}

/* Adds the pipelines that a dead process was at. An empty file is no death, and is removed while it
 * is locked, so that an owner who has not locked it yet makes another; the names of the others are
 * appended to `names`, zero terminated. False: out of memory. */
static bool crash_list_add_dead(int folder_fd, const char *name, bool read_only,
                                struct crash_list *list, struct bytes *names)
{
    const int fd = file_open_abandoned(folder_fd, name);
    if (fd < 0) {
        return true;
    }
    struct crash_list own = {0};
    bool read = crash_list_read_places(folder_fd, name, &own);
    if (own.count > 0 || own.died_late) {
        bytes_put(names, name, strlen(name) + 1);
    } else if (read && !read_only) {
        unlinkat(folder_fd, name, 0);
    }
    read = read && list_add(list, own.digests, own.count);
    crash_list_free(&own);
    close(fd);
    return read;
}

static bool crash_list_add_all_dead(int folder_fd, const char *identity, bool read_only,
                                    struct crash_list *list, struct bytes *names)
{
    DIR *listing = listing_open(folder_fd, ".");
    char found[DIGEST_HEX_SIZE];
    const char *name;
    bool enough_memory = listing;
    while (enough_memory && (name = listing_next(listing))) {
        if (recipe_folder_classify(name, found) == RECIPE_NAME_REPLAYING &&
            strcmp(identity, found) == 0) {
            enough_memory = crash_list_add_dead(folder_fd, name, read_only, list, names);
        }
    }
    listing_close(listing);
    return enough_memory && !names->failed;
}

static enum status crash_list_write(int folder_fd, const char *name, const struct crash_list *list)
{
    struct bytes out = {0};
    bytes_put(&out, crash_list_magic, CRASH_MAGIC_SIZE);
    for (size_t i = 0; i < list->count; i++) {
        crash_list_put_place(&out, list->digests[i]);
    }
    if (list->deaths > 0) {
        bytes_put_u64(&out, list->deaths);
    }
    const struct iovec part = {.iov_base = out.data, .iov_len = out.size};
    const enum status status =
        out.failed ? STATUS_out_of_memory : file_replace(folder_fd, name, &part, 1);
    bytes_free(&out);
    return status;
}

/* The first of names, or the next; NULL: that was all. */
static const char *crash_list_next_name(const struct bytes *names, const char *name)
{
    const char *next = name ? name + strlen(name) + 1 : (const char *)names->data;
    return next < (const char *)names->data + names->size ? next : NULL;
}

/* How many of the dead nobody else has counted and removed yet. */
static uint64_t crash_list_count_names(int folder_fd, const struct bytes *names)
{
    uint64_t count = 0;
    for (const char *name = NULL; (name = crash_list_next_name(names, name));) {
        count += faccessat(folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    return count;
}

static void crash_list_format_name(const char *identity, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%s%s", identity, RECIPE_CRASHED_SUFFIX);
}

/* Writes the list again, with what was found added to what is in it now, then removes the files of
 * the dead. If it cannot be written, this process still knows what was found, and the files stay
 * for the next one. */
static void crash_list_write_down(int folder_fd, const char *name, const struct bytes *names,
                                  struct crash_list *list)
{
    int lock_fd;
    if (file_lock(folder_fd, RECIPE_LOCK_NAME, LOCK_WAIT_MS, &lock_fd) != STATUS_ok) {
        list->deaths += crash_list_count_names(folder_fd, names);
        return;
    }
    const bool read = crash_list_read_places(folder_fd, name, list);
    list->deaths += crash_list_count_names(folder_fd, names);
    if (read && crash_list_write(folder_fd, name, list) == STATUS_ok) {
        for (const char *dead = NULL; (dead = crash_list_next_name(names, dead));) {
            unlinkat(folder_fd, dead, 0);
        }
    }
    file_unlock(lock_fd);
}

/* Reads the list of an identity (32 hex digits) in a folder of recipes, and adds what dead
 * processes left, on disk too if it can be written; read_only: nothing is changed on disk.
 * STATUS_ok, out_of_memory. */
static enum status crash_list_read(int folder_fd, const char *identity, bool read_only,
                                   struct crash_list *list)
{
    char name[NAME_SIZE];
    struct bytes names = {0};
    crash_list_format_name(identity, name);
    /* The dead first: who removes their files has written the list before. */
    const bool read = crash_list_add_all_dead(folder_fd, identity, read_only, list, &names) &&
                      crash_list_read_places(folder_fd, name, list);
    if (read && read_only) {
        list->deaths += crash_list_count_names(folder_fd, &names);
    } else if (read && names.size > 0) {
        crash_list_write_down(folder_fd, name, &names, list);
    }
    bytes_free(&names);
    return read ? STATUS_ok : STATUS_out_of_memory;
}

/* Adds the pipeline, unless it is NULL, to the list as it is on disk now, and forgets the deaths,
 * if `forgive`. Waits at most 10 s for the folder's lock (`locked`). */
static enum status crash_list_change(int folder_fd, const char *identity,
                                     const struct digest *pipeline, bool forgive)
{
    char name[NAME_SIZE];
    int lock_fd;
    struct crash_list list = {0};
    enum status status = file_lock(folder_fd, RECIPE_LOCK_NAME, LOCK_WAIT_TOOL_MS, &lock_fd);
    if (status != STATUS_ok) {
        return status;
    }
    crash_list_format_name(identity, name);
    if (!crash_list_read_places(folder_fd, name, &list) ||
        (pipeline && !list_add(&list, pipeline, 1))) {
        status = STATUS_out_of_memory;
    } else if (pipeline || (forgive && list.deaths > 0)) {
        list.deaths = forgive ? 0 : list.deaths;
        status = crash_list_write(folder_fd, name, &list);
    }
    file_unlock(lock_fd);
    crash_list_free(&list);
    return status;
}

/* The crashes of a process. */

/* More deaths than this, and nothing is compiled ahead. */
#define DEATHS_ALLOWED 1

struct recipe_crashes {
    struct crash_list listed;
    char identity[DIGEST_HEX_SIZE];
    char *root;
    char *app;
    pid_t process;
    struct file_kept file;
    char name[NAME_MAX + 1]; /* of the file */
    unsigned threads;
    bool unmarked; /* nothing is written */
};

/* What is open in this process, for crashes_close_in_child. Without a free place it is not noted: a
 * forked child then keeps the lock. */
static _Atomic(struct recipe_crashes *) open_crashes[16];

/* A forked child that lives on would keep the lock of its parent's file: if the parent crashed, it
 * would seem alive. */
static void crashes_close_in_child(void)
{
    for (size_t i = 0; i < sizeof open_crashes / sizeof *open_crashes; i++) {
        struct recipe_crashes *crashes = atomic_load(&open_crashes[i]);
        if (crashes) {
            file_kept_close(&crashes->file);
        }
    }
}

static void crashes_register_fork_handler(void)
{
    pthread_atfork(NULL, NULL, crashes_close_in_child);
}

static void crashes_replace_open(struct recipe_crashes *before, struct recipe_crashes *now)
{
    bool replaced = false;
    for (size_t i = 0; !replaced && i < sizeof open_crashes / sizeof *open_crashes; i++) {
        struct recipe_crashes *expected = before;
        replaced = atomic_compare_exchange_strong(&open_crashes[i], &expected, now);
    }
}

/* Writes all places at once, so that the disk has room for them when they are needed. */
static enum status crashes_write_empty_places(const struct recipe_crashes *crashes)
{
    uint8_t data[CRASH_MAGIC_SIZE + RECIPE_CRASHES_THREADS * CRASH_PLACE_SIZE] = {0};
    const size_t size = CRASH_MAGIC_SIZE + (size_t)crashes->threads * CRASH_PLACE_SIZE;
    memcpy(data, crash_list_magic, sizeof crash_list_magic);
    if (!file_size_allowed(size)) {
        return STATUS_disk_full;
    }
    const ssize_t written = pwrite(crashes->file.fd, data, size, 0);
    return written == (ssize_t)size ? STATUS_ok
           : written < 0            ? status_from_errno(errno)
                                    : STATUS_disk_full;
}

static enum status crashes_make_process_file(struct recipe_crashes *crashes, int folder_fd)
{
    struct file_owned file;
    if (!file_create_owned(folder_fd, crashes->identity, RECIPE_REPLAYING_SUFFIX, &file)) {
        return status_from_errno(errno);
    }
    crashes->file = file_keep(file.fd);
    memcpy(crashes->name, file.name, sizeof file.name);
    const enum status status = file.locked ? crashes_write_empty_places(crashes) : STATUS_io_error;
    if (status != STATUS_ok) {
        unlinkat(folder_fd, file.name, 0);
        file_kept_close(&crashes->file);
    }
    return status;
}

static enum status crashes_open_files(struct recipe_crashes *crashes)
{
    int folder_fd;
    enum status status =
        recipe_folder_open(crashes->root, crashes->app, !crashes->unmarked, &folder_fd);
    if (status == STATUS_ok) {
        status = crash_list_read(folder_fd, crashes->identity, crashes->unmarked, &crashes->listed);
        if (status == STATUS_ok && !crashes->unmarked) {
            status = crashes_make_process_file(crashes, folder_fd);
        }
        close(folder_fd);
    }
    return status;
}

static enum status crashes_open_of(const char *root, const char *app, struct digest identity,
                                   unsigned threads, bool unmarked,
                                   struct recipe_crashes **ret_crashes)
{
    struct recipe_crashes *crashes = calloc(1, sizeof *crashes);
    if (!crashes) {
        return STATUS_out_of_memory;
    }
    digest_format(identity, crashes->identity);
    crashes->root = strdup(root);
    crashes->app = strdup(app);
    crashes->threads = threads < RECIPE_CRASHES_THREADS ? threads : RECIPE_CRASHES_THREADS;
    crashes->unmarked = unmarked;
    crashes->process = getpid();
    crashes->file.fd = -1;
    const enum status status =
        crashes->root && crashes->app ? crashes_open_files(crashes) : STATUS_out_of_memory;
    if (status == STATUS_ok) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, crashes_register_fork_handler);
        crashes_replace_open(NULL, crashes);
        *ret_crashes = crashes;
    } else {
        recipe_crashes_close(crashes);
    }
    return status;
}

enum status recipe_crashes_open(const char *root, const char *app, struct digest identity,
                                unsigned threads, struct recipe_crashes **ret_crashes)
{
    return crashes_open_of(root, app, identity, threads, false, ret_crashes);
}

enum status recipe_crashes_open_unmarked(const char *root, const char *app, struct digest identity,
                                         struct recipe_crashes **ret_crashes)
{
    return crashes_open_of(root, app, identity, 0, true, ret_crashes);
}

/* Opens the folder again: a kept descriptor could be the program's by now. */
static void crashes_remove_process_file(const struct recipe_crashes *crashes)
{
    int folder_fd;
    if (recipe_folder_open(crashes->root, crashes->app, false, &folder_fd) == STATUS_ok) {
        unlinkat(folder_fd, crashes->name, 0);
        close(folder_fd);
    }
}

void recipe_crashes_close(struct recipe_crashes *crashes)
{
    if (!crashes) {
        return;
    }
    crashes_replace_open(crashes, NULL);
    /* The child of a fork leaves the file to its parent. */
    if (crashes->file.fd >= 0 && crashes->process == getpid()) {
        crashes_remove_process_file(crashes);
    }
    file_kept_close(&crashes->file);
    crash_list_free(&crashes->listed);
    free(crashes->root);
    free(crashes->app);
    free(crashes);
}

bool recipe_crashes_have(const struct recipe_crashes *crashes, struct digest pipeline)
{
    return crash_list_has(&crashes->listed, pipeline);
}

bool recipe_crashes_have_any(const struct recipe_crashes *crashes)
{
    return crashes->listed.count > 0 || crashes->listed.deaths > 0;
}

/* A change of the list alone. */
static enum status crashes_change_list(const char *root, const char *app, struct digest identity,
                                       const struct digest *pipeline, bool forgive)
{
    char digits[DIGEST_HEX_SIZE];
    int folder_fd;
    enum status status = recipe_folder_open(root, app, true, &folder_fd);
    if (status == STATUS_ok) {
        digest_format(identity, digits);
        status = crash_list_change(folder_fd, digits, pipeline, forgive);
        close(folder_fd);
    }
    return status;
}

enum status recipe_crashes_add(const char *root, const char *app, struct digest identity,
                               struct digest pipeline)
{
    return crashes_change_list(root, app, identity, &pipeline, false);
}

enum status recipe_crashes_forgive(const char *root, const char *app, struct digest identity)
{
    return crashes_change_list(root, app, identity, NULL, true);
}

bool recipe_crashes_are_many_of(const char *root, const char *app, struct digest identity)
{
    char digits[DIGEST_HEX_SIZE];
    struct crash_list list = {0};
    int folder_fd;
    if (recipe_folder_open(root, app, false, &folder_fd) == STATUS_ok) {
        digest_format(identity, digits);
        crash_list_read(folder_fd, digits, false, &list);
        close(folder_fd);
    }
    const bool are_many = list.deaths > DEATHS_ALLOWED;
    crash_list_free(&list);
    return are_many;
}

bool recipe_crashes_are_many(const struct recipe_crashes *crashes)
{
    return crashes->listed.deaths > DEATHS_ALLOWED;
}

static bool crashes_write_place(struct recipe_crashes *crashes, unsigned thread,
                                const uint8_t *place)
{
    const off_t offset = CRASH_MAGIC_SIZE + (off_t)thread * CRASH_PLACE_SIZE;
    return thread < crashes->threads && crashes->process == getpid() &&
           file_kept_is_ours(&crashes->file) &&
           pwrite(crashes->file.fd, place, CRASH_PLACE_SIZE, offset) == CRASH_PLACE_SIZE;
}

bool recipe_crashes_begin(struct recipe_crashes *crashes, unsigned thread, struct digest pipeline)
{
    uint8_t memory[CRASH_PLACE_SIZE];
    struct bytes place = {.data = memory, .capacity = sizeof memory};
    crash_list_put_place(&place, pipeline);
    return crashes->unmarked || crashes_write_place(crashes, thread, memory);
}

void recipe_crashes_late(struct recipe_crashes *crashes, unsigned thread)
{
    recipe_crashes_begin(crashes, thread, (struct digest){0});
}

void recipe_crashes_end(struct recipe_crashes *crashes, unsigned thread)
{
    const uint8_t nothing[CRASH_PLACE_SIZE] = {0};
    crashes_write_place(crashes, thread, nothing);
}
