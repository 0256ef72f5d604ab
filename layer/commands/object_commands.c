// SPDX-License-Identifier: Apache-2.0
/* Creation and destruction of what pipelines are made of. Shader modules, set layouts, pipeline
 * layouts and update templates are shared. Samplers, conversions and render passes are only named,
 * so that what refers to them can be encoded. */
#include "common/base/clock.h"
#include "common/settings/config.h"
#include "layer/cache/device_cache.h"
#include "layer/commands/commands.h"
#include "layer/dedup/dedup.h"
#include "layer/recipes/recorder.h"
#include "layer/trace/trace.h"
#include "layer/worker/own_thread.h"

/* What differs between the kinds of objects. */
struct object_kind {
    const char *name; /* in a trace */
    VkObjectType type;
    unsigned dedup; /* of enum dedup_kind; 0: never shared, and not counted */
    bool is_part;   /* objects are made of it, whose live keys name it by its content */
    enum stats_field requested;
    enum stats_field deduplicated;
};

/* The members of one, in their order. */
#define SHARED_KIND(name, type, dedup, is_part, plural)                                            \
    name, VK_OBJECT_TYPE_##type, DEDUP_##dedup, is_part, STATS_##plural##_requested,               \
        STATS_##plural##_deduplicated

static const struct object_kind shader_module = {
    SHARED_KIND("module", SHADER_MODULE, MODULES, true, modules)};
static const struct object_kind set_layout = {
    SHARED_KIND("set_layout", DESCRIPTOR_SET_LAYOUT, SET_LAYOUTS, true, set_layouts)};
static const struct object_kind pipeline_layout = {
    SHARED_KIND("pipeline_layout", PIPELINE_LAYOUT, PIPELINE_LAYOUTS, true, pipeline_layouts)};
static const struct object_kind update_template = {
    SHARED_KIND("template", DESCRIPTOR_UPDATE_TEMPLATE, TEMPLATES, false, templates)};
static const struct object_kind sampler = {.name = "sampler", .type = VK_OBJECT_TYPE_SAMPLER};
static const struct object_kind conversion = {.name = "sampler_ycbcr_conversion",
                                              .type = VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION};
static const struct object_kind render_pass = {
    .name = "render_pass", .type = VK_OBJECT_TYPE_RENDER_PASS, .is_part = true};

/* What one creation asks for, whatever the kind. */
struct object_request {
    const struct object_kind *kind;
    const void *create_info;
    const VkAllocationCallbacks *allocator;
    /* Calls the next layer; the handle comes back as 64 bits. */
    VkResult (*create)(const struct device *device, const struct object_request *request,
                       uint64_t *ret_handle);
};

/* Creates an object of its own of which nothing is known. */
static VkResult object_create_unknown(const struct device_services *services,
                                      const struct object_request *request, uint64_t *ret_handle)
{
    VkResult result = request->create(services->device, request, ret_handle);
    if (result == VK_SUCCESS && services->dedup) {
        objects_adopt(dedup_objects(services->dedup), request->kind->type, *ret_handle, NULL, NULL);
    }
    return result;
}

static struct digest object_name_of(const struct device_services *services,
                                    const struct object_request *request,
                                    const struct canonical *form)
{
    return request->kind->is_part ? dedup_name(services->dedup, form) : (struct digest){0};
}

/* What recipes of pipelines may refer to. */
static void object_keep_form(const struct device_services *services, const struct canonical *form)
{
    if (services->recorder && recorder_keep(services->recorder, form)) {
        device_cache_recall(services->device_cache);
    }
}

/* Creates an object of its own and makes it known. Code is kept where it may be recorded. */
static VkResult object_create_alone(const struct device_services *services,
                                    const struct object_request *request,
                                    const struct canonical *form, struct canonical_object *facts,
                                    uint64_t *ret_handle)
{
    struct objects *objects = dedup_objects(services->dedup);
    VkResult result = request->create(services->device, request, ret_handle);
    if (result != VK_SUCCESS) {
        return result;
    }
    const struct iovec parts[2] = {
        {form->key.data, form->size},
        {(void *)(uintptr_t)form->code, form->code_size},
    };
    facts->name = object_name_of(services, request, form);
    objects_adopt(objects, request->kind->type, *ret_handle, facts,
                  services->recorder && form->code_size > 0 ? parts : NULL);
    object_keep_form(services, form);
    return result;
}

/* Creates what has been claimed; whoever waits for it gets the same handle. */
static VkResult object_create_claimed(const struct device_services *services,
                                      const struct object_request *request,
                                      const struct canonical *form, struct object *claim,
                                      uint64_t *ret_handle)
{
    struct objects *objects = dedup_objects(services->dedup);
    VkResult result = request->create(services->device, request, ret_handle);
    if (result == VK_SUCCESS) {
        objects_publish(objects, claim, *ret_handle, object_name_of(services, request, form),
                        false);
        object_keep_form(services, form);
    } else {
        objects_abandon(objects, claim);
    }
    return result;
}

/* With an allocator of the program's an object must be created and destroyed with it, one for one
 * (VUID-vkDestroyShaderModule-shaderModule-01092 and the like): it is not shared. */
static bool object_is_shareable(const struct device_services *services,
                                const struct object_request *request, const struct canonical *form)
{
    return form->verdict == CANONICAL_SHARE && !request->allocator &&
           dedup_includes(services->dedup, request->kind->dedup);
}

static VkResult object_create_encoded(struct device_services *services,
                                      const struct object_request *request,
                                      const struct canonical *form, uint64_t *ret_handle,
                                      bool *ret_shared)
{
    struct canonical_object facts = dedup_facts(form);
    canonical_render_pass_use(request->create_info, &facts.use);
    if (!object_is_shareable(services, request, form)) {
        return object_create_alone(services, request, form, &facts, ret_handle);
    }
    struct object *object = NULL;
    const struct objects_flight flight = {
        .waits = dedup_may_wait(services->dedup),
        .awaited = true,
    };
    switch (dedup_claim(services->dedup, request->kind->type, form, &flight, &object)) {
    case OBJECTS_HIT:
        *ret_handle = object_handle(object);
        *ret_shared = true;
        stats_add(&services->stats, request->kind->deduplicated, 1);
        return VK_SUCCESS;
    case OBJECTS_CREATE:
        return object_create_claimed(services, request, form, object, ret_handle);
    default:
        return object_create_alone(services, request, form, &facts, ret_handle);
    }
}

/* Creates or shares. */
static VkResult create_object(VkDevice handle, const struct object_request *request,
                              uint64_t *ret_handle)
{
    struct device_services *services = services_of(handle);
    if (!services) {
        return request->create(device_of(handle), request, ret_handle);
    }
    const int cancel = own_thread_bar_cancel();
    if (request->kind->dedup) {
        stats_add(&services->stats, request->kind->requested, 1);
    }
    uint64_t start_ns = services->trace ? clock_now_ns() : 0;
    device_cache_expect_pipelines(services->device_cache);
    struct canonical *form =
        services->dedup ? dedup_encode(services->dedup, request->create_info) : NULL;
    bool known = form && form->verdict != CANONICAL_UNKNOWN;
    bool shared = false;
    VkResult result = known ? object_create_encoded(services, request, form, ret_handle, &shared)
                            : object_create_unknown(services, request, ret_handle);
    if (services->trace) {
        const char *done = shared ? "shared" : known ? "created" : "passed";
        trace_put(services->trace, &(struct trace_event){
                                       .kind = TRACE_OBJECT,
                                       .name = request->kind->name,
                                       .start_ns = start_ns,
                                       .end_ns = clock_now_ns(),
                                       .result = result < VK_SUCCESS ? "failed" : done,
                                       .content = known ? form->digest : (struct digest){0},
                                   });
    }
    if (form) {
        dedup_done(form);
    }
    own_thread_let_cancel(cancel);
    return result;
}

/* Whether a destroy goes down the chain: always, but while other references are left. */
static bool object_needs_driver(struct device_services *services, VkObjectType type,
                                uint64_t handle)
{
    return !services || !services->dedup || handle == 0 ||
           objects_release(dedup_objects(services->dedup), type, handle);
}

/* The commands themselves: alike but for the types. A layer above us may have got a command from
 * the instance, for a device that does not have it. */
#define CREATE_COMMAND(object_kind, Member, CreateInfo, Handle, function)                          \
    static VkResult next_##function(const struct device *device,                                   \
                                    const struct object_request *request, uint64_t *ret_handle)    \
    {                                                                                              \
        if (!device->table.Member) {                                                               \
            return VK_ERROR_EXTENSION_NOT_PRESENT;                                                 \
        }                                                                                          \
        Handle handle = VK_NULL_HANDLE;                                                            \
        VkResult result = device->table.Member(device->handle, request->create_info,               \
                                               request->allocator, &handle);                       \
        *ret_handle = HANDLE_VALUE(handle);                                                        \
        return result;                                                                             \
    }                                                                                              \
    static VKAPI_ATTR VkResult VKAPI_CALL function(VkDevice device, const CreateInfo *create_info, \
                                                   const VkAllocationCallbacks *allocator,         \
                                                   Handle *ret_handle)                             \
    {                                                                                              \
        struct object_request request = {&object_kind, create_info, allocator, next_##function};   \
        uint64_t handle = 0;                                                                       \
        VkResult result = create_object(device, &request, &handle);                                \
        *ret_handle = HANDLE_OF(Handle, handle);                                                   \
        return result;                                                                             \
    }

#define DESTROY_COMMAND(object_kind, Member, Handle, function)                                     \
    static VKAPI_ATTR void VKAPI_CALL function(VkDevice handle, Handle object,                     \
                                               const VkAllocationCallbacks *allocator)             \
    {                                                                                              \
        const struct device *device = device_of(handle);                                           \
        const uint64_t value = HANDLE_VALUE(object);                                               \
        if (object_needs_driver(device->services, (object_kind).type, value) &&                    \
            device->table.Member) {                                                                \
            device->table.Member(handle, object, allocator);                                       \
        }                                                                                          \
    }

CREATE_COMMAND(shader_module, CreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule,
               create_shader_module)
CREATE_COMMAND(set_layout, CreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo,
               VkDescriptorSetLayout, create_descriptor_set_layout)
CREATE_COMMAND(pipeline_layout, CreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout,
               create_pipeline_layout)
CREATE_COMMAND(update_template, CreateDescriptorUpdateTemplate,
               VkDescriptorUpdateTemplateCreateInfo, VkDescriptorUpdateTemplate,
               create_descriptor_update_template)
CREATE_COMMAND(sampler, CreateSampler, VkSamplerCreateInfo, VkSampler, create_sampler)
CREATE_COMMAND(conversion, CreateSamplerYcbcrConversion, VkSamplerYcbcrConversionCreateInfo,
               VkSamplerYcbcrConversion, create_sampler_ycbcr_conversion)
CREATE_COMMAND(render_pass, CreateRenderPass, VkRenderPassCreateInfo, VkRenderPass,
               create_render_pass)
CREATE_COMMAND(render_pass, CreateRenderPass2, VkRenderPassCreateInfo2, VkRenderPass,
               create_render_pass_2)

DESTROY_COMMAND(shader_module, DestroyShaderModule, VkShaderModule, destroy_shader_module)
DESTROY_COMMAND(set_layout, DestroyDescriptorSetLayout, VkDescriptorSetLayout,
                destroy_descriptor_set_layout)
DESTROY_COMMAND(pipeline_layout, DestroyPipelineLayout, VkPipelineLayout, destroy_pipeline_layout)
DESTROY_COMMAND(update_template, DestroyDescriptorUpdateTemplate, VkDescriptorUpdateTemplate,
                destroy_descriptor_update_template)
DESTROY_COMMAND(sampler, DestroySampler, VkSampler, destroy_sampler)
DESTROY_COMMAND(conversion, DestroySamplerYcbcrConversion, VkSamplerYcbcrConversion,
                destroy_sampler_ycbcr_conversion)
DESTROY_COMMAND(render_pass, DestroyRenderPass, VkRenderPass, destroy_render_pass)

/* A command that was promoted has its older name too. */
#define PROMOTED(name, function)                                                                   \
    COMMAND(name, function, COMMAND_WORK), COMMAND(name "KHR", function, COMMAND_WORK)

static const struct command object_command_list[] = {
    COMMAND("vkCreateShaderModule", create_shader_module, COMMAND_WORK),
    COMMAND("vkDestroyShaderModule", destroy_shader_module, COMMAND_WORK),
    COMMAND("vkCreateDescriptorSetLayout", create_descriptor_set_layout, COMMAND_WORK),
    COMMAND("vkDestroyDescriptorSetLayout", destroy_descriptor_set_layout, COMMAND_WORK),
    COMMAND("vkCreatePipelineLayout", create_pipeline_layout, COMMAND_WORK),
    COMMAND("vkDestroyPipelineLayout", destroy_pipeline_layout, COMMAND_WORK),
    PROMOTED("vkCreateDescriptorUpdateTemplate", create_descriptor_update_template),
    PROMOTED("vkDestroyDescriptorUpdateTemplate", destroy_descriptor_update_template),
    COMMAND("vkCreateSampler", create_sampler, COMMAND_WORK),
    COMMAND("vkDestroySampler", destroy_sampler, COMMAND_WORK),
    PROMOTED("vkCreateSamplerYcbcrConversion", create_sampler_ycbcr_conversion),
    PROMOTED("vkDestroySamplerYcbcrConversion", destroy_sampler_ycbcr_conversion),
    COMMAND("vkCreateRenderPass", create_render_pass, COMMAND_WORK),
    PROMOTED("vkCreateRenderPass2", create_render_pass_2),
    COMMAND("vkDestroyRenderPass", destroy_render_pass, COMMAND_WORK),
};

const struct command_family object_commands = COMMAND_FAMILY(object_command_list);
