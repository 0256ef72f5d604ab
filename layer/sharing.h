/* What sharing handles takes on one device: the live objects, what the encoder needs to know, and
 * which kinds may be shared. */
#ifndef WARMPIPE_LAYER_SHARING_H
#define WARMPIPE_LAYER_SHARING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "codec/canonical.h"
#include "objects.h"

struct sharing;

struct sharing_setup {
    unsigned kinds; /* of enum dedup_kind: these are shared, the others only named */
    const atomic_bool *has_callback; /* once set, no thread waits for another's creation */
    bool layouts_by_serial;          /* see struct canonical_context */
    bool blend_advanced_coherent;    /* likewise */
};

/* NULL: out of memory. */
struct sharing *sharing_new(const struct sharing_setup *setup);

/* Frees the memory; NULL is a no-op. */
void sharing_delete(struct sharing *sharing);

struct objects *sharing_objects(struct sharing *sharing);
bool sharing_includes(const struct sharing *sharing, unsigned kind);

/* Whether a thread may wait for another's creation of the same object. */
bool sharing_may_wait(const struct sharing *sharing);

/* The canonical form of a create-info, in memory that is used again: to be given back with
 * sharing_done before the thread asks for the next. NULL: out of memory. Thread-safe. */
struct canonical *sharing_encode(struct sharing *sharing, const void *create_info);
void sharing_done(struct sharing *sharing, struct canonical *form);

/* What a form names its object by, the serial apart. */
struct canonical_object sharing_facts(const struct canonical *form);

/* A shader module that the form of a pipeline refers to: a live one, or code that a stage brings
 * along (handle 0), whose form and code are borrowed: the form until sharing_done, the code from
 * the create-info. */
struct sharing_module {
    uint64_t handle;
    struct canonical_inline_module brought;
};

/* Those of a form that sharing_encode has just given, one for each stage; NULL: memory was out. */
const struct sharing_module *sharing_modules(const struct canonical *form, size_t *ret_count);

/* Asks for the object of this type and form, as objects_claim does. */
enum objects_answer sharing_claim(struct sharing *sharing, VkObjectType type,
                                  const struct canonical *form, bool wait,
                                  struct object **ret_object);

#endif
