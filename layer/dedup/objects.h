// SPDX-License-Identifier: Apache-2.0
/* The live objects of one device: the content behind each handle, and the handle for each content.
 * A create-info with the content of a live object gets the same handle, and the object one
 * reference more.
 *
 * Vulkan allows this ("Object Model": handles of one type need not be unique, and each creation is
 * matched by its own destruction). A destruction goes down the chain when fewer references are left
 * than times that the driver itself has returned the handle: usually with the last reference.
 *
 * States of an object (enum object_state):
 *
 *     0 none       there is no such object
 *     1 CLAIMED    a thread is creating it; found by key; others may wait for it
 *     2 SHARED     live; found by key and by handle
 *     3 UNSHARED   live; found by handle only; its content is known
 *     4 UNKNOWN    live; found by handle only; its content is not known
 *
 *     none    ── objects_claim returns OBJECTS_CREATE ──▶ CLAIMED
 *     CLAIMED ── objects_publish ──▶ SHARED: the waiting threads get OBJECTS_HIT
 *     CLAIMED ── objects_publish, a handle that is known ──▶ none: counted with that object
 *     CLAIMED ── objects_abandon ──▶ none: one of the waiting threads claims it
 *     SHARED  ── objects_claim returns OBJECTS_HIT ──▶ SHARED, with one reference more
 *     SHARED  ── objects_reference ──▶ SHARED, with one reference more
 *     none    ── objects_adopt ──▶ UNSHARED
 *     none    ── objects_adopt without facts ──▶ UNKNOWN
 *     SHARED, UNSHARED, UNKNOWN ── the last objects_release ──▶ none
 *
 * Single flight: if several threads ask for one object at once, the first claims it, and the others
 * wait in objects_claim until it is published or abandoned. A wait never costs much. A thread does
 * not wait, but asks the driver itself (OBJECTS_ALONE), if
 *   - the claim is one of several in a call, which ends with the last of them;
 *   - it could not share the result: its pipeline cache would miss what the driver compiles;
 *   - the claiming thread has a lower priority, and may lack a core for longer than the creation
 *     takes;
 *   - the process is in a sandbox, which may forbid asking for that priority.
 *
 * A wait ends after four times the average duration of such a creation here, 20 ms at least,
 * counted from the claim. A waiting thread holds no claim that another thread waits for, so there
 * is no circle.
 *
 * Thread-safe. A hit takes the lock of one shard for a short time; no lock is held across a call
 * down the chain. Memory comes from malloc, never from the program's allocator. */
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

/* The key of a lookup. Two keys are equal if the type and all the bytes are. */
struct object_key {
    VkObjectType type;
    struct digest digest;      /* of the whole key: only a hash */
    const struct iovec *parts; /* the live key, borrowed, compared in order */
    unsigned part_count;
};

/* NULL: out of memory. */
struct objects *objects_new(void);

/* Frees the memory, but destroys no driver object: objects that a program leaks stay its own. NULL
 * is a no-op. */
void objects_delete(struct objects *objects);

enum objects_answer {
    OBJECTS_HIT,    /* *ret_object is live, and has one reference more */
    OBJECTS_CREATE, /* *ret_object is a claim: create, then call objects_publish or objects_abandon
                     */
    OBJECTS_ALONE /* create it unshared, then call objects_adopt: another thread is creating it and
                     this one does not wait (*ret_object is that claim, only for comparison), or
                     memory is out */
};

/* How a creation takes part in single flight. All false: it waits for no thread, and no thread for
 * it. */
struct objects_flight {
    bool waits;              /* it may wait for another thread's claim */
    bool needs_device_cache; /* it may share, and wait for, only what goes into the device cache */
    bool awaited;            /* if it claims, others may wait: its call creates nothing else */
    bool in_device_cache;    /* if it claims, what the driver compiles goes into the device cache */
};

/* Asks for an object. `facts` (without name and serial) describe it once it is live. */
enum objects_answer objects_claim(struct objects *objects, const struct object_key *key,
                                  const struct canonical_object *facts,
                                  const struct objects_flight *flight, struct object **ret_object);

/* For an object that objects_claim has returned as a hit. */
uint64_t object_handle(const struct object *object);
bool object_is_in_device_cache(const struct object *object);

/* The claimed object was created as `handle`, and is shared from now on. name: by which live keys
 * know its content (zeros: none names it so). in_device_cache: what the driver compiled for it is
 * in the device cache. (If the driver has returned a handle that is already known, the two are
 * counted as one object.) */
void objects_publish(struct objects *objects, struct object *claim, uint64_t handle,
                     struct digest name, bool in_device_cache);

/* The claimed object was not created: one of the waiting threads claims it. */
void objects_abandon(struct objects *objects, struct object *claim);

/* Registers a created handle that is not shared. facts NULL: nothing is known of it, and
 * create-infos that refer to it cannot be encoded. parts: form and code of a shader module that may
 * be borrowed later, which are copied; else NULL. */
void objects_adopt(struct objects *objects, VkObjectType type, uint64_t handle,
                   const struct canonical_object *facts, const struct iovec parts[2]);

/* The content of a live shader module: of a shared one, or one adopted with its parts. */
struct objects_module {
    struct digest content;
    const void *form;
    size_t form_size;
    const void *code; /* not aligned */
    size_t code_size;
};

/* Borrowed until the module is destroyed. False: it is not known, or its content is not kept. */
bool objects_borrow_module(struct objects *objects, uint64_t handle,
                           struct objects_module *ret_module);

/* Adds a reference to a live handle, of which the caller holds one: the handle is given out once
 * more. */
void objects_reference(struct objects *objects, VkObjectType type, uint64_t handle);

/* The program destroys the handle. Returns true if the call is to go down the chain; the handle is
 * then forgotten here already, because the driver may return it again at once. */
bool objects_release(struct objects *objects, VkObjectType type, uint64_t handle);

/* Looks up what a live handle stands for; false if that is not known. */
bool objects_resolve(struct objects *objects, VkObjectType type, uint64_t handle,
                     struct canonical_object *ret_facts);

/* Returns a counter that changes before any known handle is forgotten: what was resolved since its
 * last change still holds. */
uint64_t objects_epoch(const struct objects *objects);

#endif
