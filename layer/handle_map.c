#include "handle_map.h"

#include <stdlib.h>

#define KEY_EMPTY   0
#define KEY_REMOVED UINT64_MAX

struct slot {
    _Atomic uint64_t key;
    _Atomic(void *) value;
};

struct handle_map_table {
    struct handle_map_table *retired; /* a smaller one, which a reader may still walk */
    size_t mask;
    struct slot slots[];
};

static struct handle_map_table *table_new(size_t capacity)
{
    struct handle_map_table *table =
        calloc(1, sizeof(struct handle_map_table) + capacity * sizeof(struct slot));
    if (table) {
        table->mask = capacity - 1;
    }
    return table;
}

/* Handles are pointers or small counters: a multiplicative hash spreads both. */
static size_t first_slot(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static uint64_t key_at(struct handle_map_table *table, size_t i)
{
    return atomic_load_explicit(&table->slots[i & table->mask].key, memory_order_acquire);
}

static bool key_is_live(uint64_t key)
{
    return key != KEY_EMPTY && key != KEY_REMOVED;
}

void handle_map_init(struct handle_map *map)
{
    atomic_init(&map->table, NULL);
    pthread_mutex_init(&map->write_lock, NULL);
    map->used = 0;
}

void handle_map_release(struct handle_map *map)
{
    struct handle_map_table *table = atomic_load(&map->table);
    while (table) {
        struct handle_map_table *retired = table->retired;
        free(table);
        table = retired;
    }
    pthread_mutex_destroy(&map->write_lock);
}

/* Index of the slot that holds the key, or SIZE_MAX. */
static size_t find(struct handle_map_table *table, uint64_t key)
{
    if (!table || !key_is_live(key)) {
        return SIZE_MAX;
    }
    for (size_t i = first_slot(key);; ++i) {
        uint64_t found = key_at(table, i);
        if (found == key) {
            return i & table->mask;
        }
        if (found == KEY_EMPTY) {
            return SIZE_MAX;
        }
    }
}

void *handle_map_get(struct handle_map *map, uint64_t key)
{
    struct handle_map_table *table = atomic_load_explicit(&map->table, memory_order_acquire);
    size_t i = find(table, key);
    return i == SIZE_MAX ? NULL
                         : atomic_load_explicit(&table->slots[i].value, memory_order_relaxed);
}

/* Stores into the first free slot; whoever sees the key sees the value. Returns the number of slots
 * that are used additionally. */
static size_t insert(struct handle_map_table *table, uint64_t key, void *value)
{
    for (size_t i = first_slot(key);; ++i) {
        struct slot *slot = &table->slots[i & table->mask];
        uint64_t found = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (!key_is_live(found)) {
            atomic_store_explicit(&slot->value, value, memory_order_relaxed);
            atomic_store_explicit(&slot->key, key, memory_order_release);
            return found == KEY_EMPTY;
        }
    }
}

/* Publishes a table of twice the size. The old one stays, since readers hold no lock; doubling
 * bounds what is kept. */
static bool grow(struct handle_map *map, struct handle_map_table *old)
{
    struct handle_map_table *table = table_new(old ? (old->mask + 1) * 2 : 16);
    if (!table) {
        return false;
    }
    map->used = 0;
    for (size_t i = 0; old && i <= old->mask; ++i) {
        uint64_t key = key_at(old, i);
        if (key_is_live(key)) {
            void *value = atomic_load_explicit(&old->slots[i].value, memory_order_relaxed);
            map->used += insert(table, key, value);
        }
    }
    table->retired = old;
    atomic_store_explicit(&map->table, table, memory_order_release);
    return true;
}

bool handle_map_put(struct handle_map *map, uint64_t key, void *value)
{
    if (!key_is_live(key)) {
        return false;
    }
    pthread_mutex_lock(&map->write_lock);
    struct handle_map_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    bool room = (table && (map->used + 1) * 2 <= table->mask + 1) || grow(map, table);
    if (room) {
        table = atomic_load_explicit(&map->table, memory_order_relaxed);
        map->used += insert(table, key, value);
    }
    pthread_mutex_unlock(&map->write_lock);
    return room;
}

/* A removed slot that no search needs to pass becomes empty again, and so do those before it: a
 * removed slot only ever stays in front of a live one, so churn does not fill the table. */
static size_t reclaim(struct handle_map_table *table, size_t i)
{
    size_t reclaimed = 0;
    if (key_at(table, i + 1) == KEY_EMPTY) {
        for (; key_at(table, i) == KEY_REMOVED; --i) {
            atomic_store_explicit(&table->slots[i & table->mask].key, KEY_EMPTY,
                                  memory_order_release);
            ++reclaimed;
        }
    }
    return reclaimed;
}

void *handle_map_remove(struct handle_map *map, uint64_t key)
{
    void *value = NULL;
    pthread_mutex_lock(&map->write_lock);
    struct handle_map_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    size_t i = find(table, key);
    if (i != SIZE_MAX) {
        value = atomic_load_explicit(&table->slots[i].value, memory_order_relaxed);
        atomic_store_explicit(&table->slots[i].key, KEY_REMOVED, memory_order_release);
        map->used -= reclaim(table, i);
    }
    pthread_mutex_unlock(&map->write_lock);
    return value;
}

void handle_map_each(struct handle_map *map, void (*visit)(void *value, void *user), void *user)
{
    struct handle_map_table *table = atomic_load(&map->table);
    for (size_t i = 0; table && i <= table->mask; ++i) {
        if (key_is_live(key_at(table, i))) {
            visit(atomic_load_explicit(&table->slots[i].value, memory_order_relaxed), user);
        }
    }
}
