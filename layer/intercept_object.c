/* Creation and destruction of what pipelines are made of. Shader modules, set layouts, pipeline
 * layouts and update templates are shared; samplers, conversions and render passes are only named,
 * so that what refers to them has a content. */
#include "base/clock.h"
#include "base/config.h"
#include "codec/rules.h"
#include "device.h"
#include "intercept.h"
#include "recorder.h"
#include "sharing.h"
#include "trace.h"

/* What differs between the kinds of objects. */
struct object_kind {
    const char *name; /* in a trace */
    VkObjectType type;
    unsigned dedup; /* of enum dedup_kind; 0: never shared, and not counted */
    enum stats_field requested;
    enum stats_field deduplicated;
};

static const struct object_kind shader_module = {"module", VK_OBJECT_TYPE_SHADER_MODULE,
                                                 DEDUP_MODULES, STATS_modules_requested,
                                                 STATS_modules_deduplicated};
static const struct object_kind set_layout = {"set_layout", VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT,
                                              DEDUP_SET_LAYOUTS, STATS_set_layouts_requested,
                                              STATS_set_layouts_deduplicated};
static const struct object_kind pipeline_layout = {
    "pipeline_layout", VK_OBJECT_TYPE_PIPELINE_LAYOUT, DEDUP_PIPELINE_LAYOUTS,
    STATS_pipeline_layouts_requested, STATS_pipeline_layouts_deduplicated};
static const struct object_kind update_template = {
    "template", VK_OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE, DEDUP_TEMPLATES,
    STATS_templates_requested, STATS_templates_deduplicated};
static const struct object_kind sampler = {.name = "sampler", .type = VK_OBJECT_TYPE_SAMPLER};
static const struct object_kind conversion = {.name = "sampler_ycbcr_conversion",
                                              .type = VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION};
static const struct object_kind render_pass = {.name = "render_pass",
                                               .type = VK_OBJECT_TYPE_RENDER_PASS};

/* What one creation asks for, whatever the kind. */
struct object_request {
    const struct object_kind *kind;
    const void *create_info;
    const VkAllocationCallbacks *allocator;
    /* Calls down; the handle is told as 64 bits. */
    VkResult (*create)(const struct device *device, const struct object_request *request,
                       uint64_t *ret_handle);
};

/* Creates an object of its own of which nothing is known. */
static VkResult create_unknown(const struct device *device, const struct object_request *request,
                               uint64_t *ret_handle)
{
    VkResult result = request->create(device, request, ret_handle);
    if (result == VK_SUCCESS && device->sharing) {
        objects_adopt(sharing_objects(device->sharing), request->kind->type, *ret_handle, NULL);
    }
    return result;
}

/* What recipes of pipelines may refer to. */
static void keep_form(const struct device *device, const struct canonical *form)
{
    if (device->recorder) {
        recorder_keep(device->recorder, form);
    }
}

/* Creates an object of its own and makes it known. Code is kept where it may be recorded. */
static VkResult create_alone(const struct device *device, const struct object_request *request,
                             const struct canonical *form, const struct canonical_object *facts,
                             uint64_t *ret_handle)
{
    struct objects *objects = sharing_objects(device->sharing);
    VkResult result = request->create(device, request, ret_handle);
    if (result == VK_SUCCESS && device->recorder && form->code_size > 0) {
        struct iovec parts[2] = {
            {form->key.data, form->size},
            {(void *)(uintptr_t)form->code, form->code_size},
        };
        objects_adopt_module(objects, *ret_handle, facts, parts);
    } else if (result == VK_SUCCESS) {
        objects_adopt(objects, request->kind->type, *ret_handle, facts);
    }
    if (result == VK_SUCCESS) {
        keep_form(device, form);
    }
    return result;
}

/* Creates what has been claimed; whoever waits for it gets the same handle. */
static VkResult create_claimed(const struct device *device, const struct object_request *request,
                               const struct canonical *form, struct object *claim,
                               uint64_t *ret_handle)
{
    struct objects *objects = sharing_objects(device->sharing);
    VkResult result = request->create(device, request, ret_handle);
    if (result == VK_SUCCESS) {
        objects_publish(objects, claim, *ret_handle, false);
        keep_form(device, form);
    } else {
        objects_abandon(objects, claim);
    }
    return result;
}

/* With an allocator of the program's an object must be created and destroyed with it, one for one
 * (VUID-vkDestroyShaderModule-shaderModule-01092 and the like): it is not shared. */
static bool is_shareable(const struct device *device, const struct object_request *request,
                         const struct canonical *form)
{
    return form->verdict == CANONICAL_SHARE && !request->allocator &&
           sharing_includes(device->sharing, request->kind->dedup);
}

/* What a pipeline may leave dangling hangs on the attachments that its subpass uses. */
static void find_use(const void *create_info, struct render_pass_use *ret_use)
{
    VkStructureType type = ((const VkBaseInStructure *)create_info)->sType;
    if (type == VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO) {
        rules_render_pass(create_info, ret_use);
    } else if (type == VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2) {
        rules_render_pass_2(create_info, ret_use);
    }
}

static VkResult create_encoded(struct device *device, const struct object_request *request,
                               const struct canonical *form, uint64_t *ret_handle, bool *ret_shared)
{
    struct canonical_object facts = sharing_facts(form);
    find_use(request->create_info, &facts.use);
    if (!is_shareable(device, request, form)) {
        return create_alone(device, request, form, &facts, ret_handle);
    }
    struct object *object = NULL;
    bool wait = sharing_may_wait(device->sharing);
    switch (sharing_claim(device->sharing, request->kind->type, form, wait, &object)) {
    case OBJECTS_HIT:
        *ret_handle = object_handle(object);
        *ret_shared = true;
        stats_add(&device->stats, request->kind->deduplicated, 1);
        return VK_SUCCESS;
    case OBJECTS_CREATE:
        return create_claimed(device, request, form, object, ret_handle);
    default:
        return create_alone(device, request, form, &facts, ret_handle);
    }
}

/* Creates or shares. */
static VkResult create_object(VkDevice handle, const struct object_request *request,
                              uint64_t *ret_handle)
{
    struct device *device = device_of(handle);
    if (request->kind->dedup) {
        stats_add(&device->stats, request->kind->requested, 1);
    }
    uint64_t start_ns = device->trace ? clock_now_ns() : 0;
    struct canonical *form =
        device->sharing ? sharing_encode(device->sharing, request->create_info) : NULL;
    bool known = form && form->verdict != CANONICAL_UNKNOWN;
    bool shared = false;
    VkResult result = known ? create_encoded(device, request, form, ret_handle, &shared)
                            : create_unknown(device, request, ret_handle);
    if (device->trace) {
        const char *done = shared ? "shared" : known ? "created" : "passed";
        trace_put(device->trace, &(struct trace_event){
                                     .kind = TRACE_OBJECT,
                                     .name = request->kind->name,
                                     .start_ns = start_ns,
                                     .end_ns = clock_now_ns(),
                                     .result = result < VK_SUCCESS ? "failed" : done,
                                     .content = known ? form->digest : (struct digest){0},
                                 });
    }
    if (form) {
        sharing_done(device->sharing, form);
    }
    return result;
}

static bool goes_down(struct device *device, VkObjectType type, uint64_t handle)
{
    return !device->sharing || handle == 0 ||
           objects_release(sharing_objects(device->sharing), type, handle);
}

/* The commands themselves: alike but for the types that C wants to see. */
#define CREATE_COMMAND(object_kind, Member, CreateInfo, Handle, function)                          \
    static VkResult next_##function(const struct device *device,                                   \
                                    const struct object_request *request, uint64_t *ret_handle)    \
    {                                                                                              \
        Handle handle = VK_NULL_HANDLE;                                                            \
        VkResult result = device->table.Member(device->handle, request->create_info,               \
                                               request->allocator, &handle);                       \
        *ret_handle = HANDLE_VALUE(handle);                                                        \
        return result;                                                                             \
    }                                                                                              \
    VKAPI_ATTR VkResult VKAPI_CALL intercept_##function(                                           \
        VkDevice device, const CreateInfo *create_info, const VkAllocationCallbacks *allocator,    \
        Handle *ret_handle)                                                                        \
    {                                                                                              \
        struct object_request request = {&object_kind, create_info, allocator, next_##function};   \
        uint64_t handle = 0;                                                                       \
        VkResult result = create_object(device, &request, &handle);                                \
        *ret_handle = HANDLE_OF(Handle, handle);                                                   \
        return result;                                                                             \
    }

#define DESTROY_COMMAND(object_kind, Member, Handle, function)                                     \
    VKAPI_ATTR void VKAPI_CALL intercept_##function(VkDevice device, Handle handle,                \
                                                    const VkAllocationCallbacks *allocator)        \
    {                                                                                              \
        struct device *state = device_of(device);                                                  \
        if (goes_down(state, (object_kind).type, HANDLE_VALUE(handle))) {                          \
            state->table.Member(device, handle, allocator);                                        \
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
