#include "prewarm_replay.h"

#include "base/clock.h"
#include "trace.h"

static bool find_form(void *user, struct digest content, const void **ret_form, size_t *ret_size)
{
    return recipes_find(user, RECIPE_FORM, content, ret_form, ret_size);
}

static bool find_code(void *user, struct digest content, const void **ret_code, size_t *ret_size)
{
    return recipes_find(user, RECIPE_CODE, content, ret_code, ret_size);
}

struct replay *prewarm_replay_new(const struct prewarm_setup *setup, struct recipes *recipes,
                                  VkPipelineCache cache, const struct replay_limits *limits)
{
    const device_table *table = setup->table;
    const struct replay_commands commands = {
        .create_shader_module = table->CreateShaderModule,
        .destroy_shader_module = table->DestroyShaderModule,
        .create_descriptor_set_layout = table->CreateDescriptorSetLayout,
        .destroy_descriptor_set_layout = table->DestroyDescriptorSetLayout,
        .create_pipeline_layout = table->CreatePipelineLayout,
        .destroy_pipeline_layout = table->DestroyPipelineLayout,
        .create_sampler = table->CreateSampler,
        .destroy_sampler = table->DestroySampler,
        .create_sampler_ycbcr_conversion = table->CreateSamplerYcbcrConversion,
        .destroy_sampler_ycbcr_conversion = table->DestroySamplerYcbcrConversion,
        .create_render_pass = table->CreateRenderPass,
        .create_render_pass_2 = table->CreateRenderPass2,
        .destroy_render_pass = table->DestroyRenderPass,
        .create_compute_pipelines = table->CreateComputePipelines,
        .create_graphics_pipelines = table->CreateGraphicsPipelines,
        .create_ray_tracing_pipelines_khr = table->CreateRayTracingPipelinesKHR,
        .create_ray_tracing_pipelines_nv = table->CreateRayTracingPipelinesNV,
        .destroy_pipeline = table->DestroyPipeline,
    };
    const struct replay_source source = {find_form, find_code, recipes};
    return replay_new(setup->device, &commands, cache, &source, limits, setup->feedback);
}

enum replay_outcome prewarm_replay(struct replay *replay, struct trace *trace,
                                   struct digest pipeline)
{
    const uint64_t start_ns = trace ? clock_now_ns() : 0;
    const enum replay_outcome outcome = replay_pipeline(replay, pipeline);
    if (trace) {
        trace_put(trace, &(struct trace_event){
                             .kind = TRACE_PREWARM,
                             .name = "prewarm",
                             .start_ns = start_ns,
                             .end_ns = clock_now_ns(),
                             .result = replay_outcome_id(outcome),
                             .content = pipeline,
                         });
    }
    return outcome;
}
