// SPDX-License-Identifier: Apache-2.0
/* The content of a marker; the folder of markers, and what it says of a blob. */
#include "common/blobs/marker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/text.h"
#include "common/blobs/trial.h"
#include "common/files/file.h"

#define DEATHS_OFFSET MARKER_RECORD_SIZE

/* An empty file, last changed when a process was found that somebody had killed without the blob:
 * for so long it may have been the same who ended one with it. */
#define KILLED_NAME    "killed"
#define KILLED_COUNT_S 86400

/* The last byte: 1 of a plain record, 2 of a page. */
static const uint8_t magic[MARKER_MAGIC_SIZE] = {'w', 'p', 'm', 'a', 'r', 'k', '\n', 1};
static const uint8_t page_magic[MARKER_MAGIC_SIZE] = {'w', 'p', 'm', 'a', 'r', 'k', '\n', 2};

struct marker_record marker_record_of(uint64_t id, uint64_t generation, uint64_t failure)
{
    struct marker_record record = {
        .id = id,
        .generation = generation,
        .failure = failure,
        .loaded_at = (uint64_t)time(NULL),
        .process = (uint32_t)getpid(),
    };
    snprintf(record.program, sizeof record.program, "%s", program_invocation_short_name);
    return record;
}

void marker_record_put(struct bytes *bytes, const struct marker_record *record)
{
    bytes_put(bytes, record->is_page ? page_magic : magic, sizeof magic);
    bytes_put_u64(bytes, record->id);
    bytes_put_u64(bytes, record->generation);
    bytes_put_u64(bytes, record->failure);
    bytes_put_u64(bytes, record->loaded_at);
    bytes_put_u32(bytes, record->process);
    bytes_put(bytes, record->program, sizeof record->program);
    if (record->is_page) {
        bytes_put_u32(bytes, record->deaths);
    }
}

/* The name goes into a note that people print: it must not contain terminal escapes. */
static void marker_folder_make_printable(char text[MARKER_PROGRAM_SIZE])
{
    text[MARKER_PROGRAM_SIZE - 1] = '\0';
    for (char *at = text; *at; at++) {
        if (*at < ' ' || *at > '~') {
            *at = '?';
        }
    }
}

/* A plain record stands while its process loads. */
static const struct crash_finding died_loading = {
    .died = true,
    .stored = true,
    .keys = {.count = 1, .keys = {CRASH_KEY_LOAD}},
};

bool marker_record_parse(const void *data, size_t size, struct marker_record *ret_record)
{
    struct bytes_reader reader = bytes_reader_over(data, size);
    const uint8_t *found_magic = bytes_get(&reader, sizeof magic);
    struct marker_record record = {.is_page = size == sizeof(struct crash_page)};
    record.id = bytes_get_u64(&reader);
    record.generation = bytes_get_u64(&reader);
    record.failure = bytes_get_u64(&reader);
    record.loaded_at = bytes_get_u64(&reader);
    record.process = bytes_get_u32(&reader);
    const uint8_t *program = bytes_get(&reader, sizeof record.program);
    record.deaths = record.is_page ? bytes_get_u32(&reader) : 1;
    if (reader.overrun || (bytes_left(&reader) != 0 && !record.is_page) || record.id == 0 ||
        memcmp(found_magic, record.is_page ? page_magic : magic, sizeof magic) != 0) {
        return false;
    }
    memcpy(record.program, program, sizeof record.program);
    marker_folder_make_printable(record.program);
    if (record.is_page) {
        crash_page_read(data, &record.finding);
    } else {
        record.finding = died_loading;
    }
    *ret_record = record;
    return true;
}

/* The folder. */

static bool marker_folder_read_record(int fd, struct marker_record *ret_record)
{
    /* One byte more than a page, so that a longer file is refused. */
    uint8_t data[sizeof(struct crash_page) + 1];
    ssize_t size = pread(fd, data, sizeof data, 0);
    return size >= 0 && marker_record_parse(data, (size_t)size, ret_record);
}

/* False: it counts as it did: the blob is skipped once more, or put away a death later. */
static bool marker_folder_write(int folder_fd, const char *name, off_t offset, const void *data,
                                size_t size)
{
    AUTO_CLOSE const int fd = io_open(folder_fd, name, O_WRONLY | O_NOFOLLOW);
    return fd >= 0 && file_size_allowed((uint64_t)offset + size) &&
           pwrite(fd, data, size, offset) == (ssize_t)size;
}

/* The page elsewhere of a marker; of a dead one it becomes the content of its file, which others
 * read after they have looked for the page in vain. Where that cannot be written (a full disk), the
 * page stays, and the next process finds it again. */
static bool marker_folder_read_elsewhere(int folder_fd, const char *name, uint64_t id, bool is_dead,
                                         struct marker_record *ret_record)
{
    uint8_t page[sizeof(struct crash_page)];
    if (!crash_page_read_elsewhere(id, page) ||
        !marker_record_parse(page, sizeof page, ret_record) || ret_record->id != id) {
        return false;
    }
    /* Less the count of deaths: another process may have made the file a strike meanwhile. */
    ret_record->is_elsewhere =
        is_dead &&
        !(marker_folder_write(folder_fd, name, CRASH_RECORD_SIZE, page + CRASH_RECORD_SIZE,
                              sizeof page - CRASH_RECORD_SIZE) &&
          marker_folder_write(folder_fd, name, 0, page, DEATHS_OFFSET));
    if (is_dead && !ret_record->is_elsewhere) {
        crash_page_remove_elsewhere(id);
    }
    return true;
}

/* Whether the marker's process died while loading. */
static bool marker_folder_read_dead(int folder_fd, const char *name, uint64_t id,
                                    struct marker_record *ret_record)
{
    AUTO_CLOSE const int fd = file_open_abandoned(folder_fd, name);
    if (fd < 0) {
        return false;
    }
    const bool dead = marker_folder_read_elsewhere(folder_fd, name, id, true, ret_record) ||
                      (marker_folder_read_record(fd, ret_record) && ret_record->id == id);
    if (!dead) {
        /* Never written, or erased: the driver had seen nothing, or had survived. */
        unlinkat(folder_fd, name, 0);
    }
    return dead;
}

/* Whether the name is 16 hex digits and `suffix`. */
static bool marker_folder_parse_name(const char *name, const char *suffix, uint64_t *ret_number)
{
    const size_t digits = UNIQUE_HEX_SIZE - 1;
    if (!names_is_hex(name, digits) || strcmp(name + digits, suffix) != 0) {
        return false;
    }
    *ret_number = text_parse_hex(name);
    return true;
}

static void marker_folder_read_entry(struct marker_folder *folder, const char *name)
{
    uint64_t number;
    struct marker_record record;
    if (marker_folder_parse_name(name, MARKER_FAILURE_SUFFIX, &number)) {
        if (folder->failure_count < MARKER_MAX_FOUND) {
            folder->failures[folder->failure_count++] = number;
        }
    } else if (marker_folder_parse_name(name, TRIAL_SUFFIX, &number)) {
        if (folder->trial_count < MARKER_MAX_FOUND) {
            folder->trials[folder->trial_count++] = number;
        }
    } else if (marker_folder_parse_name(name, "", &number) &&
               folder->dead_count < MARKER_MAX_FOUND &&
               marker_folder_read_dead(folder->fd, name, number, &record)) {
        folder->dead[folder->dead_count++] = record;
    }
}

void marker_folder_open(int directory_fd, const char *name, struct marker_folder *ret_folder)
{
    ret_folder->directory_fd = directory_fd;
    ret_folder->name = name;
    ret_folder->dead_count = 0;
    ret_folder->failure_count = 0;
    ret_folder->trial_count = 0;
    ret_folder->fd = file_open_folder(directory_fd, name);
    AUTO_LISTING DIR *listing = ret_folder->fd < 0 ? NULL : listing_open(ret_folder->fd, ".");
    const char *entry;
    while ((entry = listing_next(listing))) {
        marker_folder_read_entry(ret_folder, entry);
    }
}

void marker_folder_close(struct marker_folder *folder)
{
    io_close(folder->fd);
    folder->fd = -1;
}

bool marker_folder_make(struct marker_folder *folder)
{
    if (folder->fd < 0 && file_make_directory(folder->directory_fd, folder->name)) {
        folder->fd = file_open_folder(folder->directory_fd, folder->name);
    }
    return folder->fd >= 0;
}

static bool marker_folder_contains_generation(const uint64_t *generations, size_t count,
                                              uint64_t generation)
{
    for (size_t i = 0; i < count; i++) {
        if (generations[i] == generation) {
            return true;
        }
    }
    return false;
}

bool marker_folder_tries(const struct marker_folder *folder, uint64_t generation)
{
    return marker_folder_contains_generation(folder->trials, folder->trial_count, generation);
}

bool marker_folder_read(const struct marker_folder *folder, const char *name,
                        struct marker_record *ret_record)
{
    uint64_t id;
    if (marker_folder_parse_name(name, "", &id) &&
        marker_folder_read_elsewhere(folder->fd, name, id, false, ret_record)) {
        return true;
    }
    AUTO_CLOSE const int fd = io_open(folder->fd, name, O_RDONLY | O_NOFOLLOW);
    return fd >= 0 && marker_folder_read_record(fd, ret_record);
}

bool marker_folder_read_failure(const struct marker_folder *folder, uint64_t generation,
                                struct marker_record *ret_record)
{
    if (!marker_folder_contains_generation(folder->failures, folder->failure_count, generation)) {
        return false;
    }
    char name[NAMES_SIZE];
    unique_name(generation, MARKER_FAILURE_SUFFIX, name);
    return marker_folder_read(folder, name, ret_record);
}

void marker_folder_remove(const struct marker_folder *folder, const struct marker_record *record)
{
    char name[NAMES_SIZE];
    unique_name(record->id, "", name);
    unlinkat(folder->fd, name, 0);
    if (record->is_elsewhere) {
        crash_page_remove_elsewhere(record->id);
    }
}

void marker_folder_remove_failure(const struct marker_folder *folder, uint64_t generation)
{
    char name[NAMES_SIZE];
    unique_name(generation, MARKER_FAILURE_SUFFIX, name);
    unlinkat(folder->fd, name, 0);
}

bool marker_is_about(const struct marker_folder *folder, const struct marker_record *record,
                     uint64_t generation)
{
    bool is_about = record->generation == generation;
    for (size_t i = 0; i < folder->dead_count && !is_about; i++) {
        const struct marker_record *dead = &folder->dead[i];
        is_about = dead->generation == record->generation &&
                   (dead->finding.saved == generation || dead->finding.saving == generation);
    }
    return is_about;
}

void marker_folder_make_failure(const struct marker_folder *folder,
                                const struct marker_record *record, uint64_t generation,
                                uint32_t deaths)
{
    char from[NAMES_SIZE];
    char to[NAMES_SIZE];
    unique_name(record->id, "", from);
    unique_name(generation, MARKER_FAILURE_SUFFIX, to);
    if (record->is_elsewhere) {
        return; /* the file holds nothing of the death */
    }
    if (record->is_page) {
        uint8_t memory[sizeof deaths];
        struct bytes bytes = {.data = memory, .capacity = sizeof memory};
        bytes_put_u32(&bytes, deaths);
        marker_folder_write(folder->fd, from, DEATHS_OFFSET, memory, sizeof memory);
    }
    renameat(folder->fd, from, folder->fd, to);
}

bool marker_folder_killed_lately(const struct marker_folder *folder)
{
    struct stat status;
    return fstatat(folder->fd, KILLED_NAME, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           llabs((long long)time(NULL) - (long long)status.st_mtim.tv_sec) < KILLED_COUNT_S;
}

void marker_folder_note_without(const struct marker_folder *folder, uint64_t generation,
                                uint32_t without)
{
    char name[NAMES_SIZE];
    unique_name(generation, MARKER_FAILURE_SUFFIX, name);
    marker_folder_write(folder->fd, name, offsetof(struct crash_page, without), &without,
                        sizeof without);
    file_touch(folder->fd, KILLED_NAME);
}

void marker_forget(const struct marker_folder *folder, uint64_t generation)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        if (marker_is_about(folder, &folder->dead[i], generation)) {
            marker_folder_remove(folder, &folder->dead[i]);
        }
    }
    marker_folder_remove_failure(folder, generation);
    trial_forget(folder->fd, generation);
}

void marker_sweep(const struct marker_folder *folder, const uint64_t *generations, size_t count)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        bool is_needed = false;
        for (size_t j = 0; j < count; j++) {
            is_needed |= marker_is_about(folder, dead, generations[j]);
        }
        if (!is_needed) {
            marker_folder_remove(folder, dead);
        }
    }
    for (size_t i = 0; i < folder->failure_count; i++) {
        if (!marker_folder_contains_generation(generations, count, folder->failures[i])) {
            marker_folder_remove_failure(folder, folder->failures[i]);
        }
    }
    for (size_t i = 0; i < folder->trial_count; i++) {
        if (!marker_folder_contains_generation(generations, count, folder->trials[i]) &&
            (count == 0 || !trial_is_new(folder->fd, folder->trials[i]))) {
            trial_forget(folder->fd, folder->trials[i]);
        }
    }
    if (count == 0) {
        unlinkat(folder->fd, KILLED_NAME, 0);
    }
}

void marker_follow(int directory_fd, const char *name, uint64_t from, uint64_t to)
{
    char from_name[NAMES_SIZE];
    char to_name[NAMES_SIZE];
    unique_name(from, MARKER_FAILURE_SUFFIX, from_name);
    unique_name(to, MARKER_FAILURE_SUFFIX, to_name);
    AUTO_CLOSE const int fd = file_open_folder(directory_fd, name);
    if (fd >= 0) {
        file_link(fd, from_name, to_name, sizeof(struct crash_page)); /* there is none, as a rule */
    }
}

void marker_forget_failure(int directory_fd, const char *name, uint64_t generation)
{
    AUTO(marker_folder_close)
    struct marker_folder folder = {.fd = file_open_folder(directory_fd, name)};
    if (folder.fd >= 0) {
        marker_folder_remove_failure(&folder, generation);
    }
}
