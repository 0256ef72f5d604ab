#include "recipe_uses.h"

#include <stdlib.h>

#include "recipe_format.h"

#define DIGEST_SIZE 16
#define USE_SIZE    28

/* Of one record: far below RECIPE_MAX_DATA. */
#define MAX_USES ((size_t)65536)

void recipe_uses_free(struct recipe_uses *uses)
{
    free(uses->uses);
    *uses = (struct recipe_uses){0};
}

void recipe_uses_add(struct recipe_uses *uses, const struct recipe_use *use)
{
    if (uses->count == uses->capacity) {
        const size_t capacity = uses->capacity ? uses->capacity * 2 : 64;
        struct recipe_use *more = reallocarray(uses->uses, capacity, sizeof *more);
        if (!more) {
            uses->failed = true;
            return;
        }
        uses->uses = more;
        uses->capacity = capacity;
    }
    uses->uses[uses->count++] = *use;
}

bool recipe_uses_add_record(struct recipe_uses *uses, const void *data, size_t size)
{
    if (size <= DIGEST_SIZE || (size - DIGEST_SIZE) % USE_SIZE != 0) {
        return false;
    }
    struct bytes_reader reader = bytes_reader_over(data, size);
    const struct digest environment = digest_get(&reader);
    while (bytes_left(&reader) > 0) {
        struct recipe_use use = {.environment = environment};
        use.pipeline = digest_get(&reader);
        use.last_day = bytes_get_u32(&reader);
        use.days = bytes_get_u32(&reader);
        use.compile_us = bytes_get_u32(&reader);
        recipe_uses_add(uses, &use);
    }
    return true;
}

static int compare_digests(struct digest a, struct digest b)
{
    const int order = (a.high > b.high) - (a.high < b.high);
    return order ? order : (a.low > b.low) - (a.low < b.low);
}

static int compare_keys(const struct recipe_use *a, const struct recipe_use *b)
{
    const int order = compare_digests(a->environment, b->environment);
    return order ? order : compare_digests(a->pipeline, b->pipeline);
}

static int compare_uses(const void *left, const void *right)
{
    const struct recipe_use *a = left;
    const struct recipe_use *b = right;
    const int order = compare_keys(a, b);
    return order ? order : (a->last_day > b->last_day) - (a->last_day < b->last_day);
}

/* `later` was not used before `use`. */
static void add_up(struct recipe_use *use, const struct recipe_use *later)
{
    const uint32_t more = later->days - (later->days > 0 && later->last_day == use->last_day);
    if (__builtin_add_overflow(use->days, more, &use->days)) {
        use->days = UINT32_MAX;
    }
    use->last_day = later->last_day;
    use->compile_us = later->compile_us > use->compile_us ? later->compile_us : use->compile_us;
}

/* As they come from a segment that was folded when it was written. */
static bool is_sorted(const struct recipe_uses *uses)
{
    size_t i = 1;
    while (i < uses->count && compare_uses(&uses->uses[i - 1], &uses->uses[i]) <= 0) {
        i++;
    }
    return i >= uses->count;
}

void recipe_uses_fold(struct recipe_uses *uses)
{
    if (uses->count == 0) {
        return;
    }
    if (!is_sorted(uses)) {
        qsort(uses->uses, uses->count, sizeof *uses->uses, compare_uses);
    }
    size_t last = 0;
    for (size_t i = 1; i < uses->count; i++) {
        if (compare_keys(&uses->uses[last], &uses->uses[i]) == 0) {
            add_up(&uses->uses[last], &uses->uses[i]);
        } else {
            uses->uses[++last] = uses->uses[i];
        }
    }
    uses->count = last + 1;
}

static int compare_for_find(const void *left, const void *right)
{
    return compare_keys(left, right);
}

const struct recipe_use *recipe_uses_find(const struct recipe_uses *uses, struct digest pipeline,
                                          struct digest environment)
{
    const struct recipe_use key = {.pipeline = pipeline, .environment = environment};
    return uses->count ? bsearch(&key, uses->uses, uses->count, sizeof key, compare_for_find)
                       : NULL;
}

static size_t length_of_run(const struct recipe_uses *uses, size_t from)
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
    struct bytes data = {0};
    size_t length;
    for (size_t from = 0; from < uses->count; from += length) {
        length = length_of_run(uses, from);
        data.size = 0;
        digest_put(&data, uses->uses[from].environment);
        for (size_t i = from; i < from + length; i++) {
            const struct recipe_use *use = &uses->uses[i];
            digest_put(&data, use->pipeline);
            bytes_put_u32(&data, use->last_day);
            bytes_put_u32(&data, use->days);
            bytes_put_u32(&data, use->compile_us);
        }
        recipe_put_record(out, RECIPE_USES, digest_of(data.data, data.size), data.data, data.size);
        out->failed = out->failed || data.failed;
    }
    bytes_free(&data);
}
