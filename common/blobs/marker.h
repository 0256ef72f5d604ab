// SPDX-License-Identifier: Apache-2.0
/* Markers: how the store learns that a blob kills the processes that use it.
 *
 * While a process uses a blob, the folder <identity>.loading holds one file of that process alone,
 * locked with flock(2). The file is a crash page (crash_page.h), or a plain record:
 *   - If no page can be mapped, it is a plain record, which is removed when the first creation has
 *     returned.
 *   - If the page is elsewhere, it is a plain record until the first creation has returned, and
 *     then empty. Another process that finds it dead copies the page into it.
 *
 * A marker that another process can lock belongs to a dead process. (Process ids cannot tell:
 * containers have their own.) Such a process *died of the blob* if its page has a call that uses
 * the blob and is not long, or only long ones, one of which asks for what the blob holds; a plain
 * record means that it died in the load. A process that died anywhere else says nothing.
 *
 * States of one generation of a blob:
 *
 *     1 CLEAR        no death is known
 *     2 FAILED       a file <generation>.strike, made of the marker of the last death
 *
 *     1 → 2   marker_judge finds a death: FAILED_ONCE, this start skips the blob
 *     2 → 2   marker_judge finds a death of a process that knew of the last: FAILED_ONCE, and this
 *             is the last now; of a process that did not know: FAILED_ONCE, no other change
 *     2 → 1   every call that the last death was in has returned in a process that did not die of
 *             the blob: marker_drop, or marker_judge if that process was killed
 *     2       a further death: BLOCKED, nothing is changed; the caller moves the blob to quarantine
 *             and calls marker_forget
 *     any → 1 marker_sweep, if no file has this generation any more
 *
 * BLOCKED means: the second death at the same pipeline, the second before a creation has returned,
 * or the third at any.
 *
 * The start that skips the blob is a control: its marker says that it goes without. If it is killed
 * within CRASH_LIFE_NS, too, somebody ends the program. If that was before it had made the calls of
 * the last death, that death does not count, and the next is a first one. If it was after, then for
 * a day only the fifth death at one pipeline blocks (decision 0131).
 *
 * A death at a pipeline that the blob is not known to hold does not count: the compile, or somebody
 * who ends the program meanwhile, is as likely a cause. But several such deaths in a row at one
 * pipeline do count (decision 0121).
 *
 * A death in long calls alone, for what the blob holds, may be a user's kill in a compile. The
 * first one skips no start. The second in a row at the same pipeline does. The fourth blocks, or
 * the third where the first was short, if the processes without the blob have lived.
 *
 * A marker names the death that was known when it was set. So many processes that die at the same
 * time are one death, whoever finds them, in whatever order. No further lock is needed: a process
 * writes a marker only while it has it locked, and moves what it finds by rename. What a process
 * saves holds what it loaded, so its marker names the saved generation as well, and the .strike
 * file is copied to it (marker_follow). */
#ifndef WARMPIPE_BLOBS_MARKER_H
#define WARMPIPE_BLOBS_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/blobs/crash_page.h"
#include "common/files/file.h"
#include "common/files/names.h"

/* The content of a marker, and of the .strike file made of it. */

#define MARKER_MAGIC_SIZE   8
#define MARKER_PROGRAM_SIZE 32
#define MARKER_RECORD_SIZE  (MARKER_MAGIC_SIZE + 4 * 8 + 4 + MARKER_PROGRAM_SIZE)

struct marker_record {
    uint64_t id;         /* names the marker; never 0 */
    uint64_t generation; /* of the blob that was being loaded */
    uint64_t failure;    /* id of the failure that its process saw; 0: none */
    uint64_t loaded_at;  /* seconds since the epoch; this and the rest is for people only */
    uint32_t process;
    char program[MARKER_PROGRAM_SIZE]; /* terminated, printable */
    bool is_page;
    bool is_elsewhere; /* of a dead process: the page, which could not be copied into the file */
    uint32_t deaths;   /* of a page: deaths that its process knew of; of a .strike: with its own */
    struct crash_finding finding;
};

/* Makes a record of this process, which loads now. */
struct marker_record marker_record_of(uint64_t id, uint64_t generation, uint64_t failure);

/* Appends MARKER_RECORD_SIZE bytes; for a page CRASH_RECORD_SIZE, its first bytes. */
void marker_record_put(struct bytes *bytes, const struct marker_record *record);

/* False, with *ret_record untouched, for anything but one whole record, or page. Thread-safe. */
bool marker_record_parse(const void *data, size_t size, struct marker_record *ret_record);

/* A folder and what was found in it, read once by marker_folder_open. */
#define MARKER_MAX_FOUND 64
struct marker_folder {
    int directory_fd; /* borrowed */
    const char *name; /* borrowed */
    int fd;           /* -1: there is no folder yet */
    size_t dead_count;
    struct marker_record dead[MARKER_MAX_FOUND]; /* of dead processes; the rest is left for later */
    size_t failure_count;
    uint64_t failures[MARKER_MAX_FOUND]; /* generations that have failed once */
    size_t trial_count;
    uint64_t trials[MARKER_MAX_FOUND]; /* generations on trial (trial.h) */
};

/* Reads the folder `name` of the directory; a folder that does not exist or cannot be read counts
 * as empty. Both arguments must outlive *ret_folder. Call it before reading the blobs to be judged.
 */
void marker_folder_open(int directory_fd, const char *name, struct marker_folder *ret_folder);
void marker_folder_close(struct marker_folder *folder);

/* Makes the folder where there is none. False: it cannot be made. */
bool marker_folder_make(struct marker_folder *folder);

/* A marker's name is its id in hex, a failure's is the generation in hex and this suffix
 * (unique_name). */
#define MARKER_FAILURE_SUFFIX ".strike"

enum marker_verdict { MARKER_CLEAR, MARKER_FAILED_ONCE, MARKER_BLOCKED };

struct marker_history {
    uint64_t failure; /* id of the death that is known now, 0: none; not of `blocked` */
    struct marker_record
        first; /* of that, if there is one; blocked: the two processes that died last */
    struct marker_record second;
};

/* Judges the blob of this generation, and turns a dead marker about it into a failure. clear: load
 * it. failed once: skip it for this start. blocked: move it to quarantine, then call marker_forget;
 * until then nothing is changed. */
enum marker_verdict marker_judge(const struct marker_folder *folder, uint64_t generation,
                                 struct marker_history *ret_history);

/* Removes everything that the folder says about a generation. */
void marker_forget(const struct marker_folder *folder, uint64_t generation);

/* Removes what the folder says about generations other than these, which are all that exist; where
 * there are none, all. */
void marker_sweep(const struct marker_folder *folder, const uint64_t *generations, size_t count);

/* _follow: a file of generation `to` is about to hold what one of `from` holds, so the known deaths
 * are copied to it. _forget_failure: undoes that, or forgets the deaths of a removed file. */
void marker_follow(int directory_fd, const char *name, uint64_t from, uint64_t to);
void marker_forget_failure(int directory_fd, const char *name, uint64_t generation);

/* A marker that this process has set. Zero-initialize; not moved while it stands. */
struct marker {
    struct crash_guard guard; /* no page: it is a plain record */
    struct file_kept file;    /* of that */
    bool has_record;          /* its file holds a plain record */
    uint64_t id;
    uint64_t generation;
    uint64_t failure;
};

/* Sets a marker, for a blob that was judged CLEAR. Call it before the driver sees a byte of the
 * blob. without: the process goes without the blob, because history->failure was found against it;
 * whether it lives tells what the other died of. False: no marker could be set (a read-only disk,
 * no space, no locks; with `without` also: no page can be mapped); the blob may be loaded without
 * one. */
bool marker_take(struct marker_folder *folder, uint64_t generation,
                 const struct marker_history *history, bool without, struct marker *ret_marker);

/* Whether the marker has no page: drop it when the first creation has returned. */
bool marker_is_plain(const struct marker *marker);

/* For a page elsewhere: the first creation has returned, and the plain record is removed. */
void marker_empty(struct marker *marker);

/* The blob is not used any more: removes the marker, and the known failure if the marker disproves
 * it; for a plain record, if `survived`. folder_path is absolute, so that no directory stays open
 * meanwhile. If the file cannot be removed (in a sandbox), its content says that it ended. */
void marker_drop(struct marker *marker, const char *folder_path, bool survived);

/* The same at the end of the process, while other threads may still use the page, which stays in
 * memory. Does nothing if the process ends inside a call (crash_guard_end_all). */
void marker_leave(struct marker *marker, const char *folder_path);

/* Functions for single files of a folder of markers, used by marker_judge. Each opens the file by
 * its name, through the folder's descriptor, and follows no link. Failures are ignored: the next
 * process finds again what could not be noted or removed. */

/* Whether the generation is on trial (trial.h). */
bool marker_folder_tries(const struct marker_folder *folder, uint64_t generation);

/* Reads a marker or a .strike, whether its process lives or not. */
bool marker_folder_read(const struct marker_folder *folder, const char *name,
                        struct marker_record *ret_record);

/* The strike against a generation. False: there is none. */
bool marker_folder_read_failure(const struct marker_folder *folder, uint64_t generation,
                                struct marker_record *ret_record);

/* Makes the marker of a death the strike against the generation, and first writes the number of
 * deaths into it. */
void marker_folder_make_failure(const struct marker_folder *folder,
                                const struct marker_record *record, uint64_t generation,
                                uint32_t deaths);

void marker_folder_remove(const struct marker_folder *folder, const struct marker_record *record);
void marker_folder_remove_failure(const struct marker_folder *folder, uint64_t generation);

/* Whether the record's dead process used a blob of this generation; or whether another dead process
 * (for example by another of its devices) has saved this generation with data that both had loaded.
 */
bool marker_is_about(const struct marker_folder *folder, const struct marker_record *record,
                     uint64_t generation);

/* Notes in the strike, and for a day, that a process was killed without the blob; `without` is an
 * enum crash_without. _killed_lately: whether that was noted within a day. */
void marker_folder_note_without(const struct marker_folder *folder, uint64_t generation,
                                uint32_t without);
bool marker_folder_killed_lately(const struct marker_folder *folder);

#endif
