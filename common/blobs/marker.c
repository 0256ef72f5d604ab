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

static const uint8_t magic[MARKER_MAGIC_SIZE] = {'w', 'p', 'm', 'a', 'r', 'k', '\n', 1};

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
    bytes_put(bytes, magic, sizeof magic);
    bytes_put_u64(bytes, record->id);
    bytes_put_u64(bytes, record->generation);
    bytes_put_u64(bytes, record->failure);
    bytes_put_u64(bytes, record->loaded_at);
    bytes_put_u32(bytes, record->process);
    bytes_put(bytes, record->program, sizeof record->program);
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

bool marker_record_parse(const void *data, size_t size, struct marker_record *ret_record)
{
    struct bytes_reader reader = bytes_reader_over(data, size);
    const uint8_t *found_magic = bytes_get(&reader, sizeof magic);
    struct marker_record record;
    record.id = bytes_get_u64(&reader);
    record.generation = bytes_get_u64(&reader);
    record.failure = bytes_get_u64(&reader);
    record.loaded_at = bytes_get_u64(&reader);
    record.process = bytes_get_u32(&reader);
    const uint8_t *program = bytes_get(&reader, sizeof record.program);
    if (reader.overrun || bytes_left(&reader) != 0 || record.id == 0 ||
        memcmp(found_magic, magic, sizeof magic) != 0) {
        return false;
    }
    memcpy(record.program, program, sizeof record.program);
    make_printable(record.program);
    *ret_record = record;
    return true;
}

/* The folder. */

static bool read_marker_record(int fd, struct marker_record *ret_record)
{
    /* One byte more than a record, so that a longer file is refused. */
    uint8_t data[MARKER_RECORD_SIZE + 1];
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
    return read && ret_record->generation == generation;
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

static void make_failure(const struct marker_folder *folder, const struct marker_record *record)
{
    char from[UNIQUE_HEX_SIZE];
    char to[FAILURE_NAME_SIZE];
    unique_format(record->id, from);
    format_failure_name(record->generation, to);
    renameat(folder->fd, from, folder->fd, to);
}

enum marker_verdict marker_judge(const struct marker_folder *folder, uint64_t generation,
                                 struct marker_history *ret_history)
{
    struct marker_history history = {0};
    bool failed = read_failure(folder, generation, &history.first);
    for (size_t i = 0; failed && i < folder->dead_count; i++) {
        if (folder->dead[i].generation == generation &&
            folder->dead[i].failure == history.first.id) {
            history.second = folder->dead[i];
            *ret_history = history;
            return MARKER_BLOCKED;
        }
    }
    enum marker_verdict verdict = MARKER_CLEAR;
    history.failure = failed ? history.first.id : 0;
    for (size_t i = 0; i < folder->dead_count; i++) {
        if (folder->dead[i].generation != generation) {
            continue;
        }
        if (failed) {
            remove_marker(folder, &folder->dead[i]);
        } else {
            make_failure(folder, &folder->dead[i]);
            failed = true;
        }
        verdict = MARKER_FAILED_ONCE;
    }
    *ret_history = history;
    return verdict;
}

void marker_forget(const struct marker_folder *folder, uint64_t generation)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        if (folder->dead[i].generation == generation) {
            remove_marker(folder, &folder->dead[i]);
        }
    }
    remove_failure(folder, generation);
}

void marker_sweep(const struct marker_folder *folder, const uint64_t *generations, size_t count)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        if (!contains_generation(generations, count, folder->dead[i].generation)) {
            remove_marker(folder, &folder->dead[i]);
        }
    }
    for (size_t i = 0; i < folder->failure_count; i++) {
        if (!contains_generation(generations, count, folder->failures[i])) {
            remove_failure(folder, folder->failures[i]);
        }
    }
}

/* A marker of this process. */

static bool write_marker(int fd, const void *data, size_t size)
{
    return file_size_allowed(size) && pwrite(fd, data, size, 0) == (ssize_t)size;
}

static bool write_marker_record(int fd, const struct marker_record *record)
{
    uint8_t memory[MARKER_RECORD_SIZE];
    struct bytes bytes = {.data = memory, .capacity = sizeof memory};
    marker_record_put(&bytes, record);
    return write_marker(fd, bytes.data, bytes.size);
}

bool marker_take(struct marker_folder *folder, uint64_t generation, uint64_t failure,
                 struct marker *ret_marker)
{
    if (folder->fd < 0 && file_make_directory(folder->directory_fd, folder->name)) {
        folder->fd = open_marker_folder(folder->directory_fd, folder->name);
    }
    struct file_owned file;
    if (folder->fd < 0 || !file_create_owned(folder->fd, NULL, "", &file)) {
        return false;
    }
    const struct marker_record record = marker_record_of(file.number, generation, failure);
    /* Without locks others would take the marker for a dead process's. */
    if (!file.locked || !write_marker_record(file.fd, &record)) {
        unlinkat(folder->fd, file.name, 0);
        close(file.fd);
        return false;
    }
    *ret_marker = (struct marker){
        .file = file_keep(file.fd),
        .id = record.id,
        .generation = generation,
        .failure = failure,
    };
    return true;
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

void marker_drop(struct marker *marker, const char *folder_path, bool survived)
{
    static const uint8_t nothing[MARKER_RECORD_SIZE];
    char name[FAILURE_NAME_SIZE];
    unique_format(marker->id, name);
    if (!remove_path(folder_path, name) && file_kept_is_ours(&marker->file)) {
        /* If this fails too, the next start skips the blob once. */
        write_marker(marker->file.fd, nothing, sizeof nothing);
    }
    file_kept_close(&marker->file);
    if (survived && marker->failure != 0) {
        format_failure_name(marker->generation, name);
        remove_path(folder_path, name);
    }
}
