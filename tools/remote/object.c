// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
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

static void object_path(const struct head_part *part, char ret_path[ENGINE_PATH_SIZE])
{
    char name[HEAD_FILE_SIZE];
    head_file_name(part, name);
    snprintf(ret_path, ENGINE_PATH_SIZE, OBJECT_FOLDER "%s", name);
}

/* Fetching side by side: threads with connections of their own are a few objects ahead of the
 * caller. */

/* Connections, the caller's own included; as many objects are held in memory at most. */
#define FETCH_SIDE 4

/* Objects to be fetched ahead: all parts of a head. */
#define FETCH_ITEMS HEAD_PARTS

enum fetch_state { FETCH_WAITS, FETCH_BEGUN, FETCH_DONE, FETCH_GIVEN };

struct fetch_item {
    char path[ENGINE_PATH_SIZE];
    uint64_t limit; /* bytes */
    enum fetch_state state;
    enum status reason;
    struct engine_value value;
    struct engine_failure failure;
};

struct fetch_thread {
    struct fetch *fetch;
    struct engine *engine;
    pthread_t thread;
};

struct fetch {
    struct fetch_thread threads[FETCH_SIDE - 1];
    size_t thread_count;
    bool begun;
    pthread_mutex_t lock; /* of what follows, once it has begun */
    pthread_cond_t changed;
    struct fetch_item items[FETCH_ITEMS];
    size_t count;
    size_t held; /* begun by threads, and not yet given to the caller */
    bool stops;
};

/* The next that nobody has begun; NULL: there is none. The first is the caller's, who asks for it
 * at once, and would wait for it while its own connection is idle. Under the lock. */
static struct fetch_item *fetch_next(struct fetch *fetch)
{
    for (size_t i = 1; i < fetch->count && !fetch->stops; i++) {
        if (fetch->items[i].state == FETCH_WAITS) {
            return &fetch->items[i];
        }
    }
    return NULL;
}

static void *fetch_run(void *user)
{
    struct fetch_thread *self = user;
    struct fetch *fetch = self->fetch;
    struct fetch_item *item;
    pthread_mutex_lock(&fetch->lock);
    while ((item = fetch_next(fetch))) {
        if (fetch->held >= FETCH_SIDE - 1) {
            pthread_cond_wait(&fetch->changed, &fetch->lock);
            continue;
        }
        struct engine_value value = {0};
        item->state = FETCH_BEGUN;
        fetch->held++;
        pthread_mutex_unlock(&fetch->lock);
        const enum status reason =
            self->engine->operations->get(self->engine, item->path, item->limit, &value);
        pthread_mutex_lock(&fetch->lock);
        item->reason = reason;
        item->value = value;
        item->failure = self->engine->failure;
        item->state = FETCH_DONE;
        pthread_cond_broadcast(&fetch->changed);
    }
    pthread_mutex_unlock(&fetch->lock);
    return NULL;
}

/* Another connection with the times of the first. */
static struct engine *fetch_open(struct engine *engine)
{
    struct engine *other = engine->operations->another(engine);
    if (other) {
        other->deadline_ns = engine->deadline_ns;
        other->silent_ms = engine->silent_ms;
        other->silent_ns = engine->silent_ns;
        other->stops = engine->stops;
        other->stop_ns = engine->stop_ns;
    }
    return other;
}

/* Where there can be no threads, the caller fetches all. */
static void fetch_begin(struct fetch *fetch, struct engine *engine)
{
    const size_t most = fetch->count < FETCH_SIDE ? fetch->count : FETCH_SIDE;
    fetch->begun = true;
    while (fetch->thread_count < most - 1) { /* the caller fetches as well */
        struct fetch_thread *thread = &fetch->threads[fetch->thread_count];
        thread->fetch = fetch;
        thread->engine = fetch_open(engine);
        if (!thread->engine) {
            break;
        }
        if (pthread_create(&thread->thread, NULL, fetch_run, thread) != 0) {
            thread->engine->operations->close(thread->engine);
            break;
        }
        fetch->thread_count++;
    }
}

static struct fetch_item *fetch_find(struct fetch *fetch, const char *path)
{
    for (size_t i = 0; i < fetch->count; i++) {
        if (fetch->items[i].state != FETCH_GIVEN && strcmp(fetch->items[i].path, path) == 0) {
            return &fetch->items[i];
        }
    }
    return NULL;
}

/* A server may have enough of connections, and none of requests. Who says nothing is not asked
 * again: it would say nothing for as long. */
static bool fetch_may_be_the_connection(enum status reason)
{
    return reason == STATUS_remote_unreachable || reason == STATUS_remote_error ||
           reason == STATUS_remote_busy;
}

/* The engine's `get`, waiting for a thread that has begun it. */
static enum status fetch_get(struct remote *remote, const char *path, uint64_t limit,
                             struct engine_value *ret_value)
{
    struct engine *engine = remote->engine;
    struct fetch *fetch = remote->ahead;
    bool is_ours = true;
    enum status reason = STATUS_ok;
    if (fetch) {
        if (!fetch->begun) {
            fetch_begin(fetch, engine);
        }
        pthread_mutex_lock(&fetch->lock);
        struct fetch_item *item = fetch_find(fetch, path);
        is_ours = !item || item->state == FETCH_WAITS;
        while (item && item->state == FETCH_BEGUN) {
            pthread_cond_wait(&fetch->changed, &fetch->lock);
        }
        if (!is_ours) {
            reason = item->reason;
            *ret_value = item->value;
            engine->failure = item->failure;
            fetch->held--;
            fetch->stops |= reason != STATUS_ok && reason != STATUS_no_file;
            is_ours = fetch_may_be_the_connection(reason);
            pthread_cond_broadcast(&fetch->changed);
        }
        if (item) {
            item->value = (struct engine_value){0};
            item->state = FETCH_GIVEN;
        }
        pthread_mutex_unlock(&fetch->lock);
    }
    return is_ours ? engine->operations->get(engine, path, limit, ret_value) : reason;
}

void object_ahead(struct remote *remote, const struct head *head, const struct head_part *part)
{
    if (head_frame(head, part) || !remote->engine->operations->another) {
        return;
    }
    if (!remote->ahead && (remote->ahead = calloc(1, sizeof *remote->ahead))) {
        pthread_mutex_init(&remote->ahead->lock, NULL);
        pthread_cond_init(&remote->ahead->changed, NULL);
    }
    if (remote->ahead && remote->ahead->count < FETCH_ITEMS) {
        struct fetch_item *item = &remote->ahead->items[remote->ahead->count++];
        object_path(part, item->path);
        item->limit = part->bytes;
    }
}

void object_ahead_end(struct remote *remote)
{
    struct fetch *fetch = remote->ahead;
    if (!fetch) {
        return;
    }
    pthread_mutex_lock(&fetch->lock);
    fetch->stops = true;
    pthread_cond_broadcast(&fetch->changed);
    pthread_mutex_unlock(&fetch->lock);
    for (size_t i = 0; i < fetch->thread_count; i++) {
        struct engine *engine = fetch->threads[i].engine;
        pthread_join(fetch->threads[i].thread, NULL);
        remote->engine->traffic.requests += engine->traffic.requests;
        remote->engine->traffic.answers += engine->traffic.answers;
        remote->engine->traffic.received += engine->traffic.received;
        engine->operations->close(engine);
    }
    for (size_t i = 0; i < fetch->count; i++) {
        engine_value_free(&fetch->items[i].value);
    }
    pthread_cond_destroy(&fetch->changed);
    pthread_mutex_destroy(&fetch->lock);
    free(fetch);
    remote->ahead = NULL;
}

/* At the remote. */

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

enum status object_look(struct remote *remote, const struct head_part *part)
{
    char path[ENGINE_PATH_SIZE];
    AUTO(engine_value_free) struct engine_value value = {0};
    object_path(part, path);
    return remote->engine->operations->get(remote->engine, path, 0, &value);
}

enum status object_keep(struct remote *remote, struct object *object)
{
    const enum status reason = object_look(remote, &object->part);
    return reason == STATUS_no_file ? object_write(remote, object) : reason;
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
    const enum status reason = fetch_get(remote, path, part->bytes, &value);
    if (reason == STATUS_remote_forbidden) {
        engine_of_value(remote->engine, reason); /* its head could be read */
    }
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
