#include "recipe_resume.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recipe_folder.h"
#include "recipe_format.h"

/* Bounds what a look costs where nothing can be gone on with. */
#define MAX_LOOKED_AT 1024

/* As file_open trusts a file, and only this user's: what root has put there stays as it is. */
static bool is_suitable(int fd, uint64_t max_size, uint64_t *ret_size)
{
    struct stat status;
    *ret_size = 0;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 || status.st_nlink != 1) {
        return false;
    }
    *ret_size = (uint64_t)status.st_size;
    return *ret_size > RECIPE_HEADER_SIZE && *ret_size < max_size;
}

/* Whether there is nothing but whole records, none of an index: what comes behind them is found. */
static bool read_entries(const uint8_t *data, size_t size, struct bytes *entries)
{
    struct recipe_walk walk = {.data = data, .size = size, .next = RECIPE_HEADER_SIZE};
    struct recipe_record record;
    uint64_t end = 0;
    bool is_open = recipe_check_header(data, size) == REASON_ok;
    while (is_open && recipe_walk_next(&walk, &record)) {
        is_open = record.kind < RECIPE_INDEX;
        end = record.offset + recipe_record_extent(record.size);
        recipe_index_put(entries, record.kind, record.digest, record.offset);
    }
    return is_open && walk.dropped == 0 && end == size && !entries->failed;
}

/* Under its lock. */
static bool read_segment(int fd, struct recipe_resumed *resumed)
{
    const size_t size = (size_t)resumed->size;
    uint8_t *data = malloc(size);
    const bool is_whole = data && pread(fd, data, size, 0) == (ssize_t)size &&
                          read_entries(data, size, &resumed->entries);
    free(data);
    return is_whole;
}

/* False: it belongs to somebody, or cannot be gone on with. */
static bool take(int folder_fd, const char *name, uint64_t max_size, struct recipe_resumed *resumed)
{
    const int fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return false;
    }
    /* Again under the lock: its owner may have just ended, or somebody have removed it. */
    *resumed = (struct recipe_resumed){.fd = fd};
    if (is_suitable(fd, max_size, &resumed->size) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        is_suitable(fd, max_size, &resumed->size) && read_segment(fd, resumed)) {
        return true;
    }
    bytes_free(&resumed->entries);
    close(fd);
    return false;
}

bool recipe_resume(int folder_fd, uint64_t max_size, struct recipe_resumed *ret_resumed)
{
    DIR *listing = listing_open(folder_fd, ".");
    struct recipe_resumed resumed;
    const char *name;
    bool found = false;
    for (int i = 0; listing && !found && i < MAX_LOOKED_AT; i++) {
        name = recipe_folder_next_segment(listing);
        if (!name) {
            break;
        }
        found = take(folder_fd, name, max_size, &resumed);
    }
    if (listing) {
        closedir(listing);
    }
    if (found) {
        *ret_resumed = resumed;
    }
    return found;
}
