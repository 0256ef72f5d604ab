// SPDX-License-Identifier: Apache-2.0
/* One vkCreate*Pipelines call of any kind, and the way of its elements. pipeline_commands.c calls,
 * for each call and in this order:
 *
 *     pipeline_encode     what does each element allow, and what is its key?     (pipeline_plan.c)
 *     pipeline_plan       which live pipelines answer, which are to be created?
 *     pipeline_create     asks the driver for the latter                       (pipeline_driver.c)
 *     pipeline_settle     makes them known, hands out shared ones, records       (pipeline_plan.c)
 *
 * or, where an element forbids a cache, pipeline_create_untouched alone; or, for a deferred
 * operation, pipeline_encode, pipeline_create_deferred and pipeline_settle_deferred. What a call
 * works with belongs to its thread. */
#ifndef WARMPIPE_LAYER_COMMANDS_PIPELINE_CALL_H
#define WARMPIPE_LAYER_COMMANDS_PIPELINE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/clock.h"
#include "common/codec/canonical.h"
#include "layer/app_caches/app_caches.h"
#include "layer/dedup/objects.h"
#include "layer/device_services.h"

struct pipeline_call;
struct recipe_draft;

/* What differs between the kinds of pipelines. */
struct pipeline_kind {
    const char *name; /* in a trace */
    size_t create_info_size;
    VkResult (*create)(const struct device *device, const struct pipeline_call *call);
};

/* The arguments, as the program gave them; the driver is called with a changed copy. */
struct pipeline_call {
    const struct pipeline_kind *kind;
    VkDeferredOperationKHR deferred;
    VkPipelineCache cache;
    uint32_t count;
    const void *create_infos;
    const VkAllocationCallbacks *allocator;
    VkPipeline *pipelines;
};

/* Creation feedback of one element: how the layer learns whether the driver's cache had it. Where
 * the program asks for none, a VkPipelineCreationFeedbackCreateInfo of ours is put in front of the
 * chain of a copied create-info; where it asks itself, its own is read. Either way the program
 * never sees a hit in a cache that it did not name (chapter "Pipeline Creation Feedback"). Must not
 * be moved once it is chained. */
#define FEEDBACK_INLINE_STAGES 5 /* more stages than these (of ray tracing) go to the heap */

struct feedback {
    const VkPipelineCreationFeedbackCreateInfo *programs; /* NULL: it asks for none */
    const VkPipelineCreationFeedbackCreateInfo *used;     /* NULL: nothing will be known */
    VkPipelineCreationFeedbackCreateInfo own;
    VkPipelineCreationFeedback value;
    VkPipelineCreationFeedback *many_stages; /* owned; NULL: none */
    VkPipelineCreationFeedback stages[FEEDBACK_INLINE_STAGES];
};

enum feedback_verdict { FEEDBACK_UNKNOWN, FEEDBACK_HIT, FEEDBACK_MISS };

/* A creation that takes this long is taken for a compile even if the driver reports a hit: some
 * report hits where they compile (Turnip of Mesa 26). */
#define PIPELINE_LONG_NS CLOCK_MS

/* What becomes of an element. */
enum pipeline_disposition {
    PIPELINE_ALONE,    /* the driver is asked; the pipeline is not shared */
    PIPELINE_CLAIMED,  /* the driver is asked; others wait for it or will share it */
    PIPELINE_SHARED,   /* a live pipeline answers */
    PIPELINE_DUPLICATE /* an earlier element of the same call, once created, answers */
};

struct pipeline_element {
    struct pipeline_rules rules;
    struct canonical *form; /* from pipeline_encode to the plan; NULL: none */
    struct feedback feedback;
    enum feedback_verdict verdict; /* what the driver has said, before it was hidden */
    uint64_t duration_ns;          /* likewise, of a hit or miss */
    enum pipeline_disposition disposition;
    struct object *object; /* claimed or shared */
    uint32_t duplicate_of;
    bool encoded; /* facts and fingerprint are set */
    bool seen;    /* the cache that the program names has seen this pipeline before */
    bool stored;  /* by its recipe, it was saved in an earlier run */
    uint64_t fingerprint;
    struct canonical_object facts;
    struct recipe_draft *draft; /* NULL: nothing is to be recorded */
};

/* A call of the driver. */
struct pipeline_driver_call {
    uint32_t count; /* of the elements that it was asked for */
    uint32_t hits;  /* of these, as it says */
    uint32_t misses;
    uint64_t compile_ns; /* that the misses took, as it says */
    bool hot;            /* with the device cache */
    bool saved;          /* with that, or with one that the next save takes up */
    uint64_t start_ns;
    uint64_t took_ns;
    bool pending; /* the operation goes on: its pipelines are not there yet */
};

static inline const void *pipeline_create_info(const struct pipeline_call *call, uint32_t i)
{
    return (const char *)call->create_infos + i * call->kind->create_info_size;
}

static inline bool pipeline_needs_driver(const struct pipeline_element *element)
{
    return element->disposition == PIPELINE_ALONE || element->disposition == PIPELINE_CLAIMED;
}

/* Encodes every element and reads its rules. False if the call may be given no cache: then no
 * element is set, and the call goes down as it is. */
bool pipeline_encode(const struct device_services *services, const struct pipeline_call *call,
                     struct pipeline_element *elements);

/* Decides the disposition of every element; claims and references are held until pipeline_settle. A
 * call of several pipelines waits for nobody, so that calls cannot wait for each other in a circle.
 * Returns the number of elements that the driver is to be asked for. */
uint32_t pipeline_plan(struct device_services *services, const struct pipeline_call *call,
                       struct app_cache *named, struct pipeline_element *elements);

/* After the driver was asked: publishes or abandons what was claimed, fills in what is shared, with
 * its feedback, makes the rest known, and has recorded what is new. start_ns: when the call began;
 * 0 where the program asks for no feedback. */
void pipeline_settle(struct device_services *services, const struct pipeline_call *call,
                     struct app_cache *named, struct pipeline_element *elements,
                     const struct pipeline_driver_call *driver, uint64_t start_ns);

/* The same for a deferred operation; `result` says whether it was begun. Nobody reports here
 * whether its pipelines were created: where it was begun they are assumed to be, and recorded. */
void pipeline_settle_deferred(struct device_services *services, const struct pipeline_call *call,
                              struct pipeline_element *elements, VkResult result);

/* Calls down as the program has called, with its own cache: for what we do not know. */
VkResult pipeline_create_untouched(struct device_services *services,
                                   const struct pipeline_call *call);

/* Creates the elements that need the driver, in one call down; writes their handles, or
 * VK_NULL_HANDLE, into call->pipelines. `copy` (room for as many create-infos and then handles as
 * the call has) is the caller's scratch. Returns the driver's result. */
VkResult pipeline_create(struct device_services *services, const struct pipeline_call *call,
                         struct app_cache *named, struct pipeline_element *elements, void *copy,
                         struct pipeline_driver_call *ret_driver);

/* Calls down with the right cache and all else as it is: the operation goes on after the call, so
 * that nothing that it was given may be a copy of ours (VK_KHR_deferred_host_operations: parameters
 * are accessed until it is complete). */
VkResult pipeline_create_deferred(struct device_services *services,
                                  const struct pipeline_call *call, struct app_cache *named,
                                  const struct pipeline_element *elements,
                                  struct pipeline_driver_call *ret_driver);

/* A thread of the program's does its part of a deferred operation; what was begun with a cache that
 * is saved may be compiled into it now (VK_KHR_deferred_host_operations: the work is done by the
 * threads that join). */
VkResult pipeline_join_deferred(const struct device *device, VkDeferredOperationKHR deferred);

/* What the program sees of a pipeline that no driver was asked for: valid, with the time it took;
 * every stage not valid ("must set or clear VALID for every element"). */
void feedback_write_shared(const struct feedback *feedback, bool hit, uint64_t duration_ns);

#endif
