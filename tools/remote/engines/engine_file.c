// SPDX-License-Identifier: Apache-2.0
/* file:///folder: a volume that machines share. A value is a file, replaced whole by rename; heads
 * change under an flock on one file of the folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "tools/remote/engines/engine.h"

#define ENGINE_FILE_LOCK "v1/lock"

/* Longest wait for another machine's swap, milliseconds. */
#define ENGINE_FILE_WAIT_MS 10000

struct engine_file {
    struct engine engine;
    char root[URL_SIZE];
};

/* Bytes of a path of ours below the folder. */
#define ENGINE_FILE_PATH_SIZE (URL_SIZE + ENGINE_PATH_SIZE + 32)

static void engine_file_path(const struct engine *engine, const char *path, char *ret_path)
{
    const struct engine_file *file = (const struct engine_file *)engine;
    snprintf(ret_path, ENGINE_FILE_PATH_SIZE, "%s/%s", file->root, path);
}

static enum status engine_file_fail(struct engine *engine, int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return STATUS_no_file;
    case EACCES:
    case EPERM:
    case EROFS:
        return engine_fail(engine, STATUS_remote_forbidden, "%s", strerror(error));
    case ENOSPC:
    case EDQUOT:
        return engine_fail(engine, STATUS_remote_full, "%s", strerror(error));
    default:
        return engine_fail(engine, STATUS_remote_error, "%s", strerror(error));
    }
}

/* The same of a write or a listing: what is missing there is no value. */
static enum status engine_file_fail_path(struct engine *engine, int error)
{
    const enum status reason = engine_file_fail(engine, error);
    return reason == STATUS_no_file
               ? engine_fail(engine, STATUS_remote_error, "%s", strerror(error))
               : reason;
}

/* Why a value is not there: the first push makes the remote's own folder, but none above it, none
 * directly below the root, where volumes are mounted, or are not, and none that a link leads to. */
static enum status engine_file_miss(struct engine *engine)
{
    const struct engine_file *file = (const struct engine_file *)engine;
    char above[URL_SIZE];
    struct stat status;
    if (!file->root[0]) {
        return STATUS_no_file;
    }
    snprintf(above, sizeof above, "%.*s", (int)(strrchr(file->root, '/') - file->root), file->root);
    /* Asked once whether it is there: another machine may be making it. */
    engine->is_unmade = lstat(file->root, &status) != 0;
    if (access(engine->is_unmade ? above : file->root, F_OK) == 0) {
        return STATUS_no_file;
    }
    return engine_fail(engine, STATUS_remote_unreachable, "there is no folder %s",
                       engine->is_unmade && above[0] ? above : file->root);
}

static enum status engine_file_get(struct engine *engine, const char *path, uint64_t limit,
                                   struct engine_value *ret_value)
{
    char full[ENGINE_FILE_PATH_SIZE];
    struct engine_value value = {0};
    struct stat status;
    engine_file_path(engine, path, full);
    engine->traffic.requests++;
    engine->traffic.answers++;
    const enum status reason = limit ? file_read_any(full, limit, &value.data, &value.size)
                               : access(full, R_OK) == 0 ? STATUS_ok
                                                         : engine_file_fail(engine, errno);
    if (reason == STATUS_too_large) {
        return engine_too_large(engine);
    }
    if (reason == STATUS_unreadable) {
        return engine_of_value(engine,
                               engine_fail(engine, STATUS_remote_forbidden, "permission denied"));
    }
    if (reason != STATUS_ok) {
        return reason == STATUS_no_file ? engine_file_miss(engine) : reason;
    }
    const time_t now = time(NULL);
    if (stat(full, &status) == 0) {
        value.age_s = engine_age(now, status.st_mtim.tv_sec);
        value.has_age = true;
    }
    engine->traffic.received += value.size;
    *ret_value = value;
    return STATUS_ok;
}

/* Makes the folders above a file, the remote's own included, but none above that. False: errno says
 * why. */
static bool engine_file_make_parents(char *full, size_t root)
{
    for (char *slash = full + root; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool made = mkdir(full, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) {
            return false;
        }
    }
    return true;
}

/* Makes a file. 0, or an errno value; then a part of it may be there. */
static int engine_file_write(const char *temporary, const void *data, size_t size)
{
    AUTO_CLOSE const int fd =
        open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    return fd >= 0 && io_write(fd, data, size, IO_HERE) && fsync(fd) == 0 ? 0 : errno;
}

static enum status engine_file_put(struct engine *engine, const char *path, const void *data,
                                   size_t size)
{
    const struct engine_file *file = (const struct engine_file *)engine;
    char full[ENGINE_FILE_PATH_SIZE];
    char temporary[ENGINE_FILE_PATH_SIZE + UNIQUE_HEX_SIZE + 8];
    char number[UNIQUE_HEX_SIZE];
    engine_file_path(engine, path, full);
    unique_format(unique_draw(), number);
    snprintf(temporary, sizeof temporary, "%s.%s" TEMPORARY_SUFFIX, full, number);
    engine->traffic.requests++;
    engine->traffic.answers++;
    int error = engine_file_write(temporary, data, size);
    if (error == ENOENT) {
        error = engine_file_make_parents(full, strlen(file->root))
                    ? engine_file_write(temporary, data, size)
                    : errno;
    }
    if (error == 0 && rename(temporary, full) != 0) {
        error = errno;
    }
    if (error != 0) {
        unlink(temporary);
        return engine_file_fail_path(engine, error);
    }
    engine->traffic.sent += size;
    return STATUS_ok;
}

/* The lock of all heads. A file system without locks answers remote_no_conditions. */
static enum status engine_file_lock(struct engine *engine, int *ret_fd)
{
    const struct engine_file *file = (const struct engine_file *)engine;
    char full[ENGINE_FILE_PATH_SIZE];
    engine_file_path(engine, ENGINE_FILE_LOCK, full);
    if (!engine_file_make_parents(full, strlen(file->root))) {
        return engine_file_fail_path(engine, errno);
    }
    const int fd = open(full, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        return engine_file_fail_path(engine, errno);
    }
    const uint64_t until =
        clock_now_ns() + engine_time_left(engine, ENGINE_FILE_WAIT_MS) * CLOCK_MS;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EACCES && errno != EINTR) { /* EACCES: on SMB */
            const int error = errno;
            close(fd);
            return engine_fail(engine, STATUS_remote_no_conditions, "flock: %s", strerror(error));
        }
        if (clock_now_ns() >= until || engine_time_left(engine, 1) == 0) {
            close(fd);
            return engine_fail(engine, STATUS_remote_timeout, "the lock is held");
        }
        clock_pause(2 * CLOCK_MS);
    }
    *ret_fd = fd;
    return STATUS_ok;
}

static enum status engine_file_swap(struct engine *engine, const char *path,
                                    const struct engine_value *old, const void *data, size_t size)
{
    AUTO_CLOSE int lock_fd = -1;
    enum status reason = engine_file_lock(engine, &lock_fd);
    if (reason != STATUS_ok) {
        return reason;
    }
    AUTO(engine_value_free) struct engine_value found = {0};
    char full[ENGINE_FILE_PATH_SIZE];
    engine_file_path(engine, path, full);
    reason = file_read_any(full, UINT32_MAX, &found.data, &found.size);
    if (reason != STATUS_ok && reason != STATUS_no_file) {
        return reason;
    }
    const bool is_there = reason == STATUS_ok;
    return (old ? is_there && engine_value_equal(&found, old) : !is_there)
               ? engine_file_put(engine, path, data, size)
               : engine_fail(engine, STATUS_remote_conflict, "another machine was first");
}

/* False: no more are wanted. */
static bool engine_file_visit(struct engine *engine, const char *folder, int depth,
                              engine_visit *visit, void *user, enum status *reason)
{
    char full[ENGINE_FILE_PATH_SIZE];
    engine_file_path(engine, folder, full);
    AUTO_LISTING DIR *listing = opendir(full);
    if (!listing) {
        *reason = errno == ENOENT ? *reason : engine_file_fail_path(engine, errno);
        return true;
    }
    bool more = true;
    for (const char *name; more && (name = listing_next(listing));) {
        char path[ENGINE_PATH_SIZE];
        struct stat status;
        const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
        if (name[0] == '.' || length >= (int)sizeof path || text_ends_in(name, TEMPORARY_SUFFIX)) {
            continue;
        }
        /* Links are followed, as engine_file_get does. */
        if (fstatat(dirfd(listing), name, &status, 0) != 0) {
            *reason = errno == ENOENT || errno == ELOOP ? *reason : engine_file_fail(engine, errno);
        } else if (S_ISREG(status.st_mode)) {
            more = visit(path, user);
        } else if (S_ISDIR(status.st_mode) && depth > 0) {
            more = engine_file_visit(engine, path, depth - 1, visit, user, reason);
        }
    }
    if (more && errno != 0) {
        *reason = engine_file_fail(engine, errno); /* a part of it would count as all */
    }
    return more;
}

static enum status engine_file_list(struct engine *engine, const char *prefix, engine_visit *visit,
                                    void *user)
{
    char folder[ENGINE_PATH_SIZE];
    enum status reason = STATUS_ok;
    snprintf(folder, sizeof folder, "%.*s", (int)strlen(prefix) - 1, prefix);
    engine->traffic.requests++;
    engine->traffic.answers++;
    engine_file_visit(engine, folder, 2, visit, user, &reason);
    return reason == STATUS_ok && engine_file_miss(engine) != STATUS_no_file
               ? STATUS_remote_unreachable
               : reason;
}

static void engine_file_sweep_folder(struct engine *engine, const char *folder, int depth,
                                     uint64_t age_s)
{
    char full[ENGINE_FILE_PATH_SIZE];
    engine_file_path(engine, folder, full);
    AUTO_LISTING DIR *listing = opendir(full);
    const time_t now = time(NULL);
    for (const char *name; (name = listing_next(listing));) {
        char path[ENGINE_PATH_SIZE];
        char of[NAMES_SIZE];
        struct stat status;
        if (name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
            fstatat(dirfd(listing), name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (S_ISDIR(status.st_mode) && depth > 0) {
            engine_file_sweep_folder(engine, path, depth - 1, age_s);
        } else if (S_ISREG(status.st_mode) && names_is_temporary(name, of) &&
                   now > status.st_mtime && (uint64_t)(now - status.st_mtime) > age_s) {
            unlinkat(dirfd(listing), name, 0);
        }
    }
}

static void engine_file_sweep(struct engine *engine, uint64_t age_s)
{
    engine_file_sweep_folder(engine, "v1", 2, age_s);
}

static enum status engine_file_remove(struct engine *engine, const char *path)
{
    char full[ENGINE_FILE_PATH_SIZE];
    engine_file_path(engine, path, full);
    engine->traffic.requests++;
    engine->traffic.answers++;
    return unlink(full) == 0 ? STATUS_ok : engine_file_fail(engine, errno);
}

static void engine_file_close(struct engine *engine)
{
    free(engine);
}

struct engine *engine_file_open(const struct url *url)
{
    static const struct engine_operations operations = {
        .get = engine_file_get,
        .put = engine_file_put,
        .swap = engine_file_swap,
        .list = engine_file_list,
        .remove = engine_file_remove,
        .sweep = engine_file_sweep,
        .close = engine_file_close,
    };
    struct engine_file *file = calloc(1, sizeof *file);
    if (!file) {
        return NULL;
    }
    file->engine.operations = &operations;
    url_local_path(url, file->root);
    return &file->engine;
}
