#include "recipe_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "file.h"
#include "file_kept.h"
#include "file_owned.h"
#include "recipe_folder.h"
#include "recipe_format.h"
#include "recipe_resume.h"
#include "recipe_uses.h"

struct recipe_writer {
    char *root;
    char *app;
    uint64_t max_size;
    uint64_t small;
    pid_t process;
    struct file_kept file; /* -1: no segment yet */
    uint64_t size;
    uint64_t found;       /* of it, bytes that were there before */
    struct bytes entries; /* of the index */
};

struct recipe_writer *recipe_writer_new(const char *root, const char *app, uint64_t max_size,
                                        uint64_t small)
{
    struct recipe_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        return NULL;
    }
    writer->root = strdup(root);
    writer->app = strdup(app);
    writer->max_size = max_size;
    writer->small = small;
    writer->process = getpid();
    writer->file.fd = -1;
    if (!writer->root || !writer->app) {
        recipe_writer_close(writer, false);
        return NULL;
    }
    return writer;
}

void recipe_writer_put(struct bytes *batch, enum recipe_kind kind, struct digest digest,
                       const void *data, size_t size)
{
    recipe_put_record(batch, kind, digest, data, size);
}

void recipe_writer_put_use(struct bytes *batch, const struct recipe_use *use)
{
    struct recipe_use one = *use;
    const struct recipe_uses uses = {.uses = &one, .count = 1};
    recipe_uses_put(batch, &uses);
}

/* Lets go of the segment; the next append makes another. */
static void leave_segment(struct recipe_writer *writer)
{
    if (writer->process == getpid() && file_kept_is_ours(&writer->file)) {
        /* Explicitly: the child of a fork may share the description. */
        flock(writer->file.fd, LOCK_UN);
    }
    file_kept_close(&writer->file);
    writer->size = 0;
    writer->found = 0;
    writer->entries.size = 0;
}

static enum reason make_segment(struct recipe_writer *writer)
{
    int folder_fd;
    struct file_owned file;
    enum reason reason = recipe_folder_open(writer->root, writer->app, true, &folder_fd);
    if (reason != REASON_ok) {
        return reason;
    }
    if (!file_create_owned(folder_fd, NULL, RECIPE_SUFFIX, &file)) {
        reason = reason_from_errno(errno);
        close(folder_fd);
        return reason == REASON_no_file ? REASON_directory_unusable : reason;
    }
    /* fchmod: a umask may have taken even our own bits. */
    if (fchmod(file.fd, 0600) != 0) {
        reason = reason_from_errno(errno);
        unlinkat(folder_fd, file.name, 0);
        close(file.fd);
    } else {
        writer->file = file_keep(file.fd);
    }
    close(folder_fd);
    return reason;
}

/* Goes on with a segment of a dead process, if there is one. */
static void resume_segment(struct recipe_writer *writer)
{
    int folder_fd;
    struct recipe_resumed resumed;
    if (writer->small == 0 ||
        recipe_folder_open(writer->root, writer->app, false, &folder_fd) != REASON_ok) {
        return;
    }
    if (recipe_resume(folder_fd, writer->small, &resumed)) {
        bytes_free(&writer->entries);
        writer->file = file_keep(resumed.fd);
        writer->size = resumed.size;
        writer->found = resumed.size;
        writer->entries = resumed.entries;
    }
    close(folder_fd);
}

/* Writes behind what is there. A segment that could not be written is left: it is never cut, for
 * others may have mapped it, and what stands behind its last whole record they pass over. */
static enum reason write_behind(struct recipe_writer *writer, const struct bytes *bytes)
{
    if (!file_size_allowed(writer->size + bytes->size)) {
        return REASON_disk_full;
    }
    if (!io_write(writer->file.fd, bytes->data, bytes->size, (off_t)writer->size)) {
        const enum reason reason = errno == EFBIG ? REASON_disk_full : reason_from_errno(errno);
        leave_segment(writer);
        return reason;
    }
    writer->size += bytes->size;
    return REASON_ok;
}

/* The records of a batch, those of uses as one for each environment. False: out of memory. */
static bool arrange(const struct bytes *batch, struct bytes *out)
{
    struct recipe_walk walk = {.data = batch->data, .size = batch->size};
    struct recipe_record record;
    struct recipe_uses uses = {0};
    while (recipe_walk_next(&walk, &record)) {
        if (record.kind == RECIPE_USES) {
            recipe_uses_add_record(&uses, record.data, record.size);
        } else {
            bytes_put(out, batch->data + record.offset, (size_t)recipe_record_extent(record.size));
        }
    }
    recipe_uses_fold(&uses);
    recipe_uses_put(out, &uses);
    const bool arranged = !uses.failed && !out->failed;
    recipe_uses_free(&uses);
    return arranged;
}

static uint64_t index_size(size_t entries_size)
{
    return recipe_record_extent(entries_size) + RECIPE_RECORD_HEADER;
}

/* Appends the index entries of the records in `out` that lie at `base` in the file. */
static void put_entries(const struct bytes *out, size_t from, uint64_t base, struct bytes *entries)
{
    struct recipe_walk walk = {.data = out->data, .size = out->size, .next = from};
    struct recipe_record record;
    while (recipe_walk_next(&walk, &record)) {
        recipe_index_put(entries, record.kind, record.digest, base + record.offset);
    }
}

enum reason recipe_writer_append(struct recipe_writer *writer, const struct bytes *batch)
{
    if (writer->process != getpid()) {
        return REASON_forked;
    }
    if (batch->size == 0) {
        return REASON_ok;
    }
    if (!file_kept_is_ours(&writer->file)) {
        leave_segment(writer);
        resume_segment(writer);
    }
    struct bytes out = {0};
    const bool is_new = writer->size == 0;
    const size_t known = writer->entries.size;
    if (is_new) {
        recipe_put_header(&out);
    }
    const size_t header_size = out.size;
    enum reason reason = REASON_out_of_memory;
    if (arrange(batch, &out)) {
        put_entries(&out, header_size, writer->size, &writer->entries);
        const uint64_t grown =
            writer->size - writer->found + out.size + index_size(writer->entries.size);
        reason = writer->entries.failed     ? REASON_out_of_memory
                 : grown > writer->max_size ? REASON_too_large
                 : writer->file.fd < 0      ? make_segment(writer)
                                            : REASON_ok;
    }
    if (reason == REASON_ok) {
        reason = write_behind(writer, &out);
    }
    if (reason != REASON_ok && writer->entries.size > known) {
        writer->entries.size = known;
    }
    writer->entries.failed = false;
    bytes_free(&out);
    return reason;
}

static void seal_segment(struct recipe_writer *writer)
{
    struct bytes out = {0};
    const size_t count = writer->entries.size / RECIPE_INDEX_ENTRY;
    recipe_index_sort(writer->entries.data, count);
    recipe_put_index(&out, writer->entries.data, count, writer->size);
    if (!out.failed) {
        write_behind(writer, &out);
    }
    bytes_free(&out);
}

void recipe_writer_close(struct recipe_writer *writer, bool seal)
{
    if (!writer) {
        return;
    }
    if (seal && writer->size > 0 && writer->process == getpid() &&
        file_kept_is_ours(&writer->file)) {
        if (writer->size >= writer->small) {
            seal_segment(writer);
        }
        if (writer->file.fd >= 0) {
            fsync(writer->file.fd);
        }
    }
    leave_segment(writer);
    bytes_free(&writer->entries);
    free(writer->root);
    free(writer->app);
    free(writer);
}
