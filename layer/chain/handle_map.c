// SPDX-License-Identifier: Apache-2.0
#include "layer/chain/handle_map.h"

#include <stdatomic.h>
#include <stdlib.h>

#define CAPACITY_MIN 16

/* A write takes less time than so many looks, unless its thread lacks a core. */
#define LOOKS_MAX 1000

struct slot {
    _Atomic uint64_t key; /* 0: free */
    _Atomic(void *) value;
};

struct handle_map_table {
    struct handle_map_table *retired; /* the smaller one before it, which a reader may still walk */
    size_t mask;
    struct slot slots[];
};

static struct handle_map_table *map_current_table(const struct handle_map *map)
{
    return __atomic_load_n(&map->table, __ATOMIC_ACQUIRE);
}

/* Handles are pointers or small counters: a multiplicative hash spreads both. */
static size_t map_home_of(const struct handle_map_table *table, uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & table->mask;
}

/* Slots are read with acquire and written with release: so a reader never sees a changed slot
 * together with a sequence that does not show the change. */
static uint64_t map_key_at(struct handle_map_table *table, size_t i)
{
    return atomic_load_explicit(&table->slots[i & table->mask].key, memory_order_acquire);
}

static void *map_value_at(struct handle_map_table *table, size_t i)
{
    return atomic_load_explicit(&table->slots[i & table->mask].value, memory_order_acquire);
}

static void map_set(struct handle_map_table *table, size_t i, uint64_t key, void *value)
{
    struct slot *slot = &table->slots[i & table->mask];
    atomic_store_explicit(&slot->value, value, memory_order_release);
    atomic_store_explicit(&slot->key, key, memory_order_release);
}

void handle_map_init(struct handle_map *map)
{
    *map = (struct handle_map){0};
    pthread_mutex_init(&map->write_lock, NULL);
}

__attribute__((cold)) void handle_map_release(struct handle_map *map)
{
    struct handle_map_table *table = map_current_table(map);
    while (table) {
        struct handle_map_table *retired = table->retired;
        free(table);
        table = retired;
    }
    pthread_mutex_destroy(&map->write_lock);
}

/* Index of the slot that holds the key, or SIZE_MAX. Bounded, for a reader may see a table that is
 * being written. */
static size_t map_find(struct handle_map_table *table, uint64_t key)
{
    if (!table || key == 0) {
        return SIZE_MAX;
    }
    size_t home = map_home_of(table, key);
    for (size_t step = 0; step <= table->mask; step++) {
        uint64_t found = map_key_at(table, home + step);
        if (found == key) {
            return (home + step) & table->mask;
        }
        if (found == 0) {
            break;
        }
    }
    return SIZE_MAX;
}

/* Waits for a writer; asleep where that takes long, so as not to keep it from a core. */
static __attribute__((cold, noinline)) void *map_read_again(struct handle_map *map, uint64_t key)
{
    unsigned looks = 0;
    while (__atomic_load_n(&map->sequence, __ATOMIC_RELAXED) % 2 != 0 && looks < LOOKS_MAX) {
        looks++;
    }
    if (looks == LOOKS_MAX) {
        pthread_mutex_lock(&map->write_lock);
        pthread_mutex_unlock(&map->write_lock);
    }
    return handle_map_get(map, key);
}

void *handle_map_get(struct handle_map *map, uint64_t key)
{
    uint64_t before = __atomic_load_n(&map->sequence, __ATOMIC_ACQUIRE);
    struct handle_map_table *table = map_current_table(map);
    size_t i = map_find(table, key);
    void *value = i == SIZE_MAX ? NULL : map_value_at(table, i);
    uint64_t after = __atomic_load_n(&map->sequence, __ATOMIC_RELAXED);
    return before == after && before % 2 == 0 ? value : map_read_again(map, key);
}

static void map_write_begin(struct handle_map *map)
{
    pthread_mutex_lock(&map->write_lock);
    __atomic_store_n(&map->sequence, map->sequence + 1, __ATOMIC_RELAXED);
}

static void map_write_end(struct handle_map *map)
{
    __atomic_store_n(&map->sequence, map->sequence + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&map->write_lock);
}

/* Puts the key where it is, or at the first free slot. */
static void map_insert(struct handle_map_table *table, uint64_t key, void *value)
{
    size_t i = map_home_of(table, key);
    while (map_key_at(table, i) != 0 && map_key_at(table, i) != key) {
        i++;
    }
    map_set(table, i, key, value);
}

/* Publishes a table of twice the size. The old one stays, since readers hold no lock; doubling
 * bounds what is kept. */
static __attribute__((cold)) bool map_grow(struct handle_map *map, struct handle_map_table *old)
{
    size_t capacity = old ? (old->mask + 1) * 2 : CAPACITY_MIN;
    struct handle_map_table *table =
        calloc(1, sizeof(struct handle_map_table) + capacity * sizeof(struct slot));
    if (!table) {
        return false;
    }
    table->mask = capacity - 1;
    for (size_t i = 0; old && i <= old->mask; i++) {
        if (map_key_at(old, i) != 0) {
            map_insert(table, map_key_at(old, i), map_value_at(old, i));
        }
    }
    table->retired = old;
    __atomic_store_n(&map->table, table, __ATOMIC_RELEASE);
    return true;
}

__attribute__((cold)) bool handle_map_put(struct handle_map *map, uint64_t key, void *value)
{
    if (key == 0) {
        return false;
    }
    map_write_begin(map);
    struct handle_map_table *table = map_current_table(map);
    bool known = map_find(table, key) != SIZE_MAX;
    bool room = known || (table && (map->count + 1) * 2 <= table->mask + 1) || map_grow(map, table);
    if (room) {
        map_insert(map_current_table(map), key, value);
        map->count += !known;
    }
    map_write_end(map);
    return room;
}

/* Moves up what follows the hole and may be nearer to its home there (linear probing). */
static __attribute__((cold)) void map_close_hole(struct handle_map_table *table, size_t hole)
{
    for (size_t i = hole + 1; map_key_at(table, i) != 0; i++) {
        size_t from_home = (i - map_home_of(table, map_key_at(table, i))) & table->mask;
        if (from_home >= ((i - hole) & table->mask)) {
            map_set(table, hole, map_key_at(table, i), map_value_at(table, i));
            hole = i;
        }
    }
    map_set(table, hole, 0, NULL);
}

__attribute__((cold)) void handle_map_rename(struct handle_map *map, uint64_t key, uint64_t new_key)
{
    map_write_begin(map);
    struct handle_map_table *table = map_current_table(map);
    size_t i = map_find(table, key);
    void *value = map_value_at(table, i);
    map_close_hole(table, i);
    map->count -= map_find(table, new_key) != SIZE_MAX;
    map_insert(table, new_key, value);
    map_write_end(map);
}

__attribute__((cold)) void *handle_map_remove(struct handle_map *map, uint64_t key)
{
    void *value = NULL;
    map_write_begin(map);
    struct handle_map_table *table = map_current_table(map);
    size_t i = map_find(table, key);
    if (i != SIZE_MAX) {
        value = map_value_at(table, i);
        map_close_hole(table, i);
        map->count--;
    }
    map_write_end(map);
    return value;
}

__attribute__((cold)) void *
handle_map_remove_if(struct handle_map *map, bool (*matches)(const void *value, const void *user),
                     const void *user)
{
    void *found = NULL;
    map_write_begin(map);
    struct handle_map_table *table = map_current_table(map);
    for (size_t i = 0; table && !found && i <= table->mask; i++) {
        if (map_key_at(table, i) != 0 && matches(map_value_at(table, i), user)) {
            found = map_value_at(table, i);
            map_close_hole(table, i);
            map->count--;
        }
    }
    map_write_end(map);
    return found;
}

__attribute__((cold)) void handle_map_each(struct handle_map *map,
                                           void (*visit)(void *value, void *user), void *user)
{
    struct handle_map_table *table = map_current_table(map);
    for (size_t i = 0; table && i <= table->mask; i++) {
        if (map_key_at(table, i) != 0) {
            visit(map_value_at(table, i), user);
        }
    }
}
