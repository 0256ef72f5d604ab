/* Creation feedback of one pipeline: how warmpipe learns whether the driver's cache had it. Where
 * the program asks for none, a VkPipelineCreationFeedbackCreateInfo of ours is put in front of the
 * chain of a copied create-info; where it asks itself, its own is read. Either way the program
 * never sees a hit in a cache that it did not name (chapter "Pipeline Creation Feedback").
 *
 * Not thread-safe: belongs to one call, and must not be moved once it is chained. */
#ifndef WARMPIPE_LAYER_FEEDBACK_H
#define WARMPIPE_LAYER_FEEDBACK_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

struct feedback {
    const VkPipelineCreationFeedbackCreateInfo *programs; /* NULL: it asks for none */
    const VkPipelineCreationFeedbackCreateInfo *used;     /* NULL: nothing will be known */
    VkPipelineCreationFeedbackCreateInfo own;
    VkPipelineCreationFeedback value;
};

/* Begins, with the program's own struct or NULL. */
void feedback_init(struct feedback *feedback, const VkPipelineCreationFeedbackCreateInfo *programs);

/* Puts our struct in front of a chain, if the program asks for no feedback itself; *next is the
 * pNext of a create-info that the driver will be given. */
void feedback_chain(struct feedback *feedback, const void **next);

enum feedback_verdict { FEEDBACK_UNKNOWN, FEEDBACK_HIT, FEEDBACK_MISS };

/* After the creation: what the driver said of the pipeline as a whole. */
enum feedback_verdict feedback_read(const struct feedback *feedback);

/* Of a hit or miss: how long the driver says that it took. */
uint64_t feedback_duration_ns(const struct feedback *feedback);

/* Clears APPLICATION_PIPELINE_CACHE_HIT, of the pipeline and of the stages, in what the program
 * sees: the cache that was hit is not one that it named. */
void feedback_hide_hit(const struct feedback *feedback);

/* Writes what the program sees of a pipeline that no driver was asked for: valid, with the time it
 * took; every stage not valid ("must set or clear VALID for every element"). */
void feedback_write_shared(const struct feedback *feedback, bool hit, uint64_t duration_ns);

#endif
