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

#include "codec/digest.h"

struct objects;
struct object;

/* What is looked up: equal if type and all the bytes are. */
struct object_key {
    VkObjectType type;
    struct digest content;     /* of the canonical bytes: names the object for its parents */
    uint64_t identity;         /* a hash over the identity tail, 0 if there is none */
    const struct iovec *parts; /* canonical bytes and identity tail, borrowed, compared in order */
    unsigned part_count;
};

/* NULL: out of memory. */
struct objects *objects_new(void);

/* Frees the memory, and no driver object: what a program leaks stays its own. NULL is a no-op. */
void objects_delete(struct objects *objects);

enum objects_answer {
    OBJECTS_HIT,    /* *ret_handle is live, and referenced once more */
    OBJECTS_CREATE, /* create it, then objects_publish or objects_abandon *ret_claim */
    OBJECTS_ALONE   /* create it unshared, then objects_adopt: somebody else is creating it and
                     * `wait` is false, or memory is out */
};

/* Asks for an object. With wait, a thread that finds the same one being created by another waits
 * until that has ended (single flight). */
enum objects_answer objects_claim(struct objects *objects, const struct object_key *key, bool wait,
                                  uint64_t *ret_handle, struct object **ret_claim);

/* The claimed object has been created as `handle`: it is shared from now on. (If the driver has
 * returned a handle that is known already, the two are counted as one.) */
void objects_publish(struct objects *objects, struct object *claim, uint64_t handle);

/* It has not been created: whoever waits tries by itself. */
void objects_abandon(struct objects *objects, struct object *claim);

/* Makes a created handle known that is not shared. content NULL: nothing is known of it, parents
 * that name it cannot be encoded. */
void objects_adopt(struct objects *objects, VkObjectType type, uint64_t handle,
                   const struct digest *content);

/* A destroy of the handle: true if it is to go down the chain, after which the handle is forgotten
 * here already, so that the driver may give it out again. */
bool objects_release(struct objects *objects, VkObjectType type, uint64_t handle);

/* What a live handle stands for: false if unknown. The serial is never given out twice. */
bool objects_resolve(struct objects *objects, VkObjectType type, uint64_t handle,
                     struct digest *ret_content, uint64_t *ret_serial);

/* How many live objects there are. */
size_t objects_count(struct objects *objects);

#endif
