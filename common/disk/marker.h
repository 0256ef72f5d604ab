/* Loading markers: how the store learns that a blob kills the processes that load it.
 *
 * The folder <identity>.loading holds, while a process hands a blob to the driver, one file of that
 * process alone, locked with flock(2). Process ids decide nothing (containers have their own): a
 * marker that can be locked by somebody else belongs to a process that died there.
 *
 *     dead marker, no strike yet      → becomes the strike of that generation: the blob is skipped
 *     dead marker that knew a strike  → second time in a row: the blob is condemned
 *     marker dropped, survived        → the strike is taken back
 *
 * A marker tells which strike it saw when it was set, so that many processes that die at one moment
 * are one strike, whoever finds them, in whatever order. Nothing here needs a further lock: a
 * marker is armed (written) only while its process has it locked, and what is found is moved by
 * rename. */
#ifndef WARMPIPE_DISK_MARKER_H
#define WARMPIPE_DISK_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "marker_record.h"

/* A folder and what was found in it, read once by marker_folder_open. */
#define MARKER_MAX_FOUND 64
struct marker_folder {
    int directory_fd; /* borrowed */
    const char *name; /* borrowed */
    int fd;           /* -1: there is no folder yet */
    size_t dead_count;
    struct marker_record dead[MARKER_MAX_FOUND]; /* of dead processes; what is above waits */
    size_t strike_count;
    uint64_t strikes[MARKER_MAX_FOUND]; /* generations that have a strike */
};

/* Reads the folder `name` of the directory; one that is not there or cannot be read is empty. Both
 * arguments must outlive *ret_folder. To be called before the blobs are read that are judged by it.
 */
void marker_folder_open(int directory_fd, const char *name, struct marker_folder *ret_folder);
void marker_folder_close(struct marker_folder *folder);

enum marker_verdict { MARKER_CLEAR, MARKER_SUSPECT, MARKER_CONDEMNED };

struct marker_history {
    uint64_t strike;            /* clear: id of the strike that stands, 0: none; for marker_take */
    struct marker_record first; /* condemned: the two that died */
    struct marker_record second;
};

/* Judges the blob of this generation, and turns what was found about it into a strike. suspect:
 * skip it this time. condemned: put it away, then call marker_forget; until then nothing is
 * changed. */
enum marker_verdict marker_judge(const struct marker_folder *folder, uint64_t generation,
                                 struct marker_history *ret_history);

/* Removes all that the folder says about a generation. */
void marker_forget(const struct marker_folder *folder, uint64_t generation);

/* Removes what is said about generations other than these, which are all that exist. */
void marker_sweep(const struct marker_folder *folder, const uint64_t *generations, size_t count);

/* A marker that this process has set. */
struct marker {
    int fd;
    dev_t device;
    ino_t inode;
    uint64_t id;
    uint64_t generation;
    uint64_t strike;
};

/* Sets a marker: to be called before the driver sees a byte of the blob. False: none could be set
 * (a read-only disk, no space, no locks); the blob may be loaded without. */
bool marker_take(struct marker_folder *folder, uint64_t generation, uint64_t strike,
                 struct marker *ret_marker);

/* Removes the marker; survived: the strike that it saw, too, for this process has lived with the
 * blob. folder_path is absolute: no directory is held open meanwhile. Where the file cannot be
 * removed any more (a sandbox), it is disarmed. */
void marker_drop(struct marker *marker, const char *folder_path, bool survived);

#endif
