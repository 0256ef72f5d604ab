/* The hot cache of one device: loaded from disk at the first pipeline creation, given to every
 * creation that has no cache of its own, saved when the device goes.
 *
 *     injector_new → [injector_cache → injector_creating → create pipelines → injector_created]…
 *                  → injector_finish → injector_delete
 *
 * injector_cache, injector_creating and injector_created may be called by any number of threads at
 * once; the others by one thread while no other uses the device. The hot cache is never the
 * destination of a merge, so its users need no lock (creating and reading are internally
 * synchronized). No failure here ever reaches the program: without a hot cache it runs as it would
 * without us. */
#ifndef WARMPIPE_LAYER_INJECTOR_H
#define WARMPIPE_LAYER_INJECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/stats.h"
#include "driver/identity.h"
#include "driver/policy.h"
#include "driver_cache.h"

struct housekeeper;
struct injector;
struct trace;

/* Everything is borrowed and outlives the injector. */
struct injector_setup {
    VkDevice device;
    const device_table *table;
    const struct config *config;
    const char *app; /* the program's folder */
    struct stats *stats;
    struct trace *trace; /* NULL: there is none */
    struct housekeeper *housekeeper;
    uint32_t device_index; /* counts the devices of this process */
    bool device_group;     /* more than one physical device: what is cached is not kept */
    bool has_allocator;    /* the device or its instance was created with an allocator */
};

/* NULL: out of memory. Reads nothing from disk yet. */
struct injector *injector_new(const struct injector_setup *setup,
                              const struct driver_identity *identity);

/* Frees the memory; NULL is a no-op. */
void injector_delete(struct injector *injector);

/* The hot cache, or VK_NULL_HANDLE where the driver may be given none. The first call opens the
 * store and loads the blob; threads that come meanwhile wait for it rather than compile cold. */
VkPipelineCache injector_cache(struct injector *injector);

/* The hot cache if it has been loaded, else VK_NULL_HANDLE: never loads. */
VkPipelineCache injector_loaded_cache(const struct injector *injector);

/* What a creation with the hot cache, or with a cache that will be harvested, has done to it. */
enum injector_change {
    INJECTOR_UNCHANGED, /* hits only */
    INJECTOR_COMPILED,  /* at least one pipeline was compiled */
    INJECTOR_UNKNOWN    /* no feedback: the data itself will tell */
};

/* Brackets a creation with the hot cache or with one that is harvested. hot: it was the hot cache,
 * and so the driver has survived the blob. Neither waits for a save. */
void injector_creating(struct injector *injector);
void injector_created(struct injector *injector, bool hot, enum injector_change change);

/* Whether a creation so bracketed is under way. */
bool injector_is_creating(const struct injector *injector);

/* A thread of our own has created a pipeline with the hot cache. compiled: into it, to be saved as
 * the program's own. */
void injector_prewarmed(struct injector *injector, bool compiled);

/* Whether there is a file for this driver and device, whole or not. One system call. */
bool injector_has_file(const struct injector *injector);

/* The digest that names this driver and device. */
struct digest injector_identity(const struct injector *injector);

/* What the driver may be given, and the way to its caches. */
const struct policy *injector_policy(const struct injector *injector);
const struct driver_caches *injector_caches(const struct injector *injector);

/* Where saves find the caches that are harvested: between pin and unpin, none of the caches given
 * is destroyed. pin returns how many; *ret_caches is malloc'ed, for the injector to free. */
struct injector_harvest {
    uint32_t (*pin)(void *user, VkPipelineCache **ret_caches);
    void (*unpin)(void *user);
    void *user;
};
void injector_set_harvest(struct injector *injector, const struct injector_harvest *harvest);

/* Who is to be told, by the thread that loads, of a blob that turned out to be of no use to the
 * driver. Not of one that processes died of: nobody shall do anything on such a start that the
 * program would not. */
struct injector_unusable {
    void (*tell)(void *user); /* NULL: nobody */
    void *user;
};
void injector_set_unusable(struct injector *injector, const struct injector_unusable *unusable);

/* At vkDestroyDevice, before it goes down the chain: stops the background saves, saves what is new,
 * destroys the hot cache, writes the line of statistics. False: a thread may still be using the
 * injector and what it was given (flusher_remove says when): it must never be freed. */
bool injector_finish(struct injector *injector);

#endif
