// SPDX-License-Identifier: Apache-2.0
/* Uses: in the data of records, and as a list. */
#include <stdlib.h>

#include "common/base/bytes.h"
#include "common/base/io.h"
#include "common/recipes/segment.h"

#define DIGEST_SIZE 16

/* A use's days, with the stages that brought their code along above them. */
#define USE_DAYS_BITS 16

/* A use's last field: the compile time, with two flags in the highest bits. */
#define USE_UNSAVED  (UINT32_C(1) << 30)
#define USE_SAVED    (UINT32_C(1) << 31)
#define USE_MAX_TIME (USE_UNSAVED - 1)

/* Uses in one record: far below RECIPE_MAX_DATA. */
#define MAX_USES ((size_t)65536)

void recipe_uses_free(struct recipe_uses *uses)
{
    free(uses->uses);
    *uses = (struct recipe_uses){0};
}

bool recipe_uses_are_whole(size_t size)
{
    return size > DIGEST_SIZE && (size - DIGEST_SIZE) % RECIPE_USE_SIZE == 0;
}

bool recipe_uses_add_record(struct recipe_uses *uses, const void *data, size_t size)
{
    if (!recipe_uses_are_whole(size)) {
        return false;
    }
    struct bytes_reader reader = bytes_reader_over(data, size);
    const struct digest environment = digest_get(&reader);
    while (bytes_left(&reader) > 0) {
        struct recipe_use use = {.environment = environment};
        use.pipeline = digest_get(&reader);
        use.last_day = bytes_get_u32(&reader);
        const uint32_t days = bytes_get_u32(&reader);
        use.days = (uint16_t)days;
        use.inline_stages = (uint16_t)(days >> USE_DAYS_BITS);
        const uint32_t time = bytes_get_u32(&reader);
        use.compile_us = time & USE_MAX_TIME;
        use.unsaved = time & USE_UNSAVED;
        use.saved = time & USE_SAVED;
        if (array_reserve(&uses->uses, uses->count, sizeof use)) {
            uses->uses[uses->count++] = use;
        } else {
            uses->failed = true;
        }
    }
    return true;
}

static int uses_compare_keys(const void *left, const void *right)
{
    const struct recipe_use *a = left;
    const struct recipe_use *b = right;
    const int order = digest_compare(a->environment, b->environment);
    return order ? order : digest_compare(a->pipeline, b->pipeline);
}

static int uses_compare(const void *left, const void *right)
{
    const struct recipe_use *a = left;
    const struct recipe_use *b = right;
    const int order = uses_compare_keys(a, b);
    return order ? order : array_order_of(a->last_day, b->last_day);
}

/* Adds a use whose last day is not before that of `use`. One without days adds its other fields
 * only. */
static void uses_merge(struct recipe_use *use, const struct recipe_use *later)
{
    const bool same_day = use->days > 0 && later->last_day == use->last_day;
    const int more = later->days - (later->days > 0 && same_day);
    if (__builtin_add_overflow(use->days, more, &use->days)) {
        use->days = UINT16_MAX;
    }
    if (later->days > 0) {
        use->inline_stages = later->inline_stages | (same_day ? use->inline_stages : 0);
        use->last_day = later->last_day;
    }
    use->unsaved |= later->unsaved;
    use->saved |= later->saved;
    use->compile_us = later->compile_us > use->compile_us ? later->compile_us : use->compile_us;
}

/* Uses from one segment are sorted: they were folded when it was written. */
static bool uses_are_sorted(const struct recipe_uses *uses)
{
    size_t i = 1;
    while (i < uses->count && uses_compare(&uses->uses[i - 1], &uses->uses[i]) <= 0) {
        i++;
    }
    return i >= uses->count;
}

void recipe_uses_fold(struct recipe_uses *uses)
{
    if (uses->count == 0) {
        return;
    }
    if (!uses_are_sorted(uses)) {
        qsort(uses->uses, uses->count, sizeof *uses->uses, uses_compare);
    }
    size_t last = 0;
    for (size_t i = 1; i < uses->count; i++) {
        if (uses_compare_keys(&uses->uses[last], &uses->uses[i]) == 0) {
            uses_merge(&uses->uses[last], &uses->uses[i]);
        } else {
            uses->uses[++last] = uses->uses[i];
        }
    }
    uses->count = last + 1;
}

const struct recipe_use *recipe_uses_find(const struct recipe_uses *uses, struct digest environment,
                                          struct digest pipeline)
{
    const struct recipe_use key = {.pipeline = pipeline, .environment = environment};
    return uses->count > 0 ? bsearch(&key, uses->uses, uses->count, sizeof key, uses_compare_keys)
                           : NULL;
}

/* How many uses from `from` on go into one record: those of one environment. */
static size_t uses_for_record(const struct recipe_uses *uses, size_t from)
{
    size_t end = from + 1;
    while (end < uses->count && end - from < MAX_USES &&
           digest_equal(uses->uses[end].environment, uses->uses[from].environment)) {
        end++;
    }
    return end - from;
}

void recipe_uses_put(struct bytes *out, const struct recipe_uses *uses)
{
    AUTO(bytes_free) struct bytes data = {0};
    size_t length;
    for (size_t from = 0; from < uses->count; from += length) {
        length = uses_for_record(uses, from);
        data.size = 0;
        digest_put(&data, uses->uses[from].environment);
        for (size_t i = from; i < from + length; i++) {
            const struct recipe_use *use = &uses->uses[i];
            digest_put(&data, use->pipeline);
            bytes_put_u32(&data, use->last_day);
            bytes_put_u32(&data, use->days | (uint32_t)use->inline_stages << USE_DAYS_BITS);
            bytes_put_u32(&data, (use->compile_us < USE_MAX_TIME ? use->compile_us : USE_MAX_TIME) |
                                     (use->unsaved ? USE_UNSAVED : 0) |
                                     (use->saved ? USE_SAVED : 0));
        }
        recipe_put_record(out, RECIPE_USES, digest_of(data.data, data.size), data.data, data.size);
        out->failed = out->failed || data.failed;
    }
}

void recipe_put_use(struct bytes *out, const struct recipe_use *use)
{
    struct recipe_use copy = *use;
    recipe_uses_put(out, &(struct recipe_uses){.uses = &copy, .count = 1});
}
