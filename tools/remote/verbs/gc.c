// SPDX-License-Identifier: Apache-2.0
/* `warmpipe remote gc`, in two runs. States of an object, and the function for each arrow:
 *
 *     1 named     a head names it
 *     2 unused    no head names it
 *     3 noted     a run has written it to the notes, with the time    gc_write_notes
 *     4 removed                                                       gc_remove
 *
 *     2 → 3   the first run                                           gc_sweep
 *     3 → 4   a run after the grace period finds it still unused      gc_sweep
 *     3 → 1   a pusher has named it: it leaves the notes              gc_sweep
 *     4 → 1   a pusher that names a removed object writes it again    object_keep
 *
 * Objects are listed before heads are read, so that a head written meanwhile counts. What comes
 * later, while others are removed, is seen by gc_is_unused_still. */
#include "tools/remote/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/files/names.h"
#include "tools/cli/verb.h"

#define GC_NOTES "v1/gc"

/* Bytes of the notes at most. */
#define GC_LIMIT ((uint64_t)16 << 20)

/* Objects that a remote may list. */
#define GC_OBJECTS_MAX 1000000

/* For so long what heads name is believed while objects are removed. */
#define GC_FRESH_NS CLOCK_S

/* A file that was begun this long ago is nobody's, seconds. */
#define GC_LEAST_S 3600

struct gc_object {
    char name[HEAD_FILE_SIZE]; /* first, for gc_compare */
    uint64_t since;            /* noted at, seconds since the epoch */
};

struct gc_objects {
    struct gc_object *items;
    size_t count;
    bool failed;
};

static bool gc_add(struct gc_objects *objects, const char *name, uint64_t since)
{
    if (!array_reserve(&objects->items, objects->count, sizeof *objects->items)) {
        objects->failed = true;
        return false;
    }
    struct gc_object *object = &objects->items[objects->count++];
    snprintf(object->name, sizeof object->name, "%s", name);
    object->since = since;
    return true;
}

static int gc_compare(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* Sorts them, each once: Redis may list a key more often. */
static void gc_sort(struct gc_objects *objects)
{
    array_sort(objects->items, objects->count, sizeof *objects->items, gc_compare);
    objects->count =
        array_unique(objects->items, objects->count, sizeof *objects->items, gc_compare);
}

static const struct gc_object *gc_find(const struct gc_objects *objects, const char *name)
{
    return objects->count == 0
               ? NULL
               : bsearch(name, objects->items, objects->count, sizeof *objects->items, gc_compare);
}

static bool gc_is_object(const char *name)
{
    const size_t whole = OBJECT_NAME_SIZE - 1;
    const size_t length = strlen(name);
    return names_is_hex(name, whole) &&
           (length == whole || (length == HEAD_FILE_SIZE - 1 && name[whole] == '-' &&
                                names_is_hex(name + whole + 1, length - whole - 1)));
}

static bool gc_visit_object(const char *path, void *user)
{
    const char *name = path + strlen(OBJECT_FOLDER);
    return !gc_is_object(name) || gc_add(user, name, 0);
}

static void gc_add_parts(struct gc_objects *named, const struct head_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[HEAD_FILE_SIZE];
        head_file_name(&parts[i], name);
        gc_add(named, name, 0);
    }
}

/* What a head names stays, whoever has signed it. A head that cannot be read ends the collection.
 */
static enum status gc_read_head(struct remote *remote, const char *path, struct gc_objects *named)
{
    AUTO(engine_value_free) struct engine_value value = {0};
    struct minisign_signature parts;
    struct head head;
    enum status reason = remote->engine->operations->get(remote->engine, path, HEAD_LIMIT, &value);
    if (reason == STATUS_no_file) {
        return STATUS_ok;
    }
    if (reason == STATUS_ok) {
        reason = minisign_split(value.data, value.size, &parts);
    }
    if (reason == STATUS_ok) {
        reason = head_parse(parts.message, parts.message_size, &head);
    }
    if (reason == STATUS_ok) {
        gc_add_parts(named, head.parts, head.part_count);
        gc_add_parts(named, head.bases, head.base_count);
    }
    return reason;
}

/* Lines of a time and a name; one that is not ends them. */
static bool gc_read_notes(struct remote *remote, struct gc_objects *notes)
{
    AUTO(engine_value_free) struct engine_value value = {0};
    const enum status reason =
        remote->engine->operations->get(remote->engine, GC_NOTES, GC_LIMIT, &value);
    if (reason != STATUS_ok && reason != STATUS_no_file) {
        remote_complain(remote, GC_NOTES, reason);
        return false;
    }
    char name[HEAD_FILE_SIZE];
    uint64_t since;
    AUTO_FCLOSE FILE *lines = value.size > 0 ? fmemopen(value.data, value.size, "r") : NULL;
    while (lines && fscanf(lines, "%" SCNu64 " %81s", &since, name) == 2) {
        gc_add(notes, name, since);
    }
    gc_sort(notes);
    return !notes->failed;
}

/* What has no room is noted once these are gone. */
static void gc_write_notes(struct remote *remote, const struct gc_objects *notes)
{
    AUTO(bytes_free) struct bytes text = {0};
    char line[128];
    for (size_t i = 0; i < notes->count && text.size + sizeof line <= GC_LIMIT; i++) {
        const int length = snprintf(line, sizeof line, "%" PRIu64 " %s\n", notes->items[i].since,
                                    notes->items[i].name);
        bytes_put(&text, line, (size_t)length);
    }
    const enum status reason =
        text.failed
            ? STATUS_out_of_memory
            : remote->engine->operations->put(remote->engine, GC_NOTES,
                                              text.data ? text.data : (uint8_t *)"", text.size);
    if (reason != STATUS_ok) {
        remote_complain(remote, GC_NOTES, reason);
    }
}

static bool gc_remove(struct remote *remote, const char *path)
{
    const enum status reason = remote->engine->operations->remove(remote->engine, path);
    if (reason != STATUS_ok && reason != STATUS_no_file) {
        remote_complain(remote, path, reason);
        return false;
    }
    return true;
}

struct gc {
    struct session *session;
    struct gc_objects objects; /* that lie there */
    struct gc_objects named;   /* by heads */
    struct gc_objects notes;   /* of earlier runs */
    struct gc_objects kept;    /* notes for the next */
    uint64_t stale_ns;         /* when heads are to be read again */
};

static bool gc_read_heads(struct gc *gc)
{
    AUTO(session_heads_free) struct session_heads heads = {0};
    bool read = session_find_heads(gc->session, NULL, &heads) == STATUS_ok;
    for (size_t i = 0; read && i < heads.count; i++) {
        const enum status reason = gc_read_head(&gc->session->remote, heads.paths[i], &gc->named);
        if (reason != STATUS_ok) {
            remote_complain(&gc->session->remote, heads.paths[i], reason);
            read = false;
        }
    }
    gc_sort(&gc->named);
    gc->stale_ns = clock_now_ns() + GC_FRESH_NS;
    return read && !gc->named.failed;
}

/* Whether nobody names an object that was noted so long ago, nor is about to: a pusher writes what
 * it will name. Where the server does not tell when that was, heads are read again. False also
 * where they cannot be read. */
static bool gc_is_unused_still(struct gc *gc, const char *name, const char *path, uint64_t noted_s)
{
    struct remote *remote = &gc->session->remote;
    AUTO(engine_value_free) struct engine_value value = {0};
    if (remote->engine->operations->get(remote->engine, path, 0, &value) == STATUS_ok &&
        value.has_age) {
        return value.age_s >= noted_s;
    }
    if (clock_now_ns() >= gc->stale_ns) {
        gc->named.count = 0;
        if (!gc_read_heads(gc)) {
            remote->gone = STATUS_remote_error;
            return false;
        }
    }
    return !gc_find(&gc->named, name);
}

static void gc_sweep(struct gc *gc, uint64_t grace, bool dry_run, struct output *output)
{
    struct remote *remote = &gc->session->remote;
    const uint64_t now = (uint64_t)time(NULL);
    uint64_t removed = 0;
    for (size_t i = 0; i < gc->objects.count && !remote->gone; i++) {
        const char *name = gc->objects.items[i].name;
        if (gc_find(&gc->named, name)) {
            continue;
        }
        char path[ENGINE_PATH_SIZE];
        snprintf(path, sizeof path, OBJECT_FOLDER "%s", name);
        const struct gc_object *note = gc_find(&gc->notes, name);
        const bool is_due = note && note->since <= now && now - note->since >= grace;
        if (is_due && (dry_run || (gc_is_unused_still(gc, name, path, now - note->since) &&
                                   gc_remove(remote, path)))) {
            removed++;
        } else {
            gc_add(&gc->kept, name, note && note->since <= now && !is_due ? note->since : now);
        }
    }
    if (!dry_run && !remote->gone && !gc->kept.failed && gc->kept.count + gc->notes.count > 0) {
        gc_write_notes(remote, &gc->kept);
    }
    if (!dry_run && remote->engine->operations->sweep) {
        remote->engine->operations->sweep(remote->engine, grace > GC_LEAST_S ? grace : GC_LEAST_S);
    }
    output_number(output, "objects", gc->objects.count);
    output_number(output, "unused", gc->kept.count);
    output_number(output, "removed", removed);
}

int gc_collect(struct session *session, uint64_t grace_ms, bool dry_run, struct output *output)
{
    struct remote *remote = &session->remote;
    struct gc gc = {.session = session};
    int status = EXIT_FINDING;
    const enum status reason =
        engine_list(remote->engine, OBJECT_FOLDER, GC_OBJECTS_MAX, gc_visit_object, &gc.objects);
    gc_sort(&gc.objects);
    if (reason != STATUS_ok) {
        remote_complain(remote, OBJECT_FOLDER, reason);
    } else if (!gc.objects.failed && gc_read_heads(&gc) && gc_read_notes(remote, &gc.notes)) {
        gc_sweep(&gc, grace_ms / 1000, dry_run, output);
        status = EXIT_CLEAN;
    }
    free(gc.objects.items);
    free(gc.named.items);
    free(gc.notes.items);
    free(gc.kept.items);
    return status;
}
