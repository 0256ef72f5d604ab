// SPDX-License-Identifier: Apache-2.0
/* What is remembered of a program between runs: program.json in its folder, beside the caches.
 *
 *     {"format":1,"app_caches":"read_back","app_caches_made":20,"since":1760000000,…}
 *
 * Members may be in any order. A version skips the members that it does not know, and writes them
 * back as they were. A file without app_caches, or with a value that this version does not know,
 * says nothing about the caches; one without `since` has no counters.
 *
 * The file may be lost at any time, so it is never synced. Counters have a fixed width, so that the
 * file is overwritten in place where nothing else changes. Writers hold an exclusive flock(2) on
 * the folder itself, so that no process loses the counts of another; readers take no lock. Nothing
 * here logs. Thread-safe. */
#ifndef WARMPIPE_FILES_PROGRAM_H
#define WARMPIPE_FILES_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/json.h"
#include "common/base/status.h"

/* Two short lists in program.json, each of the program's latest drivers or devices, as text
 * (docs/FORMAT.md). No I/O. Each list belongs to one thread at a time.
 *
 * For both: zero-initialize the list; _find returns a borrowed entry, or NULL; _set replaces the
 * entry of the same name, or adds one; a full list drops its oldest. Unknown text is skipped. */

/* How many entries are remembered. */
#define PROGRAM_LIST_MAX 16

/* The layer's own calls on a driver's caches. */
enum slow_call {
    SLOW_LOAD,  /* a cache of the blob on disk */
    SLOW_READ,  /* the device cache's data */
    SLOW_MERGE, /* caches into one, and its data */
    SLOW_CALL_COUNT
};

/* The slow calls of one driver, so that nobody waits for them again. */
struct slow_calls {
    struct digest identity;
    uint32_t ms[SLOW_CALL_COUNT]; /* milliseconds; 0: not slow */
};

struct slow_calls_list {
    size_t count;
    struct slow_calls drivers[PROGRAM_LIST_MAX]; /* the latest is the last */
};

const struct slow_calls *slow_calls_find(const struct slow_calls_list *list,
                                         struct digest identity);

/* Without a time the entry is removed. */
void slow_calls_set(struct slow_calls_list *list, const struct slow_calls *calls);

/* The key by which a driver tells whether two devices compile alike (driver/identity.h). */
struct pipeline_key {
    struct digest device; /* of the driver's identity and what was enabled: pipeline_key_device */
    struct digest key;    /* of the driver's bytes */
};

struct pipeline_keys {
    size_t count;
    struct pipeline_key keys[PROGRAM_LIST_MAX]; /* the latest is the last */
};

const struct pipeline_key *pipeline_keys_find(const struct pipeline_keys *keys,
                                              struct digest device);
void pipeline_keys_set(struct pipeline_keys *keys, const struct pipeline_key *key);

#define PROGRAM_FILE_LIMIT (64u << 10) /* bytes; a larger file is refused: too_large */

/* Whether the program does anything with the data of its own pipeline caches. */
enum program_caches {
    PROGRAM_CACHES_UNKNOWN,   /* nothing learnt yet */
    PROGRAM_CACHES_NOT_READ,  /* a run was recorded that made caches and read none back */
    PROGRAM_CACHES_READ_BACK, /* it does read them back */
};

/* The counters of a program, in the order of program.json. Their names are outward interface
 * (docs/FORMAT.md). */
#define PROGRAM_COUNTERS(X)                                                                        \
    X(starts)                                                                                      \
    X(requests)                                                                                    \
    X(shared)                                                                                      \
    X(driver_hits)                                                                                 \
    X(driver_misses)                                                                               \
    X(prewarmed)                                                                                   \
    X(create_ns)                                                                                   \
    X(compile_ns)                                                                                  \
    X(pulled)                                                                                      \
    X(pulled_bytes)                                                                                \
    X(pulled_ns)

/* Sums over all runs since `since`; saturated at UINT64_MAX. */
struct program_counters {
#define PROGRAM_COUNTER(name) uint64_t name;
    PROGRAM_COUNTERS(PROGRAM_COUNTER)
#undef PROGRAM_COUNTER
};

#define PROGRAM_SETTINGS_SIZE 512 /* driver/identity.h */

/* How many answers are remembered: the latest. */
#define PROGRAM_ANSWERS_MAX 64

/* The data that the program once read back from one of its pipeline caches. */
struct program_answer {
    struct digest digest; /* of the bytes */
    bool empty;           /* no pipeline in it, whatever the program had compiled */
};

/* What is known of the program's own pipeline caches, beyond enum program_caches. */
struct program_app_caches {
    bool kept;          /* a later process has loaded what an earlier one had read back */
    uint64_t read_runs; /* runs that have read caches back */
    uint64_t read_days; /* number of days with such runs */
    uint64_t last_day;  /* the latest of them, in days since the epoch */
    uint64_t made; /* caches that a run has made empty: the largest count, or that of the last run
                      that read more */
    uint64_t read; /* how many of those it read back */
    size_t answer_count; /* oldest first */
    struct program_answer answers[PROGRAM_ANSWERS_MAX];
};

/* What a run has learnt of the program's caches. */
struct program_learnt {
    enum program_caches caches; /* PROGRAM_CACHES_UNKNOWN: nothing; READ_BACK, once there, stays */
    bool kept;
    bool count_read_run; /* adds one to read_runs; once in a run */
    uint64_t day;        /* today */
    uint64_t made;       /* so far in this run */
    uint64_t read;
    const struct program_answer *answers; /* in this run, oldest first */
    size_t answer_count;
};

struct program_facts {
    enum program_caches caches;
    struct program_app_caches app_caches;
    uint64_t since; /* seconds since the epoch; 0: nothing was counted yet */
    struct program_counters counters;
    struct slow_calls_list slow;
    struct pipeline_keys keys;
    char driver_settings[PROGRAM_SETTINGS_SIZE]; /* of the latest run; "": not known */
};

/* Adds `more` to `sum`. */
void program_counters_add(struct program_counters *sum, const struct program_counters *more);

/* The difference; no counter of `before` is larger. */
struct program_counters program_counters_since(const struct program_counters *now,
                                               const struct program_counters *before);

/* Reads root/app/program.json, with the checks of file_read. If the result is not ok, *ret_facts
 * says that nothing is known; no_file, or what file_read and program_decode return. */
enum status program_load(const char *root, const char *app, struct program_facts *ret_facts);

/* Whether the folder's program.json is of this format. Others use that name too: such a file is
 * never removed, and does not make a folder ours. */
bool program_is_ours(int directory_fd);

/* Adds what was learnt of the program's caches, and makes the folder if needed. A file that already
 * says the same is left alone. A damaged file is replaced, and so is one that its owner lets nobody
 * read, but not one that cannot be judged now (out_of_memory, io_error). `locked`: other processes
 * have held the folder for 100 ms. The caller checks WARMPIPE_READONLY. */
enum status program_learn(const char *root, const char *app, const struct program_learnt *learnt);

/* The answer with this digest, or NULL. */
const struct program_answer *program_find_answer(const struct program_app_caches *app_caches,
                                                 struct digest digest);

/* Adds an answer, unless it is there. The oldest one gives way. */
void program_add_answer(struct program_app_caches *app_caches, struct program_answer answer);

/* Replaces the slow calls of one driver, in the same way. */
enum status program_note_slow(const char *root, const char *app, const struct slow_calls *calls);

/* Replaces the key of one device, in the same way. */
enum status program_note_key(const char *root, const char *app, const struct pipeline_key *key);

/* Adds to the counters in the same way, but makes no folder (no_file). now_s (seconds since the
 * epoch) becomes `since` with the first count. driver_settings, printable text without quotes and
 * backslashes, replaces what was there; NULL or "": it stays. */
enum status program_count(const char *root, const char *app, const struct program_counters *more,
                          uint64_t now_s, const char *driver_settings);

/* Sets the counters to zero. no_file: nothing was counted. A file that cannot be read is left
 * alone, because it may not be ours: the result is that of program_load. */
enum status program_zero(const char *root, const char *app, uint64_t now_s);

/* Parses the content of such a file. bad_program_file: damaged, or not ours; bad_format_version.
 * Allocates nothing; nested at most 32 deep. */
enum status program_decode(const void *data, size_t size, struct program_facts *ret_facts);

/* Appends the content of a file that replaces one with the content `old` (NULL: none). Members of
 * `old` that this version does not know are copied, if `old` can be decoded and there is room. */
void program_encode(const struct program_facts *facts, const void *old, size_t old_size,
                    struct bytes *out);

#endif
