// SPDX-License-Identifier: Apache-2.0
/* One vkCreate*Pipelines call of any kind, and what happens to its elements. For each call
 * pipeline_commands.c calls, in this order:
 *
 *     pipeline_encode     what does each element allow, and what is its key?     (pipeline_plan.c)
 *     pipeline_plan       which live pipelines answer, which are to be created?
 *     pipeline_create     asks the driver for the latter                       (pipeline_driver.c)
 *     pipeline_settle     makes them known, hands out shared ones, records       (pipeline_plan.c)
 *
 * If an element forbids a cache, it calls pipeline_create_untouched alone; for a deferred
 * operation, pipeline_encode, pipeline_create_deferred and pipeline_settle_deferred. The data of a
 * call belongs to its thread. */
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

/* What differs between kinds of pipelines. */
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

/* Creation feedback of one element, from which the layer learns whether the driver's cache had it.
 * If the program requests none, a VkPipelineCreationFeedbackCreateInfo of ours is put in front of
 * the chain of a copied create-info; if it does, its own is read. The program never sees a hit in a
 * cache that it did not name (chapter "Pipeline Creation Feedback"). Do not move the struct once it
 * is chained. */
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

/* A creation that takes this long counts as a compile even if the driver reports a hit: some
 * drivers report hits for compiles (Turnip of Mesa 26). */
#define PIPELINE_LONG_NS CLOCK_MS

/* How an element is answered. */
enum pipeline_disposition {
    PIPELINE_ALONE,    /* the driver creates it; the pipeline is not shared */
    PIPELINE_CLAIMED,  /* the driver creates it; others wait for it or will share it */
    PIPELINE_SHARED,   /* a live pipeline answers */
    PIPELINE_DUPLICATE /* an earlier element of the same call, once created, answers */
};

struct pipeline_element {
    struct pipeline_rules rules;
    struct canonical *form; /* from pipeline_encode until pipeline_plan; NULL: none */
    struct feedback feedback;
    enum feedback_verdict verdict; /* by the driver's feedback, before that was hidden */
    uint64_t duration_ns;          /* likewise, of a hit or miss */
    enum pipeline_disposition disposition;
    struct object *object; /* claimed or shared */
    uint32_t duplicate_of;
    bool encoded; /* facts and fingerprint are set */
    bool seen;    /* the cache that the program names has seen this pipeline before */
    bool stored;  /* its recipe says that an earlier run saved it */
    uint64_t fingerprint;
    struct canonical_object facts;
    struct recipe_draft *draft; /* NULL: nothing is to be recorded */
};

/* One call of the driver. */
struct pipeline_driver_call {
    uint32_t count; /* number of elements in the call */
    uint32_t hits;  /* of these, by its feedback */
    uint32_t misses;
    uint64_t compile_ns; /* that the misses took, by its feedback */
    bool hot;            /* with the device cache */
    bool saved;          /* with that, or with a cache that the next save takes up */
    uint64_t start_ns;
    uint64_t took_ns;
    bool pending; /* the operation goes on: its pipelines do not exist yet */
};

static inline const void *pipeline_create_info(const struct pipeline_call *call, uint32_t i)
{
    return (const char *)call->create_infos + i * call->kind->create_info_size;
}

static inline bool pipeline_needs_driver(const struct pipeline_element *element)
{
    return element->disposition == PIPELINE_ALONE || element->disposition == PIPELINE_CLAIMED;
}

/* Encodes every element and reads its rules. False: the call may be given no cache; no element is
 * set, and the call goes down as it is. */
bool pipeline_encode(const struct device_services *services, const struct pipeline_call *call,
                     struct pipeline_element *elements);

/* Decides how each element is answered; claims and references are held until pipeline_settle. A
 * call for several pipelines waits for no other, so calls cannot wait for each other in a circle.
 * Returns the number of elements that the driver is asked for. */
uint32_t pipeline_plan(struct device_services *services, const struct pipeline_call *call,
                       struct app_cache *named, struct pipeline_element *elements);

/* After the driver's call: publishes or abandons claims, fills in shared pipelines with their
 * feedback, registers the rest, and has new ones recorded. start_ns: when the call began; 0 if that
 * was not measured, and the program requests no feedback. */
void pipeline_settle(struct device_services *services, const struct pipeline_call *call,
                     struct app_cache *named, struct pipeline_element *elements,
                     const struct pipeline_driver_call *driver, uint64_t start_ns);

/* The same for a deferred operation; `result` says whether it was begun. Its pipelines' results are
 * not known here: if it was begun they count as created, and are recorded. */
void pipeline_settle_deferred(struct device_services *services, const struct pipeline_call *call,
                              struct pipeline_element *elements, VkResult result);

/* Passes the call down as the program made it, with its own cache: for what we do not know. */
VkResult pipeline_create_untouched(struct device_services *services,
                                   const struct pipeline_call *call);

/* Creates the elements that need the driver, in one call down, and writes their handles, or
 * VK_NULL_HANDLE, into call->pipelines. `copy` is the caller's scratch memory, with room for as
 * many create-infos and then handles as the call has. Returns the driver's result. */
VkResult pipeline_create(struct device_services *services, const struct pipeline_call *call,
                         struct app_cache *named, struct pipeline_element *elements, void *copy,
                         struct pipeline_driver_call *ret_driver);

/* Calls down with the chosen cache and everything else unchanged. The operation goes on after the
 * call, so no parameter may be a copy of ours (VK_KHR_deferred_host_operations: parameters are
 * accessed until it is complete). */
VkResult pipeline_create_deferred(struct device_services *services,
                                  const struct pipeline_call *call, struct app_cache *named,
                                  const struct pipeline_element *elements,
                                  struct pipeline_driver_call *ret_driver);

/* A thread of the program joins a deferred operation. If that uses a cache that is saved, pipelines
 * may be compiled into it now (VK_KHR_deferred_host_operations: the joining threads do the work).
 */
VkResult pipeline_join_deferred(const struct device *device, VkDeferredOperationKHR deferred);

/* Writes the feedback of a pipeline for which no driver was called: valid, with the time it took;
 * every stage not valid ("must set or clear VALID for every element"). */
void feedback_write_shared(const struct feedback *feedback, bool hit, uint64_t duration_ns);

#endif
