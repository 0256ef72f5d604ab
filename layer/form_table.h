/* Canonical forms by their digest: what recipes refer to that may be gone when a pipeline is
 * created (a set layout may be destroyed as soon as a pipeline layout was made of it). Belongs to
 * one owner, under its lock. */
#ifndef WARMPIPE_LAYER_FORM_TABLE_H
#define WARMPIPE_LAYER_FORM_TABLE_H

#include "codec/digest.h"
#include "object_index.h"

struct form_table {
    struct object_index index;
    size_t bytes; /* held */
};

void form_table_init(struct form_table *table);
void form_table_release(struct form_table *table);

/* Keeps a copy, unless it is there, or the table is full, or memory is out. */
void form_table_keep(struct form_table *table, struct digest digest, const void *form, size_t size);

/* Borrowed until the table is released; NULL: not there. */
const void *form_table_find(const struct form_table *table, struct digest digest, size_t *ret_size);

#endif
