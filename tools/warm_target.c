#include "warm_target.h"

#include <string.h>

#include "disk/store.h"

struct driver_identity warm_target_basic_identity(const struct driver_identity *identity)
{
    struct driver_identity basic = *identity;
    basic.driver_id = 0;
    memset(basic.conformance, 0, sizeof basic.conformance);
    memset(basic.driver_name, 0, sizeof basic.driver_name);
    memset(basic.driver_info, 0, sizeof basic.driver_info);
    return basic;
}

bool warm_target_has(const struct warm_target *target, const struct environment *environment)
{
    struct driver_identity basic = warm_target_basic_identity(&target->identity);
    bool is_basic = digest_equal(identity_digest(&basic), target->digest);
    return environment_device_of(environment).has_properties2 == !is_basic;
}

bool warm_target_has_cache(const struct warm_target *target)
{
    const struct store_options options = {
        .root = target->root,
        .app = target->app,
        .max_blob = target->max_blob,
        .read_only = true,
    };
    struct store_blob blob;
    struct store *store = store_open(&options, &target->identity);
    bool has = store && store_load(store, &blob) == REASON_ok;
    if (has) {
        store_blob_free(&blob);
    }
    store_close(store);
    return has;
}

size_t warm_target_count(const struct warm_target *target)
{
    const struct warm_recipes *recipes = target->recipes;
    size_t count = 0;
    for (size_t i = 0; i < recipes->item_count; i++) {
        const uint32_t place = recipes->items[i].environment;
        count += warm_target_has(target, recipes->environments.environments[place]);
    }
    return count;
}
