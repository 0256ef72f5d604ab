// SPDX-License-Identifier: Apache-2.0
/* Deduplication on one device: encodes create-infos, decides which kinds of objects may be shared,
 * and looks them up among the live objects (objects.h).
 *
 * A live key never identifies code, or anything else from the program, by its public digest (row 61
 * of docs/CORRECTNESS.md: an attacker can make two inputs with one digest). Live objects are
 * compared byte by byte. Objects made of them name them by a keyed hash, or by a serial. */
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
    unsigned kinds; /* bits of enum dedup_kind: these are shared, the others only named */
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

/* Encodes a create-info into memory that is reused. Any thread may give it back, with dedup_done; a
 * call may hold one for each of its elements. NULL: out of memory. Thread-safe. */
struct canonical *dedup_encode(struct dedup *dedup, const void *create_info);
void dedup_done(struct canonical *form);

/* Returns the facts of the form's object, without serial and name. */
struct canonical_object dedup_facts(const struct canonical *form);

/* Returns the name by which live keys know this form's content; zeros if nothing is shared. Reads
 * all the code of a module, so call it for created objects, not for found ones. */
struct digest dedup_name(const struct dedup *dedup, const struct canonical *form);

/* A shader module that a pipeline's form refers to: a live one, or inline code of a stage (handle
 * 0). Inline code is borrowed: its form until dedup_done, its code from the create-info. */
struct dedup_module {
    uint64_t handle;
    struct canonical_inline_module brought;
};

/* Returns the modules of a form that dedup_encode has just returned, one for each stage; NULL:
 * memory was out. */
const struct dedup_module *dedup_modules(const struct canonical *form, size_t *ret_count);

/* Asks for the object of this type and form, as objects_claim does. */
enum objects_answer dedup_claim(struct dedup *dedup, VkObjectType type,
                                const struct canonical *form, const struct objects_flight *flight,
                                struct object **ret_object);

#endif
