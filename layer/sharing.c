#include "sharing.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* So many threads encode at once without allocating. */
#define SCRATCH_COUNT 16

/* In a cache line of its own, for each thread mostly uses one. */
struct scratch {
    _Alignas(64) _Atomic(struct canonical *) form; /* NULL: taken, or never made */
};

struct sharing {
    struct objects *objects;
    struct canonical_context context;
    unsigned kinds;
    const atomic_bool *has_callback;
    struct scratch scratch[SCRATCH_COUNT];
};

static bool resolve(void *user, VkObjectType type, uint64_t handle,
                    struct canonical_object *ret_object)
{
    return objects_resolve(user, type, handle, ret_object);
}

struct sharing *sharing_new(const struct sharing_setup *setup)
{
    struct sharing *sharing = aligned_alloc(_Alignof(struct sharing), sizeof *sharing);
    struct objects *objects = objects_new();
    if (!sharing || !objects) {
        free(sharing);
        objects_delete(objects);
        return NULL;
    }
    memset(sharing, 0, sizeof *sharing);
    sharing->objects = objects;
    sharing->kinds = setup->kinds;
    sharing->has_callback = setup->has_callback;
    sharing->context = (struct canonical_context){
        .resolve = resolve,
        .user = objects,
        .layouts_by_serial = setup->layouts_by_serial,
        .blend_advanced_coherent = setup->blend_advanced_coherent,
    };
    return sharing;
}

static void scratch_free(struct canonical *scratch)
{
    if (scratch) {
        canonical_free(scratch);
        free(scratch);
    }
}

void sharing_delete(struct sharing *sharing)
{
    if (sharing) {
        for (unsigned i = 0; i < SCRATCH_COUNT; ++i) {
            scratch_free(atomic_load(&sharing->scratch[i].form));
        }
        objects_delete(sharing->objects);
        free(sharing);
    }
}

struct objects *sharing_objects(struct sharing *sharing)
{
    return sharing->objects;
}

bool sharing_includes(const struct sharing *sharing, unsigned kind)
{
    return (sharing->kinds & kind) != 0;
}

bool sharing_may_wait(const struct sharing *sharing)
{
    return !atomic_load_explicit(sharing->has_callback, memory_order_relaxed);
}

/* A place that differs between threads, so that each mostly finds its own scratch again. */
static unsigned own_slot(void)
{
    static _Thread_local char here;
    uintptr_t address = (uintptr_t)&here;
    return (unsigned)((address >> 12 ^ address >> 20) % SCRATCH_COUNT);
}

struct canonical *sharing_encode(struct sharing *sharing, const void *create_info)
{
    struct canonical *form =
        atomic_exchange_explicit(&sharing->scratch[own_slot()].form, NULL, memory_order_acquire);
    if (!form) {
        form = calloc(1, sizeof *form);
    }
    if (form) {
        canonical_encode(&sharing->context, create_info, form);
    }
    return form;
}

void sharing_done(struct sharing *sharing, struct canonical *form)
{
    scratch_free(
        atomic_exchange_explicit(&sharing->scratch[own_slot()].form, form, memory_order_acq_rel));
}

struct canonical_object sharing_facts(const struct canonical *form)
{
    return (struct canonical_object){
        .content = form->digest,
        .by_serial = form->key.size > form->size,
    };
}

enum objects_answer sharing_claim(struct sharing *sharing, VkObjectType type,
                                  const struct canonical *form, bool wait,
                                  struct object **ret_object)
{
    struct iovec parts[2] = {
        {form->key.data, form->key.size},
        {(void *)(uintptr_t)form->code, form->code_size},
    };
    struct object_key key = {
        .type = type,
        .digest = form->key_digest,
        .parts = parts,
        .part_count = form->code_size ? 2 : 1,
    };
    struct canonical_object facts = sharing_facts(form);
    return objects_claim(sharing->objects, &key, &facts, wait, ret_object);
}
