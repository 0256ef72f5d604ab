/* Recipes that have crashed a driver: of one program, for one driver identity.
 *
 * Who replays writes down which pipeline each of its threads is at, in a file of its own process
 * that outlives it, locked while the process lives. What is found there, unlocked, was being
 * replayed when its process died: it is moved to the list `recipes/<identity>.crashed`, and never
 * replayed on that driver again. */
#ifndef WARMPIPE_DISK_RECIPE_CRASHES_H
#define WARMPIPE_DISK_RECIPE_CRASHES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/result.h"
#include "codec/digest.h"

struct recipe_crashes;

#define RECIPE_CRASHES_THREADS 64

/* Reads the list, takes up what dead processes left, and makes the file of this process, with a
 * place for each of `threads` threads (at most RECIPE_CRASHES_THREADS). On failure nothing may be
 * replayed in a process that must not crash: read_only_disk, disk_full and so on; io_error where
 * the file system has no locks. *ret_crashes is closed by the caller. */
enum reason recipe_crashes_open(const char *root, const char *app, struct digest identity,
                                unsigned threads, struct recipe_crashes **ret_crashes);

/* Removes the file of this process; NULL is a no-op. */
void recipe_crashes_close(struct recipe_crashes *crashes);

/* Whether the pipeline has crashed this driver. Thread-safe. */
bool recipe_crashes_have(const struct recipe_crashes *crashes, struct digest pipeline);

/* How many have. */
size_t recipe_crashes_count(const struct recipe_crashes *crashes);

/* The thread begins to replay the pipeline, and has lived through it. A few system calls each,
 * no more. False: it could not be written down; do not replay. Thread-safe as to different
 * `thread`s, which count from 0. */
bool recipe_crashes_begin(struct recipe_crashes *crashes, unsigned thread, struct digest pipeline);
void recipe_crashes_end(struct recipe_crashes *crashes, unsigned thread);

#endif
