#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "doctor.h"
#include "layer_variables.h"
#include "manifests.h"
#include "vulkan_loader.h"

#define LIBRARY_NAME  "libVkLayer_warmpipe.so"
#define CHILD_SECONDS 30

/* What a child that made an instance has seen. */
struct chain {
    uint32_t loader_version; /* 0: the loader cannot be loaded */
    int32_t result;          /* of vkCreateInstance */
    char library[2048];      /* of the layer that is in the chain; "": it is not */
};

static int find_library(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    struct chain *chain = user;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (slash && strcmp(slash + 1, LIBRARY_NAME) == 0) {
        char *path = realpath(info->dlpi_name, NULL);
        snprintf(chain->library, sizeof chain->library, "%s", path ? path : info->dlpi_name);
        free(path);
    }
    return 0;
}

/* `task` says whether to set what `warmpipe run` sets. */
static void look_at_chain(void *answer, const void *task)
{
    struct chain *chain = answer;
    struct vulkan_loader loader;
    if (*(const bool *)task) {
        layer_variables_set("doctor", false);
    }
    if (vulkan_loader_open(&loader)) {
        return;
    }
    chain->loader_version = vulkan_loader_version(&loader);
    chain->result = vulkan_loader_create_instance(&loader, VK_API_VERSION_1_1);
    if (chain->result == VK_SUCCESS) {
        dl_iterate_phdr(find_library, chain);
    }
}

static bool chain_as(bool under_run, struct chain *ret_chain)
{
    struct child_end end =
        child_run(look_at_chain, &under_run, CHILD_SECONDS, ret_chain, sizeof *ret_chain);
    return end.answered;
}

static void tell_manifests(struct doctor *doctor)
{
    struct manifests manifests;
    manifests_find(&manifests);
    for (size_t i = 0; i < manifests.count; i++) {
        const struct manifest *manifest = &manifests.manifests[i];
        const char *kind = manifest->implicit ? "implicit" : "explicit";
        if (manifest->library_found) {
            doctor_tell(doctor, VERDICT_OK, "manifest", NULL, "%s, %s", manifest->path, kind);
        } else {
            doctor_tell(doctor, VERDICT_PROBLEM, "manifest",
                        "install the package again, or remove the manifest",
                        "%s, %s, names a library that is not there: %s", manifest->path, kind,
                        manifest->library);
        }
    }
    if (manifests.count == 0) {
        doctor_tell(doctor, VERDICT_NOTE, "manifest",
                    "'warmpipe run -- PROGRAM' needs none; for other programs: warmpipe install",
                    "the loader finds no manifest of the layer in its usual places");
    }
    manifests_free(&manifests);
}

static void tell_chain(struct doctor *doctor, const struct chain *plain, const struct chain *under)
{
    if (*plain->library) {
        doctor_tell(doctor, VERDICT_OK, "layer", NULL, "programs started from here get %s",
                    plain->library);
    } else if (plain->result == VK_SUCCESS) {
        doctor_tell(
            doctor, VERDICT_NOTE, "layer",
            "start them by 'warmpipe run --', or set WARMPIPE_ENABLE=1 where it is installed",
            "programs started from here do not get the layer");
    }
    if (*under->library) {
        doctor_tell(doctor, VERDICT_OK, "run", NULL, "'warmpipe run' gives them %s",
                    under->library);
    } else if (under->result == VK_SUCCESS) {
        doctor_tell(doctor, VERDICT_PROBLEM, "run",
                    "look what VK_LOADER_DEBUG=all warmpipe run -- vulkaninfo says of the layer",
                    "the loader leaves the layer out even under 'warmpipe run'");
    }
}

bool doctor_look_at_loader(struct doctor *doctor)
{
    struct chain plain = {0};
    struct chain under = {0};
    if (!chain_as(false, &plain)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "loader",
                    "see whether vulkaninfo works; if not, it is not warmpipe's doing",
                    "a process that creates a Vulkan instance dies");
        return false;
    }
    if (plain.loader_version == 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, "loader",
                    "install the Vulkan loader (libvulkan1, vulkan-loader)",
                    VULKAN_LOADER_NAME " cannot be loaded");
        return false;
    }
    doctor_tell(doctor, VERDICT_OK, "loader", NULL, VULKAN_LOADER_NAME ", version %u.%u.%u",
                VK_API_VERSION_MAJOR(plain.loader_version),
                VK_API_VERSION_MINOR(plain.loader_version),
                VK_API_VERSION_PATCH(plain.loader_version));
    tell_manifests(doctor);
    if (!chain_as(true, &under)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "run", "please report it",
                    "a process that creates a Vulkan instance under 'warmpipe run' dies");
        return true;
    }
    tell_chain(doctor, &plain, &under);
    return true;
}
