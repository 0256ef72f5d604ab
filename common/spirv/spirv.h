// SPDX-License-Identifier: Apache-2.0
/* What a SPIR-V module says about itself: its instructions, what defines an id, decorations, entry
 * points. A reader for recipes, which may come from a hostile file: it reads nothing outside the
 * code, and takes time and memory in proportion to its size (memory also to its bound of ids, which
 * is limited). It is no validator; `warmpipe import` has SPIRV-Tools for that. It checks only the
 * layout of instructions, and that the module is one for Vulkan.
 *
 * No I/O. Thread-safe for different modules. */
#ifndef WARMPIPE_SPIRV_SPIRV_H
#define WARMPIPE_SPIRV_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/status.h"

/* SPIR-V specification, "Instructions", "Storage Class", "Decoration": what more than one file
 * here looks at. */
enum {
    SPIRV_OP_TYPE_BOOL = 20,
    SPIRV_OP_TYPE_INT = 21,
    SPIRV_OP_TYPE_FLOAT = 22,
    SPIRV_OP_TYPE_VECTOR = 23,
    SPIRV_OP_TYPE_MATRIX = 24,
    SPIRV_OP_TYPE_IMAGE = 25,
    SPIRV_OP_TYPE_SAMPLER = 26,
    SPIRV_OP_TYPE_SAMPLED_IMAGE = 27,
    SPIRV_OP_TYPE_ARRAY = 28,
    SPIRV_OP_TYPE_RUNTIME_ARRAY = 29,
    SPIRV_OP_TYPE_STRUCT = 30,
    SPIRV_OP_TYPE_POINTER = 32,
    SPIRV_OP_CONSTANT = 43,
    SPIRV_OP_CONSTANT_COMPOSITE = 44,
    SPIRV_OP_SPEC_CONSTANT_TRUE = 48,
    SPIRV_OP_SPEC_CONSTANT_FALSE = 49,
    SPIRV_OP_SPEC_CONSTANT = 50,
    SPIRV_OP_SPEC_CONSTANT_COMPOSITE = 51,
    SPIRV_OP_FUNCTION = 54,
    SPIRV_OP_FUNCTION_END = 56,
    SPIRV_OP_VARIABLE = 59,
    SPIRV_OP_TYPE_ACCELERATION_STRUCTURE = 5341,

    SPIRV_SPEC_ID = 1,
    SPIRV_BUFFER_BLOCK = 3,
    SPIRV_ARRAY_STRIDE = 6,
    SPIRV_MATRIX_STRIDE = 7,
    SPIRV_BUILT_IN = 11,
    SPIRV_BINDING = 33,
    SPIRV_DESCRIPTOR_SET = 34,
    SPIRV_OFFSET = 35,
};

struct spirv_instruction {
    uint32_t op;
    uint32_t length;       /* operands */
    const uint32_t *words; /* operands; result type and id are among them */
};

/* Of an id, or of a member of a struct. */
struct spirv_decoration {
    uint32_t id;
    uint32_t member; /* SPIRV_NO_MEMBER: of the id itself */
    uint32_t kind;
    uint32_t value; /* the first literal; 0: there is none */
};

#define SPIRV_NO_MEMBER UINT32_MAX

struct spirv_module {
    const uint32_t *words; /* the code, borrowed */
    size_t count;
    uint32_t bound;    /* ids are below it */
    uint32_t *defined; /* of each id: the word of the type, constant, global variable or function
                        * that defines it; 0: none does */
    struct spirv_decoration *decorations; /* those named above, sorted */
    size_t decoration_count;
};

/* Reads a module. `code` is aligned at 4 and must live as long as the module, which is freed with
 * spirv_close in any case. `size` in bytes. STATUS_ok, out_of_memory; bad_spirv: damaged, or not
 * for Vulkan, or of another endianness. */
enum status spirv_open(const void *code, size_t size, struct spirv_module *ret_module);
void spirv_close(struct spirv_module *module);

/* The word at which the instructions begin. */
#define SPIRV_FIRST_WORD 5

/* The instruction at word `*at`, which moves to the next. False at the end. */
bool spirv_next(const struct spirv_module *module, size_t *at,
                struct spirv_instruction *ret_instruction);

/* The type, constant, global variable or function of this id, with at least `length` operands.
 * False: there is none. */
bool spirv_define(const struct spirv_module *module, uint32_t id, uint32_t length,
                  struct spirv_instruction *ret_instruction);

/* False: it is not decorated so. */
bool spirv_decorated(const struct spirv_module *module, uint32_t id, uint32_t member, uint32_t kind,
                     uint32_t *ret_value);

/* The value of a 32-bit constant that nothing can specialize. */
bool spirv_constant(const struct spirv_module *module, uint32_t id, uint32_t *ret_value);

/* The function of the entry point of this execution model and name. */
bool spirv_entry_point(const struct spirv_module *module, uint32_t model, const char *name,
                       uint32_t *ret_function);

/* The interface of an entry point: the descriptors and the push constants that it uses, against
 * what a pipeline layout has. A driver trusts that they fit, and may crash where they do not. Pure
 * functions; thread-safe. */

/* A pipeline layout. Borrowed. */
struct spirv_layout {
    const VkDescriptorSetLayoutCreateInfo *const *sets; /* NULL where there is none */
    uint32_t set_count;
    const VkPushConstantRange *ranges;
    uint32_t range_count;
};

/* Whether what the function uses, with all that it calls, is in the layout for this stage: sets,
 * bindings, descriptor types, counts where the code has a constant one, stage flags (VUID-Vk*
 * PipelineCreateInfo-layout-00703 and -00756, since 1.3.242 -layout-07988, -07990, -07991), and the
 * push constants (-07987). What the reader does not know, such as a type of an extension, fits.
 * Without a layout (NULL) only the calls are looked at. STATUS_ok, bad_binding, bad_push_constants,
 * bad_spirv, out_of_memory. */
enum status spirv_check_interface(const struct spirv_module *module, uint32_t function,
                                  VkShaderStageFlagBits stage, const struct spirv_layout *layout);

/* Checks the code (aligned at 4, `size` in bytes) and the stage that is to run it:
 *
 *     bad_spirv           the code is damaged, not for Vulkan, calls itself, or has
 *                         workgroups without an invocation
 *     bad_entry_point     it has none of this name with the stage's execution model
 *                         (VUID-VkPipelineShaderStageCreateInfo-pName-00707)
 *     bad_specialization  a constant beyond the data, given twice, or of another size than in the
 *                         code (VUID-VkSpecializationInfo-offset-00773, -pMapEntries-00774,
 *                         -constantID-04911, VUID-VkSpecializationMapEntry-constantID-00776)
 *     bad_binding, bad_push_constants   as spirv_check_interface; layout NULL: never
 *
 * Also out_of_memory. */
enum status spirv_check_stage(const VkPipelineShaderStageCreateInfo *stage, const void *code,
                              size_t size, const struct spirv_layout *layout);

/* Which global variables of a module that stand for descriptors or push constants a function uses,
 * with all that it calls ("statically used"), and whether these calls come to an end. Thread-safe.
 */

/* SPIR-V specification, "Storage Class". */
enum {
    SPIRV_STORAGE_UNIFORM_CONSTANT = 0,
    SPIRV_STORAGE_UNIFORM = 2,
    SPIRV_STORAGE_PUSH_CONSTANT = 9,
    SPIRV_STORAGE_STORAGE_BUFFER = 12,
};

struct spirv_resource {
    uint32_t id;
    uint32_t type; /* what it points to */
    uint32_t storage;
    bool is_used;
};

struct spirv_usage {
    struct spirv_resource *resources; /* by id */
    size_t count;
};

/* STATUS_ok, bad_spirv, out_of_memory. Also bad_spirv: more than any device has; a function that
 * calls itself, however far around (chapter "Validation Rules within a Module" of SPIR-V); calls
 * that make more than 16 million instructions where each is replaced by what it calls, as drivers
 * do. Freed with spirv_usage_free in any case. */
enum status spirv_usage_read(const struct spirv_module *module, uint32_t function,
                             struct spirv_usage *ret_usage);

void spirv_usage_free(struct spirv_usage *usage);

/* How large the workgroups of a shader are. Pure functions; thread-safe. */

/* Reads the workgroup size (x, y, z) of the entry point `name` from SPIR-V, under this
 * specialization (may be NULL): the object decorated with WorkgroupSize if there is one, else
 * LocalSizeId or LocalSize (chapter "Built-In Variables", WorkgroupSize). False: there is no such
 * entry point, its size is computed or cannot be read, the code is damaged, or memory is out.
 * `code` is aligned at 4, `size` in bytes. */
bool spirv_workgroup_size(const void *code, size_t size, const char *name,
                          const VkSpecializationInfo *specialization, uint32_t ret_size[3]);

/* Whether a workgroup of this entry point, of a stage that has them, has no invocation: drivers
 * divide by its size. False also where the size cannot be read. */
bool spirv_workgroup_is_nothing(const struct spirv_module *module, uint32_t entry,
                                const VkSpecializationInfo *specialization);

/* Checks of layouts and stages that need no code. Pure functions; thread-safe. */

/* Whether each binding has a number of its own
 * (VUID-VkDescriptorSetLayoutCreateInfo-binding-00279) and flags if any has
 * (VUID-VkDescriptorSetLayoutBindingFlagsCreateInfo-bindingCount-03002), and none is larger, or has
 * more descriptors, than a driver can be asked for. STATUS_ok, bad_binding, out_of_memory. */
enum status pipeline_check_set_layout(const VkDescriptorSetLayoutCreateInfo *info);

/* The number of sets, and the push constant ranges (VUID-VkPushConstantRange-offset-00295,
 * -size-00296, -size-00297, VUID-VkPipelineLayoutCreateInfo-pPushConstantRanges-00292). STATUS_ok,
 * bad_binding, bad_push_constants. */
enum status pipeline_check_layout(const VkPipelineLayoutCreateInfo *info);

/* A pipeline of any bind point. Borrowed. */
struct pipeline_parts {
    const VkPipelineShaderStageCreateInfo *stages;
    uint32_t stage_count;
    VkShaderStageFlags allowed; /* stages of its bind point */
    bool repeats;               /* several stages may be of one kind */
    bool is_whole;              /* it must have a stage that makes primitives */
    bool is_library;
    VkPipelineLayout layout;
    bool by_heap; /* the code's bindings are those of a descriptor heap, not of the layout */
};

/* Of a create-info of compute, graphics or ray tracing pipelines. */
struct pipeline_parts pipeline_parts_of(const VkBaseInStructure *info);

/* VUID-VkComputePipelineCreateInfo-stage-00701, VUID-VkGraphicsPipelineCreateInfo-stage-06897,
 * -stage-02096, -pStages-02095, -pStages-00729, -pStages-00730,
 * VUID-VkRayTracingPipelineCreateInfoKHR-stage-06899 */
bool pipeline_has_valid_stages(const struct pipeline_parts *pipeline);

#endif
