// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "common/base/io.h"
#include "common/spirv/spirv.h"

/* Structs in structs, and steps in all, to find out how large a block is. */
#define MAX_DEPTH 64
#define MAX_STEPS 65536

/* SPIR-V specification, "Dim". */
enum {
    DIM_BUFFER = 5,
    DIM_SUBPASS_DATA = 6,
};

/* Descriptors. */

/* Peels arrays off a type. *ret_count: elements in all; those that only a specialization or the
 * run knows count as one. A type that the reader does not know has the op 0. False: damaged. */
static bool interface_peel_arrays(const struct spirv_module *module, uint32_t id,
                                  struct spirv_instruction *ret_type, uint32_t *ret_id,
                                  uint64_t *ret_count)
{
    uint64_t count = 1;
    for (int depth = 0; depth < MAX_DEPTH && id != 0 && id < module->bound; depth++) {
        uint32_t length = 1;
        if (!spirv_define(module, id, 1, ret_type)) {
            *ret_type = (struct spirv_instruction){0};
        }
        if (ret_type->op != SPIRV_OP_TYPE_ARRAY && ret_type->op != SPIRV_OP_TYPE_RUNTIME_ARRAY) {
            *ret_id = id;
            *ret_count = count;
            return true;
        }
        if (ret_type->length < 2) {
            return false;
        }
        if (ret_type->op == SPIRV_OP_TYPE_ARRAY && ret_type->length > 2) {
            spirv_constant(module, ret_type->words[2], &length);
        }
        count = count * length < UINT32_MAX ? count * length : UINT32_MAX;
        id = ret_type->words[1];
    }
    return false;
}

static bool fits_image(const struct spirv_instruction *type, bool is_combined,
                       VkDescriptorType descriptor)
{
    if (type->length < 7) {
        return false;
    }
    const bool is_storage = type->words[6] == 2;
    switch (type->words[2]) {
    case DIM_BUFFER:
        return descriptor == (is_storage ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER
                                         : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
    case DIM_SUBPASS_DATA:
        return descriptor == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
    default:
        return is_storage ? descriptor == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE
                          : descriptor == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER ||
                                (!is_combined && descriptor == VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE);
    }
}

static bool fits_block(const struct spirv_resource *resource, bool is_buffer_block,
                       VkDescriptorType descriptor)
{
    if (resource->storage == SPIRV_STORAGE_STORAGE_BUFFER || is_buffer_block) {
        return descriptor == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
               descriptor == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
    }
    return descriptor == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER ||
           descriptor == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
           descriptor == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
}

/* Chapter "Shader Resource Interface", table "Shader Resource and Descriptor Type Correspondence".
 * Types of newer extensions fit, and so does what any type may be put into. */
static bool fits_type(const struct spirv_module *module, const struct spirv_resource *resource,
                      const struct spirv_instruction *type, uint32_t id,
                      VkDescriptorType descriptor)
{
    struct spirv_instruction image;
    uint32_t value;
    if (descriptor > VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT &&
        descriptor != VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK &&
        descriptor != VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR &&
        descriptor != VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_NV) {
        return true;
    }
    switch (type->op) {
    case SPIRV_OP_TYPE_SAMPLER:
        return descriptor == VK_DESCRIPTOR_TYPE_SAMPLER ||
               descriptor == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    case SPIRV_OP_TYPE_IMAGE:
        return fits_image(type, false, descriptor);
    case SPIRV_OP_TYPE_SAMPLED_IMAGE:
        return type->length > 1 && spirv_define(module, type->words[1], 7, &image) &&
               image.op == SPIRV_OP_TYPE_IMAGE && fits_image(&image, true, descriptor);
    case SPIRV_OP_TYPE_ACCELERATION_STRUCTURE:
        return descriptor == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR ||
               descriptor == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_NV;
    case SPIRV_OP_TYPE_STRUCT:
        return fits_block(resource,
                          spirv_decorated(module, id, SPIRV_NO_MEMBER, SPIRV_BUFFER_BLOCK, &value),
                          descriptor);
    default:
        return true;
    }
}

static const VkDescriptorSetLayoutBinding *interface_find_binding(const struct spirv_layout *layout,
                                                                  uint32_t set, uint32_t number)
{
    const VkDescriptorSetLayoutCreateInfo *info =
        set < layout->set_count ? layout->sets[set] : NULL;
    for (uint32_t i = 0; info && i < info->bindingCount; i++) {
        if (info->pBindings[i].binding == number) {
            return &info->pBindings[i];
        }
    }
    return NULL;
}

static enum status interface_check_descriptor(const struct spirv_module *module,
                                              const struct spirv_resource *resource,
                                              VkShaderStageFlagBits stage,
                                              const struct spirv_layout *layout)
{
    struct spirv_instruction type;
    uint32_t set;
    uint32_t number;
    uint32_t id = 0;
    uint64_t count = 0;
    if (!interface_peel_arrays(module, resource->type, &type, &id, &count)) {
        return STATUS_bad_spirv;
    }
    if (!spirv_decorated(module, resource->id, SPIRV_NO_MEMBER, SPIRV_DESCRIPTOR_SET, &set) ||
        !spirv_decorated(module, resource->id, SPIRV_NO_MEMBER, SPIRV_BINDING, &number)) {
        return STATUS_ok; /* none of a set */
    }
    const VkDescriptorSetLayoutBinding *binding = interface_find_binding(layout, set, number);
    /* Of an inline block the count is one of bytes. */
    const bool fits = binding && binding->descriptorCount > 0 && (binding->stageFlags & stage) &&
                      fits_type(module, resource, &type, id, binding->descriptorType) &&
                      (binding->descriptorCount >= count ||
                       binding->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK);
    return fits ? STATUS_ok : STATUS_bad_binding;
}

/* Push constants. */

struct measuring {
    const struct spirv_module *module;
    unsigned steps;
};

static uint64_t interface_no_more(uint64_t bytes)
{
    return bytes < UINT32_MAX ? bytes : UINT32_MAX;
}

static uint64_t interface_measure(struct measuring *measuring, uint32_t id, uint32_t member_of,
                                  uint32_t member, unsigned depth);

static uint64_t interface_measure_struct(struct measuring *measuring, uint32_t id,
                                         const struct spirv_instruction *type, unsigned depth)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i + 1 < type->length && measuring->steps < MAX_STEPS; i++) {
        uint32_t offset = 0;
        spirv_decorated(measuring->module, id, i, SPIRV_OFFSET, &offset);
        const uint64_t of_member =
            offset + interface_measure(measuring, type->words[i + 1], id, i, depth + 1);
        end = of_member > end ? of_member : end;
    }
    return interface_no_more(end);
}

/* The fewest bytes that the type takes: up to its last component. */
static uint64_t interface_measure(struct measuring *measuring, uint32_t id, uint32_t member_of,
                                  uint32_t member, unsigned depth)
{
    struct spirv_instruction type;
    uint32_t count = 0;
    uint32_t stride = 0;
    if (measuring->steps++ >= MAX_STEPS || depth >= MAX_DEPTH ||
        !spirv_define(measuring->module, id, 2, &type)) {
        return 0;
    }
    switch (type.op) {
    case SPIRV_OP_TYPE_INT:
    case SPIRV_OP_TYPE_FLOAT:
        return type.words[1] / 8;
    case SPIRV_OP_TYPE_POINTER:
        return 8; /* to a storage buffer */
    case SPIRV_OP_TYPE_VECTOR:
        return type.length < 3 ? 0
                               : interface_no_more(type.words[2] *
                                                   interface_measure(measuring, type.words[1], id,
                                                                     SPIRV_NO_MEMBER, depth + 1));
    case SPIRV_OP_TYPE_MATRIX: /* of two columns or rows at least */
        spirv_decorated(measuring->module, member_of, member, SPIRV_MATRIX_STRIDE, &stride);
        return stride;
    case SPIRV_OP_TYPE_ARRAY:
        spirv_decorated(measuring->module, id, SPIRV_NO_MEMBER, SPIRV_ARRAY_STRIDE, &stride);
        if (type.length < 3 || !spirv_constant(measuring->module, type.words[2], &count) ||
            count == 0) {
            return 0;
        }
        return interface_no_more(
            (uint64_t)(count - 1) * stride +
            interface_measure(measuring, type.words[1], member_of, member, depth + 1));
    case SPIRV_OP_TYPE_STRUCT:
        return interface_measure_struct(measuring, id, &type, depth);
    default:
        return 0;
    }
}

static enum status interface_check_push_constants(const struct spirv_module *module,
                                                  const struct spirv_resource *resource,
                                                  VkShaderStageFlagBits stage,
                                                  const struct spirv_layout *layout)
{
    struct spirv_instruction type;
    struct measuring measuring = {.module = module};
    if (!spirv_define(module, resource->type, 1, &type) || type.op != SPIRV_OP_TYPE_STRUCT) {
        return STATUS_bad_spirv;
    }
    uint32_t begin = UINT32_MAX;
    for (uint32_t i = 0; i + 1 < type.length; i++) {
        uint32_t offset = 0;
        spirv_decorated(module, resource->type, i, SPIRV_OFFSET, &offset);
        begin = offset < begin ? offset : begin;
    }
    const uint64_t end = interface_measure(&measuring, resource->type, 0, SPIRV_NO_MEMBER, 0);
    for (uint32_t i = 0; i < layout->range_count; i++) {
        const VkPushConstantRange *range = &layout->ranges[i];
        if ((range->stageFlags & stage) && range->offset <= begin &&
            end <= (uint64_t)range->offset + range->size) {
            return STATUS_ok;
        }
    }
    return STATUS_bad_push_constants;
}

/* Vulkan has one for an entry point (VUID-StandaloneSpirv-OpEntryPoint-06674); each is measured. */
#define MAX_PUSH_BLOCKS 8

enum status spirv_check_interface(const struct spirv_module *module, uint32_t function,
                                  VkShaderStageFlagBits stage, const struct spirv_layout *layout)
{
    AUTO(spirv_usage_free) struct spirv_usage usage = {0};
    unsigned push_blocks = 0;
    enum status status = spirv_usage_read(module, function, &usage);
    for (size_t i = 0; status == STATUS_ok && layout && i < usage.count; i++) {
        const struct spirv_resource *resource = &usage.resources[i];
        if (!resource->is_used) {
            continue;
        }
        const bool is_push = resource->storage == SPIRV_STORAGE_PUSH_CONSTANT;
        if (is_push && ++push_blocks > MAX_PUSH_BLOCKS) {
            status = STATUS_bad_push_constants;
        } else {
            status = is_push ? interface_check_push_constants(module, resource, stage, layout)
                             : interface_check_descriptor(module, resource, stage, layout);
        }
    }
    return status;
}

/* SPIR-V specification, "Instructions", "Execution Model", "Execution Mode", "BuiltIn". */
enum {
    OP_EXECUTION_MODE = 16,
    OP_EXECUTION_MODE_ID = 331,
    MODEL_GL_COMPUTE = 5,
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,
    BUILT_IN_WORKGROUP_SIZE = 25,
};

/* Replaces *value by the one that the program gives, if it does. False: of another width. */
static bool workgroup_specialize(const VkSpecializationInfo *info, uint32_t constant,
                                 uint32_t *value)
{
    for (uint32_t i = 0; info && i < info->mapEntryCount; i++) {
        const VkSpecializationMapEntry *entry = &info->pMapEntries[i];
        if (entry->constantID != constant) {
            continue;
        }
        if (entry->size != sizeof *value || entry->offset > info->dataSize ||
            info->dataSize - entry->offset < sizeof *value) {
            return false;
        }
        memcpy(value, (const uint8_t *)info->pData + entry->offset, sizeof *value);
    }
    return true;
}

static bool workgroup_read_constants(const struct spirv_module *module,
                                     const VkSpecializationInfo *info, const uint32_t ids[3],
                                     uint32_t ret_size[3])
{
    for (int axis = 0; axis < 3; axis++) {
        struct spirv_instruction i;
        uint32_t constant;
        if (!spirv_define(module, ids[axis], 3, &i) || i.length != 3 ||
            (i.op != SPIRV_OP_CONSTANT && i.op != SPIRV_OP_SPEC_CONSTANT)) {
            return false;
        }
        ret_size[axis] = i.words[2];
        if (i.op == SPIRV_OP_SPEC_CONSTANT &&
            spirv_decorated(module, ids[axis], SPIRV_NO_MEMBER, SPIRV_SPEC_ID, &constant) &&
            !workgroup_specialize(info, constant, &ret_size[axis])) {
            return false;
        }
    }
    return true;
}

/* The constant that is the size of all workgroups. False: there is none. */
static bool workgroup_built_in(const struct spirv_module *module, uint32_t *ret_id)
{
    for (size_t i = 0; i < module->decoration_count; i++) {
        const struct spirv_decoration *decoration = &module->decorations[i];
        if (decoration->kind == SPIRV_BUILT_IN && decoration->member == SPIRV_NO_MEMBER &&
            decoration->value == BUILT_IN_WORKGROUP_SIZE) {
            *ret_id = decoration->id;
            return true;
        }
    }
    return false;
}

static bool workgroup_read_mode(const struct spirv_module *module, const VkSpecializationInfo *info,
                                uint32_t entry, uint32_t ret_size[3])
{
    struct spirv_instruction i;
    for (size_t at = SPIRV_FIRST_WORD; spirv_next(module, &at, &i) && i.op != SPIRV_OP_FUNCTION;) {
        if (i.length != 5 || i.words[0] != entry) {
            continue;
        }
        if (i.op == OP_EXECUTION_MODE && i.words[1] == MODE_LOCAL_SIZE) {
            memcpy(ret_size, &i.words[2], 3 * sizeof(uint32_t));
            return true;
        }
        if (i.op == OP_EXECUTION_MODE_ID && i.words[1] == MODE_LOCAL_SIZE_ID) {
            return workgroup_read_constants(module, info, &i.words[2], ret_size);
        }
    }
    return false;
}

static bool workgroup_read(const struct spirv_module *module, uint32_t entry,
                           const VkSpecializationInfo *info, uint32_t ret_size[3])
{
    struct spirv_instruction i;
    uint32_t built_in;
    if (!workgroup_built_in(module, &built_in)) {
        return workgroup_read_mode(module, info, entry, ret_size);
    }
    return spirv_define(module, built_in, 5, &i) && i.length == 5 &&
           (i.op == SPIRV_OP_CONSTANT_COMPOSITE || i.op == SPIRV_OP_SPEC_CONSTANT_COMPOSITE) &&
           workgroup_read_constants(module, info, &i.words[2], ret_size);
}

bool spirv_workgroup_is_nothing(const struct spirv_module *module, uint32_t entry,
                                const VkSpecializationInfo *specialization)
{
    uint32_t size[3];
    return workgroup_read(module, entry, specialization, size) &&
           (size[0] == 0 || size[1] == 0 || size[2] == 0);
}

bool spirv_workgroup_size(const void *code, size_t size, const char *name,
                          const VkSpecializationInfo *specialization, uint32_t ret_size[3])
{
    AUTO(spirv_close) struct spirv_module module = {0};
    uint32_t entry;
    uint32_t found[3];
    const bool read = spirv_open(code, size, &module) == STATUS_ok &&
                      spirv_entry_point(&module, MODEL_GL_COMPUTE, name, &entry) &&
                      workgroup_read(&module, entry, specialization, found);
    if (read) {
        memcpy(ret_size, found, sizeof found);
    }
    return read;
}
