// SPDX-License-Identifier: Apache-2.0
#include "common/replay/replay.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/codec/canonical.h"
#include "common/replay/replay_objects.h"
#include "common/spirv/spirv.h"

/* Objects that are remembered; beyond it all are forgotten. */
#define MAX_NODES 8192

/* An object that forms refer to. Handles of decoded create-infos point to it. */
struct check_node {
    struct digest content; /* first, for the set */
    VkObjectType type;     /* that the form makes */
    bool being_checked;    /* a request for it now comes from one of its own parts */
    bool is_known;         /* else the walk was cut off where it is not too deep by itself */
    enum replay_outcome outcome;
    void *info; /* decoded, where pipelines are checked against it; else NULL */
};

struct replay_check {
    struct replay_source source;
    struct digest_set nodes; /* of pointers */
    unsigned depth;
    bool is_cut;                 /* the walk was too deep */
    enum replay_outcome failure; /* why the current form cannot be decoded */
};

static const struct check_node *node_of(uint64_t handle)
{
    return (const struct check_node *)(uintptr_t)handle;
}

static enum replay_outcome check_outcome_of(enum status status)
{
    switch (status) {
    case STATUS_ok:
        return REPLAY_COMPILED;
    case STATUS_bad_spirv:
        return REPLAY_BAD_SPIRV;
    case STATUS_bad_entry_point:
        return REPLAY_BAD_ENTRY_POINT;
    case STATUS_bad_specialization:
        return REPLAY_BAD_SPECIALIZATION;
    case STATUS_bad_binding:
        return REPLAY_BAD_BINDING;
    case STATUS_bad_push_constants:
        return REPLAY_BAD_PUSH_CONSTANTS;
    default:
        return REPLAY_NO_MEMORY;
    }
}

/* The create-infos of a layout's sets, in one allocation; NULL: out of memory. */
static const VkDescriptorSetLayoutCreateInfo **
check_list_sets(const VkPipelineLayoutCreateInfo *layout)
{
    const VkDescriptorSetLayoutCreateInfo **sets =
        calloc((layout ? layout->setLayoutCount : 0) + 1u, sizeof *sets);
    if (!sets) {
        return NULL;
    }
    for (uint32_t i = 0; layout && i < layout->setLayoutCount; i++) {
        union replay_handle handle = {.set_layout = layout->pSetLayouts[i]};
        sets[i] = handle.value != 0 ? node_of(handle.value)->info : NULL;
    }
    return sets;
}

/* Code that the stages of one pipeline have altogether, and bytes that each counts besides: each
 * reads its module anew, with a word for each of its ids, and hundreds of thousands may name one.
 */
#define MAX_STAGE_CODE  (UINT64_C(4) << 30)
#define EACH_STAGE_CODE (UINT64_C(64) << 10)
#define SPIRV_BOUND     3 /* the word of a module's header that its ids are below */

static uint64_t check_stage_code(const VkShaderModuleCreateInfo *module)
{
    const bool has_header = module->codeSize > (SPIRV_BOUND + 1) * sizeof *module->pCode;
    return module->codeSize + EACH_STAGE_CODE +
           (has_header ? module->pCode[SPIRV_BOUND] * sizeof(uint32_t) : 0);
}

/* A stage without a module brings no code of its own along. */
static enum replay_outcome check_stages(const struct pipeline_parts *pipeline,
                                        const struct spirv_layout *layout)
{
    enum status status = STATUS_ok;
    uint64_t read = 0;
    for (uint32_t i = 0; status == STATUS_ok && i < pipeline->stage_count; i++) {
        union replay_handle handle = {.shader_module = pipeline->stages[i].module};
        if (handle.value != 0) {
            const VkShaderModuleCreateInfo *module = node_of(handle.value)->info;
            read += check_stage_code(module);
            status = read > MAX_STAGE_CODE ? STATUS_bad_spirv
                                           : spirv_check_stage(&pipeline->stages[i], module->pCode,
                                                               module->codeSize, layout);
        }
    }
    return check_outcome_of(status);
}

/* Render passes of both sorts begin alike. */
static_assert(offsetof(VkRenderPassCreateInfo, subpassCount) ==
                  offsetof(VkRenderPassCreateInfo2, subpassCount),
              "what check_subpass reads");

/* Whether the render pass has the subpass of the pipeline: drivers read it without asking. */
static bool check_subpass(const VkBaseInStructure *info)
{
    const VkGraphicsPipelineCreateInfo *graphics = (const VkGraphicsPipelineCreateInfo *)info;
    const bool is_graphics = info->sType == VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    const union replay_handle handle = {.render_pass = is_graphics ? graphics->renderPass : 0};
    const VkRenderPassCreateInfo *pass = handle.value != 0 ? node_of(handle.value)->info : NULL;
    return !pass || graphics->subpass < pass->subpassCount;
}

static enum replay_outcome check_pipeline(const VkBaseInStructure *info)
{
    const struct pipeline_parts pipeline = pipeline_parts_of(info);
    if (!pipeline_has_valid_stages(&pipeline)) {
        return REPLAY_BAD_STAGE;
    }
    if (!check_subpass(info)) {
        return REPLAY_INVALID;
    }
    union replay_handle handle = {.pipeline_layout = pipeline.layout};
    const VkPipelineLayoutCreateInfo *layout =
        handle.value != 0 ? node_of(handle.value)->info : NULL;
    AUTO_FREE const VkDescriptorSetLayoutCreateInfo **sets = check_list_sets(layout);
    if (!sets) {
        return REPLAY_NO_MEMORY;
    }
    const struct spirv_layout interface = {
        .sets = sets,
        .set_count = layout ? layout->setLayoutCount : 0,
        .ranges = layout ? layout->pPushConstantRanges : NULL,
        .range_count = layout ? layout->pushConstantRangeCount : 0,
    };
    return check_stages(&pipeline, pipeline.by_heap ? NULL : &interface);
}

static enum replay_outcome check_info(const VkBaseInStructure *info)
{
    switch (canonical_type_of(info->sType)) {
    case VK_OBJECT_TYPE_PIPELINE:
        return check_pipeline(info);
    case VK_OBJECT_TYPE_PIPELINE_LAYOUT:
        return check_outcome_of(pipeline_check_layout((const VkPipelineLayoutCreateInfo *)info));
    case VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT:
        return check_outcome_of(
            pipeline_check_set_layout((const VkDescriptorSetLayoutCreateInfo *)info));
    default:
        return REPLAY_COMPILED;
    }
}

/* Whether pipelines are checked against an object of this type. */
static bool check_is_looked_into(VkObjectType type)
{
    return type == VK_OBJECT_TYPE_PIPELINE_LAYOUT || type == VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT ||
           type == VK_OBJECT_TYPE_RENDER_PASS || type == VK_OBJECT_TYPE_SHADER_MODULE;
}

/* Forms. */

static bool check_find_handle(void *user, VkObjectType type, struct digest content,
                              uint64_t *ret_handle);

static bool check_find_code(void *user, struct digest content, size_t size, const void **ret_code)
{
    struct replay_check *check = user;
    return replay_find_code(&check->source, content, size, ret_code, &check->failure);
}

/* Decodes the form with all that it refers to, and checks what it says. */
static void check_form(struct replay_check *check, struct check_node *node, const void *form,
                       size_t size)
{
    const struct canonical_sources sources = {check_find_handle, check_find_code, check};
    const enum replay_outcome outer = check->failure;
    check->failure = REPLAY_INVALID;
    node->type = canonical_type_of(canonical_stype(form, size));
    VkBaseInStructure *info =
        node->type == VK_OBJECT_TYPE_UNKNOWN ? NULL : canonical_decode(form, size, &sources);
    node->outcome = info ? check_info(info) : check->failure;
    check->failure = outer;
    if (node->outcome == REPLAY_COMPILED && check_is_looked_into(node->type)) {
        node->info = info;
    } else {
        free(info);
    }
}

static void check_node(struct replay_check *check, struct check_node *node)
{
    const void *form;
    size_t size;
    node->outcome = REPLAY_MISSING;
    if (check->source.find(check->source.user, false, node->content, &form, &size)) {
        node->being_checked = true;
        check->depth++;
        check_form(check, node, form, size);
        check->depth--;
        node->being_checked = false;
    }
    /* Of a walk that was cut off only the form where it began is known to be too high. */
    node->is_known = !check->is_cut || check->depth == 0;
}

/* Finds the node, or makes and checks it. NULL: out of memory. */
static struct check_node *check_take_node(struct replay_check *check, struct digest content)
{
    struct check_node *node = digest_set_find(&check->nodes, content);
    if (!node) {
        node = calloc(1, sizeof *node);
        if (!node) {
            return NULL;
        }
        node->content = content;
        if (!digest_set_add(&check->nodes, (uintptr_t)node)) {
            free(node);
            return NULL;
        }
    }
    if (!node->is_known && !node->being_checked) {
        check_node(check, node);
    }
    return node;
}

static enum replay_outcome check_look_at(struct replay_check *check, VkObjectType type,
                                         struct digest content, const struct check_node **ret_node)
{
    if (check->depth >= REPLAY_MAX_DEPTH) {
        check->is_cut = true;
        return REPLAY_INVALID;
    }
    const struct check_node *node = check_take_node(check, content);
    *ret_node = node;
    return !node                                                     ? REPLAY_NO_MEMORY
           : node->outcome == REPLAY_MISSING && !node->being_checked ? REPLAY_MISSING
           : node->being_checked || node->type != type               ? REPLAY_INVALID
                                                                     : node->outcome;
}

static bool check_find_handle(void *user, VkObjectType type, struct digest content,
                              uint64_t *ret_handle)
{
    struct replay_check *check = user;
    const struct check_node *node = NULL;
    const enum replay_outcome outcome = check_look_at(check, type, content, &node);
    if (outcome != REPLAY_COMPILED) {
        check->failure = outcome;
        return false;
    }
    *ret_handle = (uintptr_t)node;
    return true;
}

static void check_forget_nodes(struct replay_check *check)
{
    size_t at = 0;
    for (struct check_node *node; (node = digest_set_next(&check->nodes, &at));) {
        free(node->info);
        free(node);
    }
    digest_set_release(&check->nodes);
}

enum replay_outcome replay_check_pipeline(struct replay_check *check, struct digest pipeline)
{
    const struct check_node *node;
    if (check->nodes.count > MAX_NODES) {
        check_forget_nodes(check);
    }
    check->is_cut = false;
    return check_look_at(check, VK_OBJECT_TYPE_PIPELINE, pipeline, &node);
}

struct replay_check *replay_check_new(const struct replay_source *source)
{
    struct replay_check *check = calloc(1, sizeof *check);
    if (check) {
        check->source = *source;
        check->nodes.of_pointers = true;
    }
    return check;
}

void replay_check_delete(struct replay_check *check)
{
    if (check) {
        check_forget_nodes(check);
        free(check);
    }
}
