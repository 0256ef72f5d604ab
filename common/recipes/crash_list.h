// SPDX-License-Identifier: Apache-2.0
/* The list of pipelines that have crashed a driver, <identity>.crashed, and the files of dead
 * processes that are to be added to it. recipes.h has the protocol, and the functions that change
 * the list (recipe_crashes_change, recipe_crashes_absolve). The list also counts those processes.
 *
 * The list and the file of a process have the same format (docs/FORMAT.md, "Crashes"): the magic,
 * then places, each a digest and its check, or zeros. At its end the list has the number of deaths,
 * unless that is 0. Thread-safe for different lists. */
#ifndef WARMPIPE_RECIPES_CRASH_LIST_H
#define WARMPIPE_RECIPES_CRASH_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/status.h"

/* Bytes. */
#define CRASH_MAGIC_SIZE 8
#define CRASH_PLACE_SIZE 24

extern const uint8_t crash_list_magic[CRASH_MAGIC_SIZE];

/* Zero-initialize; free with crash_list_free. */
struct crash_list {
    struct digest *digests; /* sorted */
    size_t count;
    bool died_late;  /* a place of the digest 0: a process died in a long compile, or the list was
                        emptied for a program */
    uint64_t deaths; /* of processes, since they were last reset */
};

void crash_list_free(struct crash_list *list);

/* Appends a place. */
void crash_list_put_place(struct bytes *out, struct digest digest);

/* Reads the list of an identity in a folder of recipes, and adds what dead processes left, on disk
 * too if it can be written; read_only: nothing is changed on disk. STATUS_ok, out_of_memory. */
enum status crash_list_read(int folder_fd, struct digest identity, bool read_only,
                            struct crash_list *list);

#endif
