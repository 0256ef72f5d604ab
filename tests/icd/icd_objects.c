// SPDX-License-Identifier: Apache-2.0
#include "icd_objects.h"

#include <stdatomic.h>
#include <string.h>

uint64_t icd_hash(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    while (size >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        hash = icd_hash_u64(hash, word);
        bytes += sizeof word;
        size -= sizeof word;
    }
    uint64_t rest = (uint64_t)size << 56;
    if (size != 0) {
        memcpy(&rest, bytes, size);
    }
    return icd_hash_u64(hash, rest);
}

uint64_t icd_hash_u64(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x100000001b3u;
    hash ^= hash >> 29;
    return hash == 0 ? 1 : hash;
}

static _Atomic uint32_t samplers; /* alive; a test that looks has one device */

/* VUID-vkCreateSampler-maxSamplerAllocationCount-04110. */
static VkResult count_sampler(const struct icd_settings *settings)
{
    if (atomic_fetch_add(&samplers, 1) < settings->max_samplers) {
        return VK_SUCCESS;
    }
    atomic_fetch_sub(&samplers, 1);
    icd_violation("too_many_samplers", "vkCreateSampler: %u live already", settings->max_samplers);
    return VK_ERROR_TOO_MANY_OBJECTS;
}

VkResult icd_create_plain(const struct icd_device *device, enum icd_command command,
                          VkObjectType type, uint64_t content, const void *chain,
                          const VkAllocationCallbacks *allocator, uint64_t *ret_handle)
{
    VkResult result = icd_call(device->settings, command);
    if (result == VK_SUCCESS && type == VK_OBJECT_TYPE_SAMPLER) {
        result = count_sampler(device->settings);
    }
    if (result != VK_SUCCESS) {
        return result;
    }
    bool is_new;
    struct icd_object *object =
        icd_object_create(device, type, sizeof *object, content, allocator, &is_new);
    if (object == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    *ret_handle = object->handle;

    struct icd_event event;
    icd_event_begin(&event, icd_command_name(command));
    icd_event_handle(&event, "handle", object->handle);
    icd_event_handle(&event, "content", content);
    icd_event_chain(&event, chain);
    icd_event_end(&event);
    return icd_success(device->settings, command);
}

void icd_destroy_plain(const struct icd_device *device, enum icd_command command, VkObjectType type,
                       uint64_t handle, const VkAllocationCallbacks *allocator)
{
    icd_count(command);
    struct icd_object *object;
    if (icd_object_destroy(device, handle, type, allocator, command, &object)) {
        atomic_fetch_sub(&samplers, type == VK_OBJECT_TYPE_SAMPLER);
        icd_object_free(object, allocator);
    }
}

uint64_t icd_hash_code(const VkShaderModuleCreateInfo *info)
{
    return icd_hash(ICD_HASH_SEED, info->pCode, info->codeSize);
}

PLAIN_OBJECT(ShaderModule, SHADER_MODULE, icd_hash_code(info))

/* The members of a create-info from `flags` or the like on, where they have no padding. */
#define MEMBERS_FROM(info, first)                                                                  \
    &(info)->first, sizeof(*(info)) - offsetof(__typeof__(*(info)), first)

static uint64_t sampler_content(const struct icd_device *device, const VkSamplerCreateInfo *info)
{
    const VkSamplerYcbcrConversionInfo *conversion =
        icd_chain_find(info->pNext, VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO);
    uint64_t hash = icd_hash(ICD_HASH_SEED, MEMBERS_FROM(info, flags));
    return conversion == NULL
               ? hash
               : icd_hash_u64(hash, icd_object_content(device, ICD_HANDLE(conversion->conversion),
                                                       VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION,
                                                       ICD_CreateSampler));
}

PLAIN_OBJECT(Sampler, SAMPLER, sampler_content(device, info))
PLAIN_OBJECT(SamplerYcbcrConversion, SAMPLER_YCBCR_CONVERSION,
             icd_hash(ICD_HASH_SEED, MEMBERS_FROM(info, format)))

static uint64_t binding_content(const struct icd_device *device, uint64_t hash,
                                const VkDescriptorSetLayoutBinding *binding)
{
    hash = icd_hash_u64(hash, binding->binding);
    hash = icd_hash_u64(hash, binding->descriptorType);
    hash = icd_hash_u64(hash, binding->descriptorCount);
    hash = icd_hash_u64(hash, binding->stageFlags);
    bool samples = binding->descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER ||
                   binding->descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    for (uint32_t i = 0;
         samples && binding->pImmutableSamplers != NULL && i < binding->descriptorCount; ++i) {
        hash = icd_hash_u64(
            hash, icd_object_content(device, ICD_HANDLE(binding->pImmutableSamplers[i]),
                                     VK_OBJECT_TYPE_SAMPLER, ICD_CreateDescriptorSetLayout));
    }
    return hash;
}

static uint64_t set_layout_content(const struct icd_device *device,
                                   const VkDescriptorSetLayoutCreateInfo *info)
{
    uint64_t hash = icd_hash_u64(ICD_HASH_SEED, info->flags);
    for (uint32_t i = 0; i < info->bindingCount; ++i) {
        hash = binding_content(device, hash, &info->pBindings[i]);
    }
    return hash;
}

PLAIN_OBJECT(DescriptorSetLayout, DESCRIPTOR_SET_LAYOUT, set_layout_content(device, info))

static uint64_t pipeline_layout_content(const struct icd_device *device,
                                        const VkPipelineLayoutCreateInfo *info)
{
    uint64_t hash = icd_hash_u64(ICD_HASH_SEED, info->flags);
    for (uint32_t i = 0; i < info->setLayoutCount; ++i) {
        hash = icd_hash_u64(hash, icd_object_content(device, ICD_HANDLE(info->pSetLayouts[i]),
                                                     VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT,
                                                     ICD_CreatePipelineLayout));
    }
    return icd_hash(hash, info->pPushConstantRanges,
                    info->pushConstantRangeCount * sizeof *info->pPushConstantRanges);
}

PLAIN_OBJECT(PipelineLayout, PIPELINE_LAYOUT, pipeline_layout_content(device, info))

static uint64_t template_content(const struct icd_device *device,
                                 const VkDescriptorUpdateTemplateCreateInfo *info)
{
    uint64_t hash = icd_hash_u64(ICD_HASH_SEED, info->templateType);
    for (uint32_t i = 0; i < info->descriptorUpdateEntryCount; ++i) {
        const VkDescriptorUpdateTemplateEntry *entry = &info->pDescriptorUpdateEntries[i];
        uint64_t words[] = {entry->dstBinding,     entry->dstArrayElement, entry->descriptorCount,
                            entry->descriptorType, entry->offset,          entry->stride};
        hash = icd_hash(hash, words, sizeof words);
    }
    bool for_set = info->templateType == VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET;
    VkObjectType type =
        for_set ? VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT : VK_OBJECT_TYPE_PIPELINE_LAYOUT;
    uint64_t layout =
        for_set ? ICD_HANDLE(info->descriptorSetLayout) : ICD_HANDLE(info->pipelineLayout);
    return icd_hash_u64(
        hash, icd_object_content(device, layout, type, ICD_CreateDescriptorUpdateTemplate));
}

PLAIN_OBJECT(DescriptorUpdateTemplate, DESCRIPTOR_UPDATE_TEMPLATE, template_content(device, info))

static uint64_t render_pass_content(const VkRenderPassCreateInfo *info)
{
    uint64_t hash = icd_hash_u64(ICD_HASH_SEED, info->subpassCount);
    return icd_hash(hash, info->pAttachments, info->attachmentCount * sizeof *info->pAttachments);
}

PLAIN_OBJECT(RenderPass, RENDER_PASS, render_pass_content(info))

VkResult icd_CreateRenderPass2(VkDevice vk_device, const VkRenderPassCreateInfo2 *info,
                               const VkAllocationCallbacks *allocator, VkRenderPass *ret_pass)
{
    uint64_t content = icd_hash_u64(ICD_HASH_SEED, info->subpassCount);
    for (uint32_t i = 0; i < info->attachmentCount; ++i) {
        content = icd_hash(content, MEMBERS_FROM(&info->pAttachments[i], flags));
    }
    uint64_t handle = 0;
    VkResult result =
        icd_create_plain(icd_device_from(vk_device), ICD_CreateRenderPass2,
                         VK_OBJECT_TYPE_RENDER_PASS, content, info->pNext, allocator, &handle);
    *ret_pass = ICD_FROM_HANDLE(VkRenderPass, handle);
    return result;
}

void icd_GetDescriptorSetLayoutSupport(VkDevice device, const VkDescriptorSetLayoutCreateInfo *info,
                                       VkDescriptorSetLayoutSupport *ret_support)
{
    (void)device;
    (void)info;
    icd_count(ICD_GetDescriptorSetLayoutSupport);
    ret_support->supported = VK_TRUE;
}
