// SPDX-License-Identifier: Apache-2.0
/* The recipes of a program: what it asked for, kept in segments (segment.h) in its folder
 * `recipes/`.
 *
 *     read:    recipes_open → recipes_find, recipes_have, recipes_uses… → recipes_close
 *     write:   recipe_writer_new → recipe_put_record, recipe_put_use, recipe_writer_append…
 *                  → recipe_writer_close
 *     replay:  recipe_crashes_open → recipe_crashes_have, _begin, _end… → recipe_crashes_close
 *
 * Making one segment of many: merge.h. */
#ifndef WARMPIPE_RECIPES_RECIPES_H
#define WARMPIPE_RECIPES_RECIPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/files/file.h"
#include "common/recipes/segment.h"

/* The folder of a program, and the names in it: docs/FORMAT.md. */

#define RECIPE_FOLDER    "recipes"
#define RECIPE_SUFFIX    ".wprecipes"
#define RECIPE_LOCK_NAME "lock"

/* <identity>.crashed: the list; <identity>.<random>.replaying: what a process replays now. */
#define RECIPE_CRASHED_SUFFIX   ".crashed"
#define RECIPE_REPLAYING_SUFFIX ".replaying"

enum recipe_name {
    RECIPE_NAME_FOREIGN,
    RECIPE_NAME_SEGMENT,   /* <random>.wprecipes */
    RECIPE_NAME_CRASHED,   /* of an identity */
    RECIPE_NAME_REPLAYING, /* of an identity */
    RECIPE_NAME_LOCK,
    RECIPE_NAME_TEMPORARY
};

/* What a file in the folder is, by its name. Thread-safe. */
enum recipe_name recipe_folder_classify(const char *name);

/* The next name of a segment in the folder's listing, valid until the next call; NULL: that was
 * all. */
const char *recipe_folder_next_segment(DIR *listing);

/* Removes the temporary files of dead processes. */
void recipe_folder_sweep(int folder_fd);

/* Opens the folder of the program `app` below the absolute path `root`, with the checks of
 * file_open_directory for the program's folder, too; create: makes what is missing. *ret_fd is
 * closed by the caller. */
enum status recipe_folder_open(const char *root, const char *app, bool create, int *ret_fd);

/* Reading: all segments as one.
 *
 * Opening reads the index of each segment, or, of a segment without one, the records' headers. The
 * digest of a record is checked when it is first asked for. A damaged record is dropped and
 * counted; those before and after it are kept. Of several records with one digest the first intact
 * one counts. Not thread-safe while it is opened; any number of threads may ask afterwards. */

struct recipes;

/* What could not be used. */
struct recipe_damage {
    uint64_t records;   /* dropped */
    uint64_t segments;  /* files that could not be read at all */
    enum status reason; /* of the first file; out_of_memory: uses that recipes_uses has read;
                           bad_record: only records; STATUS_ok: nothing */
};

/* Opens all segments of a program. With RECIPES_READ at most 32 of them keep a descriptor. no_file:
 * there are none; directory_*: as file_open_directory; io_error and others: the folder cannot be
 * listed to its end. Where none can be read it is ok, and recipes_damage says why. Segments of a
 * newer or foreign format are ignored and stay. *ret_recipes is closed by the caller. */
enum status recipes_open(const char *root, const char *app, enum recipes_access access,
                         struct recipes **ret_recipes);

/* Opens one file, such as an exported one: recipe_segment_read_any. Where *recipes is not NULL,
 * adds it to these, which nobody has asked yet. */
enum status recipes_open_file(const char *path, struct recipes **recipes);

/* The segment that was opened last, borrowed until one more is opened; there must be one. */
const struct recipe_segment *recipes_last(const struct recipes *recipes);

/* Reads the uses, closes the files and frees what it can: recipes_have and the uses still answer,
 * recipes_find does not. Call it before other threads ask. */
void recipes_detach(struct recipes *recipes);

/* NULL is a no-op. */
void recipes_close(struct recipes *recipes);

/* Whether there is such a record, intact or not: from the index only. */
bool recipes_have(const struct recipes *recipes, enum recipe_kind kind, struct digest digest);

/* The bytes of an intact record, aligned at 4, borrowed until recipes_close. False: there is
 * none. */
bool recipes_find(const struct recipes *recipes, enum recipe_kind kind, struct digest digest,
                  const void **ret_data, size_t *ret_size);

/* All uses, folded (recipe_uses_fold), sorted by environment. Borrowed. */
size_t recipes_uses(const struct recipes *recipes, const struct recipe_use **ret_uses);

/* The inline_stages of one of them, 0 where there is none. recipes_uses must have been called. */
unsigned recipes_inline_stages(const struct recipes *recipes, struct digest environment,
                               struct digest pipeline);

/* Bytes of all segments. */
uint64_t recipes_size(const struct recipes *recipes);

struct recipe_damage recipes_damage(const struct recipes *recipes);

/* Writing: the segment of this process, one for each device.
 *
 * Records are appended and never changed. States of a writer:
 *
 *     1 without a segment
 *     2 resumed    a small segment that a dead process left, locked (flock)
 *     3 made       a new file, locked; its lock keeps compaction away from it
 *     4 left       the lock is dropped; the file stays for others to resume or compact
 *
 *     1 → 2  recipe_writer_append: writer_resume_segment finds one
 *     1 → 3  recipe_writer_append: writer_make_segment
 *     2, 3 → 1  writer_leave_segment: a write failed, or the program took the descriptor;
 *               writer_remove_segment: nothing could be written into it
 *     2, 3 → 4  recipe_writer_close: syncs, and seals (writes the index of) a large segment
 *
 * After a failed write the tail becomes a hole, which readers skip, or stays torn, which they drop.
 * The file is never cut, because others may have mapped it. A segment without an index is read
 * record by record. A writer belongs to one thread at a time. Nothing here logs. */

struct recipe_writer;

/* Touches no file. Strings are copied. max_size: bytes that it may add to a segment. A segment of
 * less than `small` bytes is not sealed, so that others can resume it; 0: each is sealed, and none
 * is resumed. NULL: out of memory. */
struct recipe_writer *recipe_writer_new(const char *root, const char *app, uint64_t max_size,
                                        uint64_t small);

/* Appends a batch of whole records with one write. On failure readers see the segment as it was
 * before. too_large: it would grow beyond max_size. disk_full: also where less than 64 MiB of the
 * disk, or half of it, would stay free for caches (hazard 81). forked: this is the child of a fork,
 * which must not append. */
enum status recipe_writer_append(struct recipe_writer *writer, const struct bytes *batch);

/* Syncs the segment, seals it if it is not small, and frees. seal false (the end of a process, a
 * fork): only lets the segment go. NULL is a no-op. */
void recipe_writer_close(struct recipe_writer *writer, bool seal);

/* Seals the segment `name` of the folder if a dead process has left it without an index, whole, and
 * there is memory to read it. To be called under the folder's lock, off the program's threads. */
void recipe_segment_seal_left(int folder_fd, const char *name);

/* Removes the segment from the disk, with what a dead process had left in it, and frees. False:
 * nothing was removed. NULL is a no-op. */
bool recipe_writer_discard(struct recipe_writer *writer);

/* Pipelines that crashed a driver: of one program, for one driver identity.
 *
 * A process that replays notes the pipeline of each of its threads in a file of its own, which
 * outlives it and is locked while it lives. States of a pipeline:
 *
 *     1 unknown    it may be replayed
 *     2 replaying  it is in the file of a living process
 *     3 left       it is in the file of a dead process, which died while it replayed it
 *     4 crashed    it is in the list `<identity>.crashed` and is not replayed
 *
 *     1 → 2  recipe_crashes_begin       2 → 1  recipe_crashes_end
 *     2 → 3  the process dies: its lock is gone
 *     3 → 4  recipe_crashes_open of the next process: crash_list_read, which writes the list first
 *            and then removes the file
 *     1 → 4  recipe_crashes_change: a child of `warmpipe warm` died at it
 *     4 → 1  recipe_crashes_absolve: the program has made all of them itself
 *
 * The list also counts the processes that died so. A file from elsewhere may hold any number of
 * pipelines that kill. So after the second death nothing is compiled ahead in a program any more
 * (recipe_crashes_are_many), until `warmpipe warm` has been through all of it in child processes
 * (recipe_crashes_change). A kill, or an _exit, looks like a crash. So such deaths are forgotten
 * once the program has asked for each pipeline of the list itself, and lived. */

struct recipe_crashes;

#define RECIPE_CRASHES_THREADS 64

/* Reads the list, adds what dead processes left, and makes the file of this process, with a place
 * for each of `threads` threads (at most RECIPE_CRASHES_THREADS). On failure nothing may be
 * replayed in a process that must not crash: read_only_disk, disk_full and so on; io_error where
 * the file system has no locks. *ret_crashes is closed by the caller.
 *
 * threads 0: reads what is known, and writes nothing: for a folder that this process may not write.
 * What is begun then is not noted, as with blobs that are read only. The result is that of opening
 * the folder, or out_of_memory. */
enum status recipe_crashes_open(const char *root, const char *app, struct digest identity,
                                unsigned threads, struct recipe_crashes **ret_crashes);

/* Removes the file of this process; NULL is a no-op. */
void recipe_crashes_close(struct recipe_crashes *crashes);

/* Whether the pipeline has crashed this driver. Thread-safe. */
bool recipe_crashes_have(const struct recipe_crashes *crashes, struct digest pipeline);

/* Whether any pipeline has crashed this driver (in a child process, too), or a process has died in
 * a long one. Then only pipelines whose compile time was measured here are compiled ahead, not
 * those from elsewhere: a driver may crash only sometimes at what it must not be given.
 * Thread-safe. */
bool recipe_crashes_have_any(const struct recipe_crashes *crashes);

/* The list, sorted; borrowed until recipe_crashes_close. */
size_t recipe_crashes_list(const struct recipe_crashes *crashes, const struct digest **ret_list);

/* Forgets the list and its deaths, if it holds only these pipelines, and no process died in a long
 * compile, whose pipeline is not known. Works once on each driver until `warmpipe warm` has reset
 * the deaths: a pipeline that kills only ahead of the program would otherwise kill for ever. Waits
 * at most 200 ms for the lock. */
void recipe_crashes_absolve(const char *root, const char *app, struct digest identity,
                            const struct digest *pipelines, size_t count);

/* Whether two or more processes have died while they replayed, since `warmpipe warm` last went
 * through all recipes, or since the deaths were forgotten. Thread-safe. */
bool recipe_crashes_are_many(const struct recipe_crashes *crashes);

/* The same for a caller that replays nothing. Adds what dead processes left to the list. */
bool recipe_crashes_are_many_of(const char *root, const char *app, struct digest identity);

/* Adds a pipeline to the list: it has crashed the driver in a child process. pipeline NULL: each
 * recipe of the program was replayed so on this driver, so the deaths are set to 0; the list stays.
 * Waits at most 10 s for the lock. */
enum status recipe_crashes_change(const char *root, const char *app, struct digest identity,
                                  const struct digest *pipeline);

/* The thread begins to replay the pipeline, and has survived it. A few system calls each. False: it
 * could not be noted; do not replay. `thread` counts from 0. Thread-safe for different threads. */
bool recipe_crashes_begin(struct recipe_crashes *crashes, unsigned thread, struct digest pipeline);
void recipe_crashes_end(struct recipe_crashes *crashes, unsigned thread);

/* The replay takes long, and is not begun again for that reason. If the process dies now, of the
 * pipeline or because a waiting user ends it, the pipeline is not listed, but the death counts. */
void recipe_crashes_late(struct recipe_crashes *crashes, unsigned thread);

#endif
