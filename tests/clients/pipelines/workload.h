// SPDX-License-Identifier: Apache-2.0
/* All pipelines of one device, described and ready to be created. */
#ifndef PIPELINES_WORKLOAD_H
#define PIPELINES_WORKLOAD_H

#include "gpu.h"
#include "objects.h"

enum pipeline_type { TYPE_COMPUTE, TYPE_GRAPHICS, TYPE_RAYTRACING, TYPE_COUNT };

/* A specialization as Vulkan takes it. Must not move once it is filled. */
struct specialized {
    struct specialization values;
    VkSpecializationMapEntry entries[MAX_CONSTANTS];
    VkSpecializationInfo info;
};

void specialized_fill(struct specialized *specialized, const struct shader_kind *kind,
                      uint32_t seed, uint32_t variant);

/* The create-infos of one type, and what they point to. */
struct description {
    void *infos; /* an array of the type's create-info */
    void *storage;
};

struct description compute_describe(const struct objects *objects, const struct options *options);
struct description graphics_describe(const struct objects *objects, const struct options *options,
                                     bool dynamic_rendering);
struct description raytracing_describe(const struct objects *objects,
                                       const struct options *options);

/* The shaders of the index-th compute pipeline, and its variant. */
const struct shader_kind *compute_kind(const struct options *options, uint32_t index,
                                       uint32_t *ret_variant);

struct workload {
    const struct gpu *gpu;
    struct objects *objects;
    uint32_t counts[TYPE_COUNT];
    struct description descriptions[TYPE_COUNT];
    VkPipeline *pipelines[TYPE_COUNT]; /* counts × repeat of them, round by round */
};

struct workload workload_create(const struct gpu *gpu, const struct options *options);

/* Creates count pipelines of a type, beginning at first, into pipelines. */
VkResult workload_create_pipelines(const struct workload *workload, enum pipeline_type type,
                                   uint32_t first, uint32_t count, VkPipelineCache cache,
                                   VkPipeline *pipelines);

/* The pNext of the index-th create-info, and how many stages it has. */
const void **workload_chain(const struct workload *workload, enum pipeline_type type,
                            uint32_t index, uint32_t *ret_stage_count);

void workload_destroy(struct workload *workload, const struct options *options);

#endif
