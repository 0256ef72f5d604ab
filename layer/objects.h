/* The live objects of one device: what each handle stands for, and which handle stands for a given
 * content, so that what is asked for again is the same handle with one reference more.
 *
 * Vulkan allows this ("Object Model": handles of one type need not be unique, and each creation is
 * matched by its own destruction). A driver object is destroyed when as many references are left as
 * the driver itself has given out less one: usually with the last.
 *
 * Thread-safe. A hit takes one short lock of one shard; no lock is held across a call down the
 * chain. Memory is malloc'ed, never the program's. */
#ifndef WARMPIPE_LAYER_OBJECTS_H
#define WARMPIPE_LAYER_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <vulkan/vulkan.h>

#include "codec/canonical.h"

struct objects;
struct object;

/* What is looked up: equal if the type and all the bytes are. */
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
    OBJECTS_ALONE /* create it unshared, then objects_adopt: it is being created and `wait` is false
                   * (*ret_object is that claim, to be compared only), or memory is out */
};

/* Asks for an object; `facts` (its serial is not read) are what it is named by once it is live.
 * With wait, a thread that finds the same one being created by another waits until that has ended
 * (single flight): only a thread that holds no claim of its own may wait. */
enum objects_answer objects_claim(struct objects *objects, const struct object_key *key,
                                  const struct canonical_object *facts, bool wait,
                                  struct object **ret_object);

/* Of an object that objects_claim has given as a hit. */
uint64_t object_handle(const struct object *object);
bool object_is_in_hot_cache(const struct object *object);

/* The claimed object has been created as `handle`: it is shared from now on. hot: what the driver
 * compiled for it is in the hot cache. (If the driver has returned a handle that is known already,
 * the two are counted as one.) */
void objects_publish(struct objects *objects, struct object *claim, uint64_t handle, bool hot);

/* It has not been created: whoever waits tries by itself. */
void objects_abandon(struct objects *objects, struct object *claim);

/* Makes a created handle known that is not shared. facts NULL: nothing is known of it; what names
 * it cannot be encoded. */
void objects_adopt(struct objects *objects, VkObjectType type, uint64_t handle,
                   const struct canonical_object *facts);

/* The same for a shader module, whose form and code (parts, copied) are kept with it. */
void objects_adopt_module(struct objects *objects, uint64_t handle,
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

/* One reference more to a live handle that the caller holds one of: it is given out once more. */
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

/* How many live objects there are. */
size_t objects_count(struct objects *objects);

#endif
