/* What is known of a program from run to run: program.json in its folder, beside the caches.
 *
 *     {"format":1,"app_caches":"not_read","since":1760000000,"requests":240,…}
 *
 * Members may stand in any order, and those that a version does not know are none of its business:
 * it reads past them and writes them back as they were. Without app_caches, or with a value of it
 * that this version does not know, nothing is learnt; without `since` nothing is counted. The file
 * may be lost at any time, so nothing of it is ever synced, and where only counters change, which
 * are written so wide that its size stays, that is done in place. Who reads or changes it holds an
 * exclusive flock(2) on the folder itself, so that of several processes none loses what another has
 * counted. Nothing here logs. Thread-safe. */
#ifndef WARMPIPE_DISK_PROGRAM_H
#define WARMPIPE_DISK_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/result.h"

#define PROGRAM_FILE_NAME  "program.json"
#define PROGRAM_FILE_LIMIT (64u << 10) /* bytes; a larger file is refused: too_large */

/* Whether the program does anything with the data of its own pipeline caches. */
enum program_caches {
    PROGRAM_CACHES_UNKNOWN,   /* nothing learnt yet */
    PROGRAM_CACHES_NOT_READ,  /* a run that came as far as a save has not read its caches back */
    PROGRAM_CACHES_READ_BACK, /* it does read them back */
};

/* Sums over all runs since `since`; they stay at UINT64_MAX once there. */
struct program_counters {
#define PROGRAM_COUNTER(name) uint64_t name;
#include "program_counters.def"
#undef PROGRAM_COUNTER
};

struct program_facts {
    enum program_caches caches;
    uint64_t since; /* seconds since the epoch; 0: nothing was counted yet */
    struct program_counters counters;
};

/* The counters by name, for who shows or adds up all of them. */
struct program_counter {
    const char *name;
    size_t offset; /* of a uint64_t in struct program_counters */
};
extern const struct program_counter program_counter_table[];
extern const size_t program_counter_count;

/* Adds `more` to `sum`. */
void program_counters_add(struct program_counters *sum, const struct program_counters *more);

/* What came to `before`, which counts to less or as much. */
struct program_counters program_counters_since(const struct program_counters *now,
                                               const struct program_counters *before);

/* Reads root/app/program.json, which is trusted as any other file is (file.h). Otherwise than ok
 * *ret_facts says that nothing is known; no_file, or what file_read and program_decode give. */
enum reason program_load(const char *root, const char *app, struct program_facts *ret_facts);

/* Whether the folder's program.json, a name that many use, is one of this format: nothing else of
 * that name is ever removed, nor does it make a folder one of ours. */
bool program_is_ours(int directory_fd);

/* Sets what was learnt of the program's caches, and makes the folder if need be. A file that says
 * the same already is left alone; of one that cannot be read nothing is kept. `locked`: others have
 * held the folder for 100 ms. Whether anything may be written at all is for the caller to know
 * (WARMPIPE_READONLY). */
enum reason program_learn(const char *root, const char *app, enum program_caches caches);

/* Adds to the counters, likewise, but makes no folder (no_file). now_s: becomes `since` with the
 * first count; seconds since the epoch. */
enum reason program_count(const char *root, const char *app, const struct program_counters *more,
                          uint64_t now_s);

/* Begins to count anew. no_file: nothing was counted; a file that cannot be read is left alone, for
 * it may be anybody's: what program_load gives. */
enum reason program_zero(const char *root, const char *app, uint64_t now_s);

/* The content of such a file. bad_program_file: damaged, or not of ours; bad_format_version.
 * Allocates nothing; nested at most 32 deep. */
enum reason program_decode(const void *data, size_t size, struct program_facts *ret_facts);

/* Appends the content of the file that is to replace one that holds `old` (NULL: there is none),
 * and of that every member that is not known here, where it can be decoded and there is room. */
void program_encode(const struct program_facts *facts, const void *old, size_t old_size,
                    struct bytes *out);

#endif
