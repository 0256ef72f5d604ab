#include "form_table.h"

#include <stdlib.h>
#include <string.h>

/* Real programs have some hundred forms of some hundred bytes; one that makes objects without end
 * must not make us grow with it. */
#define MAX_BYTES ((size_t)8 << 20)

struct form {
    struct digest digest;
    size_t size;
    uint8_t bytes[];
};

static uint64_t hash_of(const void *item)
{
    return ((const struct form *)item)->digest.low;
}

static bool matches(const void *item, const void *wanted)
{
    return digest_equal(((const struct form *)item)->digest, *(const struct digest *)wanted);
}

void form_table_init(struct form_table *table)
{
    *table = (struct form_table){.index = {.hash = hash_of}};
}

void form_table_release(struct form_table *table)
{
    for (size_t i = 0; table->index.slots && i <= table->index.mask; ++i) {
        free(table->index.slots[i]);
    }
    object_index_release(&table->index);
}

const void *form_table_find(const struct form_table *table, struct digest digest, size_t *ret_size)
{
    const struct form *form = object_index_find(&table->index, digest.low, matches, &digest);
    if (!form) {
        return NULL;
    }
    *ret_size = form->size;
    return form->bytes;
}

void form_table_keep(struct form_table *table, struct digest digest, const void *form, size_t size)
{
    size_t whole = sizeof(struct form) + size;
    if (object_index_find(&table->index, digest.low, matches, &digest) ||
        whole > MAX_BYTES - table->bytes) {
        return;
    }
    struct form *kept = malloc(whole);
    if (!kept) {
        return;
    }
    kept->digest = digest;
    kept->size = size;
    memcpy(kept->bytes, form, size);
    if (object_index_add(&table->index, kept)) {
        table->bytes += whole;
    } else {
        free(kept);
    }
}
