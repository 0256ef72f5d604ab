// SPDX-License-Identifier: Apache-2.0
#include "icd_request.h"

#include <stdlib.h>
#include <string.h>

#include "icd_objects.h"

/* Flags that say how to create rather than what. */
#define HOW_FLAGS                                                                                  \
    (VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT |                                    \
     VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT | VK_PIPELINE_CREATE_DERIVATIVE_BIT)

struct flags_2 {
    VkStructureType sType;
    const void *pNext;
    uint64_t flags;
};

struct binary_info {
    VkStructureType sType;
    const void *pNext;
    uint32_t binaryCount;
    const void *pPipelineBinaries;
};

static uint64_t stage_code(const struct icd_device *device,
                           const VkPipelineShaderStageCreateInfo *stage, enum icd_command command)
{
    if (ICD_HANDLE(stage->module) != 0) {
        return icd_object_content(device, ICD_HANDLE(stage->module), VK_OBJECT_TYPE_SHADER_MODULE,
                                  command);
    }
    const VkShaderModuleCreateInfo *code =
        icd_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    if (code != NULL) {
        return icd_hash_code(code) ^ device->settings->inline_apart;
    }
    const VkPipelineShaderStageModuleIdentifierCreateInfoEXT *identifier = icd_chain_find(
        stage->pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT);
    uint64_t content = 0;
    if (identifier != NULL && identifier->identifierSize == sizeof content) {
        memcpy(&content, identifier->pIdentifier, sizeof content);
    }
    return content;
}

static void crash_at(const struct icd_settings *settings, const char *entry)
{
    if (settings->crash_entry[0] != '\0' && strcmp(settings->crash_entry, entry) == 0) {
        abort();
    }
}

static uint64_t hash_stages(const struct icd_device *device, uint64_t hash, uint32_t count,
                            const VkPipelineShaderStageCreateInfo *stages, enum icd_command command)
{
    for (uint32_t i = 0; i < count; ++i) {
        const VkSpecializationInfo *constants = stages[i].pSpecializationInfo;
        crash_at(device->settings, stages[i].pName);
        hash = icd_hash_u64(hash, stages[i].flags);
        hash = icd_hash_u64(hash, stages[i].stage);
        hash = icd_hash_u64(hash, stage_code(device, &stages[i], command));
        hash = icd_hash(hash, stages[i].pName, strlen(stages[i].pName));
        if (constants != NULL) {
            for (uint32_t entry = 0; entry < constants->mapEntryCount; ++entry) {
                hash = icd_hash_u64(hash, constants->pMapEntries[entry].constantID);
                hash = icd_hash_u64(hash, constants->pMapEntries[entry].offset);
                hash = icd_hash_u64(hash, constants->pMapEntries[entry].size);
            }
            hash = icd_hash(hash, constants->pData, constants->dataSize);
        }
    }
    return hash;
}

static uint64_t hash_libraries(const struct icd_device *device, uint64_t hash,
                               const VkPipelineLibraryCreateInfoKHR *libraries,
                               enum icd_command command)
{
    for (uint32_t i = 0; libraries != NULL && i < libraries->libraryCount; ++i) {
        hash = icd_hash_u64(hash, icd_object_content(device, ICD_HANDLE(libraries->pLibraries[i]),
                                                     VK_OBJECT_TYPE_PIPELINE, command));
    }
    return hash;
}

static uint64_t hash_layout(const struct icd_device *device, uint64_t hash, VkPipelineLayout layout,
                            enum icd_command command)
{
    return icd_hash_u64(hash, icd_object_content(device, ICD_HANDLE(layout),
                                                 VK_OBJECT_TYPE_PIPELINE_LAYOUT, command));
}

/* A derivative's parent must live. */
static void check_base(const struct icd_device *device, VkPipelineCreateFlags flags,
                       VkPipeline base, int32_t index, enum icd_command command)
{
    if ((flags & VK_PIPELINE_CREATE_DERIVATIVE_BIT) && index == -1) {
        icd_object_find(device, ICD_HANDLE(base), VK_OBJECT_TYPE_PIPELINE, command);
    }
}

static void read_compute(const struct icd_device *device, const VkComputePipelineCreateInfo *info,
                         enum icd_command command, struct icd_request *request)
{
    request->chain = info->pNext;
    request->flags = info->flags;
    request->stage_count = 1;
    request->shareable = true;
    check_base(device, info->flags, info->basePipelineHandle, info->basePipelineIndex, command);
    request->content = hash_stages(device, request->content, 1, &info->stage, command);
    request->content = hash_layout(device, request->content, info->layout, command);
}

/* Which stages count: a library says which part of a pipeline it is (chapter "Graphics Pipelines");
 * without pre-rasterization and fragment shaders it has none. */
static uint32_t live_stages(const VkGraphicsPipelineCreateInfo *info)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *part =
        icd_chain_find(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
    const VkGraphicsPipelineLibraryFlagsEXT with_shaders =
        VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT |
        VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
    return part != NULL && (part->flags & with_shaders) == 0 ? 0 : info->stageCount;
}

static void read_graphics(const struct icd_device *device, const VkGraphicsPipelineCreateInfo *info,
                          enum icd_command command, struct icd_request *request)
{
    const VkPipelineLibraryCreateInfoKHR *libraries =
        icd_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    request->chain = info->pNext;
    request->flags = info->flags;
    request->stage_count = live_stages(info);
    check_base(device, info->flags, info->basePipelineHandle, info->basePipelineIndex, command);
    /* The fixed-function states are not looked at: which of their pointers are ignored depends on
     * too much. */
    request->content =
        hash_stages(device, request->content, request->stage_count, info->pStages, command);
    request->content = hash_libraries(device, request->content, libraries, command);
    if (libraries == NULL) {
        request->content = hash_layout(device, request->content, info->layout, command);
    }
}

static void read_ray_tracing_khr(const struct icd_device *device,
                                 const VkRayTracingPipelineCreateInfoKHR *info,
                                 enum icd_command command, struct icd_request *request)
{
    request->chain = info->pNext;
    request->flags = info->flags;
    request->stage_count = info->stageCount;
    request->shareable = true;
    check_base(device, info->flags, info->basePipelineHandle, info->basePipelineIndex, command);
    request->content =
        hash_stages(device, request->content, info->stageCount, info->pStages, command);
    for (uint32_t i = 0; i < info->groupCount; ++i) {
        const VkRayTracingShaderGroupCreateInfoKHR *group = &info->pGroups[i];
        const uint64_t words[] = {group->type, group->generalShader, group->closestHitShader,
                                  group->anyHitShader, group->intersectionShader};
        request->content = icd_hash(request->content, words, sizeof words);
    }
    request->content = icd_hash_u64(request->content, info->maxPipelineRayRecursionDepth);
    request->content = hash_libraries(device, request->content, info->pLibraryInfo, command);
    request->content = hash_layout(device, request->content, info->layout, command);
}

static void read_ray_tracing_nv(const struct icd_device *device,
                                const VkRayTracingPipelineCreateInfoNV *info,
                                enum icd_command command, struct icd_request *request)
{
    request->chain = info->pNext;
    request->flags = info->flags;
    request->stage_count = info->stageCount;
    request->shareable = true;
    check_base(device, info->flags, info->basePipelineHandle, info->basePipelineIndex, command);
    request->content =
        hash_stages(device, request->content, info->stageCount, info->pStages, command);
    for (uint32_t i = 0; i < info->groupCount; ++i) {
        const VkRayTracingShaderGroupCreateInfoNV *group = &info->pGroups[i];
        const uint64_t words[] = {group->type, group->generalShader, group->closestHitShader,
                                  group->anyHitShader, group->intersectionShader};
        request->content = icd_hash(request->content, words, sizeof words);
    }
    request->content = icd_hash_u64(request->content, info->maxRecursionDepth);
    request->content = hash_layout(device, request->content, info->layout, command);
}

void icd_request_read(const struct icd_device *device, enum icd_request_kind kind,
                      const void *infos, uint32_t index, enum icd_command command,
                      struct icd_request *ret_request)
{
    *ret_request = (struct icd_request){.content = icd_hash_u64(ICD_HASH_SEED, kind)};
    switch (kind) {
    case ICD_COMPUTE:
        read_compute(device, (const VkComputePipelineCreateInfo *)infos + index, command,
                     ret_request);
        break;
    case ICD_GRAPHICS:
        read_graphics(device, (const VkGraphicsPipelineCreateInfo *)infos + index, command,
                      ret_request);
        break;
    case ICD_RAY_TRACING_KHR:
        read_ray_tracing_khr(device, (const VkRayTracingPipelineCreateInfoKHR *)infos + index,
                             command, ret_request);
        break;
    case ICD_RAY_TRACING_NV:
        read_ray_tracing_nv(device, (const VkRayTracingPipelineCreateInfoNV *)infos + index,
                            command, ret_request);
        break;
    }
    const struct flags_2 *flags =
        icd_chain_find(ret_request->chain, ICD_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2);
    if (flags != NULL) {
        ret_request->flags = flags->flags;
    }
    const struct binary_info *binaries =
        icd_chain_find(ret_request->chain, ICD_STRUCTURE_TYPE_PIPELINE_BINARY_INFO);
    ret_request->binary_count = binaries == NULL ? 0 : binaries->binaryCount;
    ret_request->content =
        icd_hash_u64(ret_request->content, ret_request->flags & ~(uint64_t)HOW_FLAGS);
}
