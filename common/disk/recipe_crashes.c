#include "recipe_crashes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "file.h"
#include "file_kept.h"
#include "file_owned.h"
#include "listing.h"
#include "recipe_folder.h"

/* A list, and the file of a process, are the same: the magic, then places of a digest and its
 * check each, zeros where there is none. */
#define MAGIC_SIZE   8
#define DIGEST_SIZE  16
#define PLACE_SIZE   24
#define MAX_LISTED   ((size_t)65536)
#define NAME_SIZE    80
#define LOCK_WAIT_MS 200

static const uint8_t magic[MAGIC_SIZE] = {'w', 'p', 'c', 'r', 's', 'h', '\n', 1};

struct digests {
    struct digest *digests;
    size_t count;
    size_t capacity;
};

struct recipe_crashes {
    struct digests listed; /* sorted */
    char identity[DIGEST_HEX_SIZE];
    char *root;
    char *app;
    pid_t process;
    struct file_kept file;
    char name[NAME_MAX + 1]; /* of the file */
    unsigned threads;
};

/* Those of this process, for its children: each pointer atomic. What is beyond is as it was. */
static struct recipe_crashes *open_ones[16];

/* A child that lives on would keep the lock of its parent's file, and whoever comes when the parent
 * has crashed would take it for alive. */
static void let_go_in_child(void)
{
    for (size_t i = 0; i < sizeof open_ones / sizeof *open_ones; i++) {
        struct recipe_crashes *crashes = __atomic_load_n(&open_ones[i], __ATOMIC_ACQUIRE);
        if (crashes) {
            file_kept_close(&crashes->file);
        }
    }
}

static void register_handler(void)
{
    pthread_atfork(NULL, NULL, let_go_in_child);
}

static void replace_open_one(struct recipe_crashes *before, struct recipe_crashes *now)
{
    bool replaced = false;
    for (size_t i = 0; !replaced && i < sizeof open_ones / sizeof *open_ones; i++) {
        struct recipe_crashes *found = before;
        replaced = __atomic_compare_exchange_n(&open_ones[i], &found, now, false, __ATOMIC_ACQ_REL,
                                               __ATOMIC_RELAXED);
    }
}

static int compare(const void *left, const void *right)
{
    const struct digest *a = left;
    const struct digest *b = right;
    const int order = (a->high > b->high) - (a->high < b->high);
    return order ? order : (a->low > b->low) - (a->low < b->low);
}

static bool contains(const struct digests *digests, struct digest digest)
{
    return digests->count &&
           bsearch(&digest, digests->digests, digests->count, sizeof digest, compare);
}

/* Keeps them sorted. False: out of memory, or too many. */
static bool add(struct digests *digests, struct digest digest)
{
    if (contains(digests, digest)) {
        return true;
    }
    if (digests->count == digests->capacity) {
        const size_t capacity = digests->capacity ? digests->capacity * 2 : 16;
        struct digest *more =
            capacity <= MAX_LISTED ? reallocarray(digests->digests, capacity, sizeof *more) : NULL;
        if (!more) {
            return false;
        }
        digests->digests = more;
        digests->capacity = capacity;
    }
    size_t at = digests->count++;
    for (; at > 0 && compare(&digests->digests[at - 1], &digest) > 0; at--) {
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

/* What does not check out is passed over: a place that was being written when its process died. */
static bool add_all(struct digests *digests, const uint8_t *data, size_t size)
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
            enough_memory = add(digests, digest);
        }
    }
    return enough_memory;
}

/* False: out of memory, or it cannot be read. */
static bool read_file(int folder_fd, const char *name, struct digests *digests)
{
    uint8_t *data;
    size_t size;
    const uint64_t limit = MAGIC_SIZE + (uint64_t)MAX_LISTED * PLACE_SIZE;
    const enum reason reason = file_read(folder_fd, name, limit, &data, &size);
    if (reason != REASON_ok) {
        return reason != REASON_out_of_memory && reason != REASON_io_error;
    }
    const bool read = add_all(digests, data, size);
    free(data);
    return read;
}

/* Adds what a dead process was at. A file that says nothing is removed while it is locked, so that
 * an owner who has not come to lock it yet makes another; of the others the names are noted, zero
 * terminated. False: out of memory. */
static bool add_dead(int folder_fd, const char *name, struct digests *digests, struct bytes *names)
{
    const int fd = file_open_abandoned(folder_fd, name);
    if (fd < 0) {
        return true;
    }
    struct digests own = {0};
    bool read = read_file(folder_fd, name, &own);
    if (read && own.count == 0) {
        unlinkat(folder_fd, name, 0);
    } else {
        bytes_put(names, name, strlen(name) + 1);
    }
    for (size_t i = 0; read && i < own.count; i++) {
        read = add(digests, own.digests[i]);
    }
    free(own.digests);
    close(fd);
    return read;
}

static bool add_all_dead(const struct recipe_crashes *crashes, int folder_fd,
                         struct digests *digests, struct bytes *names)
{
    DIR *listing = listing_open(folder_fd, ".");
    char identity[DIGEST_HEX_SIZE];
    const char *name;
    bool enough_memory = listing;
    while (enough_memory && (name = listing_next(listing))) {
        if (recipe_folder_classify(name, identity) == RECIPE_NAME_REPLAYING &&
            strcmp(identity, crashes->identity) == 0) {
            enough_memory = add_dead(folder_fd, name, digests, names);
        }
    }
    if (listing) {
        closedir(listing);
    }
    return enough_memory && !names->failed;
}

static enum reason write_list(int folder_fd, const char *name, const struct digests *digests)
{
    struct bytes out = {0};
    bytes_put(&out, magic, sizeof magic);
    for (size_t i = 0; i < digests->count; i++) {
        put_place(&out, digests->digests[i]);
    }
    const struct iovec part = {.iov_base = out.data, .iov_len = out.size};
    const enum reason reason =
        out.failed ? REASON_out_of_memory : file_replace(folder_fd, name, &part, 1);
    bytes_free(&out);
    return reason;
}

static void remove_all(int folder_fd, const struct bytes *names)
{
    for (size_t at = 0; at < names->size; at += strlen((const char *)names->data + at) + 1) {
        unlinkat(folder_fd, (const char *)names->data + at, 0);
    }
}

/* Writes the list anew with what was found added to what stands there now. What cannot be written
 * counts for this process all the same, and its files stay for the next one. */
static void keep_list(struct recipe_crashes *crashes, int folder_fd, const char *list,
                      const struct bytes *names)
{
    int lock_fd;
    if (file_lock(folder_fd, RECIPE_LOCK_NAME, LOCK_WAIT_MS, &lock_fd) == REASON_ok) {
        if (read_file(folder_fd, list, &crashes->listed) &&
            write_list(folder_fd, list, &crashes->listed) == REASON_ok) {
            remove_all(folder_fd, names);
        }
        file_unlock(lock_fd);
    }
}

static enum reason read_list(struct recipe_crashes *crashes, int folder_fd)
{
    char list[NAME_SIZE];
    struct bytes names = {0};
    snprintf(list, sizeof list, "%s%s", crashes->identity, RECIPE_CRASHED_SUFFIX);
    /* The dead first: who takes them away has written the list before. */
    const bool read = add_all_dead(crashes, folder_fd, &crashes->listed, &names) &&
                      read_file(folder_fd, list, &crashes->listed);
    if (read && names.size > 0) {
        keep_list(crashes, folder_fd, list, &names);
    }
    bytes_free(&names);
    return read ? REASON_ok : REASON_out_of_memory;
}

/* All places at once, so that there is room for them when they are needed. */
static enum reason write_places(const struct recipe_crashes *crashes)
{
    uint8_t data[MAGIC_SIZE + RECIPE_CRASHES_THREADS * PLACE_SIZE] = {0};
    const size_t size = MAGIC_SIZE + (size_t)crashes->threads * PLACE_SIZE;
    memcpy(data, magic, sizeof magic);
    if (!file_size_allowed(size)) {
        return REASON_disk_full;
    }
    const ssize_t written = pwrite(crashes->file.fd, data, size, 0);
    return written == (ssize_t)size ? REASON_ok
           : written < 0            ? reason_from_errno(errno)
                                    : REASON_disk_full;
}

static enum reason make_file(struct recipe_crashes *crashes, int folder_fd)
{
    struct file_owned file;
    if (!file_create_owned(folder_fd, crashes->identity, RECIPE_REPLAYING_SUFFIX, &file)) {
        return reason_from_errno(errno);
    }
    crashes->file = file_keep(file.fd);
    memcpy(crashes->name, file.name, sizeof file.name);
    const enum reason reason =
        file.locked && fchmod(file.fd, 0600) == 0 ? write_places(crashes) : REASON_io_error;
    if (reason != REASON_ok) {
        unlinkat(folder_fd, file.name, 0);
        file_kept_close(&crashes->file);
    }
    return reason;
}

static enum reason open_all(struct recipe_crashes *crashes)
{
    int folder_fd;
    enum reason reason = recipe_folder_open(crashes->root, crashes->app, true, &folder_fd);
    if (reason == REASON_ok) {
        reason = read_list(crashes, folder_fd);
        if (reason == REASON_ok) {
            reason = make_file(crashes, folder_fd);
        }
        close(folder_fd);
    }
    return reason;
}

enum reason recipe_crashes_open(const char *root, const char *app, struct digest identity,
                                unsigned threads, struct recipe_crashes **ret_crashes)
{
    struct recipe_crashes *crashes = calloc(1, sizeof *crashes);
    if (!crashes) {
        return REASON_out_of_memory;
    }
    digest_format(identity, crashes->identity);
    crashes->root = strdup(root);
    crashes->app = strdup(app);
    crashes->threads = threads < RECIPE_CRASHES_THREADS ? threads : RECIPE_CRASHES_THREADS;
    crashes->process = getpid();
    crashes->file.fd = -1;
    const enum reason reason =
        crashes->root && crashes->app ? open_all(crashes) : REASON_out_of_memory;
    if (reason == REASON_ok) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, register_handler);
        replace_open_one(NULL, crashes);
        *ret_crashes = crashes;
    } else {
        recipe_crashes_close(crashes);
    }
    return reason;
}

/* The folder is opened anew: a program may have closed our descriptor and got its number. */
static void remove_file(const struct recipe_crashes *crashes)
{
    int folder_fd;
    if (recipe_folder_open(crashes->root, crashes->app, false, &folder_fd) == REASON_ok) {
        unlinkat(folder_fd, crashes->name, 0);
        close(folder_fd);
    }
}

void recipe_crashes_close(struct recipe_crashes *crashes)
{
    if (!crashes) {
        return;
    }
    replace_open_one(crashes, NULL);
    /* The child of a fork leaves the file to its parent. */
    if (crashes->file.fd >= 0 && crashes->process == getpid()) {
        remove_file(crashes);
    }
    file_kept_close(&crashes->file);
    free(crashes->listed.digests);
    free(crashes->root);
    free(crashes->app);
    free(crashes);
}

bool recipe_crashes_have(const struct recipe_crashes *crashes, struct digest pipeline)
{
    return contains(&crashes->listed, pipeline);
}

size_t recipe_crashes_count(const struct recipe_crashes *crashes)
{
    return crashes->listed.count;
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
    return write_place(crashes, thread, memory);
}

void recipe_crashes_end(struct recipe_crashes *crashes, unsigned thread)
{
    const uint8_t nothing[PLACE_SIZE] = {0};
    write_place(crashes, thread, nothing);
}
