// SPDX-License-Identifier: Apache-2.0
/* warmpipe doctor: why it works on this machine, or why not. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/driver/policy.h"
#include "common/driver/vulkan_names.h"
#include "tools/cli/verb.h"
#include "tools/doctor/doctor.h"
#include "tools/vulkan/vulkan_loader.h"
#ifdef WARMPIPE_HAVE_REMOTE
#include "tools/remote/remote.h"
#endif

static const struct option_spec options[] = {
    VERB_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

/* The devices: what the layer may do with each driver, whether the driver's pipeline cache works,
 * and whether the layer makes a second start warm. */

#define MAX_DEVICES 16 /* further ones are not checked */

struct device_list {
    uint32_t count;
    struct driver_identity identities[MAX_DEVICES];
};

static void doctor_list_devices(void *answer, const void *task)
{
    struct device_list *list = answer;
    struct vulkan_devices devices;
    (void)task;
    if (!vulkan_devices_list(&devices)) {
        return;
    }
    for (; list->count < devices.count && list->count < MAX_DEVICES; list->count++) {
        list->identities[list->count] = devices.identities[list->count];
    }
}

/* Of several GPUs of one kind: they share what is on disk. */
static bool doctor_is_first_of_kind(const struct device_list *list, uint32_t index)
{
    const struct digest kind = identity_digest(&list->identities[index]);
    for (uint32_t i = 0; i < index; i++) {
        if (digest_equal(identity_digest(&list->identities[i]), kind)) {
            return false;
        }
    }
    return true;
}

static void doctor_tell_device(struct doctor *doctor, const struct device_list *list,
                               uint32_t index)
{
    const struct driver_identity *identity = &list->identities[index];
    char driver[VULKAN_DRIVER_SIZE];
    struct policy policy;
    vulkan_driver_words(identity, driver);
    policy_of_settings(doctor->config, identity, &policy);
    doctor_tell(doctor, VERDICT_OK, "device", NULL, "%u: %s, driver %s", index,
                identity->device_name, driver);
    const bool allowed = policy.inject && policy.persist;
    doctor_tell(doctor, allowed ? VERDICT_OK : VERDICT_NOTE, "policy",
                allowed ? NULL : "see 'warmpipe policy -v' for the rules that decide this",
                "rule %s: inject %s, persist %s, deduplicate %s", policy.rule,
                policy.inject ? "yes" : "no", policy.persist ? "yes" : "no",
                policy.deduplicate ? "yes" : "no");
    if (doctor_check_driver(doctor, index, !policy.single_cache) && allowed) {
        doctor_check_layer_starts(doctor, index);
    }
    if (doctor_is_first_of_kind(list, index)) {
        doctor_check_driver_cache(doctor, identity);
        doctor_check_deaths(doctor, identity);
    }
}

/* Drivers leave out a GPU whose file this user may not open, as in a container whose user is not
 * root. NVIDIA's has other files. */
static void doctor_check_render_nodes(struct doctor *doctor)
{
    glob_t nodes;
    if (glob("/dev/dri/renderD*", 0, NULL, &nodes) != 0) {
        return;
    }
    for (size_t i = 0; i < nodes.gl_pathc; i++) {
        struct stat status;
        if (access(nodes.gl_pathv[i], R_OK | W_OK) != 0 && stat(nodes.gl_pathv[i], &status) == 0) {
            doctor_tell(doctor, VERDICT_NOTE, "device",
                        "add this user to that group, in a container with --group-add",
                        "%s may not be opened by this user: it belongs to group %u",
                        nodes.gl_pathv[i], (unsigned)status.st_gid);
        }
    }
    globfree(&nodes);
}

static void doctor_check_devices(struct doctor *doctor)
{
    struct device_list list = {0};
    struct child_end end =
        doctor_try(doctor_list_devices, NULL, DOCTOR_CHILD_SECONDS, &list, sizeof list);
    if (doctor_child_died(doctor, "device", end, "asks the loader for devices")) {
        return;
    }
    doctor_check_render_nodes(doctor);
    for (uint32_t i = 0; i < list.count; i++) {
        doctor_tell_device(doctor, &list, i);
    }
    if (list.count == 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, "device",
                    "install a Vulkan driver (mesa-vulkan-drivers, nvidia-driver)",
                    "there is no Vulkan device on this machine");
    }
}

#ifdef WARMPIPE_HAVE_REMOTE
#define DOCTOR_REMOTE_NS (5 * CLOCK_S) /* longest wait for an answer */

/* The remote that WARMPIPE_REMOTE names: whether it answers from here, and whose heads are trusted.
 * `warmpipe remote check` tries more. */
static void doctor_check_remote(struct doctor *doctor)
{
    const char *url = getenv("WARMPIPE_REMOTE");
    const struct remote_options remote_options = {.url = url};
    struct remote remote;
    if (!url || !*url) {
        return;
    }
    if (!remote_open(&remote_options, &remote)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "remote", "correct WARMPIPE_REMOTE and the keys",
                    "the remote cannot be used");
        return;
    }
    struct engine *engine = remote.engine;
    uint64_t took_ns;
    engine->deadline_ns = clock_now_ns() + DOCTOR_REMOTE_NS;
    const enum status reason = remote_reach(&remote, &took_ns);
    const char *detail = engine_detail(engine, reason);
    if (reason == STATUS_ok) {
        doctor_tell(doctor, VERDICT_OK, "remote", NULL, "%s answers in %.1f ms", remote.name,
                    (double)took_ns / (double)CLOCK_MS);
    } else {
        doctor_tell(doctor, VERDICT_PROBLEM, "remote",
                    "programs start without it; see 'warmpipe remote check'", "%s: %s (%s)%s%s",
                    remote.name, status_text(reason), status_id(reason), *detail ? ": " : "",
                    detail);
    }
    if (remote.keys.count == 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, "remote",
                    "set WARMPIPE_REMOTE_KEY, or put the public key in ~/.config/warmpipe/trusted/",
                    "no key is trusted, so nothing can be pulled");
    }
    remote_close(&remote);
}
#endif

/* The last line: "1 problem, 2 notes". */
static void doctor_sum_up(struct doctor *doctor, bool json)
{
    const unsigned problems = doctor->told[VERDICT_PROBLEM];
    const unsigned notes = doctor->told[VERDICT_NOTE];
    if (json) {
        output_number(&doctor->output, "problems", problems);
        output_number(&doctor->output, "notes", notes);
        return;
    }
    char count[16] = "no";
    if (problems > 0) {
        snprintf(count, sizeof count, "%u", problems);
    }
    printf("%s %s", count, text_noun(problems, "problem", "problems"));
    if (notes > 0) {
        printf(", %u %s", notes, text_noun(notes, "note", "notes"));
    }
    printf("\n");
}

static int doctor_run(const struct arguments *arguments)
{
    AUTO(config_free) struct config config;
    config_read(config_environment, &config);
    struct doctor doctor = {.config = &config};
    output_begin(&doctor.output, arguments->json);
    output_open(&doctor.output, "findings", OUTPUT_LIST);
    const bool has_loader = doctor_check_loader(&doctor);
    doctor_check_manifests(&doctor);
    if (has_loader) {
        doctor_check_devices(&doctor);
    }
    doctor_check_variables(&doctor);
    doctor_check_storage(&doctor);
#ifdef WARMPIPE_HAVE_REMOTE
    doctor_check_remote(&doctor);
#endif
    doctor_check_processes(&doctor);
    output_close(&doctor.output);
    doctor_sum_up(&doctor, arguments->json);
    return output_end(&doctor.output, doctor.told[VERDICT_PROBLEM] ? EXIT_FINDING : EXIT_CLEAN);
}

const struct verb verb_doctor = {
    .name = "doctor",
    .doing = "trying",
    .summary = "find out why it works on this machine, or why not",
    .description =
        "Checks the Vulkan loader and the layer's manifests, each device's driver and\n"
        "what the layer may do with it, the environment, the directory of the caches, and\n"
        "the remote that WARMPIPE_REMOTE names.\n"
        "On each device it compiles small pipelines, in processes of their own: with\n"
        "caches that it saves and loads, or merges, and under the layer in a temporary\n"
        "directory. Prints one line for each finding: 'ok', 'note' or 'problem', and what\n"
        "to do about it. The last line counts problems and notes.\n\n"
        "Exit status: 0 it works, 1 there is a problem.",
    .options = options,
    .run = doctor_run,
};
