// SPDX-License-Identifier: Apache-2.0
/* Which elements of a call are answered by live pipelines, and what becomes of those that are newly
 * created. */
#include "common/base/clock.h"
#include "common/settings/config.h"
#include "layer/commands/pipeline_call.h"
#include "layer/dedup/dedup.h"
#include "layer/recipes/recipe_draft.h"
#include "layer/recipes/recorder.h"

/* A call of several pipelines waits for nobody and nobody waits for it: it ends with the last of
 * them (row 66). One that asks to fail rather than compile must not wait for a compile (hazard 50),
 * and one whose cache may not miss what the driver compiles could not share the result. */
static struct objects_flight plan_flight(const struct device_services *services,
                                         const struct pipeline_call *call, struct app_cache *named,
                                         const struct pipeline_element *element)
{
    const bool alone = call->count == 1;
    const uint64_t fingerprint = element->fingerprint;
    return (struct objects_flight){
        .waits = alone && !element->rules.fail_on_compile_required &&
                 dedup_may_wait(services->dedup) &&
                 app_cache_allows_sharing(named, fingerprint, true),
        .needs_device_cache = !app_cache_allows_sharing(named, fingerprint, false),
        .awaited = alone,
        .in_device_cache = app_caches_expect_device_cache(services->app_caches, call->cache, named),
    };
}

/* The earlier element of this call that holds this very claim, or `i` itself. One that may not be
 * compiled stands for no other: its failure would be theirs (row 89). */
static __attribute__((cold)) uint32_t plan_find_duplicate(const struct pipeline_element *elements,
                                                          uint32_t i, const struct object *claim)
{
    uint32_t j = 0;
    while (j < i && !(elements[j].disposition == PIPELINE_CLAIMED && elements[j].object == claim)) {
        j++;
    }
    return elements[j].rules.fail_on_compile_required ? i : j;
}

static __attribute__((cold)) void plan_drop_reference(struct device_services *services,
                                                      const struct object *object)
{
    uint64_t handle = object_handle(object);
    if (objects_release(dedup_objects(services->dedup), VK_OBJECT_TYPE_PIPELINE, handle)) {
        /* It was the last: the program has destroyed the others meanwhile. */
        services->device->table.DestroyPipeline(services->device->handle,
                                                HANDLE_OF(VkPipeline, handle), NULL);
    }
}

static void plan_claim(struct device_services *services, const struct pipeline_call *call,
                       const struct canonical *form, struct app_cache *named,
                       struct pipeline_element *elements, uint32_t i)
{
    struct pipeline_element *element = &elements[i];
    struct object *object = NULL;
    const struct objects_flight flight = plan_flight(services, call, named, element);
    switch (dedup_claim(services->dedup, VK_OBJECT_TYPE_PIPELINE, form, &flight, &object)) {
    case OBJECTS_CREATE:
        element->disposition = PIPELINE_CLAIMED;
        element->object = object;
        break;
    case OBJECTS_HIT:
        if (app_cache_allows_sharing(named, element->fingerprint,
                                     object_is_in_device_cache(object))) {
            element->disposition = PIPELINE_SHARED;
            element->object = object;
        } else {
            plan_drop_reference(services, object);
        }
        break;
    default:
        element->duplicate_of = plan_find_duplicate(elements, i, object);
        if (element->duplicate_of != i) {
            element->disposition = PIPELINE_DUPLICATE;
        }
        break;
    }
}

/* Takes over what the form says of its pipeline. */
static void plan_note_form(struct pipeline_element *element, const struct canonical *form)
{
    element->encoded = form->verdict != CANONICAL_UNKNOWN;
    if (element->encoded) {
        element->facts = dedup_facts(form);
        element->fingerprint = form->digest.low;
    }
}

static void plan_draft(struct device_services *services, struct pipeline_element *element,
                       const struct canonical *form)
{
    if (services->recorder && element->encoded && pipeline_needs_driver(element)) {
        element->draft =
            recorder_draft(services->recorder, services->dedup, form, &element->stored);
    }
}

static void plan_element(struct device_services *services, const struct pipeline_call *call,
                         bool share, struct app_cache *named, struct pipeline_element *elements,
                         uint32_t i)
{
    struct pipeline_element *element = &elements[i];
    const struct canonical *form = element->form;
    plan_note_form(element, form);
    if (element->encoded) {
        element->seen = app_cache_has_seen(named, element->fingerprint);
    }
    if (share && form->verdict == CANONICAL_SHARE) {
        plan_claim(services, call, form, named, elements, i);
    }
    plan_draft(services, element, form);
}

static void plan_release_form(struct pipeline_element *element)
{
    if (element->form) {
        dedup_done(element->form);
        element->form = NULL;
    }
}

bool pipeline_encode(const struct device_services *services, const struct pipeline_call *call,
                     struct pipeline_element *elements)
{
    bool cacheable = true;
    uint32_t encoded = 0;
    for (; cacheable && encoded < call->count; encoded++) {
        struct pipeline_element *element = &elements[encoded];
        const void *create_info = pipeline_create_info(call, encoded);
        element->form = services->dedup ? dedup_encode(services->dedup, create_info) : NULL;
        if (element->form) {
            element->rules = element->form->rules;
        } else {
            canonical_rules(create_info, &element->rules);
        }
        element->feedback.programs = element->feedback.used = element->rules.feedback;
        element->feedback.many_stages = NULL;
        element->verdict = FEEDBACK_UNKNOWN;
        element->disposition = PIPELINE_ALONE;
        element->object = NULL;
        element->encoded = element->seen = element->stored = false;
        element->draft = NULL;
        cacheable = element->rules.cacheable && (element->rules.known || !services->strict);
    }
    while (!cacheable && encoded > 0) {
        plan_release_form(&elements[--encoded]);
    }
    return cacheable;
}

/* Nothing of a call is shared where elements refer to each other, or may do so by what we do not
 * know, or where one failure ends the call (hazard 23: batches). Pipelines with an allocator are
 * destroyed one for one (hazard 8: allocators differ). */
static bool plan_may_share(const struct device_services *services, const struct pipeline_call *call,
                           const struct pipeline_element *elements)
{
    bool share = !call->allocator && dedup_includes(services->dedup, DEDUP_PIPELINES);
    for (uint32_t i = 0; i < call->count && share; i++) {
        const struct pipeline_rules *rules = &elements[i].rules;
        share = rules->known && !rules->derivative && !(rules->early_return && call->count > 1);
    }
    return share;
}

uint32_t pipeline_plan(struct device_services *services, const struct pipeline_call *call,
                       struct app_cache *named, struct pipeline_element *elements)
{
    if (!services->dedup) {
        return call->count;
    }
    uint32_t created = 0;
    bool share = plan_may_share(services, call, elements);
    for (uint32_t i = 0; i < call->count; i++) {
        if (elements[i].form) {
            plan_element(services, call, share, named, elements, i);
            plan_release_form(&elements[i]);
        }
        created += pipeline_needs_driver(&elements[i]);
    }
    return created;
}

/* How long an element was compiled. The driver's own figure, else the measured time, which is
 * longer, never shorter. Where neither distinguishes a compile from a hit, what is asked for the
 * first time is taken for compiled. */
static uint32_t plan_compile_us(const struct pipeline_element *element,
                                const struct pipeline_driver_call *driver)
{
    const uint64_t share_ns = driver->took_ns / driver->count;
    uint64_t ns = 0;
    switch (element->verdict) {
    case FEEDBACK_MISS:
        ns = element->duration_ns;
        break;
    case FEEDBACK_UNKNOWN:
        ns = element->draft->form ? share_ns : 0;
        break;
    default:
        ns = element->draft->form && share_ns >= PIPELINE_LONG_NS ? share_ns : 0;
        break;
    }
    uint64_t us = (ns + 999) / 1000;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* Records what was created. */
static void plan_record(struct device_services *services, struct pipeline_element *element,
                        bool created, const struct pipeline_driver_call *driver)
{
    if (created && element->draft) {
        recorder_submit(services->recorder, element->draft, plan_compile_us(element, driver),
                        driver->saved);
    } else {
        recipe_draft_free(element->draft);
    }
    element->draft = NULL;
}

/* A pipeline that the driver was asked for. */
static void settle_created(struct device_services *services, struct app_cache *named,
                           struct pipeline_element *element, VkPipeline pipeline,
                           const struct pipeline_driver_call *driver)
{
    plan_record(services, element, pipeline != VK_NULL_HANDLE, driver);
    struct objects *objects = dedup_objects(services->dedup);
    if (pipeline == VK_NULL_HANDLE) {
        if (element->disposition == PIPELINE_CLAIMED) {
            objects_abandon(objects, element->object);
        }
        return;
    }
    if (element->disposition == PIPELINE_CLAIMED) {
        objects_publish(objects, element->object, HANDLE_VALUE(pipeline), (struct digest){0},
                        driver->hot);
    } else {
        objects_adopt(objects, VK_OBJECT_TYPE_PIPELINE, HANDLE_VALUE(pipeline),
                      element->encoded ? &element->facts : NULL, NULL);
    }
    if (element->encoded) {
        app_cache_saw(named, element->fingerprint);
    }
}

/* A pipeline that was live already: counts it and writes the feedback that the program sees. */
static void settle_shared(struct device_services *services, struct app_cache *named,
                          struct pipeline_element *element, uint64_t start_ns)
{
    stats_add(&services->stats, STATS_pipelines_deduplicated, 1);
    if (element->feedback.programs) {
        feedback_write_shared(&element->feedback, element->seen, clock_now_ns() - start_ns);
    }
    app_cache_saw(named, element->fingerprint);
}

void pipeline_settle(struct device_services *services, const struct pipeline_call *call,
                     struct app_cache *named, struct pipeline_element *elements,
                     const struct pipeline_driver_call *driver, uint64_t start_ns)
{
    for (uint32_t i = 0; services->dedup && i < call->count; i++) {
        struct pipeline_element *element = &elements[i];
        VkPipeline *pipeline = &call->pipelines[i];
        switch (element->disposition) {
        case PIPELINE_SHARED:
            *pipeline = HANDLE_OF(VkPipeline, object_handle(element->object));
            settle_shared(services, named, element, start_ns);
            break;
        case PIPELINE_DUPLICATE:
            /* Fails as the one before has failed. */
            *pipeline = call->pipelines[element->duplicate_of];
            if (*pipeline != VK_NULL_HANDLE) {
                objects_reference(dedup_objects(services->dedup), VK_OBJECT_TYPE_PIPELINE,
                                  HANDLE_VALUE(*pipeline));
                settle_shared(services, named, element, start_ns);
            }
            break;
        default:
            settle_created(services, named, element, *pipeline, driver);
            break;
        }
    }
}

__attribute__((cold)) void pipeline_settle_deferred(struct device_services *services,
                                                    const struct pipeline_call *call,
                                                    struct pipeline_element *elements,
                                                    VkResult result)
{
    for (uint32_t i = 0; i < call->count; i++) {
        struct pipeline_element *element = &elements[i];
        if (element->form) {
            plan_note_form(element, element->form);
            if (result >= VK_SUCCESS) {
                plan_draft(services, element, element->form);
                recorder_submit(services->recorder, element->draft, 0, false);
            }
            plan_release_form(element);
        }
    }
}
