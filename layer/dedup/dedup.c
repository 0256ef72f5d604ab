// SPDX-License-Identifier: Apache-2.0
#include "layer/dedup/dedup.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "layer/trace/stats.h"

/* This many threads encode at once without allocating. */
#define SCRATCH_COUNT 16

/* What a thread resolved last: it asks for the same modules and layouts again and again, and so
 * does not need the shared table for them. Holds as long as no handle was destroyed since. */
#define RESOLVED_COUNT 8

struct resolved {
    uint64_t handles[RESOLVED_COUNT]; /* 0: free */
    VkObjectType types[RESOLVED_COUNT];
    struct canonical_object objects[RESOLVED_COUNT];
    unsigned oldest; /* the next to be replaced */
};

/* The modules that a pipeline's form refers to. */
struct modules {
    struct dedup_module *items;
    size_t count;
    size_t capacity;
    struct bytes forms; /* of those that stages bring along, one after the other */
    bool failed;
};

struct scratch;

/* What encoding works with, kept from one creation to the next. The form comes first: it is what
 * callers hold. */
struct workspace {
    struct canonical form;
    struct objects *objects;
    struct scratch *home; /* of the thread that has taken it */
    uint64_t epoch;
    struct resolved resolved;
    struct modules modules;
};

/* A call of several pipelines holds as many forms at once; so many of them without allocating. */
#define SCRATCH_DEPTH 4

/* In a pair of cache lines of its own (they are fetched in pairs): each thread mostly uses one. */
struct scratch {
    _Alignas(128) _Atomic(struct workspace *) workspaces[SCRATCH_DEPTH]; /* NULL: taken, or none */
};

struct dedup {
    struct objects *objects;
    struct canonical_context context;
    unsigned kinds;
    const atomic_bool *has_callback;
    struct scratch scratch[SCRATCH_COUNT];
};

static const struct canonical_object *dedup_find_resolved(const struct resolved *resolved,
                                                          VkObjectType type, uint64_t handle)
{
    for (unsigned i = 0; i < RESOLVED_COUNT; i++) {
        if (resolved->handles[i] == handle && resolved->types[i] == type) {
            return &resolved->objects[i];
        }
    }
    return NULL;
}

static void dedup_keep_resolved(struct resolved *resolved, VkObjectType type, uint64_t handle,
                                const struct canonical_object *object)
{
    unsigned i = resolved->oldest;
    resolved->handles[i] = handle;
    resolved->types[i] = type;
    resolved->objects[i] = *object;
    resolved->oldest = (i + 1) % RESOLVED_COUNT;
}

/* Room for one more; NULL: out of memory. */
static struct dedup_module *dedup_new_module(struct modules *modules)
{
    if (modules->count == modules->capacity) {
        size_t capacity = modules->capacity ? modules->capacity * 2 : 8;
        struct dedup_module *items = reallocarray(modules->items, capacity, sizeof *items);
        if (!items) {
            modules->failed = true;
            return NULL;
        }
        modules->items = items;
        modules->capacity = capacity;
    }
    return &modules->items[modules->count++];
}

/* The form is where the next ones are written: it is copied, and found again by its size. */
static __attribute__((cold)) void
dedup_note_inline_module(void *user, const struct canonical_inline_module *brought)
{
    struct modules *modules = &((struct workspace *)user)->modules;
    struct dedup_module *module = dedup_new_module(modules);
    if (module) {
        bytes_put(&modules->forms, brought->form, brought->form_size);
        *module = (struct dedup_module){.brought = *brought};
    }
}

const struct dedup_module *dedup_modules(const struct canonical *form, size_t *ret_count)
{
    struct modules *modules = &((struct workspace *)(uintptr_t)form)->modules;
    const uint8_t *next = modules->forms.data;
    for (size_t i = 0; i < modules->count; i++) {
        struct dedup_module *module = &modules->items[i];
        if (module->handle == 0) {
            module->brought.form = next;
            next += module->brought.form_size;
        }
    }
    *ret_count = modules->count;
    return modules->failed || modules->forms.failed ? NULL : modules->items;
}

static bool dedup_resolve(void *user, VkObjectType type, uint64_t handle,
                          struct canonical_object *ret_object)
{
    struct workspace *workspace = user;
    uint64_t epoch = objects_epoch(workspace->objects);
    if (workspace->epoch != epoch) {
        memset(workspace->resolved.handles, 0, sizeof workspace->resolved.handles);
        workspace->epoch = epoch;
    }
    if (type == VK_OBJECT_TYPE_SHADER_MODULE) {
        struct dedup_module *module = dedup_new_module(&workspace->modules);
        if (module) {
            module->handle = handle;
        }
    }
    const struct canonical_object *known = dedup_find_resolved(&workspace->resolved, type, handle);
    if (known) {
        *ret_object = *known;
        return true;
    }
    if (!objects_resolve(workspace->objects, type, handle, ret_object)) {
        return false;
    }
    dedup_keep_resolved(&workspace->resolved, type, handle, ret_object);
    return true;
}

__attribute__((cold)) struct dedup *dedup_new(const struct dedup_setup *setup)
{
    struct dedup *dedup = aligned_alloc(_Alignof(struct dedup), sizeof *dedup);
    struct objects *objects = objects_new();
    if (!dedup || !objects) {
        free(dedup);
        objects_delete(objects);
        return NULL;
    }
    memset(dedup, 0, sizeof *dedup);
    dedup->objects = objects;
    const struct live_key *live_key = setup->kinds ? live_key_of_process() : NULL;
    dedup->kinds = live_key ? setup->kinds : 0;
    dedup->has_callback = setup->has_callback;
    dedup->context = (struct canonical_context){
        .resolve = dedup_resolve,
        .inline_module = dedup_note_inline_module,
        .live_key = live_key,
        .layouts_by_serial = setup->layouts_by_serial,
        .blend_advanced_coherent = setup->blend_advanced_coherent,
    };
    return dedup;
}

static __attribute__((cold)) void workspace_delete(struct workspace *workspace)
{
    if (workspace) {
        canonical_free(&workspace->form);
        free(workspace->modules.items);
        bytes_free(&workspace->modules.forms);
        free(workspace);
    }
}

__attribute__((cold)) void dedup_delete(struct dedup *dedup)
{
    if (dedup) {
        for (unsigned i = 0; i < SCRATCH_COUNT; i++) {
            for (unsigned j = 0; j < SCRATCH_DEPTH; j++) {
                workspace_delete(atomic_load(&dedup->scratch[i].workspaces[j]));
            }
        }
        objects_delete(dedup->objects);
        free(dedup);
    }
}

struct objects *dedup_objects(struct dedup *dedup)
{
    return dedup->objects;
}

bool dedup_includes(const struct dedup *dedup, unsigned kind)
{
    return (dedup->kinds & kind) != 0;
}

bool dedup_may_wait(const struct dedup *dedup)
{
    return !atomic_load_explicit(dedup->has_callback, memory_order_relaxed);
}

/* Numbers mostly differ between threads, so that each finds its own workspace again. */
static struct workspace *dedup_take_workspace(struct dedup *dedup)
{
    struct scratch *scratch = &dedup->scratch[stats_thread_number() % SCRATCH_COUNT];
    struct workspace *workspace = NULL;
    for (unsigned i = 0; i < SCRATCH_DEPTH && !workspace; i++) {
        if (atomic_load_explicit(&scratch->workspaces[i], memory_order_relaxed)) {
            workspace =
                atomic_exchange_explicit(&scratch->workspaces[i], NULL, memory_order_acquire);
        }
    }
    if (!workspace && (workspace = calloc(1, sizeof *workspace))) {
        workspace->objects = dedup->objects;
    }
    if (workspace) {
        workspace->home = scratch;
    }
    return workspace;
}

struct canonical *dedup_encode(struct dedup *dedup, const void *create_info)
{
    struct workspace *workspace = dedup_take_workspace(dedup);
    if (!workspace) {
        return NULL;
    }
    struct modules *modules = &workspace->modules;
    modules->count = 0;
    modules->forms.size = 0;
    modules->forms.failed = modules->failed = false;
    struct canonical_context context = dedup->context;
    context.user = workspace;
    canonical_encode(&context, create_info, &workspace->form);
    return &workspace->form;
}

void dedup_done(struct canonical *form)
{
    struct workspace *workspace = (struct workspace *)form;
    struct scratch *scratch = workspace->home;
    for (unsigned i = 0; i < SCRATCH_DEPTH; i++) {
        if (!atomic_load_explicit(&scratch->workspaces[i], memory_order_relaxed)) {
            workspace =
                atomic_exchange_explicit(&scratch->workspaces[i], workspace, memory_order_acq_rel);
            break;
        }
    }
    workspace_delete(workspace); /* NULL: it was kept */
}

struct canonical_object dedup_facts(const struct canonical *form)
{
    return (struct canonical_object){
        .content = form->digest,
        .by_serial = form->by_serial,
    };
}

__attribute__((cold)) struct digest dedup_name(const struct dedup *dedup,
                                               const struct canonical *form)
{
    const struct live_key *key = dedup->context.live_key;
    return key ? live_name(key, form->key.data, form->key.size, form->code, form->code_size)
               : (struct digest){0};
}

enum objects_answer dedup_claim(struct dedup *dedup, VkObjectType type,
                                const struct canonical *form, const struct objects_flight *flight,
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
    struct canonical_object facts = dedup_facts(form);
    return objects_claim(dedup->objects, &key, &facts, flight, ret_object);
}
