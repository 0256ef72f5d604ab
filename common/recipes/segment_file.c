// SPDX-License-Identifier: Apache-2.0
#include "common/recipes/segment_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/files/file.h"

struct segment_file *segment_file_new(int fd, uint64_t size, int folder_fd, const char *name)
{
    const size_t name_size = strlen(name) + 1;
    struct segment_file *file = malloc(sizeof *file + name_size);
    if (!file) {
        close(fd);
        return NULL;
    }
    *file = (struct segment_file){.kept = file_keep(fd), .size = size, .folder_fd = folder_fd};
    memcpy(file->name, name, name_size);
    return file;
}

void segment_file_free(struct segment_file *file)
{
    if (file) {
        file_kept_close(&file->kept);
        free(file);
    }
}

/* -1: there is no such file any more. */
static int segment_file_reopen(const struct segment_file *file)
{
    struct file_kept again = file->kept;
    uint64_t size;
    if (file_open(file->folder_fd, file->name, &again.fd, &size) != STATUS_ok) {
        return -1;
    }
    if (!file_kept_is_ours(&again)) {
        close(again.fd);
        return -1;
    }
    return again.fd;
}

bool segment_file_read(struct segment_file *file, uint64_t offset, void *data, uint64_t size)
{
    if (offset > file->size || size > file->size - offset) {
        return false;
    }
    const bool is_closed = file->kept.fd < 0;
    const int fd = is_closed ? segment_file_reopen(file) : file->kept.fd;
    const bool whole = fd >= 0 && io_read(fd, data, (size_t)size, (off_t)offset) == (ssize_t)size;
    if (is_closed && fd >= 0) {
        close(fd);
    }
    if (!whole) {
        atomic_store(&file->failed, true);
    }
    return whole;
}

uint8_t *segment_file_read_new(struct segment_file *file, uint64_t offset, uint64_t size)
{
    uint8_t *data = malloc((size_t)size);
    if (!data) {
        atomic_store(&file->failed, true);
    } else if (!segment_file_read(file, offset, data, size)) {
        free(data);
        data = NULL;
    }
    return data;
}

bool segment_file_read_rest(struct segment_file *file, uint64_t offset, struct bytes *ret_rest)
{
    const size_t size = (size_t)(file->size - offset);
    if (!bytes_reserve(ret_rest, size) || !segment_file_read(file, offset, ret_rest->data, size)) {
        return false;
    }
    ret_rest->size = size;
    return true;
}
