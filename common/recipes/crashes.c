// SPDX-License-Identifier: Apache-2.0
/* The crashed pipelines of recipes.h. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/files/file.h"
#include "common/files/file_owned.h"
#include "common/recipes/recipes.h"

/* The list and the file of a process have the same format: the magic, then places, each a digest
 * and its check, or zeros. */
#define MAGIC_SIZE   8
#define DIGEST_SIZE  16
#define PLACE_SIZE   24
#define MAX_LISTED   ((size_t)65536)
#define NAME_SIZE    80
#define LOCK_WAIT_MS 200

static const uint8_t magic[MAGIC_SIZE] = {'w', 'p', 'c', 'r', 's', 'h', '\n', 1};

struct digest_list {
    struct digest *digests;
    size_t count;
};

struct recipe_crashes {
    struct digest_list listed; /* sorted */
    char identity[DIGEST_HEX_SIZE];
    char *root;
    char *app;
    pid_t process;
    struct file_kept file;
    char name[NAME_MAX + 1]; /* of the file */
    unsigned threads;
    bool unmarked; /* nothing is written */
};

/* What is open in this process, for close_in_child. Without a free place it is not noted: a forked
 * child then keeps the lock. */
static _Atomic(struct recipe_crashes *) open_crashes[16];

/* A forked child that lives on would keep the lock of its parent's file: if the parent crashed, it
 * would seem alive. */
static void close_in_child(void)
{
    for (size_t i = 0; i < sizeof open_crashes / sizeof *open_crashes; i++) {
        struct recipe_crashes *crashes = atomic_load(&open_crashes[i]);
        if (crashes) {
            file_kept_close(&crashes->file);
        }
    }
}

static void register_fork_handler(void)
{
    pthread_atfork(NULL, NULL, close_in_child);
}

static void replace_open_crashes(struct recipe_crashes *before, struct recipe_crashes *now)
{
    bool replaced = false;
    for (size_t i = 0; !replaced && i < sizeof open_crashes / sizeof *open_crashes; i++) {
        struct recipe_crashes *expected = before;
        replaced = atomic_compare_exchange_strong(&open_crashes[i], &expected, now);
    }
}

static int compare_listed_digests(const void *left, const void *right)
{
    return digest_compare(*(const struct digest *)left, *(const struct digest *)right);
}

static bool list_contains(const struct digest_list *digests, struct digest digest)
{
    return digests->count && bsearch(&digest, digests->digests, digests->count, sizeof digest,
                                     compare_listed_digests);
}

/* Keeps the list sorted. False: out of memory, or too many. */
static bool list_add(struct digest_list *digests, struct digest digest)
{
    if (list_contains(digests, digest)) {
        return true;
    }
    const size_t count = digests->count + 1;
    struct digest *more =
        count <= MAX_LISTED ? reallocarray(digests->digests, count, sizeof *more) : NULL;
    if (!more) {
        return false;
    }
    digests->digests = more;
    size_t at = digests->count++;
    for (; at > 0 && digest_compare(digests->digests[at - 1], digest) > 0; at--) {
        digests->digests[at] = digests->digests[at - 1];
    }
    digests->digests[at] = digest;
    return true;
}

static void put_place(struct bytes *out, struct digest digest)
{
    uint8_t memory[DIGEST_SIZE];
    struct bytes encoded = {.data = memory, .capacity = sizeof memory};
    digest_put(&encoded, digest);
    digest_put(out, digest);
    bytes_put_u64(out, digest_of(memory, sizeof memory).low);
}

/* Skips places with a wrong check: one was being written when its process died. False: out of
 * memory. */
static bool add_places(struct digest_list *digests, const uint8_t *data, size_t size)
{
    struct bytes_reader reader = bytes_reader_over(data, size);
    const uint8_t *found = bytes_get(&reader, MAGIC_SIZE);
    bool enough_memory = true;
    if (!found || memcmp(found, magic, MAGIC_SIZE) != 0) {
        return true;
    }
    while (enough_memory && bytes_left(&reader) >= PLACE_SIZE) {
        const uint64_t check = digest_of(reader.next, DIGEST_SIZE).low;
        const struct digest digest = digest_get(&reader);
        if (bytes_get_u64(&reader) == check) {
            enough_memory = list_add(digests, digest);
        }
    }
    return enough_memory;
}

/* False: out of memory, or it cannot be read. */
static bool read_places(int folder_fd, const char *name, struct digest_list *digests)
{
    uint8_t *data;
    size_t size;
    const uint64_t limit = MAGIC_SIZE + (uint64_t)MAX_LISTED * PLACE_SIZE;
    const enum status status = file_read(folder_fd, name, limit, &data, &size);
    if (status != STATUS_ok) {
        return status != STATUS_out_of_memory && status != STATUS_io_error;
    }
    const bool read = add_places(digests, data, size);
    free(data);
    return read;
}

/* Adds the pipelines that a dead process was at. An empty file is removed while it is locked, so
 * that an owner who has not locked it yet makes another; the names of the others are appended to
 * `names`, zero terminated. False: out of memory. */
static bool add_dead(const struct recipe_crashes *crashes, int folder_fd, const char *name,
                     struct digest_list *digests, struct bytes *names)
{
    const int fd = file_open_abandoned(folder_fd, name);
    if (fd < 0) {
        return true;
    }
    struct digest_list own = {0};
    bool read = read_places(folder_fd, name, &own);
    if (read && own.count == 0 && !crashes->unmarked) {
        unlinkat(folder_fd, name, 0);
    } else {
        bytes_put(names, name, strlen(name) + 1);
    }
    for (size_t i = 0; read && i < own.count; i++) {
        read = list_add(digests, own.digests[i]);
    }
    free(own.digests);
    close(fd);
    return read;
}

static bool add_all_dead(const struct recipe_crashes *crashes, int folder_fd,
                         struct digest_list *digests, struct bytes *names)
{
    DIR *listing = listing_open(folder_fd, ".");
    char identity[DIGEST_HEX_SIZE];
    const char *name;
    bool enough_memory = listing;
    while (enough_memory && (name = listing_next(listing))) {
        if (recipe_folder_classify(name, identity) == RECIPE_NAME_REPLAYING &&
            strcmp(identity, crashes->identity) == 0) {
            enough_memory = add_dead(crashes, folder_fd, name, digests, names);
        }
    }
    if (listing) {
        closedir(listing);
    }
    return enough_memory && !names->failed;
}

static enum status write_crash_list(int folder_fd, const char *name,
                                    const struct digest_list *digests)
{
    struct bytes out = {0};
    bytes_put(&out, magic, sizeof magic);
    for (size_t i = 0; i < digests->count; i++) {
        put_place(&out, digests->digests[i]);
    }
    const struct iovec part = {.iov_base = out.data, .iov_len = out.size};
    const enum status status =
        out.failed ? STATUS_out_of_memory : file_replace(folder_fd, name, &part, 1);
    bytes_free(&out);
    return status;
}

static void remove_names(int folder_fd, const struct bytes *names)
{
    for (size_t at = 0; at < names->size; at += strlen((const char *)names->data + at) + 1) {
        unlinkat(folder_fd, (const char *)names->data + at, 0);
    }
}

/* Writes the list again, with what was found added to what is in it now, then removes the files of
 * the dead. If it cannot be written, this process still knows what was found, and the files stay
 * for the next one. */
static void update_crash_list(struct recipe_crashes *crashes, int folder_fd, const char *list,
                              const struct bytes *names)
{
    int lock_fd;
    if (file_lock(folder_fd, RECIPE_LOCK_NAME, LOCK_WAIT_MS, &lock_fd) == STATUS_ok) {
        if (read_places(folder_fd, list, &crashes->listed) &&
            write_crash_list(folder_fd, list, &crashes->listed) == STATUS_ok) {
            remove_names(folder_fd, names);
        }
        file_unlock(lock_fd);
    }
}

static enum status read_crash_list(struct recipe_crashes *crashes, int folder_fd)
{
    char list[NAME_SIZE];
    struct bytes names = {0};
    snprintf(list, sizeof list, "%s%s", crashes->identity, RECIPE_CRASHED_SUFFIX);
    /* The dead first: who removes their files has written the list before. */
    const bool read = add_all_dead(crashes, folder_fd, &crashes->listed, &names) &&
                      read_places(folder_fd, list, &crashes->listed);
    if (read && names.size > 0 && !crashes->unmarked) {
        update_crash_list(crashes, folder_fd, list, &names);
    }
    bytes_free(&names);
    return read ? STATUS_ok : STATUS_out_of_memory;
}

/* Writes all places at once, so that the disk has room for them when they are needed. */
static enum status write_empty_places(const struct recipe_crashes *crashes)
{
    uint8_t data[MAGIC_SIZE + RECIPE_CRASHES_THREADS * PLACE_SIZE] = {0};
    const size_t size = MAGIC_SIZE + (size_t)crashes->threads * PLACE_SIZE;
    memcpy(data, magic, sizeof magic);
    if (!file_size_allowed(size)) {
        return STATUS_disk_full;
    }
    const ssize_t written = pwrite(crashes->file.fd, data, size, 0);
    return written == (ssize_t)size ? STATUS_ok
           : written < 0            ? status_from_errno(errno)
                                    : STATUS_disk_full;
}

static enum status make_process_file(struct recipe_crashes *crashes, int folder_fd)
{
    struct file_owned file;
    if (!file_create_owned(folder_fd, crashes->identity, RECIPE_REPLAYING_SUFFIX, &file)) {
        return status_from_errno(errno);
    }
    crashes->file = file_keep(file.fd);
    memcpy(crashes->name, file.name, sizeof file.name);
    const enum status status =
        file.locked && fchmod(file.fd, 0600) == 0 ? write_empty_places(crashes) : STATUS_io_error;
    if (status != STATUS_ok) {
        unlinkat(folder_fd, file.name, 0);
        file_kept_close(&crashes->file);
    }
    return status;
}

static enum status open_crash_files(struct recipe_crashes *crashes)
{
    int folder_fd;
    enum status status =
        recipe_folder_open(crashes->root, crashes->app, !crashes->unmarked, &folder_fd);
    if (status == STATUS_ok) {
        status = read_crash_list(crashes, folder_fd);
        if (status == STATUS_ok && !crashes->unmarked) {
            status = make_process_file(crashes, folder_fd);
        }
        close(folder_fd);
    }
    return status;
}

static enum status open_crashes_of(const char *root, const char *app, struct digest identity,
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
        crashes->root && crashes->app ? open_crash_files(crashes) : STATUS_out_of_memory;
    if (status == STATUS_ok) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, register_fork_handler);
        replace_open_crashes(NULL, crashes);
        *ret_crashes = crashes;
    } else {
        recipe_crashes_close(crashes);
    }
    return status;
}

enum status recipe_crashes_open(const char *root, const char *app, struct digest identity,
                                unsigned threads, struct recipe_crashes **ret_crashes)
{
    return open_crashes_of(root, app, identity, threads, false, ret_crashes);
}

enum status recipe_crashes_open_unmarked(const char *root, const char *app, struct digest identity,
                                         struct recipe_crashes **ret_crashes)
{
    return open_crashes_of(root, app, identity, 0, true, ret_crashes);
}

/* Opens the folder again: a kept descriptor could be the program's by now. */
static void remove_process_file(const struct recipe_crashes *crashes)
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
    replace_open_crashes(crashes, NULL);
    /* The child of a fork leaves the file to its parent. */
    if (crashes->file.fd >= 0 && crashes->process == getpid()) {
        remove_process_file(crashes);
    }
    file_kept_close(&crashes->file);
    free(crashes->listed.digests);
    free(crashes->root);
    free(crashes->app);
    free(crashes);
}

bool recipe_crashes_have(const struct recipe_crashes *crashes, struct digest pipeline)
{
    return list_contains(&crashes->listed, pipeline);
}

static bool write_place(struct recipe_crashes *crashes, unsigned thread, const uint8_t *place)
{
    const off_t offset = MAGIC_SIZE + (off_t)thread * PLACE_SIZE;
    return thread < crashes->threads && crashes->process == getpid() &&
           file_kept_is_ours(&crashes->file) &&
           pwrite(crashes->file.fd, place, PLACE_SIZE, offset) == PLACE_SIZE;
}

bool recipe_crashes_begin(struct recipe_crashes *crashes, unsigned thread, struct digest pipeline)
{
    uint8_t memory[PLACE_SIZE];
    struct bytes place = {.data = memory, .capacity = sizeof memory};
    put_place(&place, pipeline);
    return crashes->unmarked || write_place(crashes, thread, memory);
}

void recipe_crashes_end(struct recipe_crashes *crashes, unsigned thread)
{
    const uint8_t nothing[PLACE_SIZE] = {0};
    write_place(crashes, thread, nothing);
}
