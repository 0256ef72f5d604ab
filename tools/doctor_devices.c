#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "doctor.h"
#include "driver/policy_load.h"
#include "driver/vulkan_names.h"
#include "layer_variables.h"
#include "vulkan_devices.h"
#include "vulkan_probe.h"

#define CHILD_SECONDS 60
#define MAX_LISTED    4 /* an answer fits one pipe buffer */

/* VkPipelineCacheHeaderVersionOne: data of this size holds no pipeline. */
#define HEADER_SIZE 32

struct listing {
    uint32_t first; /* in the task too */
    uint32_t count; /* of all devices */
    struct driver_identity identities[MAX_LISTED];
};

static void list_devices(void *answer, const void *task)
{
    struct listing *listing = answer;
    struct vulkan_devices devices;
    listing->first = *(const uint32_t *)task;
    if (!vulkan_devices_list("doctor", &devices)) {
        return;
    }
    listing->count = devices.count;
    for (uint32_t i = 0; i < MAX_LISTED && listing->first + i < devices.count; i++) {
        listing->identities[i] = devices.identities[listing->first + i];
    }
}

/* What one child does: on which device, and under the layer in this directory (NULL: without). */
struct probe_task {
    enum probe_kind kind;
    uint32_t index;
    const char *directory;
};

static void probe(void *answer, const void *task)
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

static bool died(struct doctor *doctor, const char *check, struct child_end end, const char *doing)
{
    if (end.answered) {
        return false;
    }
    doctor_tell(doctor, VERDICT_PROBLEM, check, "report it to the driver's makers, or update it",
                "a process that %s %s", doing,
                end.signal == SIGALRM ? "does not come back" : "dies");
    return true;
}

/* The driver alone. Whether there is something to keep. */
static bool tell_round_trip(struct doctor *doctor, uint32_t index)
{
    static const char *const steps[] = {
        [PROBE_INSTANCE] = "no instance can be created",
        [PROBE_DEVICE] = "the device cannot be opened",
        [PROBE_PIPELINE] = "a small compute pipeline cannot be created",
        [PROBE_SAVE] = "its cache cannot be read",
        [PROBE_LOAD] = "its own cache data is refused",
    };
    const struct probe_task task = {.kind = PROBE_ROUND_TRIP, .index = index};
    struct probe_result result;
    struct child_end end = child_run(probe, &task, CHILD_SECONDS, &result, sizeof result);
    if (died(doctor, "driver_cache", end, "saves and loads this driver's cache")) {
        return false;
    }
    if (result.step != PROBE_DONE) {
        doctor_tell(doctor, VERDICT_PROBLEM, "driver_cache", "see whether vulkaninfo works",
                    "%s (VkResult %d)", steps[result.step], result.result);
        return false;
    }
    if (result.data_size <= HEADER_SIZE) {
        doctor_tell(doctor, VERDICT_NOTE, "driver_cache",
                    "nothing can be done: identical objects are shared, but each start compiles",
                    "the driver's cache holds nothing (ineffective)");
        return false;
    }
    const char *verdict = !result.tells_hits ? "the driver does not tell whether it hits"
                          : result.hit       ? "a hit"
                                             : "no hit";
    const bool failed = result.tells_hits && !result.hit;
    doctor_tell(doctor, failed ? VERDICT_PROBLEM : VERDICT_OK, "driver_cache",
                failed ? "report it to the driver's makers: its own data does not help it" : NULL,
                "saved %llu bytes, loaded them: %s (%.2f ms, then %.2f ms)",
                (unsigned long long)result.data_size, verdict, (double)result.cold_ns / 1e6,
                (double)result.warm_ns / 1e6);
    return !failed;
}

/* The value of "state" in the last line of the statistics in `directory`; "" if there is none. */
static void read_state(const char *directory, char *ret_state, size_t size)
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

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Two starts under the layer: the second must find what the first has saved. */
static void tell_layer(struct doctor *doctor, uint32_t index)
{
    const char *parent = getenv("TMPDIR");
    char directory[4000];
    snprintf(directory, sizeof directory, "%s/warmpipe-doctor-XXXXXX",
             parent && *parent == '/' ? parent : "/tmp");
    if (!mkdtemp(directory)) {
        doctor_tell(doctor, VERDICT_NOTE, "layer_cache", "set TMPDIR",
                    "not tried: no directory can be made in '%s'", parent ? parent : "/tmp");
        return;
    }
    const struct probe_task task = {.kind = PROBE_CREATE, .index = index, .directory = directory};
    struct probe_result result = {.step = PROBE_DONE};
    bool dead = false;
    for (int start = 0; start < 2 && !dead && result.step == PROBE_DONE; start++) {
        dead = died(doctor, "layer_cache",
                    child_run(probe, &task, CHILD_SECONDS, &result, sizeof result),
                    "creates a pipeline under the layer");
    }
    char state[32];
    read_state(directory, state, sizeof state);
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (dead) {
        return;
    }
    if (strcmp(state, "loaded") == 0) {
        doctor_tell(doctor, VERDICT_OK, "layer_cache", NULL,
                    "under the layer the second start is warm");
    } else {
        doctor_tell(doctor, VERDICT_PROBLEM, "layer_cache",
                    "see what WARMPIPE_LOG=debug warmpipe run -- PROGRAM says",
                    "under the layer the second start is not warm (%s)",
                    *state ? state : "the layer is not in the chain");
    }
}

static void tell_device(struct doctor *doctor, uint32_t index,
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
                allowed ? NULL : "see 'warmpipe policy -v' for who says so",
                "rule %s: inject %s, persist %s, deduplicate %s", policy.rule,
                policy.inject ? "yes" : "no", policy.persist ? "yes" : "no",
                policy.deduplicate ? "yes" : "no");
    if (tell_round_trip(doctor, index) && allowed) {
        tell_layer(doctor, index);
    }
}

void doctor_look_at_devices(struct doctor *doctor)
{
    struct listing listing = {0};
    uint32_t next = 0;
    do {
        struct child_end end =
            child_run(list_devices, &next, CHILD_SECONDS, &listing, sizeof listing);
        if (died(doctor, "device", end, "asks the loader for devices")) {
            return;
        }
        for (uint32_t i = 0; i < MAX_LISTED && next + i < listing.count; i++) {
            tell_device(doctor, next + i, &listing.identities[i]);
        }
        next += MAX_LISTED;
    } while (next < listing.count);
    if (listing.count == 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, "device",
                    "install a Vulkan driver (mesa-vulkan-drivers, nvidia-driver)",
                    "there is no Vulkan device on this machine");
    }
}
