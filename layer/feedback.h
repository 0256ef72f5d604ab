/* Creation feedback: how warmpipe learns whether the driver's cache had a pipeline. Where a program
 * asks for none, a VkPipelineCreationFeedbackCreateInfo of ours is put in front of the chain, in a
 * copy of the create-infos; where it asks itself, its own is read. Either way the program never
 * sees a hit in a cache that it did not name (chapter "Pipeline Creation Feedback"). */
#ifndef WARMPIPE_LAYER_FEEDBACK_H
#define WARMPIPE_LAYER_FEEDBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* So many elements need no memory of the heap; programs rarely create more in one call. */
#define FEEDBACK_INLINE_ELEMENTS 4

struct feedback_element {
    const VkPipelineCreationFeedbackCreateInfo *used; /* the program's or `own`; NULL: none */
    VkPipelineCreationFeedbackCreateInfo own;
    VkPipelineCreationFeedback value;
};

/* One call's feedback; lives on the stack of the call and must not be moved. */
struct feedback {
    uint32_t count;
    struct feedback_element *elements; /* NULL, on a lack of memory: nothing will be known */
    struct feedback_element inline_elements[FEEDBACK_INLINE_ELEMENTS];
};

/* What the driver told of a call. */
struct feedback_result {
    uint32_t hits;
    uint32_t misses;
    uint32_t unknown;
};

/* Prepares for `count` elements, none of which has feedback yet. feedback_end must follow. */
void feedback_begin(struct feedback *feedback, uint32_t count);

/* Element i asks for feedback itself, in this struct. */
void feedback_use(struct feedback *feedback, uint32_t i,
                  const VkPipelineCreationFeedbackCreateInfo *programs);

/* Puts our struct in front of the chain of element i, if it has none itself; *next is the pNext of
 * its create-info, in a copy that the driver will be given. */
void feedback_chain(struct feedback *feedback, uint32_t i, const void **next);

/* After the call: counts, by what the driver wrote, every pipeline that was created. */
struct feedback_result feedback_collect(const struct feedback *feedback,
                                        const VkPipeline *pipelines);

/* Clears APPLICATION_PIPELINE_CACHE_HIT, of the pipeline and of the stages, in a struct of the
 * program's: the cache that was hit is not one that it named. NULL is a no-op. */
void feedback_hide_hit(const VkPipelineCreationFeedbackCreateInfo *programs);

/* Frees what begin allocated. */
void feedback_end(struct feedback *feedback);

#endif
