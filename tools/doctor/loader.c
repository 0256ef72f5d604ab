// SPDX-License-Identifier: Apache-2.0
/* The loader, the layer's manifests and libraries, and programs that bypass them. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/doctor/doctor.h"
#include "tools/install/manifests.h"
#include "tools/run/layer_process.h"
#include "tools/vulkan/vulkan_loader.h"

#define CHILD_SECONDS 30

/* What a child process that creates an instance sees. */
struct chain {
    uint32_t loader_version; /* 0: the loader cannot be loaded */
    int32_t result;          /* of vkCreateInstance */
    char library[2048];      /* of the layer, if it is in the chain; else "" */
};

static int loader_find_library(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    struct chain *chain = user;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (slash && strcmp(slash + 1, LAYER_LIBRARY) == 0) {
        AUTO_FREE char *path = realpath(info->dlpi_name, NULL);
        snprintf(chain->library, sizeof chain->library, "%s", path ? path : info->dlpi_name);
    }
    return 0;
}

/* `task` points to whether to set the variables of `warmpipe run`. */
static void loader_look_at_chain(void *answer, const void *task)
{
    struct chain *chain = answer;
    struct vulkan_loader loader;
    if (*(const bool *)task) {
        layer_variables_set(false);
    }
    if (vulkan_loader_open(&loader)) {
        return;
    }
    chain->loader_version = vulkan_loader_version(&loader);
    chain->result = vulkan_loader_create_instance(&loader, VK_API_VERSION_1_1);
    if (chain->result == VK_SUCCESS) {
        dl_iterate_phdr(loader_find_library, chain);
    }
}

static bool loader_try_chain(bool under_run, struct chain *ret_chain)
{
    struct child_end end =
        doctor_try(loader_look_at_chain, &under_run, CHILD_SECONDS, ret_chain, sizeof *ret_chain);
    return end.answered;
}

/* Whether an implicit manifest with a library is there. */
static bool loader_finds_installed(void)
{
    AUTO(manifests_free) struct manifests manifests;
    bool found = false;
    manifests_find(&manifests);
    for (size_t i = 0; i < manifests.count; i++) {
        found |= manifests.manifests[i].implicit && manifests.manifests[i].library_found;
    }
    return found;
}

static void loader_tell_chain(struct doctor *doctor, const struct chain *plain,
                              const struct chain *under)
{
    if (*plain->library) {
        doctor_tell(doctor, VERDICT_OK, "layer", NULL, "programs started from here get %s",
                    plain->library);
    } else if (plain->result == VK_SUCCESS) {
        doctor_tell(doctor, VERDICT_NOTE, "layer",
                    loader_finds_installed()
                        ? "start them with 'warmpipe run --', or set WARMPIPE_ENABLE=1"
                        : "start them with 'warmpipe run --', or install the layer and set "
                          "WARMPIPE_ENABLE=1",
                    "programs started from here do not get the layer");
    }
    if (*under->library) {
        doctor_tell(doctor, VERDICT_OK, "run", NULL, "programs under 'warmpipe run' get %s",
                    under->library);
    } else if (under->result == VK_SUCCESS) {
        AUTO_FREE char *reason = layer_unreachable();
        AUTO_FREE char *keeper = layer_kept_out_by();
        const char *why = reason ? reason : keeper;
        doctor_tell(
            doctor, VERDICT_PROBLEM, "run",
            reason ? "use the tool where it was built or installed, below a folder without "
                     "a colon in its name"
            : keeper
                ? "let that file allow " LAYER_NAME " (by the Vulkan Configurator), or remove it"
                : "see what VK_LOADER_DEBUG=all warmpipe run -- vulkaninfo says about the layer",
            "the loader does not load the layer even under 'warmpipe run'%s%s", why ? ": " : "",
            why ? why : "");
    }
}

bool doctor_check_loader(struct doctor *doctor)
{
    struct chain plain = {0};
    struct chain under = {0};
    if (!loader_try_chain(false, &plain)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "loader",
                    "run vulkaninfo: if it dies too, the Vulkan installation is at fault",
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
    if (!loader_try_chain(true, &under)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "run", "please report it",
                    "a process that creates a Vulkan instance under 'warmpipe run' dies");
        return true;
    }
    loader_tell_chain(doctor, &plain, &under);
    return true;
}

struct library {
    bool works;
    char error[512]; /* what dlopen says */
    char path[2048]; /* where the dynamic linker has found it */
};

static void libraries_open(void *answer, const void *task)
{
    struct library *library = answer;
    void *handle = dlopen(task, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map;
    library->works = handle && dlsym(handle, "vkNegotiateLoaderLayerInterfaceVersion");
    if (library->works && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
        snprintf(library->path, sizeof library->path, "%s", map->l_name);
    }
    if (!library->works) {
        const char *error = handle ? "it is not a Vulkan layer" : dlerror();
        snprintf(library->error, sizeof library->error, "%s",
                 error ? error : "it cannot be loaded");
    }
}

/* A 32-bit library beside a 64-bit one, or the other way round, is for other programs: it cannot be
 * tried here. */
static bool libraries_is_of_other_width(const char *path)
{
    unsigned char start[EI_NIDENT];
    AUTO_CLOSE const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool whole = fd >= 0 && read(fd, start, sizeof start) == (ssize_t)sizeof start;
    const unsigned char ours = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    return whole && memcmp(start, ELFMAG, SELFMAG) == 0 && start[EI_CLASS] != ours;
}

/* Whether the library can be loaded; the child that tries may die of it. */
static bool libraries_try(const char *path, struct library *ret_library)
{
    struct child_end end =
        doctor_try(libraries_open, path, CHILD_SECONDS, ret_library, sizeof *ret_library);
    if (!end.answered) {
        *ret_library = (struct library){.error = "a process that loads it dies"};
    }
    return ret_library->works;
}

static void libraries_tell(struct doctor *doctor, const struct manifest *manifest,
                           bool has_other_width)
{
    const char *kind = manifest->implicit ? "implicit" : "explicit";
    const char *advice = "install the package again, or remove the manifest";
    struct library library;
    if (!manifest->library) {
        doctor_tell(doctor, VERDICT_PROBLEM, "manifest", advice,
                    "%s (%s) is not a manifest that the loader can read", manifest->path, kind);
    } else if (!manifest->library_found) {
        doctor_tell(doctor, VERDICT_PROBLEM, "manifest", advice,
                    "%s (%s) names a library that does not exist: %s", manifest->path, kind,
                    manifest->library);
    } else if (libraries_is_of_other_width(manifest->library)) {
        doctor_tell(doctor, has_other_width ? VERDICT_OK : VERDICT_PROBLEM, "manifest",
                    has_other_width ? NULL : "install the package of this architecture as well",
                    "%s (%s) is for %d-bit programs; this one is %d-bit", manifest->path, kind,
                    sizeof(void *) == 8 ? 32 : 64, (int)sizeof(void *) * 8);
    } else if (!libraries_try(manifest->library, &library)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "manifest", advice,
                    "%s (%s) names a library that cannot be loaded: %s", manifest->path, kind,
                    library.error);
    } else {
        doctor_tell(doctor, VERDICT_OK, "manifest", NULL, "%s (%s)", manifest->path, kind);
    }
}

static bool libraries_is_usable(const struct manifest *manifest)
{
    return manifest->library && manifest->library_found &&
           !libraries_is_of_other_width(manifest->library);
}

/* The file that a manifest leads to; to be freed, NULL: none. Debian's package gives a plain name,
 * which the dynamic linker looks up. */
static char *libraries_find_file(const struct manifest *manifest)
{
    struct library library;
    if (strchr(manifest->library, '/')) {
        return realpath(manifest->library, NULL);
    }
    return libraries_try(manifest->library, &library) ? realpath(library.path, NULL) : NULL;
}

/* Two manifests of one kind with different libraries: the loader takes the first. *told is what was
 * told last, to be freed: both kinds mostly say the same. */
static void libraries_tell_shadowed(struct doctor *doctor, const struct manifests *manifests,
                                    bool implicit, char **told)
{
    bool is_first = true;
    AUTO_FREE char *first_path = NULL;
    for (size_t i = 0; i < manifests->count; i++) {
        const struct manifest *manifest = &manifests->manifests[i];
        if (manifest->implicit != implicit || !libraries_is_usable(manifest)) {
            continue;
        }
        AUTO_FREE char *path = libraries_find_file(manifest);
        if (is_first) {
            is_first = false;
            first_path = path;
            path = NULL;
            continue;
        }
        if (first_path && path && strcmp(first_path, path) != 0) {
            char *finding = output_format(
                "two copies of the layer, and it depends on the loader which one is used: %s, %s",
                first_path, path);
            if (finding && (!*told || strcmp(finding, *told) != 0)) {
                doctor_tell(doctor, VERDICT_PROBLEM, "manifest",
                            "remove one of them ('warmpipe uninstall', or the package)", "%s",
                            finding);
            }
            free(*told);
            *told = finding;
        }
    }
}

void doctor_check_manifests(struct doctor *doctor)
{
    AUTO(manifests_free) struct manifests manifests;
    manifests_find(&manifests);
    bool usable = false;
    for (size_t i = 0; i < manifests.count; i++) {
        usable |= libraries_is_usable(&manifests.manifests[i]);
    }
    for (size_t i = 0; i < manifests.count; i++) {
        libraries_tell(doctor, &manifests.manifests[i], usable);
    }
    AUTO_FREE char *told = NULL;
    libraries_tell_shadowed(doctor, &manifests, true, &told);
    libraries_tell_shadowed(doctor, &manifests, false, &told);
    if (manifests.count == 0) {
        doctor_tell(
            doctor, VERDICT_NOTE, "manifest",
            "'warmpipe run -- PROGRAM' needs none; for other programs, run 'warmpipe install'",
            "the loader finds no manifest of the layer in its usual places");
    }
}

static void processes_tell(pid_t process, const struct bypass *bypass, void *user)
{
    static const char left_out[] =
        "start it with 'warmpipe run -- PROGRAM': it may switch implicit layers off by itself, as "
        "Blender does (PROGRAMS.md)";
    static const char bypassed[] =
        "no layer reaches a program that opens the driver itself: unset VK_DRIVER_FILES and "
        "VK_ICD_FILENAMES, if the program reads them (PROGRAMS.md)";
    /* NVIDIA's library serves OpenGL alone as well. */
    const bool may_be_opengl = strncmp(bypass->driver, "libGLX", strlen("libGLX")) == 0;
    doctor_tell(user, may_be_opengl ? VERDICT_NOTE : VERDICT_PROBLEM, "program",
                bypass->has_loader ? left_out : bypassed,
                "process %d has loaded %s%s without the layer", (int)process, bypass->driver,
                bypass->has_loader ? " and the loader" : "");
}

void doctor_check_processes(struct doctor *doctor)
{
    bypass_find(processes_tell, doctor);
}
