// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/recipe_draft.h"

#include <stdlib.h>
#include <string.h>

/* Real programs have some hundred forms of some hundred bytes; this bounds the memory of one that
 * makes objects without end. */
#define FORMS_BYTES_MAX ((size_t)8 << 20)

/* Bytes of forms that the draft holds itself, behind its modules. */
static size_t recipe_draft_forms_size(const struct dedup_module *modules, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += modules[i].handle == 0 ? modules[i].brought.form_size : 0;
    }
    return size;
}

static void *recipe_draft_keep(uint8_t **next, const void *bytes, size_t size)
{
    void *kept = memcpy(*next, bytes, size);
    *next += size;
    return kept;
}

static bool recipe_draft_take_module(struct objects *objects, const struct dedup_module *module,
                                     uint8_t **next, struct objects_module *ret_module)
{
    if (module->handle != 0) {
        return objects_borrow_module(objects, module->handle, ret_module);
    }
    const struct canonical_inline_module *brought = &module->brought;
    *ret_module = (struct objects_module){
        .content = brought->content,
        .form = recipe_draft_keep(next, brought->form, brought->form_size),
        .form_size = brought->form_size,
        .code = brought->code,
        .code_size = brought->code_size,
    };
    return true;
}

/* Each stage of a complete form has a module, in their order. */
static uint16_t recipe_draft_inline_stages(const struct dedup_module *modules, size_t count)
{
    unsigned inline_stages = 0;
    for (size_t i = 0; i < count; i++) {
        inline_stages |= modules[i].handle == 0 ? canonical_inline_bit(i) : 0;
    }
    return (uint16_t)inline_stages;
}

struct recipe_draft *recipe_draft_new(struct dedup *dedup, const struct canonical *form,
                                      bool is_recorded)
{
    size_t count = 0;
    const struct dedup_module *modules = dedup_modules(form, &count);
    if (!modules && count > 0) {
        return NULL;
    }
    const size_t size = is_recorded ? 0
                                    : count * sizeof(struct objects_module) +
                                          recipe_draft_forms_size(modules, count) + form->size;
    struct recipe_draft *draft = malloc(sizeof *draft + size);
    if (!draft) {
        return NULL;
    }
    *draft = (struct recipe_draft){
        .pipeline = form->digest,
        .inline_stages = recipe_draft_inline_stages(modules, count),
    };
    if (is_recorded) {
        return draft;
    }
    uint8_t *next = (uint8_t *)&draft->modules[count];
    draft->form = recipe_draft_keep(&next, form->key.data, form->size);
    draft->form_size = form->size;
    draft->module_count = count;
    for (size_t i = 0; i < count; i++) {
        if (!recipe_draft_take_module(dedup_objects(dedup), &modules[i], &next,
                                      &draft->modules[i])) {
            free(draft);
            return NULL;
        }
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
    for (size_t i = 0; i < draft->module_count; i++) {
        if (digest_equal(draft->modules[i].content, content)) {
            return &draft->modules[i];
        }
    }
    return NULL;
}

struct recipe_form {
    struct digest digest; /* first, for the set */
    size_t size;
    uint8_t bytes[];
};

bool recipe_forms_keep_type(VkStructureType type)
{
    switch (type) {
    case VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO:
    case VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO:
    case VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO:
    case VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO:
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO:
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2:
        return true;
    default:
        return false;
    }
}

void recipe_forms_release(struct recipe_forms *forms)
{
    size_t at = 0;
    for (void *form; (form = digest_set_next(&forms->set, &at));) {
        free(form);
    }
    digest_set_release(&forms->set);
}

const void *recipe_forms_find(const struct recipe_forms *forms, struct digest digest,
                              size_t *ret_size)
{
    const struct recipe_form *found = digest_set_find(&forms->set, digest);
    if (!found) {
        return NULL;
    }
    *ret_size = found->size;
    return found->bytes;
}

void recipe_forms_keep(struct recipe_forms *forms, struct digest digest, const void *form,
                       size_t size)
{
    const size_t whole = sizeof(struct recipe_form) + size;
    forms->set.of_pointers = true;
    if (whole > FORMS_BYTES_MAX - forms->bytes || digest_set_find(&forms->set, digest)) {
        return;
    }
    struct recipe_form *kept = malloc(whole);
    if (!kept) {
        return;
    }
    kept->digest = digest;
    kept->size = size;
    memcpy(kept->bytes, form, size);
    if (digest_set_add(&forms->set, (uintptr_t)kept)) {
        forms->bytes += whole;
    } else {
        free(kept);
    }
}
