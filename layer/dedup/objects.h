// SPDX-License-Identifier: Apache-2.0
/* The live objects of one device: what each handle stands for, and which handle stands for a given
 * content, so that what is asked for again is the same handle with one reference more.
 *
 * Vulkan allows this ("Object Model": handles of one type need not be unique, and each creation is
 * matched by its own destruction). A driver object is destroyed when as many references are left as
 * the driver itself has given out less one: usually with the last.
 *
 * The states of an object (enum object_state):
 *
 *     0 none       there is no such object
 *     1 CLAIMED    a thread is creating it; found by key; others may wait for it
 *     2 SHARED     live; found by key and by handle
 *     3 UNSHARED   live; found by handle only; its content is known
 *     4 UNKNOWN    live; found by handle only; nothing is known of it
 *
 *     none    ── objects_claim gives OBJECTS_CREATE ──▶ CLAIMED
 *     CLAIMED ── objects_publish ──▶ SHARED: those who wait get OBJECTS_HIT
 *     CLAIMED ── objects_publish, a handle that is known ──▶ none: counted with that object
 *     CLAIMED ── objects_abandon ──▶ none: one of those who wait claims it
 *     SHARED  ── objects_claim gives OBJECTS_HIT, objects_reference ──▶ SHARED, one reference more
 *     none    ── objects_adopt ──▶ UNSHARED
 *     none    ── objects_adopt without facts ──▶ UNKNOWN
 *     SHARED, UNSHARED, UNKNOWN ── the last objects_release ──▶ none
 *
 * Single flight: of threads that ask for one object at once, the first claims it, and the others
 * wait in objects_claim until it is published or abandoned. A wait never costs much. A thread does
 * not begin one, and asks the driver itself (OBJECTS_ALONE), where
 *   - the claim is one of several in a call, which ends with the last of them;
 *   - it could not share the result: its pipeline cache would miss what the driver compiles;
 *   - the claiming thread has a lower priority, and may not run for as long as the waiting one
 *     could;
 * and a wait ends after four times what such a creation takes on average here, 20 ms at least,
 * counted from the claim. A thread that waits holds no claim that anybody waits for, so there is no
 * circle.
 *
 * Thread-safe. A hit takes one short lock of one shard; no lock is held across a call down the
 * chain. Memory is malloc'ed, never the program's. */
#ifndef WARMPIPE_LAYER_DEDUP_OBJECTS_H
#define WARMPIPE_LAYER_DEDUP_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <vulkan/vulkan.h>

#include "common/codec/canonical.h"

struct objects;
struct object;

/* What is looked up. Two keys are equal if the type and all the bytes are. */
struct object_key {
    VkObjectType type;
    struct digest digest;      /* of the whole key: where to look, no more */
    const struct iovec *parts; /* the live key, borrowed, compared in order */
    unsigned part_count;
};

/* NULL: out of memory. */
struct objects *objects_new(void);

/* Frees the memory, and no driver object: what a program leaks stays its own. NULL is a no-op. */
void objects_delete(struct objects *objects);

enum objects_answer {
    OBJECTS_HIT,    /* *ret_object is live, and referenced once more */
    OBJECTS_CREATE, /* *ret_object is a claim: create, then objects_publish or objects_abandon */
    OBJECTS_ALONE /* create it unshared, then objects_adopt: it is being created and not waited for
                   * (*ret_object is that claim, to be compared only), or memory is out */
};

/* The part that a creation takes in single flight. All false: it waits for nobody, and nobody for
 * it. */
struct objects_flight {
    bool waits;              /* it may wait for a claim of another thread */
    bool needs_device_cache; /* it may share, and waits for, only what goes into the device cache */
    bool awaited;            /* if it claims, others may wait: its call creates nothing else */
    bool in_device_cache;    /* if it claims, what the driver compiles goes into the device cache */
};

/* Asks for an object; `facts` (name and serial are not read) are what it stands for once it is
 * live. */
enum objects_answer objects_claim(struct objects *objects, const struct object_key *key,
                                  const struct canonical_object *facts,
                                  const struct objects_flight *flight, struct object **ret_object);

/* For an object that objects_claim has given as a hit. */
uint64_t object_handle(const struct object *object);
bool object_is_in_device_cache(const struct object *object);

/* The claimed object has been created as `handle`: it is shared from now on. name: what live keys
 * know its content by (zeros where none names it by that). in_device_cache: what the driver
 * compiled for it is in the device cache. (If the driver has returned a handle that is known
 * already, the two are counted as one.) */
void objects_publish(struct objects *objects, struct object *claim, uint64_t handle,
                     struct digest name, bool in_device_cache);

/* It has not been created: one of those who wait claims it. */
void objects_abandon(struct objects *objects, struct object *claim);

/* Makes a created handle known that is not shared. facts NULL: nothing is known of it; what names
 * it cannot be encoded. parts: of a shader module that is to be borrowed its form and code, which
 * are copied; else NULL. */
void objects_adopt(struct objects *objects, VkObjectType type, uint64_t handle,
                   const struct canonical_object *facts, const struct iovec parts[2]);

/* What a live shader module is made of: a module that is shared, or adopted with its parts. */
struct objects_module {
    struct digest content;
    const void *form;
    size_t form_size;
    const void *code; /* not aligned */
    size_t code_size;
};

/* Borrowed for as long as the module is not destroyed. False: it is not known, or not kept. */
bool objects_borrow_module(struct objects *objects, uint64_t handle,
                           struct objects_module *ret_module);

/* Adds a reference to a live handle of which the caller holds one: it is given out once more. */
void objects_reference(struct objects *objects, VkObjectType type, uint64_t handle);

/* A destroy of the handle: true if it is to go down the chain, after which the handle is forgotten
 * here already, so that the driver may give it out again. */
bool objects_release(struct objects *objects, VkObjectType type, uint64_t handle);

/* What a live handle stands for; false if that is not known. */
bool objects_resolve(struct objects *objects, VkObjectType type, uint64_t handle,
                     struct canonical_object *ret_facts);

/* Changes before any handle that was known is forgotten: what was resolved since it last changed
 * still holds. */
uint64_t objects_epoch(const struct objects *objects);

#endif
