// SPDX-License-Identifier: Apache-2.0
/* A map from a 64-bit handle or dispatch key to a pointer. Every Vulkan command looks something up,
 * so a reader takes no lock and writes to no shared memory.
 *
 * Any number of readers may run beside one writer; writers take a lock. The map is a sequence lock:
 * a reader starts again if a writer has changed the map meanwhile. If a writer takes long (a thread
 * of lower priority that has lost its core), the reader waits for the writer's lock. */
#ifndef WARMPIPE_LAYER_CHAIN_HANDLE_MAP_H
#define WARMPIPE_LAYER_CHAIN_HANDLE_MAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct handle_map_table;

struct handle_map {
    struct handle_map_table *table; /* read and written atomically */
    uint64_t sequence;              /* odd while a writer is at work; atomic */
    pthread_mutex_t write_lock;
    size_t count; /* live keys, under write_lock */
};

/* A map in static storage is initialized with HANDLE_MAP_INIT and never released. */
/* clang-format off */
#define HANDLE_MAP_INIT {.write_lock = PTHREAD_MUTEX_INITIALIZER}
/* clang-format on */

void handle_map_init(struct handle_map *map);

/* Frees the tables, not the values. Nothing may use the map any more. */
void handle_map_release(struct handle_map *map);

/* Returns the value of the key, or NULL. */
void *handle_map_get(struct handle_map *map, uint64_t key);

/* Adds a key, or replaces the value of a present key (a dispatch key is reused if an object was
 * destroyed without our knowledge). value is not NULL. Returns false if memory is out or the key is
 * 0. */
bool handle_map_put(struct handle_map *map, uint64_t key, void *value);

/* Moves the value of a present key to new_key; a value that new_key had is forgotten. Never fails.
 */
void handle_map_rename(struct handle_map *map, uint64_t key, uint64_t new_key);

/* Removes the key and returns its value, or NULL. */
void *handle_map_remove(struct handle_map *map, uint64_t key);

/* Removes one entry that matches and returns its value, or NULL. `matches` is called under the
 * map's lock. */
void *handle_map_remove_if(struct handle_map *map,
                           bool (*matches)(const void *value, const void *user), const void *user);

/* Calls visit for every entry. No writer may run meanwhile. */
void handle_map_each(struct handle_map *map, void (*visit)(void *value, void *user), void *user);

#endif
