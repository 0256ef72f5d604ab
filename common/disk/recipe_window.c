#include "recipe_window.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct recipe_window {
    uint8_t *data;
    size_t size;
    int fd; /* -1: detached */
    dev_t device;
    ino_t inode;
    atomic_bool failed;
};

struct recipe_window *recipe_window_open(int fd, size_t size)
{
    struct recipe_window *window = malloc(sizeof *window);
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!window || data == MAP_FAILED) {
        if (data != MAP_FAILED) {
            munmap(data, size);
        }
        free(window);
        close(fd);
        return NULL;
    }
    struct stat status = {0};
    fstat(fd, &status);
    *window = (struct recipe_window){
        .data = data, .size = size, .fd = fd, .device = status.st_dev, .inode = status.st_ino};
    return window;
}

void recipe_window_close(struct recipe_window *window)
{
    if (window) {
        recipe_window_detach(window);
        munmap(window->data, window->size);
        free(window);
    }
}

const uint8_t *recipe_window_data(const struct recipe_window *window)
{
    return window->data;
}

static bool read_fully(int fd, uint8_t *data, size_t size, uint64_t offset)
{
    while (size > 0) {
        ssize_t got = pread(fd, data, size, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        data += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

bool recipe_window_read(struct recipe_window *window, uint64_t offset, uint64_t size)
{
    if (offset > window->size || size > window->size - offset) {
        return false;
    }
    bool whole =
        window->fd >= 0 && read_fully(window->fd, window->data + offset, (size_t)size, offset);
    if (!whole) {
        atomic_store(&window->failed, true);
    }
    return whole;
}

void recipe_window_forget(struct recipe_window *window)
{
    madvise(window->data, window->size, MADV_DONTNEED);
}

/* A program that closes descriptors it does not know may have made a file of its own of this
 * number.
 */
static bool is_still_ours(const struct recipe_window *window)
{
    struct stat status;
    return fstat(window->fd, &status) == 0 && status.st_dev == window->device &&
           status.st_ino == window->inode;
}

void recipe_window_detach(struct recipe_window *window)
{
    if (window->fd >= 0 && is_still_ours(window)) {
        close(window->fd);
    }
    window->fd = -1;
}

bool recipe_window_failed(const struct recipe_window *window)
{
    return atomic_load(&window->failed);
}
