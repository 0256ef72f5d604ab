#include "recipe_file.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "file.h"
#include "file_kept.h"

struct recipe_file {
    struct file_kept kept; /* the descriptor is -1 while it rests, what it was stays */
    uint64_t size;
    int folder_fd;
    atomic_bool failed;
    char name[];
};

struct recipe_file *recipe_file_new(int fd, uint64_t size, int folder_fd, const char *name)
{
    const size_t name_size = strlen(name) + 1;
    struct recipe_file *file = malloc(sizeof *file + name_size);
    if (!file) {
        close(fd);
        return NULL;
    }
    *file = (struct recipe_file){.kept = file_keep(fd), .size = size, .folder_fd = folder_fd};
    memcpy(file->name, name, name_size);
    return file;
}

void recipe_file_close(struct recipe_file *file)
{
    if (file) {
        recipe_file_rest(file);
        free(file);
    }
}

void recipe_file_rest(struct recipe_file *file)
{
    file_kept_close(&file->kept);
}

/* -1: there is no such file any more. */
static int open_again(const struct recipe_file *file)
{
    struct file_kept again = file->kept;
    uint64_t size;
    if (file_open(file->folder_fd, file->name, &again.fd, &size) != REASON_ok) {
        return -1;
    }
    if (!file_kept_is_ours(&again)) {
        close(again.fd);
        return -1;
    }
    return again.fd;
}

bool recipe_file_read(struct recipe_file *file, uint64_t offset, void *data, uint64_t size)
{
    if (offset > file->size || size > file->size - offset) {
        return false;
    }
    const bool rests = file->kept.fd < 0;
    const int fd = rests ? open_again(file) : file->kept.fd;
    const bool whole = fd >= 0 && io_read(fd, data, (size_t)size, (off_t)offset) == (ssize_t)size;
    if (rests && fd >= 0) {
        close(fd);
    }
    if (!whole) {
        atomic_store(&file->failed, true);
    }
    return whole;
}

uint8_t *recipe_file_read_new(struct recipe_file *file, uint64_t offset, uint64_t size)
{
    uint8_t *data = malloc((size_t)size);
    if (!data) {
        atomic_store(&file->failed, true);
    } else if (!recipe_file_read(file, offset, data, size)) {
        free(data);
        data = NULL;
    }
    return data;
}

bool recipe_file_failed(const struct recipe_file *file)
{
    return atomic_load(&file->failed);
}
