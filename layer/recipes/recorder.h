// SPDX-License-Identifier: Apache-2.0
/* The recorder of one device: what the program asks for is written to its recipes
 * (common/recipes/recipes.h), each thing once, so that it can be made again on any driver.
 *
 *     recorder_new → [recorder_keep]… → [recorder_draft → create the pipeline → recorder_submit]…
 *                  → recorder_finish → recorder_delete
 *
 * What is recorded already costs a look-up: a run that asks for nothing new writes nothing. New
 * records go into a queue in memory, which the worker writes to disk within 50 ms of quiet, and ten
 * times a second under steady creation; what is left when the device or the process ends is written
 * then.
 *
 * recorder_keep, _draft and _submit may be called by any number of threads. No failure here ever
 * reaches the program: after the first one that a disk reports, nothing more is recorded. */
#ifndef WARMPIPE_LAYER_RECIPES_RECORDER_H
#define WARMPIPE_LAYER_RECIPES_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/codec/canonical.h"

struct maintenance;
struct pipeline_key;
struct recipe_draft;
struct recipe_use;
struct recorder;
struct dedup;

struct recorder_setup {
    const char *root; /* borrowed, as app: they outlive the recorder */
    const char *app;
    uint64_t max_size;               /* bytes that a segment may grow to */
    const struct bytes *environment; /* driver/environment.h; borrowed likewise */
    const struct pipeline_key *key;  /* of the device; borrowed for the call. NULL: not known */
    struct maintenance *maintenance;
};

/* Touches no file. NULL: out of memory, or it was when the environment was made. */
struct recorder *recorder_new(const struct recorder_setup *setup);

/* Frees the memory; NULL is a no-op. */
void recorder_delete(struct recorder *recorder);

/* An object that pipelines may refer to was created: a shader module, or another, whose form is
 * kept. The first module opens the recipes, since a program that makes one is about to make
 * pipelines; a program that makes none pays nothing. True: this call has opened them, so that the
 * disk may be asked for more. */
bool recorder_keep(struct recorder *recorder, const struct canonical *form);

/* What is to be recorded of a pipeline, if it is created, by the form that dedup_encode has just
 * given. NULL: nothing. To be given to recorder_submit or recipe_draft_free in the same call of the
 * program's. *ret_stored: recipes of earlier runs have it, and what was compiled of it was saved.
 */
struct recipe_draft *recorder_draft(struct recorder *recorder, struct dedup *dedup,
                                    const struct canonical *form, bool *ret_stored);

/* The pipeline has been created. compile_us: how long the driver compiled it, 0: not known, or not
 * compiled; to_be_saved: into a cache that the next save takes up. Frees the draft; NULL is a
 * no-op.
 */
void recorder_submit(struct recorder *recorder, struct recipe_draft *draft, uint32_t compile_us,
                     bool to_be_saved);

/* A pipeline that is recorded as unsaved is in the device cache now. */
void recorder_prewarmed(struct recorder *recorder, struct digest pipeline);

/* Compiling a pipeline ahead takes long, or took so: recorded as the time of this use, the longest
 * one counts. The caller is on the worker, or wakes it. False: nothing is recorded any more,
 * or recorder is NULL. Thread-safe. */
bool recorder_took_long(struct recorder *recorder, const struct recipe_use *use,
                        uint32_t compile_us);

/* What processes have died of, or so it seems (common/recipes/recipes.h), on the device of this
 * identity: forgotten with the first save after the program has asked for each of them. Once, from
 * any thread. */
void recorder_accuse(struct recorder *recorder, struct digest identity,
                     const struct digest *pipelines, size_t count);

/* The three functions of a struct cache_listener, of whom a recorder is the user (cache_writer.h).
 * The caches are about to be looked at: what was compiled before this belongs to the next save.
 * Waits for no lock. */
void recorder_looking(void *recorder);

/* What they held when they were last looked at is on disk: is recorded as saved. */
void recorder_saved(void *recorder);

/* The disk is full, and the cache comes first: removes what this process has recorded, and records
 * nothing more. False: there is nothing of it on the disk. Waits 250 ms at most for a write. */
bool recorder_make_room(void *recorder);

/* Sets what is called, once the recipes are open, if some of this device are unsaved: compiled by a
 * process that ended before its next save. NULL: nothing. Before anything is created on the device.
 */
void recorder_set_unsaved(struct recorder *recorder, void (*tell)(void *user), void *user);

/* At vkDestroyDevice: writes what is left and seals the segment. False: the worker may still be
 * using the recorder (worker_remove says when): it must never be freed. */
bool recorder_finish(struct recorder *recorder);

#endif
