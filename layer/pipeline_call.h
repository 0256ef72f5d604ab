/* One vkCreate*Pipelines call of any kind, and its elements on their way. */
#ifndef WARMPIPE_LAYER_PIPELINE_CALL_H
#define WARMPIPE_LAYER_PIPELINE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "app_caches.h"
#include "codec/rules.h"
#include "device.h"
#include "feedback.h"
#include "objects.h"

struct pipeline_call;
struct recipe_draft;

/* What differs between the kinds of pipelines. */
struct pipeline_kind {
    const char *name; /* in a trace */
    size_t create_info_size;
    void (*rules)(const void *create_info, struct pipeline_rules *ret_rules);
    VkResult (*create)(const struct device *device, const struct pipeline_call *call);
};

/* The arguments, as the program gave them; a call down is made of a changed copy. */
struct pipeline_call {
    const struct pipeline_kind *kind;
    VkDeferredOperationKHR deferred;
    VkPipelineCache cache;
    uint32_t count;
    const void *create_infos;
    const VkAllocationCallbacks *allocator;
    VkPipeline *pipelines;
};

/* What becomes of an element. */
enum pipeline_fate {
    PIPELINE_ALONE,    /* the driver is asked; the pipeline is not shared */
    PIPELINE_CLAIMED,  /* the driver is asked; others wait for it or will share it */
    PIPELINE_SHARED,   /* a live pipeline answers */
    PIPELINE_DUPLICATE /* an earlier element of the same call, once created, answers */
};

struct pipeline_element {
    struct pipeline_rules rules;
    struct feedback feedback;
    enum feedback_verdict verdict; /* what the driver has said, as the program may not see it */
    uint64_t duration_ns;          /* likewise, of a hit or miss */
    enum pipeline_fate fate;
    struct object *object; /* claimed or shared */
    uint32_t duplicate_of;
    bool encoded; /* facts and fingerprint are set */
    bool seen;    /* the cache that the program names has seen this pipeline before */
    uint64_t fingerprint;
    struct canonical_object facts;
    struct recipe_draft *draft; /* NULL: nothing is to be recorded */
};

static inline bool pipeline_goes_down(const struct pipeline_element *element)
{
    return element->fate == PIPELINE_ALONE || element->fate == PIPELINE_CLAIMED;
}

/* What the driver was asked for in a call. */
struct pipeline_down {
    uint32_t count;
    bool hot;          /* with the hot cache */
    uint64_t start_ns; /* 0, as took_ns: nobody asks */
    uint64_t took_ns;
    bool pending; /* the operation goes on: its pipelines are not there yet */
};

static inline const void *pipeline_create_info(const struct pipeline_call *call, uint32_t i)
{
    return (const char *)call->create_infos + i * call->kind->create_info_size;
}

#endif
