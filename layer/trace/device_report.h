// SPDX-License-Identifier: Apache-2.0
/* Output about one device and its cache: the lines of WARMPIPE_STATS, the log, the summary, the
 * counters in program.json, and the state in the trace. Thread-safe, except members and functions
 * of "the saving thread". */
#ifndef WARMPIPE_LAYER_TRACE_DEVICE_REPORT_H
#define WARMPIPE_LAYER_TRACE_DEVICE_REPORT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/driver/identity.h"
#include "common/files/program.h"
#include "common/settings/config.h"
#include "layer/trace/stats.h"
#include "layer/trace/trace.h"

/* All pointers are borrowed and set by the owner, who zero-initializes the rest. */
struct device_report {
    const struct config *config;
    const char *app; /* the program's folder */
    const struct driver_identity *identity;
    struct stats *stats;
    struct trace *trace;   /* NULL: there is none */
    uint32_t device_index; /* counts the devices of this process */
    bool counts;           /* this device counts in program.json */

    pthread_mutex_t lock;   /* over what follows */
    enum cache_state state; /* as it was loaded: `not_saved` tells whether it is ineffective */
    enum status reason;     /* of the state */
    enum status not_saved;  /* why the last snapshot or commit failed; ok: it did not */
    size_t loaded_bytes;
    size_t saved_bytes;

    /* If statistics are requested: the pipelines requested when a call of the program last ended,
     * and when a line was last written. */
    _Atomic uint64_t last_call_ns;
    _Atomic uint64_t called_requested;
    _Atomic uint64_t written_requested;

    struct program_counters counted;            /* what program.json has; for the saving thread */
    char driver_settings[DRIVER_SETTINGS_SIZE]; /* of this process */
};

void device_report_init(struct device_report *report);
void device_report_release(struct device_report *report);

void device_report_state(struct device_report *report, enum cache_state state, enum status reason);

/* Whether there was nothing to load. */
bool device_report_is_cold(struct device_report *report);

/* So many bytes of `path` were given to the driver. */
void device_report_loaded(struct device_report *report, size_t bytes, const char *path);

/* The blob at `path` was not loaded: logs one line if something prevents a warm start, none if
 * there simply is no file. */
void device_report_rejected(struct device_report *report, enum status reason, const char *path);

/* The program creates something that would be kept: logs one line if there is no folder to keep it
 * in; not in a sandbox, which may forbid the system calls for that. */
void device_report_expected(const struct device_report *report);

/* The load, or the creation of an empty cache, that began at start_ns has ended: calls
 * device_report_expected, and adds the load as a span to the trace. */
void device_report_load_ended(struct device_report *report, uint64_t start_ns);

/* A snapshot or a commit has failed for this reason. */
void device_report_not_saved(struct device_report *report, enum status reason, const char *path);

/* So many bytes are on disk at `path`; as_part: beside it, for the next save to merge. */
void device_report_saved(struct device_report *report, size_t bytes, bool as_part,
                         const char *path);

/* A call of the program for pipelines ends. False: no statistics are requested. */
bool device_report_called(struct device_report *report);

/* Returns when a line of statistics is due for a program that never saves and never ends: once it
 * is quiet. UINT64_MAX: there is nothing new. */
uint64_t device_report_due(const struct device_report *report);

/* Appends a line of statistics, if statistics are requested. */
void device_report_write(struct device_report *report, const char *event);

/* Adds the counts since the last call to the program's counters, with each save, and at the end of
 * device or process. For the saving thread. */
void device_report_count(struct device_report *report);

/* Whether device_report_end has anything to write. Call it while nobody saves. */
bool device_report_has_end(const struct device_report *report);

/* The device or the process ends: the last line of statistics, the last counts, and the summary. */
void device_report_end(struct device_report *report, const char *event);

#endif
