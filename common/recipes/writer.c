// SPDX-License-Identifier: Apache-2.0
/* The writer of recipes.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/files/file.h"
#include "common/recipes/recipes.h"

/* Names that are tried to find a segment to resume: bounds the time where there is none. */
#define MAX_TRIED 1024

/* Bytes that recipes leave free for caches; of a small disk, half. */
#define RESERVE ((uint64_t)64 << 20)

struct recipe_writer {
    char *root;
    char *app;
    uint64_t max_size;
    uint64_t small;
    pid_t process;
    struct file_kept file; /* fd -1: no segment yet */
    char name[NAME_MAX + 1];
    uint64_t size;
    uint64_t resumed;     /* bytes of it that were there before */
    struct bytes entries; /* of the index, in the order of the records */
};

struct recipe_writer *recipe_writer_new(const char *root, const char *app, uint64_t max_size,
                                        uint64_t small)
{
    struct recipe_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        return NULL;
    }
    *writer = (struct recipe_writer){
        .root = strdup(root),
        .app = strdup(app),
        .max_size = max_size,
        .small = small,
        .process = getpid(),
        .file.fd = -1,
    };
    if (!writer->root || !writer->app) {
        recipe_writer_close(writer, false);
        return NULL;
    }
    return writer;
}

/* Lets the segment go; the next append resumes or makes another. */
static void writer_leave_segment(struct recipe_writer *writer)
{
    if (writer->process == getpid() && file_kept_is_ours(&writer->file)) {
        /* Explicitly: the child of a fork may share the description. */
        flock(writer->file.fd, LOCK_UN);
    }
    file_kept_close(&writer->file);
    writer->size = 0;
    writer->resumed = 0;
    writer->entries.size = 0;
}

/* Removes the segment, unless somebody has put another file in its place, and lets it go. */
static bool writer_remove_segment(struct recipe_writer *writer)
{
    AUTO_CLOSE int folder_fd = -1;
    if (writer->process != getpid() || !file_kept_is_ours(&writer->file) ||
        recipe_folder_open(writer->root, writer->app, false, &folder_fd) != STATUS_ok) {
        return false;
    }
    const bool removed = file_is_still_named(folder_fd, writer->name, writer->file.fd) &&
                         unlinkat(folder_fd, writer->name, 0) == 0;
    writer_leave_segment(writer);
    return removed;
}

static enum status writer_make_segment(struct recipe_writer *writer)
{
    AUTO_CLOSE int folder_fd = -1;
    struct file_owned file;
    const enum status status = recipe_folder_open(writer->root, writer->app, true, &folder_fd);
    if (status != STATUS_ok) {
        return status;
    }
    if (!file_create_owned(folder_fd, NULL, RECIPE_SUFFIX, &file)) {
        return errno == ENOENT ? STATUS_directory_unusable : status_from_errno(errno);
    }
    writer->file = file_keep(file.fd);
    memcpy(writer->name, file.name, sizeof writer->name);
    return STATUS_ok;
}

/* Whether a file may be resumed: trusted as file_open does, this user's own (root's stays as it
 * is), still there, small, and not sealed. */
static bool writer_may_resume(int fd, uint64_t small, uint64_t *ret_size)
{
    struct stat status;
    uint8_t footer[RECIPE_RECORD_HEADER];
    uint64_t index;
    *ret_size = 0;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 || status.st_nlink != 1) {
        return false;
    }
    *ret_size = (uint64_t)status.st_size;
    return *ret_size > RECIPE_HEADER_SIZE && *ret_size < small &&
           io_read(fd, footer, sizeof footer, (off_t)(*ret_size - sizeof footer)) ==
               (ssize_t)sizeof footer &&
           !recipe_index_begins(footer, *ret_size, &index);
}

/* Reads the entries of a segment that holds whole records only, and no index: readers would not
 * find records behind an index or a torn tail. */
static bool writer_read_entries(const uint8_t *data, size_t size, struct bytes *entries)
{
    struct recipe_walk walk = {.data = data, .size = size, .next = RECIPE_HEADER_SIZE};
    struct recipe_record record;
    uint64_t end = 0;
    bool is_open = recipe_check_header(data, size) == STATUS_ok;
    while (is_open && recipe_walk_next(&walk, &record)) {
        is_open = record.kind < RECIPE_INDEX;
        end = record.offset + recipe_record_extent(record.size);
        recipe_index_put(entries, record.kind, record.digest, record.offset);
    }
    return is_open && walk.dropped == 0 && end == size && !entries->failed;
}

/* False: another process owns the segment, or it cannot be resumed. */
static bool writer_try_resume(struct recipe_writer *writer, int folder_fd, const char *name)
{
    const int fd = io_open(folder_fd, name, O_RDWR | O_NOFOLLOW);
    uint64_t size;
    uint8_t *data = NULL;
    struct bytes entries = {0};
    /* Checked again under the lock: its owner may have just ended, or somebody have removed it. */
    const bool may = fd >= 0 && writer_may_resume(fd, writer->small, &size) &&
                     !file_may_be_owned_elsewhere(name, fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                     writer_may_resume(fd, writer->small, &size) && file_fits_memory(size) &&
                     (data = malloc((size_t)size)) &&
                     io_read(fd, data, (size_t)size, 0) == (ssize_t)size &&
                     writer_read_entries(data, (size_t)size, &entries);
    free(data);
    if (may) {
        bytes_free(&writer->entries);
        writer->file = file_keep(fd);
        snprintf(writer->name, sizeof writer->name, "%s", name);
        writer->size = size;
        writer->resumed = size;
        writer->entries = entries;
        return true;
    }
    bytes_free(&entries);
    io_close(fd);
    return false;
}

/* Takes a small segment of a dead process, if there is one: else each process that records
 * something would leave a file. */
static void writer_resume_segment(struct recipe_writer *writer)
{
    AUTO_CLOSE int folder_fd = -1;
    if (writer->small == 0 ||
        recipe_folder_open(writer->root, writer->app, false, &folder_fd) != STATUS_ok) {
        return;
    }
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    bool found = false;
    for (int i = 0; !found && i < MAX_TRIED && (name = recipe_folder_next_segment(listing)); i++) {
        found = writer_try_resume(writer, folder_fd, name);
    }
}

/* Whether so many bytes more leave room for caches. A file system that does not tell how large it
 * is has no reserve. */
static bool writer_leaves_reserve(int fd, uint64_t size)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0) {
        return true;
    }
    const uint64_t half = disk.f_blocks * (uint64_t)disk.f_frsize / 2;
    const uint64_t free_bytes = disk.f_bavail * (uint64_t)disk.f_frsize;
    return free_bytes >= size + (half < RESERVE ? half : RESERVE);
}

/* A segment that could not be written is left, and what stands behind its last whole record is
 * given back to the disk; it is never cut, for others may have mapped it, and readers skip the
 * hole. One without a record goes: on a full disk each process would leave one more. */
static enum status writer_write_to_segment(struct recipe_writer *writer, const struct bytes *bytes)
{
    const bool has_room = file_size_allowed(writer->size + bytes->size) &&
                          writer_leaves_reserve(writer->file.fd, bytes->size);
    if (has_room && io_write(writer->file.fd, bytes->data, bytes->size, (off_t)writer->size)) {
        writer->size += bytes->size;
        return STATUS_ok;
    }
    const enum status status =
        !has_room || errno == EFBIG ? STATUS_disk_full : status_from_errno(errno);
    if (writer->size == 0) {
        writer_remove_segment(writer);
    } else if (has_room) {
        fallocate(writer->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)writer->size,
                  (off_t)bytes->size);
    } else {
        return status;
    }
    writer_leave_segment(writer);
    return status;
}

/* Copies the records of a batch, its uses folded into one record for each environment. False: out
 * of memory. */
static bool writer_fold_batch(const struct bytes *batch, struct bytes *out)
{
    struct recipe_walk walk = {.data = batch->data, .size = batch->size};
    struct recipe_record record;
    AUTO(recipe_uses_free) struct recipe_uses uses = {0};
    while (recipe_walk_next(&walk, &record)) {
        if (record.kind == RECIPE_USES) {
            recipe_uses_add_record(&uses, record.data, record.size);
        } else {
            bytes_put(out, batch->data + record.offset, (size_t)recipe_record_extent(record.size));
        }
    }
    recipe_uses_fold(&uses);
    recipe_uses_put(out, &uses);
    return !uses.failed && !out->failed;
}

enum status recipe_writer_append(struct recipe_writer *writer, const struct bytes *batch)
{
    if (writer->process != getpid()) {
        return STATUS_forked;
    }
    if (batch->size == 0) {
        return STATUS_ok;
    }
    if (!file_kept_is_ours(&writer->file)) {
        writer_leave_segment(writer);
        writer_resume_segment(writer);
    }
    AUTO(bytes_free) struct bytes out = {0};
    const size_t known = writer->entries.size;
    if (writer->size == 0) {
        recipe_put_header(&out);
    }
    const size_t header_size = out.size;
    enum status status = STATUS_out_of_memory;
    if (writer_fold_batch(batch, &out)) {
        recipe_index_put_all(&writer->entries, &out, header_size, writer->size);
        /* As if it were sealed now. */
        const uint64_t added = writer->size - writer->resumed + out.size +
                               recipe_record_extent(writer->entries.size) + RECIPE_RECORD_HEADER;
        status = writer->entries.failed     ? STATUS_out_of_memory
                 : added > writer->max_size ? STATUS_too_large
                 : writer->file.fd < 0      ? writer_make_segment(writer)
                                            : STATUS_ok;
    }
    if (status == STATUS_ok) {
        status = writer_write_to_segment(writer, &out);
    }
    if (status != STATUS_ok && writer->entries.size > known) {
        writer->entries.size = known;
    }
    writer->entries.failed = false;
    return status;
}

static void writer_seal_segment(struct recipe_writer *writer)
{
    AUTO(bytes_free) struct bytes out = {0};
    const size_t count = writer->entries.size / RECIPE_INDEX_ENTRY;
    recipe_index_sort(writer->entries.data, count);
    recipe_put_index(&out, writer->entries.data, count, writer->size);
    if (!out.failed) {
        writer_write_to_segment(writer, &out);
    }
}

bool recipe_writer_discard(struct recipe_writer *writer)
{
    const bool removed = writer && writer_remove_segment(writer);
    recipe_writer_close(writer, false);
    return removed;
}

void recipe_writer_close(struct recipe_writer *writer, bool seal)
{
    if (!writer) {
        return;
    }
    if (seal && writer->size > 0 && writer->process == getpid() &&
        file_kept_is_ours(&writer->file)) {
        if (writer->size >= writer->small) {
            writer_seal_segment(writer);
        }
        if (writer->file.fd >= 0) {
            fsync(writer->file.fd);
        }
    }
    writer_leave_segment(writer);
    bytes_free(&writer->entries);
    free(writer->root);
    free(writer->app);
    free(writer);
}

void recipe_segment_seal_left(int folder_fd, const char *name)
{
    struct recipe_writer *writer = recipe_writer_new("", "", 0, RECIPES_MAX_FILE);
    if (writer && writer_try_resume(writer, folder_fd, name)) {
        writer->small = 0;
    }
    recipe_writer_close(writer, true);
}
