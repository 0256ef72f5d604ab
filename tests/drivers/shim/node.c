// SPDX-License-Identifier: Apache-2.0
// The files of a device, as libdrm looks for them: its node in /dev/dri, and what /sys says of it.
// The functions of libc that open and list files are replaced; all other files are as they are.
#include "shim.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NODES      "/dev/dri"
#define NODE_NAME  "renderD128"
#define NODE       NODES "/" NODE_NAME
#define NODE_MAJOR 226
#define NODE_MINOR 128
#define ABOUT      "/sys/dev/char/226:128/device/"

// The function of this name that comes after this library's.
#define NEXT(name) (__extension__(__typeof__(name) *) dlsym(RTLD_NEXT, #name))

uint32_t shim_device_id(void)
{
    const char *id = getenv("INTEL_GPU_ID");
    return (uint32_t)strtoul(id ? id : "9a49", NULL, 16);
}

bool shim_is_xe(void)
{
    const uint32_t family = shim_device_id() >> 8;
    return family == 0x64 || family == 0xb0 ||
           family == 0xe2; // Lunar Lake, Panther Lake, Battlemage
}

// A file as large as an address space, where the device's memory lies. A page of it takes memory
// once it is written. Mesa opens the node for the first time under a lock of its own.
static int memory_file(void)
{
    static int file = -1;
    if (file < 0) {
        file = memfd_create("device", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, (off_t)1 << 46) != 0)
            abort();
    }
    return file;
}

// A new file with what the file of this name in /sys says; -1 with errno where there is none.
static int open_about(const char *name)
{
    char id[16];
    snprintf(id, sizeof id, "0x%04x\n", shim_device_id());
    const struct {
        const char *name, *text;
    } files[] = {
        {"uevent", "PCI_SLOT_NAME=0000:00:02.0\n"},
        {"vendor", "0x8086\n"},
        {"device", id},
        {"revision", "0x01\n"},
        {"subsystem_vendor", "0x8086\n"},
        {"subsystem_device", "0x0000\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        if (strcmp(name, files[i].name) == 0) {
            const size_t length = strlen(files[i].text);
            const int file = memfd_create(name, MFD_CLOEXEC);
            if (file < 0 || write(file, files[i].text, length) != (ssize_t)length ||
                lseek(file, 0, SEEK_SET) != 0)
                abort();
            return file;
        }
    }
    errno = ENOENT;
    return -1;
}

static bool is_node(const char *path)
{
    return strcmp(path, NODE) == 0;
}

// Whether this is a file of the device. `*file` is then what `open` gives.
static bool open_ours(const char *path, int *file)
{
    if (is_node(path))
        *file = fcntl(memory_file(), F_DUPFD_CLOEXEC, 3);
    else if (strncmp(path, ABOUT, strlen(ABOUT)) == 0)
        *file = open_about(path + strlen(ABOUT));
    else
        return false;
    return true;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        mode_t mode = 0;                                                                           \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                     \
            va_list arguments;                                                                     \
            va_start(arguments, flags);                                                            \
            mode = va_arg(arguments, mode_t);                                                      \
            va_end(arguments);                                                                     \
        }                                                                                          \
        int file;                                                                                  \
        return open_ours(path, &file) ? file : NEXT(name)(path, flags, mode);                      \
    }
OPEN(open)
OPEN(open64)

// What a program that was built with _FORTIFY_SOURCE calls instead.
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);

int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

int __open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

#define FOPEN(name)                                                                                \
    FILE *name(const char *restrict path, const char *restrict mode)                               \
    {                                                                                              \
        int file;                                                                                  \
        if (!open_ours(path, &file))                                                               \
            return NEXT(name)(path, mode);                                                         \
        return file < 0 ? NULL : fdopen(file, mode);                                               \
    }
FOPEN(fopen)
FOPEN(fopen64)

ssize_t readlink(const char *restrict path, char *restrict target, size_t size)
{
    static const char bus[] = "/sys/bus/pci";
    if (strcmp(path, ABOUT "subsystem") != 0)
        return NEXT(readlink)(path, target, size);
    const size_t length = sizeof bus - 1 < size ? sizeof bus - 1 : size;
    memcpy(target, bus, length);
    return (ssize_t)length;
}

// Makes the status of another file that of the node; 0.
#define BE_NODE(status)                                                                            \
    ((status)->st_mode = S_IFCHR | 0666, (status)->st_rdev = makedev(NODE_MAJOR, NODE_MINOR), 0)

#define STAT(name)                                                                                 \
    int name(const char *restrict path, struct name *restrict status)                              \
    {                                                                                              \
        const bool is_folder = strcmp(path, ABOUT "drm") == 0;                                     \
        const int result = NEXT(name)(is_node(path) || is_folder ? "/" : path, status);            \
        return is_node(path) && result == 0 ? BE_NODE(status) : result;                            \
    }
STAT(stat)
STAT(stat64)

#define FSTAT(name, of)                                                                            \
    int name(int file, struct of *status)                                                          \
    {                                                                                              \
        struct of memory;                                                                          \
        const int result = NEXT(name)(file, status);                                               \
        if (result != 0 || NEXT(name)(memory_file(), &memory) != 0 ||                              \
            memory.st_ino != status->st_ino || memory.st_dev != status->st_dev)                    \
            return result;                                                                         \
        return BE_NODE(status);                                                                    \
    }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

// The folder of nodes while a thread lists it, and whether the one node was given.
static _Thread_local DIR *nodes;
static _Thread_local bool is_listed;

DIR *opendir(const char *path)
{
    if (strcmp(path, NODES) != 0)
        return NEXT(opendir)(path);
    nodes = NEXT(opendir)("/");
    is_listed = false;
    return nodes;
}

#define READDIR(name, dirent)                                                                      \
    struct dirent *name(DIR *folder)                                                               \
    {                                                                                              \
        static struct dirent node = {.d_type = DT_CHR, .d_name = NODE_NAME};                       \
        if (folder != nodes)                                                                       \
            return NEXT(name)(folder);                                                             \
        if (is_listed)                                                                             \
            return NULL;                                                                           \
        is_listed = true;                                                                          \
        return &node;                                                                              \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

int closedir(DIR *folder)
{
    if (folder == nodes)
        nodes = NULL;
    return NEXT(closedir)(folder);
}

int ioctl(int file, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    // 'd' is the type of all DRM's calls, and there is no other device of DRM.
    return _IOC_TYPE(request) == 'd' ? drm_ioctl(_IOC_NR(request), argument)
                                     : NEXT(ioctl)(file, request, argument);
}
