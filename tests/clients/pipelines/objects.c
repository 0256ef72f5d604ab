// SPDX-License-Identifier: Apache-2.0
#include "objects.h"

#include <string.h>

#include "util.h"

enum { MAX_KINDS = 24, MAX_BINDINGS = 8 };

const VkFormat objects_colour_formats[COLOUR_FORMAT_COUNT] = {
    VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R16G16B16A16_SFLOAT};
const VkFormat objects_depth_formats[DEPTH_FORMAT_COUNT] = {VK_FORMAT_UNDEFINED,
                                                            VK_FORMAT_D32_SFLOAT};

struct objects {
    const struct gpu *gpu;
    VkSampler sampler;
    VkRenderPass render_passes[COLOUR_FORMAT_COUNT][DEPTH_FORMAT_COUNT];
    struct kind_objects kinds[MAX_KINDS];
    uint32_t kind_count;
};

static VkDescriptorType type_of(char letter)
{
    switch (letter) {
    case 'b':
        return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    case 'u':
        return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    case 'i':
        return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    case 'a':
        return VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR;
    default:
        return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    }
}

static VkSampler create_sampler(const struct gpu *gpu)
{
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                .magFilter = VK_FILTER_LINEAR,
                                .minFilter = VK_FILTER_LINEAR,
                                .mipmapMode = VK_SAMPLER_MIPMAP_MODE_NEAREST,
                                .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    VkSampler sampler;
    must(vkCreateSampler(gpu->device, &info, gpu->allocator, &sampler), "vkCreateSampler");
    return sampler;
}

static VkDescriptorSetLayout create_set_layout(const struct objects *objects, const char *letters,
                                               VkShaderStageFlags stages)
{
    VkDescriptorSetLayoutBinding bindings[MAX_BINDINGS] = {0};
    uint32_t count = (uint32_t)strlen(letters);
    for (uint32_t i = 0; i < count; i++) {
        bindings[i].binding = i;
        bindings[i].descriptorType = type_of(letters[i]);
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = stages;
        bindings[i].pImmutableSamplers = letters[i] == 'S' ? &objects->sampler : NULL;
    }
    VkDescriptorSetLayoutCreateInfo info = {.sType =
                                                VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                            .bindingCount = count,
                                            .pBindings = bindings};
    VkDescriptorSetLayout layout;
    must(vkCreateDescriptorSetLayout(objects->gpu->device, &info, objects->gpu->allocator, &layout),
         "vkCreateDescriptorSetLayout");
    return layout;
}

static void add_kind(struct objects *objects, const struct shader_kind *kind,
                     VkShaderStageFlags stages, VkShaderStageFlags push_constant_stages)
{
    const struct gpu *gpu = objects->gpu;
    struct kind_objects *made = &objects->kinds[objects->kind_count++];
    made->kind = kind;
    for (uint32_t i = 0; i < MAX_STAGES && kind->stages[i].words; i++) {
        VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = kind->stages[i].size,
                                           .pCode = kind->stages[i].words};
        must(vkCreateShaderModule(gpu->device, &module, gpu->allocator, &made->modules[i]),
             "vkCreateShaderModule");
        made->stage_count++;
    }
    made->set_layout = create_set_layout(objects, kind->bindings, stages);
    VkPushConstantRange range = {.stageFlags = push_constant_stages,
                                 .size = kind->push_constant_size};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &made->set_layout,
                                         .pushConstantRangeCount = range.size ? 1 : 0,
                                         .pPushConstantRanges = &range};
    must(vkCreatePipelineLayout(gpu->device, &layout, gpu->allocator, &made->layout),
         "vkCreatePipelineLayout");
}

static void add_kinds(struct objects *objects, struct shader_kinds kinds, VkShaderStageFlags stages,
                      VkShaderStageFlags push_constant_stages)
{
    for (uint32_t i = 0; i < kinds.count; i++) {
        add_kind(objects, &kinds.kinds[i], stages, push_constant_stages);
    }
}

static VkRenderPass create_render_pass(const struct gpu *gpu, VkFormat colour, VkFormat depth)
{
    VkAttachmentDescription attachments[2] = {
        {.format = colour,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
        {.format = depth,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL}};
    VkAttachmentReference colour_reference = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    VkAttachmentReference depth_reference = {1, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
    bool with_depth = depth != VK_FORMAT_UNDEFINED;
    VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                    .colorAttachmentCount = 1,
                                    .pColorAttachments = &colour_reference,
                                    .pDepthStencilAttachment =
                                        with_depth ? &depth_reference : NULL};
    VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                   .attachmentCount = with_depth ? 2 : 1,
                                   .pAttachments = attachments,
                                   .subpassCount = 1,
                                   .pSubpasses = &subpass};
    VkRenderPass render_pass;
    must(vkCreateRenderPass(gpu->device, &info, gpu->allocator, &render_pass),
         "vkCreateRenderPass");
    return render_pass;
}

static void add_render_passes(struct objects *objects)
{
    for (uint32_t c = 0; c < COLOUR_FORMAT_COUNT; c++) {
        for (uint32_t d = 0; d < DEPTH_FORMAT_COUNT; d++) {
            objects->render_passes[c][d] = create_render_pass(
                objects->gpu, objects_colour_formats[c], objects_depth_formats[d]);
        }
    }
}

struct objects *objects_create(const struct gpu *gpu, const struct options *options)
{
    struct objects *objects = must_allocate(1, sizeof(*objects));
    objects->gpu = gpu;
    objects->sampler = create_sampler(gpu);
    if (options->compute) {
        add_kinds(objects, shaders_compute, VK_SHADER_STAGE_COMPUTE_BIT,
                  VK_SHADER_STAGE_COMPUTE_BIT);
        add_kinds(objects, shaders_heavy, VK_SHADER_STAGE_COMPUTE_BIT, VK_SHADER_STAGE_COMPUTE_BIT);
    }
    if (options->graphics) {
        add_kinds(objects, shaders_graphics, VK_SHADER_STAGE_ALL_GRAPHICS,
                  VK_SHADER_STAGE_VERTEX_BIT);
        if (!gpu->dynamic_rendering) {
            add_render_passes(objects);
        }
    }
    if (options->raytracing) {
        add_kinds(objects, shaders_raytracing,
                  VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, 0);
    }
    return objects;
}

const struct kind_objects *objects_of(const struct objects *objects, const struct shader_kind *kind)
{
    for (uint32_t i = 0; i < objects->kind_count; i++) {
        if (objects->kinds[i].kind == kind) {
            return &objects->kinds[i];
        }
    }
    fail("finding a kind's objects", VK_ERROR_UNKNOWN);
}

VkRenderPass objects_render_pass(const struct objects *objects, uint32_t colour, uint32_t depth)
{
    return objects->render_passes[colour][depth];
}

void objects_destroy(struct objects *objects)
{
    VkDevice device = objects->gpu->device;
    const VkAllocationCallbacks *allocator = objects->gpu->allocator;
    for (uint32_t i = 0; i < objects->kind_count; i++) {
        struct kind_objects *made = &objects->kinds[i];
        for (uint32_t j = 0; j < made->stage_count; j++) {
            vkDestroyShaderModule(device, made->modules[j], allocator);
        }
        vkDestroyPipelineLayout(device, made->layout, allocator);
        vkDestroyDescriptorSetLayout(device, made->set_layout, allocator);
    }
    for (uint32_t c = 0; c < COLOUR_FORMAT_COUNT; c++) {
        for (uint32_t d = 0; d < DEPTH_FORMAT_COUNT; d++) {
            vkDestroyRenderPass(device, objects->render_passes[c][d], allocator);
        }
    }
    vkDestroySampler(device, objects->sampler, allocator);
    free(objects);
}
