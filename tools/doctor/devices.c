// SPDX-License-Identifier: Apache-2.0
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/driver/policy.h"
#include "common/driver/vulkan_names.h"
#include "tools/doctor/doctor.h"
#include "tools/run/layer_process.h"
#include "tools/vulkan/vulkan_loader.h"
#include "tools/vulkan/vulkan_probe.h"

#define CHILD_SECONDS 60
#define MAX_DEVICES   16 /* further ones are not checked */

/* VkPipelineCacheHeaderVersionOne: data of this size holds no pipeline. */
#define HEADER_SIZE 32

struct listing {
    uint32_t count;
    struct driver_identity identities[MAX_DEVICES];
};

static void devices_list(void *answer, const void *task)
{
    struct listing *listing = answer;
    struct vulkan_devices devices;
    (void)task;
    if (!vulkan_devices_list("doctor", &devices)) {
        return;
    }
    for (; listing->count < devices.count && listing->count < MAX_DEVICES; listing->count++) {
        listing->identities[listing->count] = devices.identities[listing->count];
    }
}

/* What one child process does: on which device, and under the layer with this directory (NULL:
 * without the layer). */
struct probe_task {
    enum probe_kind kind;
    uint32_t index;
    const char *directory;
};

static void devices_probe(void *answer, const void *task)
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
        layer_variables_set("doctor", false);
    } else {
        setenv("WARMPIPE_DISABLE", "1", 1);
    }
    vulkan_probe(probe_task->kind, probe_task->index, answer);
}

static bool devices_child_died(struct doctor *doctor, const char *check, struct child_end end,
                               const char *doing)
{
    if (end.answered) {
        return false;
    }
    doctor_tell(doctor, VERDICT_PROBLEM, check, "update the driver, or report it to its vendor",
                "a process that %s %s", doing, end.signal == SIGALRM ? "hangs" : "dies");
    return true;
}

/* The driver without the layer. Gives whether its cache is worth keeping. */
static bool devices_tell_round_trip(struct doctor *doctor, uint32_t index)
{
    static const char *const steps[] = {
        [PROBE_INSTANCE] = "no instance can be created",
        [PROBE_DEVICE] = "the device cannot be opened",
        [PROBE_PIPELINE] = "a small compute pipeline cannot be created",
        [PROBE_SAVE] = "the driver's cache cannot be read",
        [PROBE_LOAD] = "the driver refuses its own cache data",
    };
    const struct probe_task task = {.kind = PROBE_ROUND_TRIP, .index = index};
    struct probe_result result;
    struct child_end end = doctor_try(devices_probe, &task, CHILD_SECONDS, &result, sizeof result);
    if (devices_child_died(doctor, "driver_cache", end, "saves and loads this driver's cache")) {
        return false;
    }
    if (result.step != PROBE_DONE) {
        doctor_tell(doctor, VERDICT_PROBLEM, "driver_cache",
                    "run vulkaninfo to see whether Vulkan works at all", "%s (VkResult %d)",
                    steps[result.step], result.result);
        return false;
    }
    if (result.data_size <= HEADER_SIZE) {
        doctor_tell(doctor, VERDICT_NOTE, "driver_cache",
                    "nothing to do: identical objects are still shared, but each start compiles",
                    "the driver's cache holds nothing (ineffective)");
        return false;
    }
    const char *verdict = !result.tells_hits ? "the driver does not report hits"
                          : result.hit       ? "a hit"
                                             : "no hit";
    const bool failed = result.tells_hits && !result.hit;
    char size[TEXT_BYTES_SIZE];
    text_bytes(result.data_size, size);
    doctor_tell(doctor, failed ? VERDICT_PROBLEM : VERDICT_OK, "driver_cache",
                failed ? "report it to the driver's vendor: it does not find its own data" : NULL,
                "saved %s, loaded them: %s (%.2f ms, then %.2f ms)", size, verdict,
                (double)result.cold_ns / 1e6, (double)result.warm_ns / 1e6);
    return !failed;
}

/* The last "state" in the statistics in `directory`; "": none. */
static void devices_read_state(const char *directory, char *ret_state, size_t size)
{
    static const char key[] = "\"state\":\"";
    char path[4096];
    char line[4096];
    snprintf(path, sizeof path, "%s/stats", directory);
    ret_state[0] = '\0';
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *state = strstr(line, key);
        if (state) {
            state += sizeof key - 1;
            snprintf(ret_state, size, "%.*s", (int)strcspn(state, "\""), state);
        }
    }
    if (file) {
        fclose(file);
    }
}

static int devices_remove_entry(const char *path, const struct stat *status, int kind,
                                struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Two starts under the layer: the second must load what the first saved. */
static void devices_tell_layer(struct doctor *doctor, uint32_t index)
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
        dead = devices_child_died(
            doctor, "layer_cache",
            doctor_try(devices_probe, &task, CHILD_SECONDS, &result, sizeof result),
            "creates a pipeline under the layer");
    }
    char state[32];
    devices_read_state(directory, state, sizeof state);
    nftw(directory, devices_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
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

static void devices_tell_one(struct doctor *doctor, uint32_t index,
                             const struct driver_identity *identity)
{
    char version[VULKAN_VERSION_SIZE];
    struct policy policy;
    vulkan_driver_version(identity, version);
    policy_of_settings(doctor->config, identity, &policy);
    doctor_tell(doctor, VERDICT_OK, "device", NULL, "%u: %s, driver %s %s", index,
                identity->device_name, identity->driver_name, version);
    const bool allowed = policy.inject && policy.persist;
    doctor_tell(doctor, allowed ? VERDICT_OK : VERDICT_NOTE, "policy",
                allowed ? NULL : "see 'warmpipe policy -v' for the rules that decide this",
                "rule %s: inject %s, persist %s, deduplicate %s", policy.rule,
                policy.inject ? "yes" : "no", policy.persist ? "yes" : "no",
                policy.deduplicate ? "yes" : "no");
    if (devices_tell_round_trip(doctor, index) && allowed) {
        devices_tell_layer(doctor, index);
    }
    doctor_check_driver_cache(doctor, identity);
}

void doctor_check_devices(struct doctor *doctor)
{
    struct listing listing = {0};
    struct child_end end = doctor_try(devices_list, NULL, CHILD_SECONDS, &listing, sizeof listing);
    if (devices_child_died(doctor, "device", end, "asks the loader for devices")) {
        return;
    }
    for (uint32_t i = 0; i < listing.count; i++) {
        devices_tell_one(doctor, i, &listing.identities[i]);
    }
    if (listing.count == 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, "device",
                    "install a Vulkan driver (mesa-vulkan-drivers, nvidia-driver)",
                    "there is no Vulkan device on this machine");
    }
}
