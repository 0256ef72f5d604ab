// SPDX-License-Identifier: Apache-2.0
/* The recorder of one device: writes what the program asks for to its recipes
 * (common/recipes/recipes.h), each thing once, so that any driver can make it again.
 *
 *     recorder_new → [recorder_keep]… → [recorder_draft → create the pipeline → recorder_submit]…
 *                  → recorder_finish → recorder_delete
 *
 * An object that is already recorded costs a lookup, so a run that asks for nothing new writes
 * nothing. New records go into a queue in memory. The worker writes it to disk 20 ms after the last
 * record, and every 100 ms under steady creation; the rest is written when the device or the
 * process ends.
 *
 * Any number of threads may call recorder_keep, _draft and _submit. No failure here reaches the
 * program; after the first failure of a disk nothing more is recorded. */
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
    uint64_t max_size;               /* limit of a segment in bytes */
    const struct bytes *environment; /* driver/environment.h; borrowed likewise */
    const struct pipeline_key *key;  /* of the device; borrowed during the call. NULL: not known */
    struct maintenance *maintenance;
};

/* Touches no file. NULL: out of memory, now or when the environment was made. */
struct recorder *recorder_new(const struct recorder_setup *setup);

/* Frees the memory; NULL is a no-op. */
void recorder_delete(struct recorder *recorder);

/* An object that pipelines may refer to was created: a shader module, or another object, whose form
 * is kept. The first module opens the recipes, because the program is about to make pipelines; a
 * program that makes none pays nothing. True: this call has opened them, so the disk may be used
 * for more. */
bool recorder_keep(struct recorder *recorder, const struct canonical *form);

/* Makes the draft of a pipeline, to be recorded if the pipeline is created, from the form that
 * dedup_encode has just returned. NULL: nothing. Give it to recorder_submit or recipe_draft_free in
 * the same call of the program. *ret_stored: the pipeline is recorded, by an earlier run or with
 * its use in this one, and not as compiled and never saved. */
struct recipe_draft *recorder_draft(struct recorder *recorder, struct dedup *dedup,
                                    const struct canonical *form, bool *ret_stored);

/* The pipeline was created. compile_us: how long the driver compiled it; 0: not known, or not
 * compiled. to_be_saved: it was compiled into a cache that the next save takes up. Frees the draft;
 * NULL is a no-op. */
void recorder_submit(struct recorder *recorder, struct recipe_draft *draft, uint32_t compile_us,
                     bool to_be_saved);

/* A pipeline that is recorded as unsaved is now in the device cache. */
void recorder_prewarmed(struct recorder *recorder, struct digest pipeline);

/* Compiling a pipeline ahead takes, or took, long: recorded as the time of this use, of which the
 * longest counts. The caller is on the worker, or wakes it. False: nothing is recorded any more, or
 * recorder is NULL. Thread-safe. */
bool recorder_took_long(struct recorder *recorder, const struct recipe_use *use,
                        uint32_t compile_us);

/* Sets the pipelines that processes seem to have died of (common/recipes/recipes.h), on the device
 * of this identity. They are forgotten with the first save after the program has asked for each of
 * them. Call it once, from any thread. */
void recorder_accuse(struct recorder *recorder, struct digest identity,
                     const struct digest *pipelines, size_t count);

/* The three functions of a struct cache_listener, with a recorder as user (cache_writer.h).
 * _looking: the caches are about to be read; what was compiled before this belongs to the next
 * save. Waits for no lock. */
void recorder_looking(void *recorder);

/* What they held at the last look is on disk: it is recorded as saved. */
void recorder_saved(void *recorder);

/* The disk is full, and the cache is more important: removes what this process has recorded, and
 * records nothing more. False: nothing of it is on the disk. Waits 250 ms at most for a write. */
bool recorder_make_room(void *recorder);

/* Sets the function that is called, once the recipes are open, if some recipes of this device are
 * unsaved: compiled by a process that ended before its next save. NULL: none. Call it before
 * anything is created on the device. */
void recorder_set_unsaved(struct recorder *recorder, void (*tell)(void *user), void *user);

/* Call it in vkDestroyDevice: writes what is left and seals the segment. False: the worker may
 * still be using the recorder (worker_remove says when), which must never be freed. */
bool recorder_finish(struct recorder *recorder);

#endif
