#include "marker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "file.h"

static const uint8_t magic[8] = {'w', 'p', 'm', 'a', 'r', 'k', '\n', 1};

#define STRIKE_SUFFIX    ".strike"
#define STRIKE_NAME_SIZE (UNIQUE_HEX_SIZE + sizeof(STRIKE_SUFFIX) - 1)

static void strike_name(uint64_t generation, char ret_name[STRIKE_NAME_SIZE])
{
    unique_format(generation, ret_name);
    strcat(ret_name, STRIKE_SUFFIX);
}

static void put_record(struct bytes *bytes, const struct marker_record *record)
{
    bytes_put(bytes, magic, sizeof(magic));
    bytes_put_u64(bytes, record->id);
    bytes_put_u64(bytes, record->generation);
    bytes_put_u64(bytes, record->strike);
    bytes_put_u64(bytes, record->loaded_at);
    bytes_put_u32(bytes, record->process);
    bytes_put(bytes, record->program, sizeof(record->program));
}

bool marker_parse(const uint8_t *data, size_t size, struct marker_record *ret_record)
{
    struct bytes_reader reader = bytes_reader_over(data, size);
    const uint8_t *found_magic = bytes_get(&reader, sizeof(magic));
    struct marker_record record;
    record.id = bytes_get_u64(&reader);
    record.generation = bytes_get_u64(&reader);
    record.strike = bytes_get_u64(&reader);
    record.loaded_at = bytes_get_u64(&reader);
    record.process = bytes_get_u32(&reader);
    const uint8_t *program = bytes_get(&reader, sizeof(record.program));
    if (reader.overrun || bytes_left(&reader) != 0 ||
        memcmp(found_magic, magic, sizeof(magic)) != 0 || record.id == 0) {
        return false;
    }
    memcpy(record.program, program, sizeof(record.program));
    record.program[sizeof(record.program) - 1] = '\0';
    *ret_record = record;
    return true;
}

static int open_to_read(int folder_fd, const char *name)
{
    return openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

static bool read_record(int fd, struct marker_record *ret_record)
{
    /* One byte more than a record has, so that a longer file is none. */
    uint8_t data[MARKER_RECORD_SIZE + 1];
    ssize_t size = pread(fd, data, sizeof(data), 0);
    return size >= 0 && marker_parse(data, (size_t)size, ret_record);
}

/* Whether the marker's process is dead. The lock is shared, so that several that look at once do
 * not take one another for its living owner. */
static bool read_dead(int folder_fd, const char *name, struct marker_record *ret_record)
{
    int fd = open_to_read(folder_fd, name);
    if (fd < 0) {
        return false;
    }
    bool dead = false;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
        dead = read_record(fd, ret_record);
        if (!dead) {
            /* Never armed, or disarmed: the driver had seen nothing, or survived. Should its owner
             * be just about to lock it, he notices, and makes another. */
            unlinkat(folder_fd, name, 0);
        }
    }
    close(fd);
    return dead;
}

/* The number that a name starts with; false if it does not, or something other than `rest` follows.
 */
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
    if (parse_name(name, STRIKE_SUFFIX, &number)) {
        if (folder->strike_count < MARKER_MAX_FOUND) {
            folder->strikes[folder->strike_count++] = number;
        }
    } else if (parse_name(name, "", &number) && folder->dead_count < MARKER_MAX_FOUND &&
               read_dead(folder->fd, name, &record) && record.id == number) {
        folder->dead[folder->dead_count++] = record;
    }
}

static int open_folder(int directory_fd, const char *name)
{
    return openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

void marker_folder_open(int directory_fd, const char *name, struct marker_folder *ret_folder)
{
    ret_folder->directory_fd = directory_fd;
    ret_folder->name = name;
    ret_folder->dead_count = 0;
    ret_folder->strike_count = 0;
    ret_folder->fd = open_folder(directory_fd, name);
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
    char name[STRIKE_NAME_SIZE];
    strike_name(generation, name);
    int fd = open_to_read(folder->fd, name);
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
    char name[STRIKE_NAME_SIZE];
    strike_name(generation, name);
    unlinkat(folder->fd, name, 0);
}

static void make_strike(const struct marker_folder *folder, const struct marker_record *record)
{
    char from[UNIQUE_HEX_SIZE];
    char to[STRIKE_NAME_SIZE];
    unique_format(record->id, from);
    strike_name(record->generation, to);
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

/* A new, locked, still empty marker. -1: none can be made. */
static int create_marker(int folder_fd, uint64_t *ret_id, struct stat *ret_status)
{
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t id = unique_draw();
        char name[UNIQUE_HEX_SIZE];
        unique_format(id, name);
        int fd = openat(folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) {
            return -1;
        }
        bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
        bool looked_at = !locked && errno == EWOULDBLOCK;
        if (locked && fstat(fd, ret_status) == 0 && ret_status->st_nlink > 0) {
            *ret_id = id;
            return fd;
        }
        unlinkat(folder_fd, name, 0);
        close(fd);
        if (!locked && !looked_at) {
            return -1; /* no locks here: others would take the marker for a dead one */
        }
    }
    return -1;
}

static bool arm(int fd, const struct marker_record *record)
{
    uint8_t memory[MARKER_RECORD_SIZE];
    struct bytes bytes = {.data = memory, .capacity = sizeof(memory)};
    put_record(&bytes, record);
    return file_size_allowed(bytes.size) &&
           pwrite(fd, bytes.data, bytes.size, 0) == (ssize_t)bytes.size;
}

bool marker_take(struct marker_folder *folder, uint64_t generation, uint64_t strike,
                 struct marker *ret_marker)
{
    if (folder->fd < 0) {
        mkdirat(folder->directory_fd, folder->name, 0700);
        folder->fd = open_folder(folder->directory_fd, folder->name);
        if (folder->fd < 0) {
            return false;
        }
    }
    struct marker_record record = {
        .generation = generation,
        .strike = strike,
        .loaded_at = (uint64_t)time(NULL),
        .process = (uint32_t)getpid(),
    };
    snprintf(record.program, sizeof(record.program), "%s", program_invocation_short_name);
    struct stat status;
    int fd = create_marker(folder->fd, &record.id, &status);
    if (fd < 0) {
        return false;
    }
    if (!arm(fd, &record)) {
        remove_marker(folder, &record);
        close(fd);
        return false;
    }
    *ret_marker = (struct marker){
        .fd = fd,
        .device = status.st_dev,
        .inode = status.st_ino,
        .id = record.id,
        .generation = generation,
        .strike = strike,
    };
    return true;
}

/* Whether the descriptor is still ours: a program that closes all it does not know (as daemons do)
 * may have given the number to a file of its own. */
static bool still_ours(const struct marker *marker)
{
    struct stat status;
    return fstat(marker->fd, &status) == 0 && status.st_dev == marker->device &&
           status.st_ino == marker->inode;
}

static bool remove_path(const char *folder_path, const char *name)
{
    size_t size = strlen(folder_path) + 1 + strlen(name) + 1;
    char *path = malloc(size);
    if (!path) {
        return false;
    }
    snprintf(path, size, "%s/%s", folder_path, name);
    bool removed = unlink(path) == 0;
    free(path);
    return removed;
}

/* Makes the marker say nothing, through the descriptor alone. Should that fail too, the next start
 * skips the blob once. */
static void disarm(const struct marker *marker)
{
    const uint8_t nothing[sizeof(magic)] = {0};
    ssize_t written = 0;
    if (file_size_allowed(sizeof(nothing))) {
        written = pwrite(marker->fd, nothing, sizeof(nothing), 0);
    }
    (void)written;
}

void marker_drop(struct marker *marker, const char *folder_path)
{
    char name[STRIKE_NAME_SIZE];
    unique_format(marker->id, name);
    bool removed = remove_path(folder_path, name);
    if (still_ours(marker)) {
        if (!removed) {
            disarm(marker);
        }
        close(marker->fd);
    }
    if (marker->strike != 0) {
        strike_name(marker->generation, name);
        remove_path(folder_path, name);
    }
}
