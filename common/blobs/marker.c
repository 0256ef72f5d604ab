// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/marker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/files/file.h"

/* A marker's name is its id in hex, a failure's is the generation in hex and this. */
#define FAILURE_SUFFIX    ".strike"
#define FAILURE_NAME_SIZE (UNIQUE_HEX_SIZE + sizeof FAILURE_SUFFIX - 1)

/* The last byte: 1 of a plain record, 2 of a page. */
static const uint8_t magic[MARKER_MAGIC_SIZE] = {'w', 'p', 'm', 'a', 'r', 'k', '\n', 1};
static const uint8_t page_magic[MARKER_MAGIC_SIZE] = {'w', 'p', 'm', 'a', 'r', 'k', '\n', 2};

#define DEATHS_OFFSET MARKER_RECORD_SIZE

/* So many repetitions of a death at a pipeline that the blob is not known to hold. */
#define MANY_DEATHS 4

static void format_failure_name(uint64_t generation, char ret_name[FAILURE_NAME_SIZE])
{
    unique_format(generation, ret_name);
    memcpy(ret_name + UNIQUE_HEX_SIZE - 1, FAILURE_SUFFIX, sizeof FAILURE_SUFFIX);
}

/* The content. */

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
static void make_printable(char text[MARKER_PROGRAM_SIZE])
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
    make_printable(record.program);
    if (record.is_page) {
        crash_page_read(data, &record.finding);
    } else {
        record.finding = died_loading;
    }
    *ret_record = record;
    return true;
}

/* The folder. */

static bool read_marker_record(int fd, struct marker_record *ret_record)
{
    /* One byte more than a page, so that a longer file is refused. */
    uint8_t data[sizeof(struct crash_page) + 1];
    ssize_t size = pread(fd, data, sizeof data, 0);
    return size >= 0 && marker_record_parse(data, (size_t)size, ret_record);
}

/* Whether the marker's process died while loading. */
static bool read_dead_marker(int folder_fd, const char *name, uint64_t id,
                             struct marker_record *ret_record)
{
    int fd = file_open_abandoned(folder_fd, name);
    if (fd < 0) {
        return false;
    }
    bool dead = read_marker_record(fd, ret_record) && ret_record->id == id;
    if (!dead) {
        /* Never written, or erased: the driver had seen nothing, or had survived. */
        unlinkat(folder_fd, name, 0);
    }
    close(fd);
    return dead;
}

/* Whether the name is 16 hex digits and `suffix`. */
static bool parse_marker_name(const char *name, const char *suffix, uint64_t *ret_number)
{
    const size_t digits = UNIQUE_HEX_SIZE - 1;
    if (!names_is_hex(name, digits) || strcmp(name + digits, suffix) != 0) {
        return false;
    }
    *ret_number = strtoull(name, NULL, 16);
    return true;
}

static void read_marker_entry(struct marker_folder *folder, const char *name)
{
    uint64_t number;
    struct marker_record record;
    if (parse_marker_name(name, FAILURE_SUFFIX, &number)) {
        if (folder->failure_count < MARKER_MAX_FOUND) {
            folder->failures[folder->failure_count++] = number;
        }
    } else if (parse_marker_name(name, "", &number) && folder->dead_count < MARKER_MAX_FOUND &&
               read_dead_marker(folder->fd, name, number, &record)) {
        folder->dead[folder->dead_count++] = record;
    }
}

static int open_marker_folder(int directory_fd, const char *name)
{
    return openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

void marker_folder_open(int directory_fd, const char *name, struct marker_folder *ret_folder)
{
    ret_folder->directory_fd = directory_fd;
    ret_folder->name = name;
    ret_folder->dead_count = 0;
    ret_folder->failure_count = 0;
    ret_folder->fd = open_marker_folder(directory_fd, name);
    DIR *listing = ret_folder->fd < 0 ? NULL : listing_open(ret_folder->fd, ".");
    const char *entry;
    while ((entry = listing_next(listing))) {
        read_marker_entry(ret_folder, entry);
    }
    listing_close(listing);
}

void marker_folder_close(struct marker_folder *folder)
{
    if (folder->fd >= 0) {
        close(folder->fd);
        folder->fd = -1;
    }
}

static bool contains_generation(const uint64_t *generations, size_t count, uint64_t generation)
{
    for (size_t i = 0; i < count; i++) {
        if (generations[i] == generation) {
            return true;
        }
    }
    return false;
}

static bool read_failure(const struct marker_folder *folder, uint64_t generation,
                         struct marker_record *ret_record)
{
    if (!contains_generation(folder->failures, folder->failure_count, generation)) {
        return false;
    }
    char name[FAILURE_NAME_SIZE];
    format_failure_name(generation, name);
    int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    bool read = read_marker_record(fd, ret_record);
    close(fd);
    return read;
}

static void remove_marker(const struct marker_folder *folder, const struct marker_record *record)
{
    char name[UNIQUE_HEX_SIZE];
    unique_format(record->id, name);
    unlinkat(folder->fd, name, 0);
}

static void remove_failure(const struct marker_folder *folder, uint64_t generation)
{
    char name[FAILURE_NAME_SIZE];
    format_failure_name(generation, name);
    unlinkat(folder->fd, name, 0);
}

/* Whether the process of the record used a blob of this generation. */
static bool is_about(const struct marker_record *record, uint64_t generation)
{
    const struct crash_finding *finding = &record->finding;
    return record->generation == generation || finding->saved == generation ||
           finding->saving == generation;
}

/* What it counts as goes into the file first. */
static void make_failure(const struct marker_folder *folder, const struct marker_record *record,
                         uint64_t generation, uint32_t deaths)
{
    char from[UNIQUE_HEX_SIZE];
    char to[FAILURE_NAME_SIZE];
    unique_format(record->id, from);
    format_failure_name(generation, to);
    const int fd =
        record->is_page
            ? openat(folder->fd, from, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
            : -1;
    if (fd >= 0) {
        uint8_t memory[sizeof deaths];
        struct bytes bytes = {.data = memory, .capacity = sizeof memory};
        bytes_put_u32(&bytes, deaths);
        if (pwrite(fd, memory, sizeof memory, DEATHS_OFFSET) != (ssize_t)sizeof memory) {
            /* It counts as its process knew: the blob lives for a death longer. */
        }
        close(fd);
    }
    renameat(folder->fd, from, folder->fd, to);
}

static bool is_same_pipeline(const struct marker_record *first, const struct marker_record *second)
{
    return crash_keys_share(&first->finding.keys, &second->finding.keys);
}

/* Whether a death counts, after the one before. */
static bool is_counted(const struct marker_record *first, const struct marker_record *second)
{
    return second->finding.stored || is_same_pipeline(first, second);
}

/* Whether the second death is one too many. What died at pipelines that the blob was not known to
 * hold says nothing of what it holds. */
static bool is_blocking(const struct marker_record *first, const struct marker_record *second)
{
    const bool is_same = is_same_pipeline(first, second);
    if (second->finding.stored) {
        return first->finding.stored &&
               (is_same || first->deaths >= 2 || (first->deaths >= 1 && !second->finding.returned));
    }
    return is_same && first->deaths >= MANY_DEATHS;
}

enum marker_verdict marker_judge(const struct marker_folder *folder, uint64_t generation,
                                 struct marker_history *ret_history)
{
    struct marker_history history = {0};
    bool failed = read_failure(folder, generation, &history.first);
    const uint64_t failure = failed ? history.first.id : 0;
    for (size_t i = 0; failed && i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (is_about(dead, generation) && dead->failure == failure && dead->finding.died &&
            is_blocking(&history.first, dead)) {
            history.second = *dead;
            *ret_history = history;
            return MARKER_BLOCKED;
        }
    }
    enum marker_verdict verdict = MARKER_CLEAR;
    bool is_known = failed; /* the known death is the one that markers may name */
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (!is_about(dead, generation)) {
            continue;
        }
        const bool knew = is_known && dead->failure == failure;
        if (!dead->finding.died) {
            if (knew && dead->finding.passed) {
                remove_failure(folder, generation);
                failed = is_known = false;
            }
            remove_marker(folder, dead);
            continue;
        }
        if (!failed || knew) {
            const bool counts = knew ? is_counted(&history.first, dead) : dead->finding.stored;
            make_failure(folder, dead, generation, (knew ? history.first.deaths : 0) + counts);
            failed = true;
            is_known = false;
        } else {
            remove_marker(folder, dead);
        }
        verdict = MARKER_FAILED_ONCE;
    }
    history.failure = is_known ? failure : 0;
    *ret_history = history;
    return verdict;
}

void marker_forget(const struct marker_folder *folder, uint64_t generation)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        if (is_about(&folder->dead[i], generation)) {
            remove_marker(folder, &folder->dead[i]);
        }
    }
    remove_failure(folder, generation);
}

void marker_sweep(const struct marker_folder *folder, const uint64_t *generations, size_t count)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (!contains_generation(generations, count, dead->generation) &&
            !contains_generation(generations, count, dead->finding.saved) &&
            !contains_generation(generations, count, dead->finding.saving)) {
            remove_marker(folder, dead);
        }
    }
    for (size_t i = 0; i < folder->failure_count; i++) {
        if (!contains_generation(generations, count, folder->failures[i])) {
            remove_failure(folder, folder->failures[i]);
        }
    }
}

void marker_follow(int directory_fd, const char *name, uint64_t from, uint64_t to)
{
    char from_name[FAILURE_NAME_SIZE];
    char to_name[FAILURE_NAME_SIZE];
    format_failure_name(from, from_name);
    format_failure_name(to, to_name);
    const int fd = open_marker_folder(directory_fd, name);
    if (fd >= 0) {
        linkat(fd, from_name, fd, to_name, 0); /* there is none, as a rule */
        close(fd);
    }
}

void marker_forget_failure(int directory_fd, const char *name, uint64_t generation)
{
    struct marker_folder folder = {.fd = open_marker_folder(directory_fd, name)};
    if (folder.fd >= 0) {
        remove_failure(&folder, generation);
        close(folder.fd);
    }
}

/* A marker of this process. */

static bool write_marker(int fd, const void *data, size_t size)
{
    return file_size_allowed(size) && pwrite(fd, data, size, 0) == (ssize_t)size;
}

/* The file as a page, or else as a plain record. */
static bool fill_marker(int fd, struct marker_record *record, const struct marker_history *history,
                        struct marker *marker)
{
    static const struct crash_keys none;
    uint8_t memory[CRASH_RECORD_SIZE];
    struct bytes bytes = {.data = memory, .capacity = sizeof memory};
    const bool is_known = history->failure != 0;
    record->is_page = true;
    record->deaths = is_known ? history->first.deaths : 0;
    marker_record_put(&bytes, record);
    if (crash_guard_open(&marker->guard, fd, &bytes,
                         is_known ? &history->first.finding.keys : &none)) {
        return true;
    }
    record->is_page = false;
    bytes.size = 0;
    marker_record_put(&bytes, record);
    if (ftruncate(fd, 0) != 0 || !write_marker(fd, bytes.data, bytes.size)) {
        return false;
    }
    marker->file = file_keep(fd);
    return true;
}

bool marker_take(struct marker_folder *folder, uint64_t generation,
                 const struct marker_history *history, struct marker *ret_marker)
{
    if (folder->fd < 0 && file_make_directory(folder->directory_fd, folder->name)) {
        folder->fd = open_marker_folder(folder->directory_fd, folder->name);
    }
    struct file_owned file;
    if (folder->fd < 0 || !file_create_owned(folder->fd, NULL, "", &file)) {
        return false;
    }
    struct marker_record record = marker_record_of(file.number, generation, history->failure);
    ret_marker->id = file.number;
    ret_marker->generation = generation;
    ret_marker->failure = history->failure;
    /* Without locks others would take the marker for a dead process's. */
    if (!file.locked || !fill_marker(file.fd, &record, history, ret_marker)) {
        unlinkat(folder->fd, file.name, 0);
        close(file.fd);
        return false;
    }
    return true;
}

bool marker_is_plain(const struct marker *marker)
{
    return !atomic_load(&marker->guard.page);
}

static bool remove_path(const char *folder_path, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder_path, name) < 0) {
        return false;
    }
    bool removed = unlink(path) == 0;
    free(path);
    return removed;
}

static void remove_own(struct marker *marker, const char *folder_path, bool survived)
{
    static const uint8_t nothing[MARKER_RECORD_SIZE];
    char name[FAILURE_NAME_SIZE];
    unique_format(marker->id, name);
    if (!remove_path(folder_path, name) && file_kept_is_ours(&marker->file)) {
        /* If this fails too, the next start skips the blob once. */
        write_marker(marker->file.fd, nothing, sizeof nothing);
    }
    if (survived && marker->failure != 0) {
        format_failure_name(marker->generation, name);
        remove_path(folder_path, name);
    }
}

void marker_drop(struct marker *marker, const char *folder_path, bool survived)
{
    if (marker_is_plain(marker)) {
        remove_own(marker, folder_path, survived);
        file_kept_close(&marker->file);
    } else {
        crash_guard_end(&marker->guard);
        remove_own(marker, folder_path, crash_guard_has_passed(&marker->guard));
        crash_guard_close(&marker->guard, survived);
    }
}

void marker_leave(struct marker *marker, const char *folder_path)
{
    const struct crash_page *page = atomic_load(&marker->guard.page);
    if (!page) {
        marker_drop(marker, folder_path, false);
    } else if (atomic_load(&page->ended)) {
        remove_own(marker, folder_path, crash_guard_has_passed(&marker->guard));
    }
}
