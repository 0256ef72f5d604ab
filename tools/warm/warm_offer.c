// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm_offer.h"

#include "common/base/clock.h"
#include "tools/warm/warm_watch.h"

/* Longest time that a driver may take, nanoseconds. */
#define OFFER_TIMEOUT_NS (30 * CLOCK_S)

static void offer_ask(const struct warm_target *target, struct warm_shared *shared,
                      struct warm_coverage *coverage)
{
    struct warm_report report = {.app = target->app, .device = target->identity.device_name};
    struct warm_probe none = {.pid = 0};
    struct warm_progress progress;
    for (size_t i = 0; i < target->recipes->item_count; i++) {
        const uint32_t environment = target->recipes->items[i].environment;
        report.total += warm_target_has(target, target->recipes->environments[environment]);
    }
    if (report.total > 0) {
        warm_shared_reset(shared);
        warm_progress_begin(&progress, target->app, target->identity.device_name, report.total);
        warm_watch_run(target, shared, &none, &progress);
        warm_report_take(&report, shared, true);
        warm_coverage_add(coverage, &report, shared);
    }
}

void warm_offer(const char *root, const char *app, const struct vulkan_devices *devices,
                struct warm_coverage *coverage)
{
    struct warm_recipes recipes;
    if (devices->count == 0 || !warm_recipes_open(root, app, NULL, &recipes)) {
        return;
    }
    struct warm_shared *shared = warm_shared_new(recipes.item_count);
    for (uint32_t i = 0; shared && i < devices->count; i++) {
        struct warm_target target = {
            .root = root,
            .app = app,
            .recipes = &recipes,
            .identity = devices->identities[i],
            .digest = identity_digest(&devices->identities[i]),
            .device = i,
            .jobs = 1,
            .timeout_ns = OFFER_TIMEOUT_NS,
            .offer_only = true,
        };
        offer_ask(&target, shared, coverage);
    }
    warm_shared_delete(shared);
    warm_recipes_close(&recipes);
}
