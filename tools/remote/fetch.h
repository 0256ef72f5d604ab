// SPDX-License-Identifier: Apache-2.0
/* Values that are fetched side by side: the caller asks for them in turn, and threads with
 * connections of their own are a few ahead of it. No request is made that the caller would not have
 * made, unless it stops early. Where the engine has but one connection, there are no threads. */
#ifndef WARMPIPE_TOOLS_REMOTE_FETCH_H
#define WARMPIPE_TOOLS_REMOTE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/remote/engines/engine.h"

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

#endif
