#include "driver/replay_objects.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

static struct replay_object *slot_of(const struct replay_objects *objects, struct digest content)
{
    size_t at = content.low & (objects->capacity - 1);
    while (objects->slots[at].type != VK_OBJECT_TYPE_UNKNOWN &&
           !digest_equal(objects->slots[at].content, content)) {
        at = (at + 1) & (objects->capacity - 1);
    }
    return &objects->slots[at];
}

struct replay_object *replay_objects_find(const struct replay_objects *objects,
                                          struct digest content)
{
    if (objects->capacity == 0) {
        return NULL;
    }
    struct replay_object *slot = slot_of(objects, content);
    return slot->type != VK_OBJECT_TYPE_UNKNOWN ? slot : NULL;
}

static bool grow(struct replay_objects *objects)
{
    struct replay_objects larger = *objects;
    larger.capacity = objects->capacity > 0 ? objects->capacity * 2 : FIRST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; i < objects->capacity; i++) {
        if (objects->slots[i].type != VK_OBJECT_TYPE_UNKNOWN) {
            *slot_of(&larger, objects->slots[i].content) = objects->slots[i];
        }
    }
    free(objects->slots);
    *objects = larger;
    return true;
}

struct replay_object *replay_objects_insert(struct replay_objects *objects, VkObjectType type,
                                            struct digest content)
{
    if (objects->count >= objects->capacity / 2 && !grow(objects)) {
        return NULL;
    }
    struct replay_object *slot = slot_of(objects, content);
    *slot = (struct replay_object){
        .content = content,
        .type = type,
        .state = REPLAY_BEING_MADE,
    };
    objects->count++;
    return slot;
}

void replay_objects_destroy(VkDevice device, const struct replay_commands *commands,
                            VkObjectType type, union replay_handle handle)
{
    switch (type) {
    case VK_OBJECT_TYPE_PIPELINE:
        commands->destroy_pipeline(device, handle.pipeline, NULL);
        break;
    case VK_OBJECT_TYPE_PIPELINE_LAYOUT:
        commands->destroy_pipeline_layout(device, handle.pipeline_layout, NULL);
        break;
    case VK_OBJECT_TYPE_RENDER_PASS:
        commands->destroy_render_pass(device, handle.render_pass, NULL);
        break;
    case VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT:
        commands->destroy_descriptor_set_layout(device, handle.set_layout, NULL);
        break;
    case VK_OBJECT_TYPE_SHADER_MODULE:
        commands->destroy_shader_module(device, handle.shader_module, NULL);
        break;
    case VK_OBJECT_TYPE_SAMPLER:
        commands->destroy_sampler(device, handle.sampler, NULL);
        break;
    case VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION:
        commands->destroy_sampler_ycbcr_conversion(device, handle.conversion, NULL);
        break;
    default:
        break;
    }
}

static void destroy_all_of(struct replay_objects *objects, VkObjectType type, VkDevice device,
                           const struct replay_commands *commands)
{
    for (size_t i = 0; i < objects->capacity; i++) {
        const struct replay_object *object = &objects->slots[i];
        if (object->type == type && object->state == REPLAY_MADE) {
            replay_objects_destroy(device, commands, type, object->handle);
        }
    }
}

void replay_objects_clear(struct replay_objects *objects, VkDevice device,
                          const struct replay_commands *commands)
{
    static const VkObjectType order[] = {
        VK_OBJECT_TYPE_PIPELINE,
        VK_OBJECT_TYPE_PIPELINE_LAYOUT,
        VK_OBJECT_TYPE_RENDER_PASS,
        VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT,
        VK_OBJECT_TYPE_SHADER_MODULE,
        VK_OBJECT_TYPE_SAMPLER,
        VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION,
    };
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        destroy_all_of(objects, order[i], device, commands);
    }
    free(objects->slots);
    *objects = (struct replay_objects){0};
}
