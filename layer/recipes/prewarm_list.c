// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/prewarm_list.h"

#include <stdlib.h>

#include "common/base/digest.h"
#include "common/codec/canonical.h"
#include "common/driver/environment.h"

/* Bytes that are short before anything is known: a small compute shader has 1 to 5 KiB. */
#define UNKNOWN_BYTES (UINT64_C(8) << 10)

/* A pipeline takes so many times what its size lets expect, and is so many times as large as one
 * that is known to be short, at most. */
#define CAUTION 4

/* Nesting, as a replay allows it. */
#define MAX_DEPTH  16
#define MAX_VISITS 4096

/* Forms that are walked over for all of a list; what is left then is not compiled ahead. */
#define MAX_LIST_VISITS (1u << 20)

void prewarm_estimate_add(struct prewarm_estimate *estimate, uint64_t bytes, uint64_t us)
{
    if (bytes == 0 || bytes == UINT64_MAX) {
        return;
    }
    estimate->bytes += bytes;
    estimate->us += us;
    if (us < PREWARM_LONG_US && bytes > estimate->largest) {
        estimate->largest = bytes;
    }
}

bool prewarm_estimate_is_short(const struct prewarm_estimate *estimate, uint64_t bytes)
{
    const uint64_t known = estimate->largest * CAUTION;
    const double us =
        estimate->bytes > 0 ? (double)(int64_t)estimate->us / (double)(int64_t)estimate->bytes : 0;
    return bytes <= (known > UNKNOWN_BYTES ? known : UNKNOWN_BYTES) &&
           us * (double)(int64_t)bytes * CAUTION < PREWARM_LONG_US;
}

struct prewarm_sum {
    const struct recipes *recipes;
    uint64_t bytes;
    unsigned depth;
    unsigned visits; /* forms may name each other so that there is no end of them */
};

static bool prewarm_sum_form(struct prewarm_sum *sum, struct digest content);

static bool prewarm_sum_reference(void *user, VkObjectType type, struct digest content)
{
    struct prewarm_sum *sum = user;
    const void *code;
    size_t size = 0;
    switch (type) {
    case VK_OBJECT_TYPE_UNKNOWN:
        if (!recipes_find(sum->recipes, RECIPE_CODE, content, &code, &size)) {
            return false;
        }
        sum->bytes += size;
        return true;
    case VK_OBJECT_TYPE_SHADER_MODULE:
    case VK_OBJECT_TYPE_PIPELINE:
        return prewarm_sum_form(sum, content);
    default:
        return true;
    }
}

static bool prewarm_sum_form(struct prewarm_sum *sum, struct digest content)
{
    const void *form;
    size_t size = 0;
    if (sum->depth == MAX_DEPTH || ++sum->visits > MAX_VISITS ||
        !recipes_find(sum->recipes, RECIPE_FORM, content, &form, &size)) {
        return false;
    }
    sum->depth++;
    const bool whole = canonical_references(form, size, prewarm_sum_reference, sum);
    sum->depth--;
    return whole;
}

uint64_t prewarm_code_bytes(const struct recipes *recipes, struct digest pipeline, unsigned *visits)
{
    struct prewarm_sum sum = {.recipes = recipes};
    const bool whole = prewarm_sum_form(&sum, pipeline);
    *visits += sum.visits;
    return whole ? sum.bytes : UINT64_MAX;
}

/* So many recorded times tell what the driver takes a byte. */
#define MAX_SAMPLES 64

/* Of recipes of another device so many at most: what this one takes for them is not known. */
#define MAX_OTHERS 256

/* Decides whether the environment that a use names is included in the device's. */
struct prewarm_judge {
    const struct recipes *recipes;
    struct environment *enabled;
    struct digest judged; /* the last one */
    bool fits;
    bool any_device; /* of the program nothing was recorded on this device yet */
};

/* NULL: it is missing or damaged, or memory is out. */
static struct environment *prewarm_environment(const struct prewarm_judge *judge,
                                               struct digest digest)
{
    const void *data;
    size_t size;
    return recipes_find(judge->recipes, RECIPE_ENVIRONMENT, digest, &data, &size)
               ? environment_decode(data, size)
               : NULL;
}

static bool prewarm_environment_is_ours(const struct prewarm_judge *judge,
                                        const struct environment *needed)
{
    const struct environment_device ours = environment_device_of(judge->enabled);
    return environment_is_of_device(needed, ours.vendor_id, ours.device_id);
}

static bool prewarm_environment_is_included(const struct prewarm_judge *judge, struct digest digest)
{
    struct environment *needed = prewarm_environment(judge, digest);
    const bool fits = needed && (judge->any_device || prewarm_environment_is_ours(judge, needed)) &&
                      environment_includes(judge->enabled, needed);
    environment_free(needed);
    return fits;
}

/* Whether nothing is recorded of this device: the program came with recipes, or the GPU is new. */
static bool prewarm_device_is_new(const struct prewarm_judge *judge, const struct recipe_use *uses,
                                  size_t count)
{
    bool found = !judge->enabled;
    for (size_t i = 0; i < count && !found; i++) {
        if (i == 0 || !digest_equal(uses[i - 1].environment, uses[i].environment)) {
            struct environment *needed = prewarm_environment(judge, uses[i].environment);
            found = needed && prewarm_environment_is_ours(judge, needed);
            environment_free(needed);
        }
    }
    return !found;
}

/* The uses of one environment come one after the other. */
static bool prewarm_environment_fits(struct prewarm_judge *judge, struct digest digest)
{
    if (!digest_equal(judge->judged, digest)) {
        judge->judged = digest;
        judge->fits = prewarm_environment_is_included(judge, digest);
    }
    return judge->fits;
}

/* Those whose time is known first, most used and slowest first; then the others, smallest first:
 * what they take tells of the next larger ones. */
static int prewarm_compare_worth(const void *left, const void *right)
{
    const struct prewarm_item *a = left;
    const struct prewarm_item *b = right;
    const int known = (a->use->compile_us == 0) - (b->use->compile_us == 0);
    const int size = array_order_of(a->code_bytes, b->code_bytes);
    const int days = (a->use->days < b->use->days) - (a->use->days > b->use->days);
    const int time =
        (a->use->compile_us < b->use->compile_us) - (a->use->compile_us > b->use->compile_us);
    return known ? known : size ? size : days ? days : time;
}

/* What took long in one environment is not begun in another one. */
static void prewarm_find_long(const struct recipe_use *uses, size_t count, struct digest_set *set)
{
    for (size_t i = 0; i < count; i++) {
        if (uses[i].compile_us >= PREWARM_LONG_US) {
            digest_set_add(set, uses[i].pipeline.low);
        }
    }
}

static void prewarm_list_add(struct prewarm_list *list, const struct recipes *recipes,
                             const struct recipe_use *use)
{
    uint64_t bytes = 0;
    if (use->compile_us == 0) {
        bytes = list->visits < MAX_LIST_VISITS
                    ? prewarm_code_bytes(recipes, use->pipeline, &list->visits)
                    : UINT64_MAX;
    }
    if (bytes != UINT64_MAX) {
        list->items[list->count++] = (struct prewarm_item){.use = use, .code_bytes = bytes};
    }
}

/* Recorded times are of this machine, and of this device's drivers. */
static void prewarm_list_sample(struct prewarm_list *list, const struct recipes *recipes,
                                const struct recipe_use *use)
{
    if (use->compile_us > 0 && list->samples < MAX_SAMPLES) {
        list->samples++;
        prewarm_estimate_add(&list->estimate,
                             prewarm_code_bytes(recipes, use->pipeline, &list->visits),
                             use->compile_us);
    }
}

void prewarm_list_make(const struct recipes *recipes, const struct recipe_crashes *crashes,
                       const void *environment, size_t environment_size, bool all,
                       struct prewarm_list *ret_list)
{
    const struct recipe_use *uses = NULL;
    size_t count = recipes_uses(recipes, &uses);
    struct prewarm_judge judge = {
        .recipes = recipes,
        .enabled = environment_decode(environment, environment_size),
    };
    judge.any_device = all && prewarm_device_is_new(&judge, uses, count);
    struct prewarm_list list = {.items = calloc(count + 1, sizeof *list.items)};
    struct digest_set longs = {0};
    const bool own_only = recipe_crashes_have_any(crashes);
    prewarm_find_long(uses, count, &longs);
    for (size_t i = 0; i < count && list.items && judge.enabled; i++) {
        const struct recipe_use *use = &uses[i];
        if (!prewarm_environment_fits(&judge, use->environment)) {
            continue;
        }
        prewarm_list_sample(&list, recipes, use);
        const bool is_lacking = all || recipe_use_is_unsaved(use);
        if (is_lacking && (use->compile_us > 0 || !own_only) &&
            !digest_set_has(&longs, use->pipeline.low) &&
            !recipe_crashes_have(crashes, use->pipeline)) {
            prewarm_list_add(&list, recipes, use);
        }
    }
    if (list.count > 0) {
        qsort(list.items, list.count, sizeof *list.items, prewarm_compare_worth);
    }
    digest_set_release(&longs);
    if (judge.any_device && list.count > MAX_OTHERS) {
        list.count = MAX_OTHERS;
    }
    list.allows_inline_code = judge.enabled && environment_allows_inline_code(judge.enabled);
    environment_free(judge.enabled);
    *ret_list = list;
}

void prewarm_list_free(struct prewarm_list *list)
{
    free(list->items);
    *list = (struct prewarm_list){0};
}

static bool prewarm_item_is_short(const struct prewarm_list *list, const struct prewarm_item *item,
                                  unsigned slowdown)
{
    const uint64_t us = item->use->compile_us;
    return us > 0 ? us * slowdown < PREWARM_LONG_US
                  : prewarm_estimate_is_short(&list->estimate, item->code_bytes);
}

const struct prewarm_item *prewarm_list_take(struct prewarm_list *list, unsigned slowdown)
{
    while (list->first < list->count && list->items[list->first].is_taken) {
        list->first++;
    }
    for (size_t i = list->first; i < list->count; i++) {
        struct prewarm_item *item = &list->items[i];
        if (!item->is_taken && prewarm_item_is_short(list, item, slowdown)) {
            item->is_taken = true;
            return item;
        }
    }
    return NULL;
}
