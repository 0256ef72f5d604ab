#include "sharing.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

/* So many threads encode at once without allocating. */
#define SCRATCH_COUNT 16

/* What a thread resolved last: it asks for the same modules and layouts again and again, and need
 * not meet other threads at the table for it. Holds as long as no handle has gone since. */
#define RESOLVED_COUNT 8

struct resolved {
    uint64_t handles[RESOLVED_COUNT]; /* 0: free */
    VkObjectType types[RESOLVED_COUNT];
    struct canonical_object objects[RESOLVED_COUNT];
    unsigned oldest; /* the next to be replaced */
};

/* The modules that a pipeline's form refers to. */
struct modules {
    struct sharing_module *items;
    size_t count;
    size_t capacity;
    struct bytes forms; /* of those that stages bring along, one after the other */
    bool failed;
};

/* What encoding works with, kept from one creation to the next. The form comes first: it is what
 * callers hold. */
struct workspace {
    struct canonical form;
    struct objects *objects;
    uint64_t epoch;
    struct resolved resolved;
    struct modules modules;
};

/* In a pair of cache lines of its own (they are fetched in pairs), for each thread mostly uses one.
 */
struct scratch {
    _Alignas(128) _Atomic(struct workspace *) workspace; /* NULL: taken, or never made */
};

struct sharing {
    struct objects *objects;
    struct canonical_context context;
    unsigned kinds;
    const atomic_bool *has_callback;
    struct scratch scratch[SCRATCH_COUNT];
};

static const struct canonical_object *find_resolved(const struct resolved *resolved,
                                                    VkObjectType type, uint64_t handle)
{
    for (unsigned i = 0; i < RESOLVED_COUNT; ++i) {
        if (resolved->handles[i] == handle && resolved->types[i] == type) {
            return &resolved->objects[i];
        }
    }
    return NULL;
}

static void keep_resolved(struct resolved *resolved, VkObjectType type, uint64_t handle,
                          const struct canonical_object *object)
{
    unsigned i = resolved->oldest;
    resolved->handles[i] = handle;
    resolved->types[i] = type;
    resolved->objects[i] = *object;
    resolved->oldest = (i + 1) % RESOLVED_COUNT;
}

static void note_module(struct modules *modules, const struct sharing_module *module)
{
    if (modules->count == modules->capacity) {
        size_t capacity = modules->capacity ? modules->capacity * 2 : 8;
        struct sharing_module *items = reallocarray(modules->items, capacity, sizeof *items);
        if (!items) {
            modules->failed = true;
            return;
        }
        modules->items = items;
        modules->capacity = capacity;
    }
    modules->items[modules->count++] = *module;
}

/* The form is where the next ones are written: it is copied, and found again by its size. */
static void note_inline_module(void *user, const struct canonical_inline_module *module)
{
    struct modules *modules = &((struct workspace *)user)->modules;
    bytes_put(&modules->forms, module->form, module->form_size);
    note_module(modules, &(struct sharing_module){.brought = *module});
}

const struct sharing_module *sharing_modules(const struct canonical *form, size_t *ret_count)
{
    struct modules *modules = &((struct workspace *)(uintptr_t)form)->modules;
    const uint8_t *next = modules->forms.data;
    for (size_t i = 0; i < modules->count; ++i) {
        struct sharing_module *module = &modules->items[i];
        if (module->handle == 0) {
            module->brought.form = next;
            next += module->brought.form_size;
        }
    }
    *ret_count = modules->count;
    return modules->failed || modules->forms.failed ? NULL : modules->items;
}

static void reset_modules(struct modules *modules)
{
    modules->count = 0;
    modules->forms.size = 0;
    modules->forms.failed = modules->failed = false;
}

static bool resolve(void *user, VkObjectType type, uint64_t handle,
                    struct canonical_object *ret_object)
{
    struct workspace *workspace = user;
    uint64_t epoch = objects_epoch(workspace->objects);
    if (workspace->epoch != epoch) {
        memset(workspace->resolved.handles, 0, sizeof workspace->resolved.handles);
        workspace->epoch = epoch;
    }
    if (type == VK_OBJECT_TYPE_SHADER_MODULE) {
        note_module(&workspace->modules, &(struct sharing_module){.handle = handle});
    }
    const struct canonical_object *known = find_resolved(&workspace->resolved, type, handle);
    if (known) {
        *ret_object = *known;
        return true;
    }
    if (!objects_resolve(workspace->objects, type, handle, ret_object)) {
        return false;
    }
    keep_resolved(&workspace->resolved, type, handle, ret_object);
    return true;
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
        .inline_module = note_inline_module,
        .layouts_by_serial = setup->layouts_by_serial,
        .blend_advanced_coherent = setup->blend_advanced_coherent,
    };
    return sharing;
}

static void workspace_delete(struct workspace *workspace)
{
    if (workspace) {
        canonical_free(&workspace->form);
        free(workspace->modules.items);
        bytes_free(&workspace->modules.forms);
        free(workspace);
    }
}

void sharing_delete(struct sharing *sharing)
{
    if (sharing) {
        for (unsigned i = 0; i < SCRATCH_COUNT; ++i) {
            workspace_delete(atomic_load(&sharing->scratch[i].workspace));
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

/* Mostly differs between threads, so that each finds its own workspace again. */
static unsigned own_slot(void)
{
    return stats_thread_number() % SCRATCH_COUNT;
}

struct canonical *sharing_encode(struct sharing *sharing, const void *create_info)
{
    struct workspace *workspace = atomic_exchange_explicit(&sharing->scratch[own_slot()].workspace,
                                                           NULL, memory_order_acquire);
    if (!workspace) {
        workspace = calloc(1, sizeof *workspace);
        if (!workspace) {
            return NULL;
        }
        workspace->objects = sharing->objects;
    }
    reset_modules(&workspace->modules);
    struct canonical_context context = sharing->context;
    context.user = workspace;
    canonical_encode(&context, create_info, &workspace->form);
    return &workspace->form;
}

void sharing_done(struct sharing *sharing, struct canonical *form)
{
    struct workspace *workspace = (struct workspace *)form;
    workspace_delete(atomic_exchange_explicit(&sharing->scratch[own_slot()].workspace, workspace,
                                              memory_order_acq_rel));
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
