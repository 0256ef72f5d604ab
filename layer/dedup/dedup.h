// SPDX-License-Identifier: Apache-2.0
/* Deduplication on one device: encodes create-infos, knows which kinds of objects may be shared,
 * and looks them up among the live objects (objects.h).
 *
 * A live key never knows code, or anything else that a program brings along, by its public digest
 * (row 61 of docs/CORRECTNESS.md): objects that live are compared byte by byte, and what has been
 * made of them knows them by a keyed hash, or by a serial. */
#ifndef WARMPIPE_LAYER_DEDUP_DEDUP_H
#define WARMPIPE_LAYER_DEDUP_DEDUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/codec/canonical.h"
#include "layer/dedup/objects.h"

struct dedup;

struct dedup_setup {
    unsigned kinds; /* of enum dedup_kind: these are shared, the others only named */
    const atomic_bool *has_callback; /* once set, no thread waits for another's creation */
    bool layouts_by_serial;          /* see struct canonical_context */
    bool blend_advanced_coherent;    /* likewise */
};

/* NULL: out of memory. */
struct dedup *dedup_new(const struct dedup_setup *setup);

/* Frees the memory; NULL is a no-op. */
void dedup_delete(struct dedup *dedup);

struct objects *dedup_objects(struct dedup *dedup);
bool dedup_includes(const struct dedup *dedup, unsigned kind);

/* Whether a thread may wait for another's creation of the same object. */
bool dedup_may_wait(const struct dedup *dedup);

/* The canonical form of a create-info, in memory that is used again: to be given back with
 * dedup_done, by any thread; a call may hold one for each of its elements. NULL: out of memory.
 * Thread-safe. */
struct canonical *dedup_encode(struct dedup *dedup, const void *create_info);
void dedup_done(struct canonical *form);

/* What a form says of its object, all but serial and name. */
struct canonical_object dedup_facts(const struct canonical *form);

/* What live keys are to know this form's content by; zeros where nothing is shared. Reads all the
 * code of a module: for what has been created, not for what is found. */
struct digest dedup_name(const struct dedup *dedup, const struct canonical *form);

/* A shader module that the form of a pipeline refers to: a live one, or code that a stage brings
 * along (handle 0), whose form and code are borrowed: the form until dedup_done, the code from
 * the create-info. */
struct dedup_module {
    uint64_t handle;
    struct canonical_inline_module brought;
};

/* Those of a form that dedup_encode has just given, one for each stage; NULL: memory was out. */
const struct dedup_module *dedup_modules(const struct canonical *form, size_t *ret_count);

/* Asks for the object of this type and form, as objects_claim does. */
enum objects_answer dedup_claim(struct dedup *dedup, VkObjectType type,
                                const struct canonical *form, const struct objects_flight *flight,
                                struct object **ret_object);

#endif
