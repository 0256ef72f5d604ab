// SPDX-License-Identifier: Apache-2.0
#include "common/driver/policy.h"
#include "common/driver/vulkan_names.h"
#include "tools/doctor/doctor.h"
#include "tools/vulkan/vulkan_loader.h"

#define MAX_DEVICES 16 /* further ones are not checked */

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
    if (doctor_check_driver(doctor, index, !policy.single_cache) && allowed) {
        doctor_check_layer_starts(doctor, index);
    }
    doctor_check_driver_cache(doctor, identity);
}

void doctor_check_devices(struct doctor *doctor)
{
    struct listing listing = {0};
    struct child_end end =
        doctor_try(devices_list, NULL, DOCTOR_CHILD_SECONDS, &listing, sizeof listing);
    if (doctor_child_died(doctor, "device", end, "asks the loader for devices")) {
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
