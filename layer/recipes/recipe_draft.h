// SPDX-License-Identifier: Apache-2.0
/* Data of recipes before they are written: the draft of one pipeline, which is recorded if the
 * pipeline is created, and the forms that pipelines refer to. */
#ifndef WARMPIPE_LAYER_RECIPES_RECIPE_DRAFT_H
#define WARMPIPE_LAYER_RECIPES_RECIPE_DRAFT_H

#include "common/base/digest.h"
#include "common/codec/canonical.h"
#include "layer/dedup/dedup.h"
#include "layer/dedup/objects.h"

/* A pipeline's form, and its modules. The modules' code is borrowed from live objects and from the
 * program, and so are their forms, except those of code in a stage. So a draft lives no longer than
 * the call that creates the pipeline. */
struct recipe_draft {
    struct digest pipeline;
    uint16_t inline_stages; /* canonical_inline_bit of each stage with inline code */
    const void *form;       /* NULL: already recorded, only its use is new; there are no modules */
    size_t form_size;
    size_t module_count;
    struct objects_module modules[];
};

/* Makes a draft from a form that dedup_encode has just returned; is_recorded: the form is already
 * recorded. NULL: a module's code is not kept, or memory is out. */
struct recipe_draft *recipe_draft_new(struct dedup *dedup, const struct canonical *form,
                                      bool is_recorded);

/* NULL is a no-op. */
void recipe_draft_free(struct recipe_draft *draft);

/* Returns the module of this content, or NULL. */
const struct objects_module *recipe_draft_module(const struct recipe_draft *draft,
                                                 struct digest content);

/* Canonical forms by their digest. They are kept because an object that a pipeline refers to may be
 * destroyed before the pipeline is created (a set layout may be destroyed as soon as a pipeline
 * layout was made of it). At most 8 MiB. Belongs to one owner, under its lock; zero-initialize, and
 * do not move. */
struct recipe_forms {
    struct digest_set set;
    size_t bytes; /* held */
};

/* Whether forms of this type are kept; forms of shader modules are not, because the draft has them.
 */
bool recipe_forms_keep_type(VkStructureType type);

void recipe_forms_release(struct recipe_forms *forms);

/* Keeps a copy, unless it is there, there is no room, or memory is out. */
void recipe_forms_keep(struct recipe_forms *forms, struct digest digest, const void *form,
                       size_t size);

/* Returns a form, borrowed until the release; NULL: it is not there. */
const void *recipe_forms_find(const struct recipe_forms *forms, struct digest digest,
                              size_t *ret_size);

#endif
