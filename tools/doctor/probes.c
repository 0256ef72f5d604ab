// SPDX-License-Identifier: Apache-2.0
/* What a device's driver does with a pipeline cache, and the layer with the driver: each tried by
 * itself, in a process of its own. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/driver/identity.h"
#include "tools/doctor/doctor.h"
#include "tools/run/layer_process.h"

/* Advice for what drivers do wrong and the layer does not rely on. */
#define LAYER_COPES "nothing to do: the layer goes by what the cache holds"

/* What one child process does: on which device, and under the layer with this directory (NULL:
 * without the layer). */
struct probe_task {
    enum probe_kind kind;
    uint32_t index;
    const char *directory;
};

static void probes_run(void *answer, const void *task)
{
    const struct probe_task *probe_task = task;
    if (probe_task->directory) {
        char stats[4096];
        snprintf(stats, sizeof stats, "%s/stats", probe_task->directory);
        unsetenv("WARMPIPE_DISABLE");
        unsetenv("WARMPIPE_READONLY");
        setenv("WARMPIPE_DIR", probe_task->directory, 1);
        setenv("WARMPIPE_APP", "doctor", 1);
        setenv("WARMPIPE_STATS", stats, 1);
        layer_variables_set(false);
    } else {
        setenv("WARMPIPE_DISABLE", "1", 1);
    }
    vulkan_probe(probe_task->kind, probe_task->index, answer);
}

/* What a driver did with one kind of pipeline. */
struct probe_round {
    const char *what;
    enum probe_kind kind;
    bool done; /* `result` is of a whole round trip, with something in the cache */
    struct probe_result result;
};

static struct child_end probes_try(uint32_t index, enum probe_kind kind,
                                   struct probe_result *ret_result)
{
    const struct probe_task task = {.kind = kind, .index = index};
    return doctor_try(probes_run, &task, DOCTOR_CHILD_SECONDS, ret_result, sizeof *ret_result);
}

static void probes_tell_saved(struct doctor *doctor, const struct probe_round *round)
{
    const struct probe_result *result = &round->result;
    const char *verdict = !result->tells_hits ? "the driver does not report hits"
                          : result->hit       ? "a hit"
                                              : "no hit";
    const bool failed = result->tells_hits && !result->hit;
    char size[TEXT_BYTES_SIZE];
    text_bytes(result->data_size, size);
    doctor_tell(doctor, failed ? VERDICT_PROBLEM : VERDICT_OK, "driver_cache",
                failed ? "report it to the driver's vendor: it does not find its own data" : NULL,
                "%s: saved %s, loaded them: %s (%.2f ms, then %.2f ms)", round->what, size, verdict,
                (double)result->cold_ns / 1e6, (double)result->warm_ns / 1e6);
}

/* Compiles, saves, loads, compiles again. False: there is nothing to keep. */
static bool probes_tell_round_trip(struct doctor *doctor, uint32_t index, struct probe_round *round)
{
    static const char *const steps[] = {
        [PROBE_INSTANCE] = "no instance can be created",
        [PROBE_DEVICE] = "the device cannot be opened",
        [PROBE_PIPELINE] = "a small pipeline cannot be created",
        [PROBE_SAVE] = "the driver's cache cannot be read",
        [PROBE_LOAD] = "the driver refuses its own cache data",
    };
    struct probe_result *result = &round->result;
    const struct child_end end = probes_try(index, round->kind, result);
    if (doctor_child_died(doctor, "driver_cache", end,
                          round->kind == PROBE_GRAPHICS
                              ? "saves and loads this driver's cache with a graphics pipeline"
                              : "saves and loads this driver's cache")) {
        return false;
    }
    if (result->step == PROBE_DEVICE && result->result == VK_ERROR_FEATURE_NOT_PRESENT) {
        return true; /* no such pipelines on this device */
    }
    if (result->step != PROBE_DONE) {
        doctor_tell(doctor, VERDICT_PROBLEM, "driver_cache",
                    "run vulkaninfo to see whether Vulkan works at all", "%s: %s (VkResult %d)",
                    round->what, steps[result->step], result->result);
        return false;
    }
    if (result->data_size <= DRIVER_CACHE_EMPTY_SIZE) {
        doctor_tell(doctor, VERDICT_NOTE, "driver_cache",
                    "nothing to do: identical objects are still shared, but each start compiles",
                    "%s: the driver's cache holds nothing (ineffective)", round->what);
        return false;
    }
    probes_tell_saved(doctor, round);
    round->done = true;
    return !result->tells_hits || result->hit;
}

/* The same pipeline, compiled in another process. */
static void probes_tell_sizes(struct doctor *doctor, uint32_t index,
                              const struct probe_round *round)
{
    struct probe_result again;
    if (!round->done || !probes_try(index, round->kind, &again).answered ||
        again.step != PROBE_DONE || again.data_size == round->result.data_size) {
        return;
    }
    doctor_tell(doctor, VERDICT_NOTE, "driver_sizes", LAYER_COPES,
                "%s: the same takes %llu bytes of cache data in one process, %llu in another",
                round->what, (unsigned long long)round->result.data_size,
                (unsigned long long)again.data_size);
}

static void probes_tell_merge(struct doctor *doctor, uint32_t index)
{
    struct probe_result result;
    const struct child_end end = probes_try(index, PROBE_MERGING, &result);
    if (doctor_child_died(doctor, "driver_merge", end, "merges two of this driver's caches")) {
        return;
    }
    if (result.step != PROBE_DONE || result.merged_size <= DRIVER_CACHE_EMPTY_SIZE) {
        doctor_tell(doctor, VERDICT_NOTE, "driver_merge",
                    "let 'single-cache = yes' in a policy file forbid it (docs/POLICY.md)",
                    "the driver merges no caches (VkResult %d): what several processes compile at "
                    "once is not united",
                    result.result);
    } else if (result.left_size < result.data_size) {
        doctor_tell(doctor, VERDICT_NOTE, "driver_merge",
                    "nothing to do: the layer merges no cache that a program uses",
                    "a merge takes entries out of the cache that is merged (%llu bytes, then "
                    "%llu)",
                    (unsigned long long)result.data_size, (unsigned long long)result.left_size);
    }
}

bool doctor_check_driver(struct doctor *doctor, uint32_t index, bool may_merge)
{
    struct probe_round rounds[] = {
        {.what = "compute", .kind = PROBE_COMPUTE},
        {.what = "graphics", .kind = PROBE_GRAPHICS},
    };
    const bool keeps = probes_tell_round_trip(doctor, index, &rounds[0]);
    if (rounds[0].done) {
        probes_tell_round_trip(doctor, index, &rounds[1]);
    }
    for (int i = 0; i < 2; i++) {
        if (rounds[i].done && rounds[i].result.cold_hit) {
            doctor_tell(doctor, VERDICT_NOTE, "driver_feedback", LAYER_COPES,
                        "%s: the driver reports a hit in an empty cache", rounds[i].what);
        }
        probes_tell_sizes(doctor, index, &rounds[i]);
    }
    if (rounds[0].done && may_merge) {
        probes_tell_merge(doctor, index);
    }
    if (rounds[0].done && rounds[0].result.prefers_own) {
        doctor_tell(doctor, VERDICT_NOTE, "driver_internal",
                    "nothing to do: what the layer keeps is loaded besides, and outlives it",
                    "the driver prefers the cache that it keeps by itself");
    }
    return keeps;
}

/* The last "state" in the statistics in `directory`; "": none. */
static void probes_read_state(const char *directory, char *ret_state, size_t size)
{
    static const char key[] = "\"state\":\"";
    char path[4096];
    char line[4096];
    snprintf(path, sizeof path, "%s/stats", directory);
    ret_state[0] = '\0';
    AUTO_FCLOSE FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *state = strstr(line, key);
        if (state) {
            state += sizeof key - 1;
            snprintf(ret_state, size, "%.*s", (int)strcspn(state, "\""), state);
        }
    }
}

static int probes_remove_entry(const char *path, const struct stat *status, int kind,
                               struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Two starts under the layer: the second must load what the first saved. */
void doctor_check_layer_starts(struct doctor *doctor, uint32_t index)
{
    const char *parent = getenv("TMPDIR");
    char directory[4000];
    snprintf(directory, sizeof directory, "%s/warmpipe-doctor-XXXXXX",
             parent && *parent == '/' ? parent : "/tmp");
    if (!mkdtemp(directory)) {
        doctor_tell(doctor, VERDICT_NOTE, "layer_cache", "set TMPDIR",
                    "not tried: cannot create a directory in '%s'", parent ? parent : "/tmp");
        return;
    }
    const struct probe_task task = {.kind = PROBE_CREATE, .index = index, .directory = directory};
    struct probe_result result = {.step = PROBE_DONE};
    bool dead = false;
    for (int start = 0; start < 2 && !dead && result.step == PROBE_DONE; start++) {
        dead = doctor_child_died(
            doctor, "layer_cache",
            doctor_try(probes_run, &task, DOCTOR_CHILD_SECONDS, &result, sizeof result),
            "creates a pipeline under the layer");
    }
    char state[32];
    probes_read_state(directory, state, sizeof state);
    nftw(directory, probes_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (dead) {
        return;
    }
    if (strcmp(state, "loaded") == 0) {
        doctor_tell(doctor, VERDICT_OK, "layer_cache", NULL,
                    "under the layer the second start is warm");
    } else {
        doctor_tell(doctor, VERDICT_PROBLEM, "layer_cache",
                    "see the messages of WARMPIPE_LOG=debug warmpipe run -- PROGRAM",
                    "under the layer the second start is not warm (%s)",
                    *state ? state : "the layer is not in the chain");
    }
}
