// SPDX-License-Identifier: Apache-2.0
/* Markers: how the store learns that a blob kills the processes that use it.
 *
 * As long as a process uses a blob, the folder <identity>.loading holds one file of that process
 * alone, locked with flock(2): a crash page (crash_page.h), or where none can be mapped there a
 * plain record. That is removed when the first creation has returned; with a page elsewhere it is
 * emptied then, and stands for the page, which whoever finds it dead copies into it. One that
 * another process can lock belongs to a process that died. (Process ids cannot tell: containers
 * have their own.) A death is one inside a call that the page tells of; a plain record tells of its
 * load. A process that died elsewhere, or in a long call, says nothing.
 *
 * The states of one generation of a blob, and the function that performs each arrow:
 *
 *     1 CLEAR        no death is known
 *     2 FAILED       a file <generation>.strike, made of the marker of the last death
 *
 *     1 → 2   marker_judge finds a death: FAILED_ONCE, the blob is skipped for this start
 *     2 → 2   marker_judge finds a death of one that knew of the last: FAILED_ONCE, and this is the
 *             last now; of one that did not know: FAILED_ONCE, no other change
 *     2 → 1   what the last death was in has returned in a process that ended otherwise:
 *             marker_drop, or marker_judge where it was killed
 *     2       a further death: BLOCKED, nothing is changed; the caller moves the blob to quarantine
 *             and calls marker_forget
 *     any → 1 marker_sweep, where no file has this generation any more
 *
 * BLOCKED is: the second death at the same pipeline; the second before a creation has returned; the
 * third. The start that skips the blob is compared: its marker says that it goes without. Where it
 * is killed as well, within CRASH_LIFE_NS, somebody ends the program: before it has done what that
 * death was in, that death says nothing, and the next is a first one; after that, and for a day,
 * only the fifth at one pipeline blocks (decision 0131). Deaths at pipelines that the blob is not
 * known to hold do not count here: they are no more likely of the blob than of the compile, or of
 * somebody who ends the program meanwhile. But those in a row at one pipeline do: a few of them are
 * one too many (decision 0121).
 *
 * A marker names the death that it knew of when it was set, so many processes that die at the same
 * time are one death, whoever finds them, in whatever order. No further lock is needed: a process
 * writes a marker only while it has it locked, and moves what it finds by rename. What a process
 * saves holds what it loaded: the marker names that generation as well, and the .strike file goes
 * along (marker_follow). */
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
    bool is_elsewhere; /* of a dead one: the page, which could not be copied into the file */
    uint32_t
        deaths; /* of a page: that count, its process knew of; of a .strike: its own included */
    struct crash_finding finding;
};

/* A record of this process, loading now. */
struct marker_record marker_record_of(uint64_t id, uint64_t generation, uint64_t failure);

/* Appends MARKER_RECORD_SIZE bytes; of a page CRASH_RECORD_SIZE, the first of it. */
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

/* A file of generation `to` is about to hold what one of `from` holds: what is known of deaths goes
 * along. The other takes it back, or ends what was known of a file that is gone. */
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

/* Sets a marker, for a blob that was judged `clear`. Call it before the driver sees a byte of it.
 * without: that of a process that goes without the blob, since history->failure was found against
 * it: whether that lives tells what the other has died of. False: no marker could be set (a
 * read-only disk, no space, no locks; without: or no page can be mapped); the blob may be loaded
 * without one. */
bool marker_take(struct marker_folder *folder, uint64_t generation,
                 const struct marker_history *history, bool without, struct marker *ret_marker);

/* Whether it has no page: it is to be dropped when the first creation has returned. */
bool marker_is_plain(const struct marker *marker);

/* Beside a page elsewhere: the first creation has returned, and the plain record goes. */
void marker_empty(struct marker *marker);

/* The blob is used no more: removes the marker, and the known failure if that is disproved; of a
 * plain record, if `survived`. folder_path is absolute, so that no directory stays open meanwhile.
 * If the file cannot be removed (in a sandbox), its content says that it ended. */
void marker_drop(struct marker *marker, const char *folder_path, bool survived);

/* The same at the end of the process, where other threads may still use the page: it stays in
 * memory. Nothing where the process ends inside a call (crash_guard_end_all). */
void marker_leave(struct marker *marker, const char *folder_path);

/* Single files of a folder of markers, for marker_judge. Each opens the file by its name, through
 * the folder's descriptor, and follows no link. Failures are left: what could not be noted or
 * removed is found again by the next process. */

/* Whether the generation is on trial (trial.h). */
bool marker_folder_tries(const struct marker_folder *folder, uint64_t generation);

/* Reads a marker or a .strike, whether its process lives or not. */
bool marker_folder_read(const struct marker_folder *folder, const char *name,
                        struct marker_record *ret_record);

/* The strike against a generation. False: there is none. */
bool marker_folder_read_failure(const struct marker_folder *folder, uint64_t generation,
                                struct marker_record *ret_record);

/* Makes the marker of a death the strike against the generation. What it counts as goes into the
 * file first. */
void marker_folder_make_failure(const struct marker_folder *folder,
                                const struct marker_record *record, uint64_t generation,
                                uint32_t deaths);

void marker_folder_remove(const struct marker_folder *folder, const struct marker_record *record);
void marker_folder_remove_failure(const struct marker_folder *folder, uint64_t generation);

/* Whether the process of the record, of a dead one in the folder, used a blob of this generation,
 * or a dead one, be it by another of its devices, has saved that with what both had loaded. */
bool marker_is_about(const struct marker_folder *folder, const struct marker_record *record,
                     uint64_t generation);

/* Notes in the strike, and for a day, that a process was killed without the blob; `without` is an
 * enum crash_without. Whether there was one within a day. */
void marker_folder_note_without(const struct marker_folder *folder, uint64_t generation,
                                uint32_t without);
bool marker_folder_killed_lately(const struct marker_folder *folder);

#endif
