#include "marker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "file_owned.h"

static bool arm(int fd, const struct marker_record *record)
{
    uint8_t memory[MARKER_RECORD_SIZE];
    struct bytes bytes = {.data = memory, .capacity = sizeof(memory)};
    marker_record_put(&bytes, record);
    return file_size_allowed(bytes.size) &&
           pwrite(fd, bytes.data, bytes.size, 0) == (ssize_t)bytes.size;
}

bool marker_take(struct marker_folder *folder, uint64_t generation, uint64_t strike,
                 struct marker *ret_marker)
{
    if (folder->fd < 0 && file_make_directory(folder->directory_fd, folder->name)) {
        folder->fd = openat(folder->directory_fd, folder->name,
                            O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    }
    struct file_owned file;
    if (folder->fd < 0 || !file_create_owned(folder->fd, NULL, "", &file)) {
        return false;
    }
    struct stat status;
    const struct marker_record record = marker_record_of(file.number, generation, strike);
    /* Without locks others would take the marker for a dead process's. */
    if (!file.locked || fstat(file.fd, &status) != 0 || !arm(file.fd, &record)) {
        unlinkat(folder->fd, file.name, 0);
        close(file.fd);
        return false;
    }
    *ret_marker = (struct marker){
        .fd = file.fd,
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
    const uint8_t nothing[MARKER_RECORD_SIZE] = {0};
    ssize_t written = 0;
    if (file_size_allowed(sizeof(nothing))) {
        written = pwrite(marker->fd, nothing, sizeof(nothing), 0);
    }
    (void)written;
}

void marker_drop(struct marker *marker, const char *folder_path, bool survived)
{
    char name[MARKER_STRIKE_NAME_SIZE];
    unique_format(marker->id, name);
    bool removed = remove_path(folder_path, name);
    if (still_ours(marker)) {
        if (!removed) {
            disarm(marker);
        }
        close(marker->fd);
    }
    if (survived && marker->strike != 0) {
        marker_strike_name(marker->generation, name);
        remove_path(folder_path, name);
    }
}
