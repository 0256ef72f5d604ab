// SPDX-License-Identifier: Apache-2.0
#include "common/recipes/crash_list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/files/file.h"
#include "common/files/names.h"
#include "common/recipes/recipes.h"

#define DIGEST_SIZE 16
#define MAX_LISTED  ((size_t)65536)

/* Behind its places the list has the number of deaths, unless that is 0. */
#define DEATHS_SIZE 8

/* Wait for the folder's lock in a program, and in the tool. */
#define LOCK_WAIT_MS      200
#define LOCK_WAIT_TOOL_MS 10000

const uint8_t crash_list_magic[CRASH_MAGIC_SIZE] = {'w', 'p', 'c', 'r', 's', 'h', '\n', 1};

void crash_list_free(struct crash_list *list)
{
    free(list->digests);
    *list = (struct crash_list){0};
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

void crash_list_put_place(struct bytes *out, struct digest digest)
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
    AUTO_FREE uint8_t *data = NULL;
    size_t size;
    const uint64_t limit = CRASH_MAGIC_SIZE + (MAX_LISTED + 1) * CRASH_PLACE_SIZE + DEATHS_SIZE;
    const enum status status = file_read(folder_fd, name, limit, &data, &size);
    list->deaths = 0;
    return status == STATUS_ok ? crash_list_add_places(list, data, size)
                               : status != STATUS_out_of_memory && status != STATUS_io_error;
}

/* Adds the pipelines that a dead process was at. An empty file is no death, and is removed while it
 * is locked, so that an owner who has not locked it yet makes another; the names of the others are
 * appended to `names`, zero terminated. False: out of memory. */
static bool crash_list_add_dead(int folder_fd, const char *name, bool read_only,
                                struct crash_list *list, struct bytes *names)
{
    AUTO_CLOSE const int fd = file_open_abandoned(folder_fd, name);
    if (fd < 0) {
        return true;
    }
    AUTO(crash_list_free) struct crash_list own = {0};
    const bool read = crash_list_read_places(folder_fd, name, &own);
    if (own.count > 0 || own.died_late) {
        bytes_put(names, name, strlen(name) + 1);
    } else if (read && !read_only) {
        unlinkat(folder_fd, name, 0);
    }
    list->died_late |= own.died_late;
    return read && list_add(list, own.digests, own.count);
}

/* Of all that died by the identity of the list that is called `of`. */
static bool crash_list_add_all_dead(int folder_fd, const char *of, bool read_only,
                                    struct crash_list *list, struct bytes *names)
{
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    bool enough_memory = listing;
    while (enough_memory && (name = listing_next(listing))) {
        if (recipe_folder_classify(name) == RECIPE_NAME_REPLAYING &&
            strncmp(name, of, DIGEST_HEX_SIZE - 1) == 0) {
            enough_memory = crash_list_add_dead(folder_fd, name, read_only, list, names);
        }
    }
    return enough_memory && !names->failed;
}

static enum status crash_list_write(int folder_fd, const char *name, const struct crash_list *list)
{
    AUTO(bytes_free) struct bytes out = {0};
    bytes_put(&out, crash_list_magic, CRASH_MAGIC_SIZE);
    for (size_t i = 0; i < list->count; i++) {
        crash_list_put_place(&out, list->digests[i]);
    }
    if (list->died_late) {
        crash_list_put_place(&out, (struct digest){0});
    }
    if (list->deaths > 0) {
        bytes_put_u64(&out, list->deaths);
    }
    const struct iovec part = {.iov_base = out.data, .iov_len = out.size};
    return out.failed ? STATUS_out_of_memory : file_replace(folder_fd, name, &part, 1);
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

static void crash_list_format_name(struct digest identity, char ret_name[NAMES_SIZE])
{
    digest_format(identity, ret_name);
    memcpy(ret_name + DIGEST_HEX_SIZE - 1, RECIPE_CRASHED_SUFFIX, sizeof RECIPE_CRASHED_SUFFIX);
}

/* Writes the list again, with what was found added to what is in it now, then removes the files of
 * the dead. If it cannot be written, this process still knows what was found, and the files stay
 * for the next one. */
static void crash_list_write_down(int folder_fd, const char *name, const struct bytes *names,
                                  struct crash_list *list)
{
    AUTO_UNLOCK int lock_fd = -1;
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
}

enum status crash_list_read(int folder_fd, struct digest identity, bool read_only,
                            struct crash_list *list)
{
    char name[NAMES_SIZE];
    AUTO(bytes_free) struct bytes names = {0};
    crash_list_format_name(identity, name);
    /* The dead first: who removes their files has written the list before. */
    const bool read = crash_list_add_all_dead(folder_fd, name, read_only, list, &names) &&
                      crash_list_read_places(folder_fd, name, list);
    if (read && read_only) {
        list->deaths += crash_list_count_names(folder_fd, &names);
    } else if (read && names.size > 0) {
        crash_list_write_down(folder_fd, name, &names, list);
    }
    return read ? STATUS_ok : STATUS_out_of_memory;
}

enum status recipe_crashes_change(const char *root, const char *app, struct digest identity,
                                  const struct digest *pipeline)
{
    char name[NAMES_SIZE];
    AUTO_CLOSE int folder_fd = -1;
    AUTO_UNLOCK int lock_fd = -1;
    AUTO(crash_list_free) struct crash_list list = {0};
    enum status status = recipe_folder_open(root, app, true, &folder_fd);
    if (status == STATUS_ok) {
        status = file_lock(folder_fd, RECIPE_LOCK_NAME, LOCK_WAIT_TOOL_MS, &lock_fd);
    }
    if (status != STATUS_ok) {
        return status;
    }
    crash_list_format_name(identity, name);
    if (!crash_list_read_places(folder_fd, name, &list) ||
        (pipeline && !list_add(&list, pipeline, 1))) {
        return STATUS_out_of_memory;
    }
    if (!pipeline && list.deaths == 0 && !list.died_late) {
        return STATUS_ok;
    }
    list.deaths = pipeline ? list.deaths : 0;
    list.died_late = pipeline && list.died_late;
    return crash_list_write(folder_fd, name, &list);
}

static bool crash_list_is_among(const struct crash_list *list, const struct digest *pipelines,
                                size_t count)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t at = 0;
        while (at < count && !digest_equal(list->digests[i], pipelines[at])) {
            at++;
        }
        if (at == count) {
            return false;
        }
    }
    return true;
}

void recipe_crashes_absolve(const char *root, const char *app, struct digest identity,
                            const struct digest *pipelines, size_t count)
{
    static const struct crash_list absolved = {.died_late = true};
    char name[NAMES_SIZE];
    AUTO_CLOSE int folder_fd = -1;
    AUTO_UNLOCK int lock_fd = -1;
    AUTO(crash_list_free) struct crash_list list = {0};
    crash_list_format_name(identity, name);
    if (recipe_folder_open(root, app, false, &folder_fd) == STATUS_ok &&
        file_lock(folder_fd, RECIPE_LOCK_NAME, LOCK_WAIT_MS, &lock_fd) == STATUS_ok &&
        crash_list_read_places(folder_fd, name, &list) && !list.died_late &&
        crash_list_is_among(&list, pipelines, count)) {
        crash_list_write(folder_fd, name, &absolved);
    }
}
