#include "pipeline_share.h"

#include "base/clock.h"
#include "base/config.h"
#include "pipeline_record.h"
#include "sharing.h"

/* A call that asks to fail rather than compile must not wait for a compile (hazard 50). */
static bool may_wait(const struct device *device, const struct pipeline_element *element,
                     bool holds_claim)
{
    return !holds_claim && !element->rules.fail_on_compile_required &&
           sharing_may_wait(device->sharing);
}

/* The earlier element of this call that holds this very claim, or `i` itself. One that may not be
 * compiled does not stand for one that may: its failure would be theirs. */
static uint32_t find_duplicate(const struct pipeline_element *elements, uint32_t i,
                               const struct object *claim)
{
    uint32_t j = 0;
    while (j < i && !(elements[j].fate == PIPELINE_CLAIMED && elements[j].object == claim)) {
        ++j;
    }
    bool may_fail =
        elements[j].rules.fail_on_compile_required && !elements[i].rules.fail_on_compile_required;
    return may_fail ? i : j;
}

static void drop_reference(struct device *device, const struct object *object)
{
    uint64_t handle = object_handle(object);
    if (objects_release(sharing_objects(device->sharing), VK_OBJECT_TYPE_PIPELINE, handle)) {
        /* It was the last: the program has destroyed the others meanwhile. */
        device->table.DestroyPipeline(device->handle, HANDLE_OF(VkPipeline, handle), NULL);
    }
}

static void claim(struct device *device, const struct canonical *form, struct app_cache *named,
                  struct pipeline_element *elements, uint32_t i, bool *holds_claim)
{
    struct pipeline_element *element = &elements[i];
    struct object *object = NULL;
    bool wait = may_wait(device, element, *holds_claim);
    switch (sharing_claim(device->sharing, VK_OBJECT_TYPE_PIPELINE, form, wait, &object)) {
    case OBJECTS_CREATE:
        element->fate = PIPELINE_CLAIMED;
        element->object = object;
        *holds_claim = true;
        break;
    case OBJECTS_HIT:
        if (app_cache_allows_sharing(named, element->fingerprint, object_is_in_hot_cache(object))) {
            element->fate = PIPELINE_SHARED;
            element->object = object;
        } else {
            drop_reference(device, object);
        }
        break;
    default:
        element->duplicate_of = find_duplicate(elements, i, object);
        if (element->duplicate_of != i) {
            element->fate = PIPELINE_DUPLICATE;
        }
        break;
    }
}

static void plan_element(struct device *device, const struct pipeline_call *call, bool share,
                         struct app_cache *named, struct pipeline_element *elements, uint32_t i,
                         bool *holds_claim)
{
    struct pipeline_element *element = &elements[i];
    struct canonical *form = sharing_encode(device->sharing, pipeline_create_info(call, i));
    if (!form) {
        return;
    }
    if (form->verdict != CANONICAL_UNKNOWN) {
        element->encoded = true;
        element->facts = sharing_facts(form);
        element->fingerprint = form->digest.low;
        element->seen = app_cache_has_seen(named, element->fingerprint);
    }
    if (share && form->verdict == CANONICAL_SHARE) {
        claim(device, form, named, elements, i, holds_claim);
    }
    if (element->encoded && pipeline_goes_down(element)) {
        pipeline_record_plan(device, element, form);
    }
    sharing_done(device->sharing, form);
}

/* Elements that refer to each other, or of which one failing keeps the next from being created, go
 * down together (hazard 23); pipelines with an allocator are destroyed one for one (hazard 8). */
static bool may_share(const struct device *device, const struct pipeline_call *call,
                      const struct pipeline_element *elements)
{
    bool share = !call->allocator && sharing_includes(device->sharing, DEDUP_PIPELINES);
    for (uint32_t i = 0; i < call->count && share; ++i) {
        const struct pipeline_rules *rules = &elements[i].rules;
        share = !rules->derivative && !(rules->early_return && call->count > 1);
    }
    return share;
}

uint32_t pipeline_share_plan(struct device *device, const struct pipeline_call *call,
                             struct app_cache *named, struct pipeline_element *elements)
{
    if (!device->sharing) {
        return call->count;
    }
    uint32_t down_count = 0;
    bool holds_claim = false;
    bool share = may_share(device, call, elements);
    for (uint32_t i = 0; i < call->count; ++i) {
        plan_element(device, call, share, named, elements, i, &holds_claim);
        down_count += pipeline_goes_down(&elements[i]);
    }
    return down_count;
}

/* A pipeline that the driver was asked for. */
static void settle_created(struct device *device, struct app_cache *named,
                           struct pipeline_element *element, VkPipeline pipeline,
                           const struct pipeline_down *down)
{
    pipeline_record_settle(device, element, pipeline != VK_NULL_HANDLE, down->took_ns, down->count);
    struct objects *objects = sharing_objects(device->sharing);
    if (pipeline == VK_NULL_HANDLE) {
        if (element->fate == PIPELINE_CLAIMED) {
            objects_abandon(objects, element->object);
        }
        return;
    }
    if (element->fate == PIPELINE_CLAIMED) {
        objects_publish(objects, element->object, HANDLE_VALUE(pipeline), down->hot);
    } else {
        objects_adopt(objects, VK_OBJECT_TYPE_PIPELINE, HANDLE_VALUE(pipeline),
                      element->encoded ? &element->facts : NULL);
    }
    if (element->encoded) {
        app_cache_saw(named, element->fingerprint);
    }
}

/* One that is live already: what the program sees of it. */
static void settle_shared(struct device *device, struct app_cache *named,
                          struct pipeline_element *element, uint64_t start_ns)
{
    stats_add(&device->stats, STATS_pipelines_deduplicated, 1);
    feedback_write_shared(&element->feedback, element->seen, clock_now_ns() - start_ns);
    app_cache_saw(named, element->fingerprint);
}

void pipeline_share_settle(struct device *device, const struct pipeline_call *call,
                           struct app_cache *named, struct pipeline_element *elements,
                           const struct pipeline_down *down, uint64_t start_ns)
{
    for (uint32_t i = 0; device->sharing && i < call->count; ++i) {
        struct pipeline_element *element = &elements[i];
        VkPipeline *pipeline = &call->pipelines[i];
        switch (element->fate) {
        case PIPELINE_SHARED:
            *pipeline = HANDLE_OF(VkPipeline, object_handle(element->object));
            settle_shared(device, named, element, start_ns);
            break;
        case PIPELINE_DUPLICATE:
            /* Fails as the one before has failed. */
            *pipeline = call->pipelines[element->duplicate_of];
            if (*pipeline != VK_NULL_HANDLE) {
                objects_reference(sharing_objects(device->sharing), VK_OBJECT_TYPE_PIPELINE,
                                  HANDLE_VALUE(*pipeline));
                settle_shared(device, named, element, start_ns);
            }
            break;
        default:
            settle_created(device, named, element, *pipeline, down);
            break;
        }
    }
}
