// SPDX-License-Identifier: Apache-2.0
#include "tools/run/layer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/text.h"
#include "common/files/file.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/install/manifests.h"

bool variable_set(const char *name, const char *value, bool verbose)
{
    if (setenv(name, value, 1) != 0) {
        output_message("cannot set %s: %s", name, strerror(errno));
        return false;
    }
    if (verbose) {
        fprintf(stderr, "warmpipe: %s=%s\n", name, value);
    }
    return true;
}

bool variable_set_if_unset(const char *name, const char *value, bool verbose)
{
    return options_variable(name, NULL) || variable_set(name, value, verbose);
}

static size_t variable_trim_slashes(const char *text, size_t length)
{
    while (length > 1 && text[length - 1] == '/') {
        length--;
    }
    return length;
}

/* Whether `entry` is in a list separated by colons; slashes at the end do not matter. */
static bool variable_list_contains(const char *list, const char *entry)
{
    size_t size = variable_trim_slashes(entry, strlen(entry));
    for (const char *part = list; *part; part += *part == ':') {
        size_t length = strcspn(part, ":");
        if (variable_trim_slashes(part, length) == size && memcmp(part, entry, size) == 0) {
            return true;
        }
        part += length;
    }
    return false;
}

/* Adds `entry` to a variable that holds a list, in front or behind, or to `preset` where it is
 * unset or empty. The user's entries stay, and no entry is added twice. */
static bool variable_add_to_list(const char *name, const char *preset, const char *entry,
                                 bool in_front, bool verbose)
{
    const char *list = options_variable(name, preset);
    if (variable_list_contains(list, entry)) {
        return true;
    }
    const char *between = *list ? ":" : "";
    AUTO_FREE char *value =
        output_format("%s%s%s", in_front ? entry : list, between, in_front ? list : entry);
    return value && variable_set(name, value, verbose);
}

char *layer_unreachable(void)
{
    AUTO_FREE char *data = layer_data_directory();
    if (!data) {
        return strdup("no " LAYER_MANIFEST " beside this program: programs get the layer only if "
                      "it is installed");
    }
    return !strchr(data, ':')
               ? NULL
               : output_format("a colon in '%s' ends a folder's name for the Vulkan loader: "
                               "programs get the layer only if it is installed ('warmpipe "
                               "install')",
                               data);
}

bool layer_is_in_patterns(const char *patterns)
{
    bool found = false;
    AUTO_FREE char *copy = patterns ? strdup(patterns) : NULL;
    char *rest = copy;
    for (char *part; copy && (part = strsep(&rest, ","));) {
        found |= strcmp(part, "~all~") == 0 || (*part != '~' && pattern_matches(part, LAYER_NAME));
    }
    return found;
}

bool layer_variables_set(bool verbose)
{
    if (!variable_set("WARMPIPE_ENABLE", "1", verbose)) {
        return false;
    }
    AUTO_FREE char *reason = layer_unreachable();
    AUTO_FREE char *data = layer_data_directory();
    if (reason) {
        output_message("%s", reason);
        return true;
    }
    AUTO_FREE char *folder = data ? output_format("%s/" LAYER_IMPLICIT_FOLDER, data) : NULL;
    return folder &&
           variable_add_to_list("XDG_DATA_DIRS", "/usr/local/share/:/usr/share/", data, false,
                                verbose) &&
           variable_add_to_list("VK_ADD_IMPLICIT_LAYER_PATH", "", folder, true, verbose) &&
           variable_add_to_list("VK_INSTANCE_LAYERS", "", LAYER_NAME, true, verbose);
}

/* doctor looks twice at a process before it reports it. */
#define SECOND_LOOK_US 300000

/* Pauses of a watch, in milliseconds. */
static const int watch_pauses[] = {1000, 1000, 2000, 4000, 8000, 16000, 28000};

/* File names of drivers' libraries. NVIDIA's also serves OpenGL. */
static const char *const driver_patterns[] = {"libvulkan_*.so*", "libvk_swiftshader.so*",
                                              "libGLX_nvidia.so*", "amdvlk*.so*"};

static bool bypass_is_driver(const char *name)
{
    for (size_t i = 0; i < sizeof driver_patterns / sizeof driver_patterns[0]; i++) {
        if (fnmatch(driver_patterns[i], name, 0) == 0) {
            return true;
        }
    }
    return false;
}

static FILE *bypass_open(pid_t process, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
    return fopen(path, "re");
}

/* Whether a process has mapped a Vulkan driver's library and not the layer's; which one. The loader
 * maps drivers before layers, so one look proves nothing. False where /proc shows nothing. */
static bool bypass_look(pid_t process, struct bypass *ret_bypass)
{
    AUTO_FCLOSE FILE *maps = bypass_open(process, "maps");
    AUTO_FREE char *line = NULL;
    size_t capacity = 0;
    bool has_layer = false;
    bool has_driver = false;
    ret_bypass->has_loader = false;
    while (maps && getline(&line, &capacity, maps) > 0) {
        char *slash = strrchr(line, '/');
        if (!slash) {
            continue;
        }
        char *name = slash + 1;
        name[strcspn(name, " \n")] = '\0';
        has_layer |= strcmp(name, LAYER_LIBRARY) == 0;
        ret_bypass->has_loader |= fnmatch("libvulkan.so*", name, 0) == 0;
        if (!has_driver && bypass_is_driver(name)) {
            snprintf(ret_bypass->driver, sizeof ret_bypass->driver, "%s", name);
            has_driver = true;
        }
    }
    return has_driver && !has_layer;
}

/* Where the loader is mapped as well, it may have opened the driver to tell of its extensions: the
 * layer comes with the instance, if the program ever makes one. */
static void bypass_watch_process(pid_t process, int fd)
{
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    struct bypass bypass;
    bool seen = false;
    for (size_t i = 0; i < sizeof watch_pauses / sizeof watch_pauses[0]; i++) {
        if (poll(&ended, 1, watch_pauses[i]) != 0) {
            return;
        }
        const bool sees = bypass_look(process, &bypass) && !bypass.has_loader;
        if (sees && seen) {
            output_message("the program has loaded %s without the layer: it bypasses the "
                           "Vulkan loader, or uses OpenGL alone (PROGRAMS.md)",
                           bypass.driver);
            return;
        }
        seen = sees;
    }
}

/* Descriptors that a caller hands on are below this, as a rule. */
#define BYPASS_DESCRIPTORS 1024

/* Holds nothing but `fd` and where to say it: the program may be gone a moment before us, and who
 * reads what it writes, or waits for a lock that was handed on to it, waits for us as well. */
static void bypass_let_go(int fd)
{
    (void)!chdir("/");
    for (int other = 0; other < BYPASS_DESCRIPTORS; other++) {
        if (other != fd && other != STDERR_FILENO) {
            close(other);
        }
    }
}

/* Whether orphans become children of this process, and so of the program: it would wait for one
 * that it has not made. */
static bool bypass_adopts(void)
{
    int adopts = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &adopts);
    return adopts || getpid() == 1;
}

/* Whether the first process waits for whatever child ends, as far as can be seen: each orphan would
 * stay there as a zombie. One that leaves SIGCHLD as it is does not (`sleep` in a container that is
 * only entered), nor does one with threads, which no init has (node, Java, Go: a service that
 * starts programs waits for those alone). */
static bool bypass_is_reaped(void)
{
    AUTO_FCLOSE FILE *status = bypass_open(1, "status");
    AUTO_FREE char *line = NULL;
    size_t capacity = 0;
    bool has_threads = false;
    uint64_t minded = 0; /* signals: bit 0 is number 1 */
    while (status && getline(&line, &capacity, status) > 0) {
        has_threads |= strncmp(line, "Threads:", 8) == 0 && strcmp(line + 8, "\t1\n") != 0;
        if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0 ||
            strncmp(line, "SigCgt:", 7) == 0) {
            minded |= strtoull(line + 7, NULL, 16);
        }
    }
    return !status || (!has_threads && (minded >> (SIGCHLD - 1) & 1));
}

void bypass_watch(void)
{
    const pid_t process = getpid();
    const int fd =
        bypass_adopts() || !bypass_is_reaped() ? -1 : (int)syscall(SYS_pidfd_open, process, 0);
    if (fd < 0) {
        return;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    /* The first child only makes the second, whose parent is then not the program. vfork spares one
     * of two copies of the page tables. */
    const pid_t child = vfork();
    if (child == 0) {
        if (_Fork() == 0) {
            bypass_let_go(fd);
            bypass_watch_process(process, fd);
        }
        _exit(0);
    }
    close(fd);
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
}

/* By the environment that the process was started with. */
static bool bypass_wants_layer(pid_t process)
{
    AUTO_FCLOSE FILE *environment = bypass_open(process, "environ");
    AUTO_FREE char *variable = NULL;
    size_t capacity = 0;
    bool wanted = false;
    bool disabled = false;
    while (environment && getdelim(&variable, &capacity, '\0', environment) > 0) {
        wanted |= strcmp(variable, "WARMPIPE_ENABLE=1") == 0 ||
                  (strncmp(variable, "VK_", 3) == 0 && strstr(variable, LAYER_NAME));
        disabled |= strncmp(variable, "WARMPIPE_DISABLE=", 17) == 0;
    }
    return wanted && !disabled;
}

void bypass_find(void (*tell)(pid_t process, const struct bypass *bypass, void *user), void *user)
{
    AUTO_LISTING DIR *folder = opendir("/proc");
    struct bypass bypass;
    for (const char *name; (name = listing_next(folder));) {
        const pid_t process = (pid_t)strtol(name, NULL, 10);
        if (process > 0 && bypass_wants_layer(process) && bypass_look(process, &bypass)) {
            usleep(SECOND_LOOK_US);
            if (bypass_look(process, &bypass)) {
                tell(process, &bypass, user);
            }
        }
    }
}
