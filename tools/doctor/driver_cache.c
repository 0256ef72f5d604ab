// SPDX-License-Identifier: Apache-2.0
/* The shader cache that a driver keeps on disk by itself. If it is on, kept and large enough, a
 * program starts warm without the layer; if not, its user needs to know.
 *
 * Mesa ("Environment variables", docs.mesa3d.org) and NVIDIA's driver (its README, "OpenGL
 * environment variable settings", which hold for Vulkan too) say by which variables. */
#include <ctype.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#include "common/base/text.h"
#include "tools/cli/verb.h"
#include "tools/doctor/doctor.h"

#define CHECK "driver_disk_cache"

/* VkDriverId of drivers that headers of Debian 12 do not know. */
#define DRIVER_ID_NVK        24
#define DRIVER_ID_HONEYKRISP 26

#define GIB ((uint64_t)1 << 30)

/* A cache this close to its limit evicts something for each new pipeline. */
#define NEARLY_FULL(limit) ((limit) - (limit) / 20)

static bool cache_is_mesa(uint32_t driver_id)
{
    switch (driver_id) {
    case VK_DRIVER_ID_MESA_RADV:
    case VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA:
    case VK_DRIVER_ID_MESA_LLVMPIPE:
    case VK_DRIVER_ID_MESA_TURNIP:
    case VK_DRIVER_ID_MESA_V3DV:
    case VK_DRIVER_ID_MESA_PANVK:
    case DRIVER_ID_NVK:
    case DRIVER_ID_HONEYKRISP:
        return true;
    default:
        return false;
    }
}

static bool cache_says_yes(const char *value)
{
    return value && (strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0 ||
                     strcasecmp(value, "yes") == 0 || strcasecmp(value, "y") == 0);
}

/* The limit that a variable sets, "500M", "2G"; without a letter, the number is in `unit`. A
 * gibibyte where it says none. */
static uint64_t cache_limit(const char *variable, uint64_t unit)
{
    static const char letters[] = "KMG";
    char *end;
    const uint64_t number = strtoull(options_variable(variable, "0"), &end, 10);
    const char *letter = *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    const uint64_t limit = letter ? number << (10 * (letter - letters + 1)) : number * unit;
    return limit ? limit : GIB;
}

/* Global, because nftw(3) has no user pointer. */
static uint64_t cache_bytes;

static int cache_add_file(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)path;
    (void)place;
    cache_bytes += kind == FTW_F ? (uint64_t)status->st_size : 0;
    return 0;
}

static uint64_t cache_measure(const char *folder)
{
    cache_bytes = 0;
    nftw(folder, cache_add_file, 16, FTW_PHYS);
    return cache_bytes;
}

/* Whether `warmpipe run --dir` has made its folder for the drivers' own caches, which stays. */
static bool cache_run_keeps_it(const struct doctor *doctor)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/driver", doctor->config->root ? doctor->config->root : "");
    return access(folder, W_OK | X_OK) == 0;
}

/* The checks that are the same for every driver. `full_advice`: what to do where it is full. */
static void cache_tell_folder(struct doctor *doctor, const char *folder, uint64_t bytes,
                              uint64_t limit, const char *limit_name, const char *full_advice)
{
    char used[TEXT_BYTES_SIZE];
    char most[TEXT_BYTES_SIZE];
    text_bytes(bytes, used);
    text_bytes(limit, most);
    AUTO_FREE char *nearest = doctor_nearest_folder(folder);
    if (!nearest || access(nearest, W_OK | X_OK) != 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, CHECK,
                    "chown it to the user who runs the programs, or rely on the layer's cache",
                    "the driver cannot write its own cache in %s", folder);
    } else if (bytes >= NEARLY_FULL(limit)) {
        doctor_tell(
            doctor, VERDICT_PROBLEM, CHECK, full_advice,
            "the driver's own cache in %s is full: %s of %s, so new pipelines evict old ones (%s)",
            folder, used, most, limit_name);
    } else if (doctor_dies_with_container(folder)) {
        doctor_tell(doctor, cache_run_keeps_it(doctor) ? VERDICT_NOTE : VERDICT_PROBLEM, CHECK,
                    "'warmpipe run --dir VOLUME -- PROGRAM' keeps both caches in one volume",
                    "the driver's own cache in %s is lost with this container", folder);
    } else {
        doctor_tell(doctor, VERDICT_OK, CHECK, NULL, "the driver's own, in %s: %s%s%s", folder,
                    used, limit == UINT64_MAX ? "" : " of ", limit == UINT64_MAX ? "" : most);
    }
}

/* Mesa has several kinds of cache, each in a folder of its own. */
static uint64_t cache_measure_mesa(const char *parent)
{
    static const char *const folders[] = {"mesa_shader_cache", "mesa_shader_cache_db",
                                          "mesa_shader_cache_sf"};
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char folder[4096];
        snprintf(folder, sizeof folder, "%s/%s", parent, folders[i]);
        bytes += cache_measure(folder);
    }
    return bytes;
}

/* MESA_SHADER_CACHE_DIR, XDG_CACHE_HOME, ~/.cache. False: none. */
static bool cache_find_mesa(char *ret_folder, size_t size)
{
    const char *folder = options_variable("MESA_SHADER_CACHE_DIR", NULL);
    folder = folder ? folder : options_variable("XDG_CACHE_HOME", NULL);
    if (folder) {
        snprintf(ret_folder, size, "%s", folder);
        return true;
    }
    const char *home = options_variable("HOME", NULL);
    const struct passwd *user = home ? NULL : getpwuid(geteuid());
    home = user ? user->pw_dir : home;
    snprintf(ret_folder, size, "%s/.cache", home ? home : "");
    return home;
}

static void cache_tell_mesa(struct doctor *doctor)
{
    char folder[2048];
    const char *off =
        cache_says_yes(getenv("MESA_SHADER_CACHE_DISABLE")) ? "MESA_SHADER_CACHE_DISABLE"
        : cache_says_yes(getenv("MESA_GLSL_CACHE_DISABLE")) ? "MESA_GLSL_CACHE_DISABLE"
                                                            : NULL;
    if (off) {
        doctor_tell(doctor, VERDICT_PROBLEM, CHECK, "unset it, unless you want that",
                    "%s switches the driver's own cache off: a program without the layer compiles "
                    "everything at each start",
                    off);
    } else if (!cache_find_mesa(folder, sizeof folder)) {
        doctor_tell(doctor, VERDICT_PROBLEM, CHECK, "set HOME, or MESA_SHADER_CACHE_DIR",
                    "HOME is not set: the driver has no place for its own cache");
    } else {
        cache_tell_folder(doctor, folder, cache_measure_mesa(folder),
                          cache_limit("MESA_SHADER_CACHE_MAX_SIZE", GIB),
                          "MESA_SHADER_CACHE_MAX_SIZE",
                          "raise the limit, or remove mesa_shader_cache* in that folder");
    }
}

static void cache_tell_nvidia(struct doctor *doctor)
{
    char folder[2048];
    const char *named = options_variable("__GL_SHADER_DISK_CACHE_PATH", NULL);
    const char *xdg = options_variable("XDG_CACHE_HOME", NULL);
    const char *home = options_variable("HOME", NULL);
    const char *on = options_variable("__GL_SHADER_DISK_CACHE", NULL);
    const bool never_cleaned = cache_says_yes(getenv("__GL_SHADER_DISK_CACHE_SKIP_CLEANUP"));
    if (named) {
        snprintf(folder, sizeof folder, "%s", named);
    } else if (xdg) {
        snprintf(folder, sizeof folder, "%s/nvidia/GLCache", xdg);
    } else {
        snprintf(folder, sizeof folder, "%s/.cache/nvidia/GLCache", home ? home : "");
    }
    if (on && strcmp(on, "0") == 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, CHECK, "unset it, unless you want that",
                    "__GL_SHADER_DISK_CACHE=0 switches the driver's own cache off: a program "
                    "without the layer compiles everything at each start");
    } else if (named && access(named, W_OK | X_OK) != 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, CHECK, "create the folder: the driver does not",
                    "__GL_SHADER_DISK_CACHE_PATH names %s, which cannot be written: the driver's "
                    "own cache is off",
                    named);
    } else if (!named && !xdg && !home) {
        doctor_tell(doctor, VERDICT_PROBLEM, CHECK, "set HOME, or __GL_SHADER_DISK_CACHE_PATH",
                    "HOME is not set: the driver's own cache is off");
    } else {
        cache_tell_folder(doctor, folder, cache_measure(folder),
                          never_cleaned ? UINT64_MAX
                                        : cache_limit("__GL_SHADER_DISK_CACHE_SIZE", 1),
                          "__GL_SHADER_DISK_CACHE_SIZE", "raise the limit, or remove the folder");
    }
}

void doctor_check_driver_cache(struct doctor *doctor, const struct driver_identity *identity)
{
    if (cache_is_mesa(identity->driver_id) && !doctor->mesa_told) {
        doctor->mesa_told = true;
        cache_tell_mesa(doctor);
    } else if (identity->driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY && !doctor->nvidia_told) {
        doctor->nvidia_told = true;
        cache_tell_nvidia(doctor);
    }
}
