// SPDX-License-Identifier: Apache-2.0
/* The folder of markers, and what it says of a blob. */
#include "common/blobs/marker.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/files/file.h"

#define DEATHS_OFFSET MARKER_RECORD_SIZE

/* After so many repetitions of a death at one pipeline no further one is a chance. */
#define MANY_DEATHS 4

/* An empty file, last changed when a process was found that somebody had killed without the blob:
 * for so long it may have been the same who ended one with it. */
#define KILLED_NAME    "killed"
#define KILLED_COUNT_S 86400

void marker_failure_name(uint64_t generation, char ret_name[MARKER_FAILURE_NAME_SIZE])
{
    unique_format(generation, ret_name);
    memcpy(ret_name + UNIQUE_HEX_SIZE - 1, MARKER_FAILURE_SUFFIX, sizeof MARKER_FAILURE_SUFFIX);
}

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
    if (parse_marker_name(name, MARKER_FAILURE_SUFFIX, &number)) {
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

bool marker_folder_make(struct marker_folder *folder)
{
    if (folder->fd < 0 && file_make_directory(folder->directory_fd, folder->name)) {
        folder->fd = open_marker_folder(folder->directory_fd, folder->name);
    }
    return folder->fd >= 0;
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
    char name[MARKER_FAILURE_NAME_SIZE];
    marker_failure_name(generation, name);
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
    char name[MARKER_FAILURE_NAME_SIZE];
    marker_failure_name(generation, name);
    unlinkat(folder->fd, name, 0);
}

/* Whether the process of the record used a blob of this generation. */
static bool is_about(const struct marker_record *record, uint64_t generation)
{
    const struct crash_finding *finding = &record->finding;
    return record->generation == generation || finding->saved == generation ||
           finding->saving == generation;
}

static void write_number(const struct marker_folder *folder, const char *name, off_t offset,
                         const void *number, size_t size)
{
    const int fd =
        openat(folder->fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) {
        if (pwrite(fd, number, size, offset) != (ssize_t)size) {
            /* It counts as it did: the blob is skipped once more, or put away a death later. */
        }
        close(fd);
    }
}

/* What it counts as goes into the file first. */
static void make_failure(const struct marker_folder *folder, const struct marker_record *record,
                         uint64_t generation, uint32_t deaths)
{
    char from[UNIQUE_HEX_SIZE];
    char to[MARKER_FAILURE_NAME_SIZE];
    unique_format(record->id, from);
    marker_failure_name(generation, to);
    if (record->is_page) {
        uint8_t memory[sizeof deaths];
        struct bytes bytes = {.data = memory, .capacity = sizeof memory};
        bytes_put_u32(&bytes, deaths);
        write_number(folder, from, DEATHS_OFFSET, memory, sizeof memory);
    }
    renameat(folder->fd, from, folder->fd, to);
}

static bool is_same_pipeline(const struct marker_record *first, const struct marker_record *second)
{
    return crash_keys_share(&first->finding.keys, &second->finding.keys);
}

/* What a death makes of the count. It begins anew with one that did not know of the last, and where
 * the program is killed at every start: with the blob and without. */
static uint32_t count_death(const struct marker_record *first, const struct marker_record *second)
{
    const bool is_same = first && is_same_pipeline(first, second);
    const bool continues = first && (first->finding.without == CRASH_NOT_WITHOUT ||
                                     (first->finding.without == CRASH_WITHOUT_PASSED && is_same));
    return (continues ? first->deaths : 0) + (second->finding.stored || is_same);
}

/* Whether the second death is one too many. What died at pipelines that the blob was not known to
 * hold says nothing of what it holds. */
static bool is_blocking(const struct marker_record *first, const struct marker_record *second)
{
    const bool is_same = is_same_pipeline(first, second);
    if (first->finding.without == CRASH_WITHOUT) {
        return false;
    }
    if (!second->finding.stored || first->finding.without != CRASH_NOT_WITHOUT) {
        return is_same && first->deaths >= MANY_DEATHS;
    }
    return first->finding.stored &&
           (is_same || first->deaths >= 2 || (first->deaths >= 1 && !second->finding.returned));
}

/* What a process without the blob, which is dead or has not lived for long, says of this death. */
static uint32_t say_without(const struct marker_record *first, const struct marker_record *other,
                            uint64_t generation)
{
    const bool is_of_this =
        other->finding.killed && other->generation == generation && other->failure == first->id;
    if (!is_of_this) {
        return CRASH_NOT_WITHOUT;
    }
    return other->finding.passed ? CRASH_WITHOUT_PASSED : CRASH_WITHOUT;
}

static void note_killed(const struct marker_folder *folder)
{
    const int fd =
        openat(folder->fd, KILLED_NAME,
               O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd >= 0) {
        futimens(fd, NULL);
        close(fd);
    }
}

static bool was_killed_lately(const struct marker_folder *folder)
{
    struct stat status;
    return fstatat(folder->fd, KILLED_NAME, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           llabs((long long)time(NULL) - (long long)status.st_mtim.tv_sec) < KILLED_COUNT_S;
}

/* Notes in the strike that a process without the blob did not live either. */
static void judge_without(const struct marker_folder *folder, uint64_t generation,
                          struct marker_record *first)
{
    char name[MARKER_FAILURE_NAME_SIZE];
    marker_failure_name(generation, name);
    for (size_t i = 0; i < folder->dead_count && first->finding.without != CRASH_WITHOUT; i++) {
        const uint32_t without = say_without(first, &folder->dead[i], generation);
        if (first->is_page && without != CRASH_NOT_WITHOUT) {
            first->finding.without = without;
            write_number(folder, name, offsetof(struct crash_page, without), &without,
                         sizeof without);
            note_killed(folder);
        }
    }
    if (first->finding.without == CRASH_NOT_WITHOUT && was_killed_lately(folder)) {
        first->finding.without = CRASH_WITHOUT_PASSED;
    }
}

/* The same of one that is still alive: nobody knows yet for how long. */
static void ask_the_living(const struct marker_folder *folder, uint64_t generation,
                           struct marker_record *first)
{
    DIR *listing = listing_open(folder->fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        uint64_t id;
        struct marker_record record;
        const int fd =
            parse_marker_name(name, "", &id)
                ? openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                : -1;
        if (fd >= 0) {
            const bool is_read = read_marker_record(fd, &record);
            const uint32_t without =
                is_read ? say_without(first, &record, generation) : CRASH_NOT_WITHOUT;
            first->finding.without =
                without != CRASH_NOT_WITHOUT ? without : first->finding.without;
            close(fd);
        }
    }
    listing_close(listing);
}

/* The death that is one too many after the first; NULL: there is none. */
static const struct marker_record *find_blocking(const struct marker_folder *folder,
                                                 uint64_t generation,
                                                 const struct marker_record *first)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (is_about(dead, generation) && dead->failure == first->id && dead->finding.died &&
            is_blocking(first, dead)) {
            return dead;
        }
    }
    return NULL;
}

enum marker_verdict marker_judge(const struct marker_folder *folder, uint64_t generation,
                                 struct marker_history *ret_history)
{
    struct marker_history history = {0};
    bool failed = read_failure(folder, generation, &history.first);
    const uint64_t failure = failed ? history.first.id : 0;
    const struct marker_record *blocking = NULL;
    if (failed) {
        judge_without(folder, generation, &history.first);
        blocking = find_blocking(folder, generation, &history.first);
    }
    if (blocking) {
        ask_the_living(folder, generation, &history.first);
        blocking = find_blocking(folder, generation, &history.first);
    }
    if (blocking) {
        history.second = *blocking;
        *ret_history = history;
        return MARKER_BLOCKED;
    }
    enum marker_verdict verdict = MARKER_CLEAR;
    uint64_t stands = failure; /* id of the strike that there is */
    const struct marker_record before = history.first;
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (!is_about(dead, generation)) {
            continue;
        }
        const bool knew = failure != 0 && stands == failure && dead->failure == failure;
        if (dead->finding.died && (stands == 0 || knew)) {
            const uint32_t deaths = count_death(knew ? &before : NULL, dead);
            make_failure(folder, dead, generation, deaths);
            stands = dead->id;
            history.first = *dead;
            history.first.deaths = deaths;
        } else {
            if (knew && dead->finding.passed && !dead->finding.without) {
                remove_failure(folder, generation);
                stands = 0;
            }
            remove_marker(folder, dead);
        }
        verdict = dead->finding.died ? MARKER_FAILED_ONCE : verdict;
    }
    history.failure = stands;
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
    if (count == 0) {
        unlinkat(folder->fd, KILLED_NAME, 0);
    }
}

void marker_follow(int directory_fd, const char *name, uint64_t from, uint64_t to)
{
    char from_name[MARKER_FAILURE_NAME_SIZE];
    char to_name[MARKER_FAILURE_NAME_SIZE];
    marker_failure_name(from, from_name);
    marker_failure_name(to, to_name);
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
