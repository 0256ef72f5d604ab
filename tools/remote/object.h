// SPDX-License-Identifier: Apache-2.0
/* Objects: what a head names, each one zstd frame. An object may be packed with the driver data of
 * another one as prefix, its base (zstd's refPrefix): what has grown then is as large as its
 * growth. A base has none itself. Belongs to the thread of its remote.
 *
 * And values that are fetched side by side (fetch.c): the caller asks for them in turn, and threads
 * with connections of their own are a few ahead of it. No request is made that the caller would not
 * have made, unless it stops early. Where the engine has but one connection, there are no threads.
 */
#ifndef WARMPIPE_TOOLS_REMOTE_OBJECT_H
#define WARMPIPE_TOOLS_REMOTE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "tools/remote/engines/engine.h"
#include "tools/remote/local.h"
#include "tools/remote/remote.h"

/* Connections, the caller's own included; as many values are held in memory at most. */
#define FETCH_SIDE 4

#define FETCH_ITEMS 16

struct fetch;

struct fetch_list {
    size_t count;
    char paths[FETCH_ITEMS][ENGINE_PATH_SIZE];
    uint64_t limits[FETCH_ITEMS]; /* bytes */
};

/* Adds a value; where there is no room, it is fetched when it is asked for. */
void fetch_list_add(struct fetch_list *list, const char *path, uint64_t limit);

/* Begins. NULL: they are few, or threads cannot be had: fetch_get asks the engine. */
struct fetch *fetch_begin(struct engine *engine, const struct fetch_list *list);

/* The engine's `get`, waiting for a thread that has begun it; `fetch` may be NULL. By the thread
 * that owns the engine. */
enum status fetch_get(struct fetch *fetch, struct engine *engine, const char *path, uint64_t limit,
                      struct engine_value *ret_value);

/* Begins nothing more, waits for what is under way, and adds what was moved to the engine's
 * traffic. NULL is allowed. */
void fetch_end(struct fetch *fetch);

/* An object to be sent. */
struct object {
    struct head_part part; /* all but the payload; bytes 0: not yet packed */
    struct bytes frame;
    bool is_there; /* object_put has written it */
};

/* Packs data. With a base (NULL: none), whose data is `prefix`, the frame names it as such, unless
 * it would be larger than 30% of one without. `object` is empty or was packed before. */
enum status object_pack(const void *data, size_t size, const struct head_part *base,
                        const struct envelope *prefix, struct object *object);
void object_free(struct object *object);

/* Writes it, once. */
enum status object_put(struct remote *remote, struct object *object);

/* Whether it is still there; writes it again if it is not. */
enum status object_keep(struct remote *remote, struct object *object);

/* Adds the object of a part to what is fetched, unless it stands in the head. */
void object_list_add(struct fetch_list *list, const struct head *head,
                     const struct head_part *part);

/* Fetches and unpacks the object of a part, or takes it from the head. `prefix`: the driver data of
 * its base; NULL where it has none. *ret_data: part->unpacked bytes, freed by the caller. no_file,
 * remote_bad_object, the engine's. */
enum status object_get(struct remote *remote, const struct head *head, const struct head_part *part,
                       const struct envelope *prefix, uint8_t **ret_data);

/* Fetches a base and checks it as a cache file. Freed with local_blob_free.
 * remote_object_missing, remote_bad_object, the engine's. */
enum status object_get_base(struct remote *remote, const struct head *head,
                            const struct head_part *base, struct local_blob *ret_blob);

#endif
