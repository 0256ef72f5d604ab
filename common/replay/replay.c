// SPDX-License-Identifier: Apache-2.0
#include "common/replay/replay.h"

#include <stdlib.h>

#include "common/base/io.h"
#include "common/codec/canonical.h"
#include "common/replay/replay_objects.h"
#include "common/spirv/spirv.h"

/* The most that is kept for the next pipelines; beyond it all objects are destroyed, and created
 * again when needed. */
#define MAX_OBJECTS   8192
#define MAX_CODE_SIZE (64u << 20)

struct replay {
    VkDevice device;
    struct replay_commands commands;
    VkPipelineCache cache;
    struct replay_source source;
    struct replay_limits limits;
    bool feedback;
    struct replay_check *check; /* of the same source */
    struct replay_objects objects;
    unsigned depth;
    bool is_full;                /* an object was not made, since too many live */
    enum replay_outcome failure; /* why the current form cannot be decoded */
    const char *lack;            /* why the last object was UNSUPPORTED; NULL: no such command */
    struct digest environment;   /* that the pipeline was made in */
};

static bool replay_has_succeeded(enum replay_outcome outcome)
{
    return outcome == REPLAY_COMPILED || outcome == REPLAY_HIT;
}

/* Puts the module into a stage, or its code, as the last struct of its chain. */
static void replay_fill_stage(VkPipelineShaderStageCreateInfo *stage,
                              const struct replay_object *object, bool brings_code)
{
    stage->module = brings_code ? VK_NULL_HANDLE : object->handle.shader_module;
    if (!brings_code) {
        return;
    }
    VkBaseOutStructure *module = (VkBaseOutStructure *)(uintptr_t)&object->module;
    VkBaseOutStructure *last = (VkBaseOutStructure *)(uintptr_t)stage->pNext;
    if (!last) {
        stage->pNext = module;
        return;
    }
    while (last->pNext) {
        last = last->pNext;
    }
    last->pNext = module;
}

/* The decoder gave the stages objects in place of modules. What they need and the device lacks, or
 * NULL. A stage without a module names its code by an identifier, which means something only to a
 * driver that already has the code (VK_EXT_shader_module_identifier). */
static const char *replay_fill_stages(const struct replay *replay,
                                      const struct pipeline_parts *pipeline, unsigned inline_stages)
{
    const char *lack = NULL;
    for (uint32_t i = 0; i < pipeline->stage_count && !lack; i++) {
        VkPipelineShaderStageCreateInfo *stage =
            (VkPipelineShaderStageCreateInfo *)(uintptr_t)&pipeline->stages[i];
        const union replay_handle given = {.shader_module = stage->module};
        const struct replay_object *object = (const struct replay_object *)(uintptr_t)given.value;
        if (!object) {
            return "the code of a shader module identifier";
        }
        const bool sized = stage->stage == VK_SHADER_STAGE_COMPUTE_BIT;
        lack = replay_limits_exceeded_by_stage(&replay->limits, stage,
                                               sized ? object->module.pCode : NULL,
                                               sized ? object->module.codeSize : 0);
        replay_fill_stage(stage, object, inline_stages & canonical_inline_bit(i));
    }
    return lack;
}

static bool replay_find_handle(void *user, VkObjectType type, struct digest content,
                               uint64_t *ret_handle);

static bool replay_give_code(void *user, struct digest content, size_t size, const void **ret_code)
{
    struct replay *replay = user;
    return replay_find_code(&replay->source, content, size, ret_code, &replay->failure);
}

/* Decodes the create-info of a form and creates the objects that it refers to. NULL: see
 * *ret_failure. */
static VkBaseInStructure *replay_decode_form(struct replay *replay, struct digest content,
                                             enum replay_outcome *ret_failure)
{
    const struct canonical_sources sources = {replay_find_handle, replay_give_code, replay};
    enum replay_outcome outer = replay->failure;
    const void *form;
    size_t size;
    if (!replay->source.find(replay->source.user, false, content, &form, &size)) {
        *ret_failure = REPLAY_MISSING;
        return NULL;
    }
    replay->failure = REPLAY_INVALID;
    VkBaseInStructure *info = NULL;
    if (canonical_type_of(canonical_stype(form, size)) != VK_OBJECT_TYPE_UNKNOWN) {
        info = canonical_decode(form, size, &sources);
    }
    *ret_failure = replay->failure;
    replay->failure = outer;
    return info;
}

static bool replay_is_object_allowed(struct replay *replay, const VkBaseInStructure *info)
{
    const struct replay_objects *objects = &replay->objects;
    if (info->sType == VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO) {
        replay->lack = replay_limits_exceeded_by_layout(&replay->limits,
                                                        (const VkPipelineLayoutCreateInfo *)info);
        return !replay->lack;
    }
    if (canonical_type_of(info->sType) == VK_OBJECT_TYPE_RENDER_PASS) {
        replay->lack =
            replay_limits_exceeded_by_pass(&replay->limits, (const VkRenderPassCreateInfo *)info);
        return !replay->lack;
    }
    if (info->sType == VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO &&
        !replay_limits_allow_sampler(&replay->limits, (const VkSamplerCreateInfo *)info,
                                     objects->samplers, objects->border_color_samplers)) {
        replay->is_full = true;
        return false;
    }
    return true;
}

static enum replay_outcome replay_create_from(struct replay *replay, struct digest content,
                                              VkBaseInStructure *info, bool as_library,
                                              union replay_handle *ret_handle)
{
    replay->lack = NULL;
    if (canonical_type_of(info->sType) != VK_OBJECT_TYPE_PIPELINE) {
        return replay_is_object_allowed(replay, info)
                   ? replay_create_object(replay->device, &replay->commands, info, ret_handle)
                   : REPLAY_UNSUPPORTED;
    }
    const struct pipeline_parts pipeline = pipeline_parts_of(info);
    if (as_library && !pipeline.is_library) {
        return REPLAY_INVALID;
    }
    const struct replay_source *source = &replay->source;
    replay->lack = replay_fill_stages(
        replay, &pipeline,
        source->inline_stages ? source->inline_stages(source->user, replay->environment, content)
                              : 0);
    if (!replay->lack && info->sType == VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO) {
        replay->lack = replay_limits_exceeded_by_state(&replay->limits,
                                                       (const VkGraphicsPipelineCreateInfo *)info);
    }
    if (replay->lack) {
        return REPLAY_UNSUPPORTED;
    }
    return replay_create_pipeline(replay->device, &replay->commands, replay->cache,
                                  replay->feedback, pipeline.stage_count, info, ret_handle);
}

static void replay_store_outcome(struct replay *replay, struct replay_object *object,
                                 enum replay_outcome outcome, union replay_handle handle,
                                 const VkBaseInStructure *info)
{
    object->state = replay_has_succeeded(outcome) ? REPLAY_MADE : REPLAY_FAILED;
    object->outcome = outcome;
    object->lack = replay->lack;
    object->handle = handle;
    if (!info || object->state != REPLAY_MADE) {
        return;
    }
    if (object->type == VK_OBJECT_TYPE_SHADER_MODULE) {
        object->module = *(const VkShaderModuleCreateInfo *)info;
        object->module.pNext = NULL;
        replay->objects.code_size += object->module.codeSize;
    }
    if (object->type == VK_OBJECT_TYPE_SAMPLER) {
        replay->objects.samplers++;
        replay->objects.border_color_samplers +=
            sampler_has_border_color((const VkSamplerCreateInfo *)info);
    }
}

/* Creates an object that is not in the table and inserts it. */
static enum replay_outcome replay_make_object(struct replay *replay, VkObjectType type,
                                              struct digest content)
{
    enum replay_outcome outcome;
    union replay_handle handle = {0};
    struct replay_object *object = replay_objects_insert(&replay->objects, type, content);
    if (!object) {
        return REPLAY_NO_MEMORY;
    }
    AUTO_FREE VkBaseInStructure *info = replay_decode_form(replay, content, &outcome);
    if (info) {
        outcome = canonical_type_of(info->sType) == type
                      ? replay_create_from(replay, content, info, true, &handle)
                      : REPLAY_INVALID;
    }
    replay_store_outcome(replay, object, outcome, handle, info);
    return outcome;
}

static bool replay_find_handle(void *user, VkObjectType type, struct digest content,
                               uint64_t *ret_handle)
{
    struct replay *replay = user;
    struct replay_object *object = digest_set_find(&replay->objects.set, content);
    enum replay_outcome outcome = REPLAY_INVALID;
    if (object) {
        if (object->state != REPLAY_BEING_MADE && object->type == type) {
            outcome = object->outcome;
            replay->lack = object->lack;
        }
    } else if (replay->depth < REPLAY_MAX_DEPTH) {
        replay->depth++;
        outcome = replay_make_object(replay, type, content);
        replay->depth--;
    }
    if (!replay_has_succeeded(outcome)) {
        replay->failure = outcome;
        return false;
    }
    object = digest_set_find(&replay->objects.set, content);
    *ret_handle = type == VK_OBJECT_TYPE_SHADER_MODULE ? (uintptr_t)object : object->handle.value;
    return true;
}

/* Keeps libraries in the table and destroys everything else at once. */
static enum replay_outcome replay_form(struct replay *replay, struct digest pipeline)
{
    enum replay_outcome outcome;
    union replay_handle handle = {0};
    AUTO_FREE VkBaseInStructure *info = replay_decode_form(replay, pipeline, &outcome);
    if (!info) {
        return outcome;
    }
    if (canonical_type_of(info->sType) != VK_OBJECT_TYPE_PIPELINE) {
        return REPLAY_INVALID;
    }
    const bool is_library = pipeline_parts_of(info).is_library;
    outcome = replay_create_from(replay, pipeline, info, false, &handle);
    struct replay_object *object =
        is_library ? replay_objects_insert(&replay->objects, VK_OBJECT_TYPE_PIPELINE, pipeline)
                   : NULL;
    if (object) {
        replay_store_outcome(replay, object, outcome, handle, NULL);
    } else if (replay_has_succeeded(outcome)) {
        replay_objects_destroy(replay->device, &replay->commands, VK_OBJECT_TYPE_PIPELINE, handle);
    }
    return outcome;
}

static void replay_clear(struct replay *replay)
{
    replay_objects_clear(&replay->objects, replay->device, &replay->commands);
    replay->is_full = false;
}

enum replay_outcome replay_pipeline(struct replay *replay, struct digest environment,
                                    struct digest pipeline)
{
    replay->environment = environment;
    if (replay->objects.set.count > MAX_OBJECTS || replay->objects.code_size > MAX_CODE_SIZE) {
        replay_clear(replay);
    }
    const struct replay_object *object = digest_set_find(&replay->objects.set, pipeline);
    if (object) {
        replay->lack = object->lack;
        return object->type == VK_OBJECT_TYPE_PIPELINE ? object->outcome : REPLAY_INVALID;
    }
    const enum replay_outcome checked = replay_check_pipeline(replay->check, pipeline);
    if (checked != REPLAY_COMPILED) {
        return checked;
    }
    const enum replay_outcome outcome = replay_form(replay, pipeline);
    if (!replay->is_full) {
        return outcome;
    }
    /* Once more with none but its own objects; what then still does not fit is left out. */
    replay_clear(replay);
    const enum replay_outcome alone = replay_form(replay, pipeline);
    if (replay->is_full) {
        replay_clear(replay);
    }
    return alone;
}

struct replay *replay_new(VkDevice device, const struct replay_commands *commands,
                          VkPipelineCache cache, const struct replay_source *source,
                          const struct replay_limits *limits, bool feedback)
{
    struct replay *replay = malloc(sizeof *replay);
    struct replay_check *check = replay_check_new(source);
    if (!replay || !check) {
        replay_check_delete(check);
        free(replay);
        return NULL;
    }
    *replay = (struct replay){
        .device = device,
        .commands = *commands,
        .cache = cache,
        .source = *source,
        .limits = *limits,
        .feedback = feedback,
        .check = check,
    };
    return replay;
}

const char *replay_lack(const struct replay *replay)
{
    return replay->lack ? replay->lack : "the command that creates it";
}

void replay_delete(struct replay *replay)
{
    if (replay) {
        replay_objects_clear(&replay->objects, replay->device, &replay->commands);
        replay_check_delete(replay->check);
        free(replay);
    }
}

bool replay_is_refusal(enum replay_outcome outcome)
{
    return outcome >= REPLAY_BAD_SPIRV && outcome < REPLAY_OUTCOME_COUNT;
}

const char *replay_outcome_id(enum replay_outcome outcome)
{
    static const char ids[REPLAY_OUTCOME_COUNT][20] = {
        [REPLAY_COMPILED] = "compiled",
        [REPLAY_HIT] = "hit",
        [REPLAY_MISSING] = "missing",
        [REPLAY_INVALID] = "invalid",
        [REPLAY_UNSUPPORTED] = "unsupported",
        [REPLAY_REFUSED] = "refused",
        [REPLAY_NO_MEMORY] = "no_memory",
        [REPLAY_BAD_SPIRV] = "bad_spirv",
        [REPLAY_BAD_STAGE] = "bad_stage",
        [REPLAY_BAD_ENTRY_POINT] = "bad_entry_point",
        [REPLAY_BAD_SPECIALIZATION] = "bad_specialization",
        [REPLAY_BAD_BINDING] = "bad_binding",
        [REPLAY_BAD_PUSH_CONSTANTS] = "bad_push_constants",
    };
    return ids[outcome];
}
