#include "marker.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_owned.h"

static bool read_record(int fd, struct marker_record *ret_record)
{
    /* One byte more than a record has, so that a longer file is none. */
    uint8_t data[MARKER_RECORD_SIZE + 1];
    ssize_t size = pread(fd, data, sizeof(data), 0);
    return size >= 0 && marker_record_parse(data, (size_t)size, ret_record);
}

/* Whether the marker's process is dead, and was loading. */
static bool read_dead(int folder_fd, const char *name, uint64_t id,
                      struct marker_record *ret_record)
{
    int fd = file_open_abandoned(folder_fd, name);
    if (fd < 0) {
        return false;
    }
    bool dead = read_record(fd, ret_record) && ret_record->id == id;
    if (!dead) {
        /* Never armed, or disarmed: the driver had seen nothing, or had survived. */
        unlinkat(folder_fd, name, 0);
    }
    close(fd);
    return dead;
}

/* The number that a name starts with; false if it does not, or if not just `rest` follows. */
static bool parse_name(const char *name, const char *rest, uint64_t *ret_number)
{
    const size_t digits = UNIQUE_HEX_SIZE - 1;
    if (strspn(name, "0123456789abcdef") != digits || strcmp(name + digits, rest) != 0) {
        return false;
    }
    *ret_number = strtoull(name, NULL, 16);
    return true;
}

static void read_entry(struct marker_folder *folder, const char *name)
{
    uint64_t number;
    struct marker_record record;
    if (parse_name(name, MARKER_STRIKE_SUFFIX, &number)) {
        if (folder->strike_count < MARKER_MAX_FOUND) {
            folder->strikes[folder->strike_count++] = number;
        }
    } else if (parse_name(name, "", &number) && folder->dead_count < MARKER_MAX_FOUND &&
               read_dead(folder->fd, name, number, &record)) {
        folder->dead[folder->dead_count++] = record;
    }
}

void marker_folder_open(int directory_fd, const char *name, struct marker_folder *ret_folder)
{
    ret_folder->directory_fd = directory_fd;
    ret_folder->name = name;
    ret_folder->dead_count = 0;
    ret_folder->strike_count = 0;
    ret_folder->fd = openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int listing_fd = ret_folder->fd < 0 ? -1 : fcntl(ret_folder->fd, F_DUPFD_CLOEXEC, 0);
    DIR *listing = listing_fd < 0 ? NULL : fdopendir(listing_fd);
    if (!listing) {
        if (listing_fd >= 0) {
            close(listing_fd);
        }
        return;
    }
    for (struct dirent *entry = readdir(listing); entry; entry = readdir(listing)) {
        read_entry(ret_folder, entry->d_name);
    }
    closedir(listing);
}

void marker_folder_close(struct marker_folder *folder)
{
    if (folder->fd >= 0) {
        close(folder->fd);
        folder->fd = -1;
    }
}

static bool read_strike(const struct marker_folder *folder, uint64_t generation,
                        struct marker_record *ret_record)
{
    bool listed = false;
    for (size_t i = 0; i < folder->strike_count; i++) {
        listed = listed || folder->strikes[i] == generation;
    }
    if (!listed) {
        return false;
    }
    char name[MARKER_STRIKE_NAME_SIZE];
    marker_strike_name(generation, name);
    int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    bool read = read_record(fd, ret_record);
    close(fd);
    return read && ret_record->generation == generation;
}

static void remove_marker(const struct marker_folder *folder, const struct marker_record *record)
{
    char name[UNIQUE_HEX_SIZE];
    unique_format(record->id, name);
    unlinkat(folder->fd, name, 0);
}

static void remove_strike(const struct marker_folder *folder, uint64_t generation)
{
    char name[MARKER_STRIKE_NAME_SIZE];
    marker_strike_name(generation, name);
    unlinkat(folder->fd, name, 0);
}

static void make_strike(const struct marker_folder *folder, const struct marker_record *record)
{
    char from[UNIQUE_HEX_SIZE];
    char to[MARKER_STRIKE_NAME_SIZE];
    unique_format(record->id, from);
    marker_strike_name(record->generation, to);
    renameat(folder->fd, from, folder->fd, to);
}

enum marker_verdict marker_judge(const struct marker_folder *folder, uint64_t generation,
                                 struct marker_history *ret_history)
{
    struct marker_history history = {0};
    bool struck = read_strike(folder, generation, &history.first);
    for (size_t i = 0; struck && i < folder->dead_count; i++) {
        if (folder->dead[i].generation == generation &&
            folder->dead[i].strike == history.first.id) {
            history.second = folder->dead[i];
            *ret_history = history;
            return MARKER_CONDEMNED;
        }
    }
    enum marker_verdict verdict = MARKER_CLEAR;
    history.strike = struck ? history.first.id : 0;
    for (size_t i = 0; i < folder->dead_count; i++) {
        if (folder->dead[i].generation != generation) {
            continue;
        }
        if (struck) {
            remove_marker(folder, &folder->dead[i]);
        } else {
            make_strike(folder, &folder->dead[i]);
            struck = true;
        }
        verdict = MARKER_SUSPECT;
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
    remove_strike(folder, generation);
}

static bool is_among(uint64_t generation, const uint64_t *generations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (generations[i] == generation) {
            return true;
        }
    }
    return false;
}

void marker_sweep(const struct marker_folder *folder, const uint64_t *generations, size_t count)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        if (!is_among(folder->dead[i].generation, generations, count)) {
            remove_marker(folder, &folder->dead[i]);
        }
    }
    for (size_t i = 0; i < folder->strike_count; i++) {
        if (!is_among(folder->strikes[i], generations, count)) {
            remove_strike(folder, folder->strikes[i]);
        }
    }
}
