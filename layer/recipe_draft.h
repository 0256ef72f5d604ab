/* What is to be recorded of one pipeline if it is created: its form, and the modules that it is
 * made of. Their forms and code are borrowed from live objects and from the program, so that a
 * draft lives no longer than the call that creates the pipeline. */
#ifndef WARMPIPE_LAYER_RECIPE_DRAFT_H
#define WARMPIPE_LAYER_RECIPE_DRAFT_H

#include "codec/canonical.h"
#include "objects.h"
#include "sharing.h"

struct recipe_draft {
    struct digest pipeline;
    const void *form; /* NULL: recorded already, only its use is new */
    size_t form_size;
    size_t module_count;
    struct objects_module modules[];
};

/* Of a form that sharing_encode has just given. NULL: a module's code is not kept, or memory is
 * out. */
struct recipe_draft *recipe_draft_new(struct sharing *sharing, const struct canonical *form);

/* Of a pipeline whose form is recorded. */
struct recipe_draft *recipe_draft_of_use(struct digest pipeline);

/* NULL is a no-op. */
void recipe_draft_free(struct recipe_draft *draft);

/* The module of this content, or NULL. */
const struct objects_module *recipe_draft_module(const struct recipe_draft *draft,
                                                 struct digest content);

#endif
