/* The recorder of one device: what the program asks for is written to its recipes (disk/recipes.h),
 * each thing once, so that it can be made again on any driver.
 *
 *     recorder_new → [recorder_keep]… → [recorder_draft → create the pipeline → recorder_submit]…
 *                  → recorder_finish → recorder_delete
 *
 * What is recorded already is looked up, and costs no more than that: a run that asks for nothing
 * new writes nothing. New records go into a queue in memory, which the worker brings to disk within
 * 50 ms of quiet, and every second under steady creation; what is left when the device or the
 * process ends is written then.
 *
 * recorder_keep, _draft and _submit may be called by any number of threads. No failure here ever
 * reaches the program: after the first one that a disk reports, nothing more is recorded. */
#ifndef WARMPIPE_LAYER_RECORDER_H
#define WARMPIPE_LAYER_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "codec/canonical.h"

struct housekeeper;
struct recipe_draft;
struct recorder;
struct sharing;

struct recorder_setup {
    const char *root; /* borrowed, as app: they outlive the recorder */
    const char *app;
    uint64_t max_size;         /* bytes that a segment may grow to */
    struct bytes *environment; /* driver/environment.h; taken over */
    struct housekeeper *housekeeper;
};

/* Touches no file. NULL: out of memory; the environment is freed in any case. */
struct recorder *recorder_new(const struct recorder_setup *setup);

/* Frees the memory; NULL is a no-op. */
void recorder_delete(struct recorder *recorder);

/* What it was given; borrowed until recorder_delete. */
const struct bytes *recorder_environment(const struct recorder *recorder);

/* An object that pipelines may refer to was created: a shader module, or another, whose form is
 * kept. The first module opens the recipes, as whoever makes one is about to make pipelines; what
 * makes none pays nothing. */
void recorder_keep(struct recorder *recorder, const struct canonical *form);

/* What is to be recorded of a pipeline, if it is created, by the form that sharing_encode has just
 * given. NULL: nothing. To be given to recorder_submit or recipe_draft_free in the same call of the
 * program's. */
struct recipe_draft *recorder_draft(struct recorder *recorder, struct sharing *sharing,
                                    const struct canonical *form);

/* The pipeline has been created. compile_us: how long the driver compiled it, 0: not known, or not
 * compiled. Frees the draft; NULL is a no-op. */
void recorder_submit(struct recorder *recorder, struct recipe_draft *draft, uint32_t compile_us);

/* At vkDestroyDevice: writes what is left and seals the segment. False: the worker may still be
 * using the recorder (flusher_remove says when): it must never be freed. */
bool recorder_finish(struct recorder *recorder);

#endif
