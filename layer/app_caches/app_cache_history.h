// SPDX-License-Identifier: Apache-2.0
/* What earlier runs have shown about the program's own pipeline caches (program.json), and what
 * this run shows. The question is whether the program *keeps* them: whether a later process creates
 * a cache with data that an earlier one has read back. Many programs read back and never keep
 * (Dawn, libplacebo).
 *
 *     habit          what happens to a cache that is made empty (app_caches.c)
 *     1 UNKNOWN      passed on and collected; as READ_BACK if none of our threads may collect it
 *                    (docs/decisions/0302)
 *     2 NOT_READ     served
 *     3 READ_BACK    served; passed on and collected if its answer would exceed the budget
 *     4 SETTLED      the same, but beyond the budget served, and answered as the empty cache it is
 *     5 KEEPS        passed on, and seeded if the program makes few; served if it makes many
 *                    and reads few of them back
 *
 *     arrow                              function
 *     1 ──first run recorded──▶ 2        app_cache_history_made, then a write
 *     1, 2 ──read──▶ 3                   app_cache_history_read, app_cache_history_answered
 *     3 ──read in 3 runs, 2 days──▶ 4    app_cache_history_read, once a run; a write counts it
 *     any ──loaded──▶ 5, for good        app_cache_history_loads
 *
 * One history serves all devices of a process that belong to one program folder: data that this
 * process itself has read back and loads again does not count. The worker writes the history as
 * soon as it would change how a later run is treated; it is also written at the end of every device
 * and of the process. Nothing is read before the first query. Thread-safe; no lock that a query
 * takes is held during a write. */
#ifndef WARMPIPE_LAYER_APP_CACHES_APP_CACHE_HISTORY_H
#define WARMPIPE_LAYER_APP_CACHES_APP_CACHE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/settings/config.h"

struct app_cache_history;

enum app_cache_habit {
    APP_CACHE_UNKNOWN,
    APP_CACHE_NOT_READ,
    APP_CACHE_READ_BACK,
    APP_CACHE_SETTLED,
    APP_CACHE_KEEPS
};

/* Returns the history of the program's folder `app`. The first call makes it; it is never freed,
 * because it is written at the end of the process. Copies its arguments. NULL: nothing is kept of
 * this program, or memory is out. */
struct app_cache_history *app_cache_history_of(const struct config *config, const char *app);

struct app_cache_habits {
    enum app_cache_habit habit;
    bool rarely_reads; /* it makes many caches and reads almost none back, in the last run and this
                          one */
    bool makes_few;    /* no more than a few caches in the last run */
};

/* Returns what is known now, this run included. NULL, which all functions accept: UNKNOWN. */
struct app_cache_habits app_cache_history_habits(struct app_cache_history *history);

/* The program has made an empty cache. */
void app_cache_history_made(struct app_cache_history *history);

/* It has read one of these back. Call it at the first time for each cache. */
void app_cache_history_read(struct app_cache_history *history);

/* It was given data with this digest, from any cache. empty: the data holds no pipeline. */
void app_cache_history_answered(struct app_cache_history *history, struct digest digest,
                                bool empty);

/* It creates a cache with this data. True: the data is an answer without a pipeline that an earlier
 * process was given. */
bool app_cache_history_loads(struct app_cache_history *history, const void *data, size_t size);

/* Returns when the worker is to write (clock_now_ns); UINT64_MAX: nothing would change how a later
 * run is treated. `history` is not NULL. */
uint64_t app_cache_history_write_due(const struct app_cache_history *history);

/* At the end of a device: whether there is something new to write, and writing it. The latter is an
 * argument of worker_do, and waits 100 ms at most for other processes. */
bool app_cache_history_is_due(struct app_cache_history *history);
void app_cache_history_write(void *history);

#endif
