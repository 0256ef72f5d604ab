// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "tools/cli/output.h"
#include "tools/remote/remote.h"

/* Caches are compressed once and read often; this level compresses some 400 MB/s. */
#define OBJECT_ZSTD_LEVEL 3

/* zstd's own bounds of the window, as powers of two. */
#define OBJECT_WINDOW_LEAST 10
#define OBJECT_WINDOW_MOST  31

/* A frame with a base is at most so many percent of one without. */
#define OBJECT_GROWTH_PERCENT 30

/* The window that reaches over both. */
static int object_window_log(uint64_t size)
{
    int log = OBJECT_WINDOW_LEAST;
    while (log < OBJECT_WINDOW_MOST && (UINT64_C(1) << log) < size) {
        log++;
    }
    return log;
}

/* Appends the data as one frame that says its size. `prefix` NULL: none. */
static bool object_compress(const void *data, size_t size, const struct envelope *prefix,
                            struct bytes *frame)
{
    const size_t bound = ZSTD_compressBound(size);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    bool done = context && !ZSTD_isError(bound) && bytes_reserve(frame, bound);
    if (done) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, OBJECT_ZSTD_LEVEL);
        if (prefix) {
            ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
            ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog,
                                   object_window_log((uint64_t)size + prefix->blob_size));
            ZSTD_CCtx_refPrefix(context, prefix->blob, prefix->blob_size);
        }
        const size_t packed = ZSTD_compress2(context, frame->data + frame->size, bound, data, size);
        done = !ZSTD_isError(packed);
        frame->size += done ? packed : 0;
    }
    ZSTD_freeCCtx(context);
    return done;
}

void object_free(struct object *object)
{
    bytes_free(&object->frame);
    *object = (struct object){0};
}

enum status object_pack(const void *data, size_t size, const struct head_part *base,
                        const struct envelope *prefix, struct object *object)
{
    struct bytes grown = {0};
    object_free(object);
    if (!object_compress(data, size, NULL, &object->frame)) {
        object_free(object);
        return STATUS_out_of_memory;
    }
    object->part = (struct head_part){.unpacked = size, .made = (uint64_t)time(NULL)};
    object_name(data, size, object->part.object);
    if (base && object_compress(data, size, prefix, &grown) &&
        grown.size <= object->frame.size / 100 * OBJECT_GROWTH_PERCENT) {
        bytes_free(&object->frame);
        object->frame = grown;
        memcpy(object->part.base, base->object, sizeof object->part.base);
    } else {
        bytes_free(&grown);
    }
    object->part.bytes = object->frame.size;
    return STATUS_ok;
}

/* Unpacking. */

/* The window that a frame asks for (RFC 8878, 3.1.1.1.2); UINT64_MAX: the frame is cut short. */
static uint64_t object_window(const uint8_t *frame, size_t size)
{
    if (size < 6) {
        return UINT64_MAX;
    }
    if (frame[4] & 0x20) { /* a single segment: as large as its content */
        return 0;
    }
    const uint64_t base = UINT64_C(1) << (10 + (frame[5] >> 3));
    return base + base / 8 * (frame[5] & 7);
}

/* Unpacks one frame. It must say that it holds exactly part->unpacked bytes, and want no larger
 * window than these and the prefix, before anything is allocated; hold just that, end the input,
 * and match its name. */
static enum status object_unpack(const void *frame, size_t size, const struct head_part *part,
                                 const struct envelope *prefix, uint8_t **ret_data)
{
    const uint64_t unpacked = part->unpacked;
    const uint64_t reach = unpacked + (prefix ? prefix->blob_size : 0);
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd}; /* not those of zstd before 0.8 */
    if (unpacked == 0 || unpacked > OBJECT_LIMIT || size < sizeof magic ||
        memcmp(frame, magic, sizeof magic) != 0 ||
        ZSTD_getFrameContentSize(frame, size) != unpacked ||
        ZSTD_findFrameCompressedSize(frame, size) != size ||
        object_window(frame, size) > UINT64_C(1) << object_window_log(reach)) {
        return STATUS_remote_bad_object;
    }
    /* Aligned as what file_read gives: recipes are read in place. */
    AUTO_FREE uint8_t *data = aligned_alloc(64, ((size_t)unpacked + 63) / 64 * 64);
    ZSTD_DCtx *context = data ? ZSTD_createDCtx() : NULL;
    if (!context) {
        return STATUS_out_of_memory;
    }
    if (prefix) {
        ZSTD_DCtx_refPrefix(context, prefix->blob, prefix->blob_size);
    }
    char found[OBJECT_NAME_SIZE] = "";
    if (ZSTD_decompressDCtx(context, data, (size_t)unpacked, frame, size) == unpacked) {
        object_name(data, (size_t)unpacked, found);
    }
    ZSTD_freeDCtx(context);
    if (!found[0] || strcmp(found, part->object) != 0) {
        return STATUS_remote_bad_object;
    }
    *ret_data = data;
    data = NULL;
    return STATUS_ok;
}

/* At the remote. */

static void object_path(const struct head_part *part, char ret_path[ENGINE_PATH_SIZE])
{
    char name[HEAD_FILE_SIZE];
    head_file_name(part, name);
    snprintf(ret_path, ENGINE_PATH_SIZE, HEAD_OBJECT_FOLDER "%s", name);
}

static enum status object_write(struct remote *remote, const struct object *object)
{
    char path[ENGINE_PATH_SIZE];
    object_path(&object->part, path);
    const enum status reason = remote->engine->operations->put(
        remote->engine, path, object->frame.data, object->frame.size);
    progress_add("object");
    return reason;
}

enum status object_put(struct remote *remote, struct object *object)
{
    const enum status reason = object->is_there ? STATUS_ok : object_write(remote, object);
    object->is_there = object->is_there || reason == STATUS_ok;
    return reason;
}

enum status object_keep(struct remote *remote, struct object *object)
{
    char path[ENGINE_PATH_SIZE];
    AUTO(engine_value_free) struct engine_value value = {0};
    object_path(&object->part, path);
    const enum status reason = remote->engine->operations->get(remote->engine, path, 0, &value);
    return reason == STATUS_no_file ? object_write(remote, object) : reason;
}

void object_list_add(struct fetch_list *list, const struct head *head, const struct head_part *part)
{
    char path[ENGINE_PATH_SIZE];
    if (!head_frame(head, part)) {
        object_path(part, path);
        fetch_list_add(list, path, part->bytes);
    }
}

enum status object_get(struct remote *remote, const struct head *head, const struct head_part *part,
                       const struct envelope *prefix, uint8_t **ret_data)
{
    char path[ENGINE_PATH_SIZE];
    AUTO(engine_value_free) struct engine_value value = {0};
    const uint8_t *frame = head_frame(head, part);
    if (frame) {
        return object_unpack(frame, (size_t)part->bytes, part, prefix, ret_data);
    }
    object_path(part, path);
    const enum status reason = fetch_get(remote->ahead, remote->engine, path, part->bytes, &value);
    progress_add("object");
    return reason == STATUS_ok ? object_unpack(value.data, value.size, part, prefix, ret_data)
                               : reason;
}

enum status object_get_base(struct remote *remote, const struct head *head,
                            const struct head_part *base, struct local_blob *ret_blob)
{
    struct local_blob blob = {.size = (size_t)base->unpacked};
    enum status reason = object_get(remote, head, base, NULL, &blob.memory);
    if (reason != STATUS_ok) {
        return reason == STATUS_no_file ? STATUS_remote_object_missing : reason;
    }
    reason = envelope_validate(blob.memory, blob.size, NULL, &blob.envelope);
    if (reason != STATUS_ok) {
        local_blob_free(&blob);
        return STATUS_remote_bad_object;
    }
    memcpy(blob.payload, base->payload, sizeof blob.payload);
    *ret_blob = blob;
    return STATUS_ok;
}
