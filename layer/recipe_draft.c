#include "recipe_draft.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of forms that the draft holds itself, behind its modules. */
static size_t size_of_forms(const struct sharing_module *modules, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; ++i) {
        size += modules[i].handle == 0 ? modules[i].brought.form_size : 0;
    }
    return size;
}

static void *keep(uint8_t **next, const void *bytes, size_t size)
{
    void *kept = memcpy(*next, bytes, size);
    *next += size;
    return kept;
}

static bool take_module(struct objects *objects, const struct sharing_module *module,
                        uint8_t **next, struct objects_module *ret_module)
{
    if (module->handle != 0) {
        return objects_borrow_module(objects, module->handle, ret_module);
    }
    const struct canonical_inline_module *brought = &module->brought;
    *ret_module = (struct objects_module){
        .content = brought->content,
        .form = keep(next, brought->form, brought->form_size),
        .form_size = brought->form_size,
        .code = brought->code,
        .code_size = brought->code_size,
    };
    return true;
}

struct recipe_draft *recipe_draft_new(struct sharing *sharing, const struct canonical *form)
{
    size_t count = 0;
    const struct sharing_module *modules = sharing_modules(form, &count);
    if (!modules && count > 0) {
        return NULL;
    }
    struct recipe_draft *draft = malloc(sizeof *draft + count * sizeof draft->modules[0] +
                                        size_of_forms(modules, count) + form->size);
    if (!draft) {
        return NULL;
    }
    uint8_t *next = (uint8_t *)&draft->modules[count];
    draft->pipeline = form->digest;
    draft->form = keep(&next, form->key.data, form->size);
    draft->form_size = form->size;
    draft->module_count = count;
    for (size_t i = 0; i < count; ++i) {
        if (!take_module(sharing_objects(sharing), &modules[i], &next, &draft->modules[i])) {
            free(draft);
            return NULL;
        }
    }
    return draft;
}

struct recipe_draft *recipe_draft_of_use(struct digest pipeline)
{
    struct recipe_draft *draft = calloc(1, sizeof *draft);
    if (draft) {
        draft->pipeline = pipeline;
    }
    return draft;
}

void recipe_draft_free(struct recipe_draft *draft)
{
    free(draft);
}

const struct objects_module *recipe_draft_module(const struct recipe_draft *draft,
                                                 struct digest content)
{
    for (size_t i = 0; i < draft->module_count; ++i) {
        if (digest_equal(draft->modules[i].content, content)) {
            return &draft->modules[i];
        }
    }
    return NULL;
}
