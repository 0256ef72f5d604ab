// SPDX-License-Identifier: Apache-2.0
#include "common/base/machine.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/text.h"

/* The longest path of a control group, and how many bytes of a file are read. */
#define PATH_SIZE 1024
#define TEXT_SIZE 8192

/* Reads the beginning of the file folder/name as text. False: it cannot be read, or is empty. */
static bool machine_read_file(const char *folder, const char *name, char text[TEXT_SIZE])
{
    char path[2 * PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int fd = io_open(AT_FDCWD, path, O_RDONLY);
    const ssize_t size = fd < 0 ? -1 : io_read(fd, text, TEXT_SIZE - 1, IO_HERE);
    io_close(fd);
    text[size > 0 ? size : 0] = '\0';
    return size > 0;
}

static struct digest machine_start_known;

static void machine_init_start(void)
{
    char text[64]; /* the thread that ends a process may have a small stack */
    const int fd = io_open(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY);
    const ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text);
    io_close(fd);
    if (size > 0) {
        machine_start_known = digest_of(text, (size_t)size);
    }
}

struct digest machine_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, machine_init_start);
    return machine_start_known;
}

/* The number after `key` at the start of a line, as in "MemTotal:  8 kB". */
static bool machine_find_line_number(const char *text, const char *key, uint64_t *ret_number)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && strchr(": \t", line[length])) {
            line += length + strspn(line + length, ": \t");
            return text_parse_digits(&line, UINT64_MAX, ret_number);
        }
    }
    return false;
}

static bool machine_read_group_number(const char *folder, const char *name, uint64_t *ret_number)
{
    char text[TEXT_SIZE];
    const char *digits = text;
    return machine_read_file(folder, name, text) &&
           text_parse_digits(&digits, UINT64_MAX, ret_number);
}

/* The process's group in the hierarchy of a controller of version 1, or (NULL) in that of
 * version 2. `group` begins with a slash. */
static bool machine_find_control_group(const char *root, const char *controller,
                                       char group[PATH_SIZE])
{
    char text[TEXT_SIZE];
    if (!machine_read_file(root, "proc/self/cgroup", text)) {
        return false;
    }
    char *rest = text;
    char *line;
    while ((line = strsep(&rest, "\n"))) {
        char *controllers = strchr(line, ':');
        char *place = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!place) {
            continue;
        }
        *controllers++ = '\0';
        *place++ = '\0';
        bool found = !controller && *controllers == '\0';
        for (char *name; controller && (name = strsep(&controllers, ","));) {
            found |= strcmp(name, controller) == 0;
        }
        const size_t size = strlen(place) + 1;
        if (found && *place == '/' && size <= PATH_SIZE) {
            memcpy(group, place, size);
            return true;
        }
    }
    return false;
}

/* Calls `visit` for the folders of the process's group and of all groups above it, because every
 * limit applies. In a container some of these folders may not exist. */
static void visit_control_groups(const char *root, const char *controller,
                                 void (*visit)(const char *folder, void *user), void *user)
{
    char group[PATH_SIZE];
    char folder[2 * PATH_SIZE];
    if (!machine_find_control_group(root, controller, group)) {
        return;
    }
    for (;;) {
        int length = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup/%s%s", root,
                              controller ? controller : "", group);
        if (length > 0 && length < (int)sizeof folder) {
            visit(folder, user);
        }
        char *slash = strrchr(group, '/');
        if (!slash || group[1] == '\0') {
            return;
        }
        slash[slash == group] = '\0';
    }
}

static void apply_cpu_quota(uint64_t quota, uint64_t period, unsigned *cores)
{
    uint64_t whole = period > 0 ? quota / period : 0;
    whole = whole > 0 ? whole : 1;
    *cores = whole < *cores ? (unsigned)whole : *cores;
}

static void visit_cpu_2(const char *folder, void *user)
{
    char text[TEXT_SIZE];
    uint64_t quota;
    uint64_t period;
    if (machine_read_file(folder, "cpu.max", text) && text_parse_two(text, &quota, &period)) {
        apply_cpu_quota(quota, period, user);
    }
}

/* -1: no quota. */
static void visit_cpu_1(const char *folder, void *user)
{
    uint64_t quota;
    uint64_t period;
    if (machine_read_group_number(folder, "cpu.cfs_quota_us", &quota) &&
        machine_read_group_number(folder, "cpu.cfs_period_us", &period)) {
        apply_cpu_quota(quota, period, user);
    }
}

/* Grows the set until it is large enough for the machine. */
static unsigned machine_affinity_cores(void)
{
    for (int size = CPU_SETSIZE; size <= 1 << 16; size *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)size);
        if (!set) {
            break;
        }
        size_t bytes = CPU_ALLOC_SIZE((size_t)size);
        bool known = sched_getaffinity(0, bytes, set) == 0;
        int count = known ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (known) {
            return count > 0 ? (unsigned)count : 1;
        }
    }
    return 1;
}

unsigned machine_cores(const char *root)
{
    unsigned cores = machine_affinity_cores();
    visit_control_groups(root, NULL, visit_cpu_2, &cores);
    visit_control_groups(root, "cpu", visit_cpu_1, &cores);
    return cores;
}

struct memory {
    uint64_t available;
    uint64_t total;
};

static void apply_memory_limit(struct memory *memory, uint64_t total, uint64_t used)
{
    uint64_t available = used < total ? total - used : 0;
    if (available < memory->available) {
        *memory = (struct memory){.available = available, .total = total};
    }
}

/* Page cache is free, as MemAvailable counts it: also what was read twice, which is "active", and
 * fills the group of a service that has run for a while. */
static void apply_group_limit(struct memory *memory, const char *folder, const char *limit_name,
                              const char *used_name, const char *const cached_names[2])
{
    uint64_t limit;
    uint64_t used;
    char text[TEXT_SIZE];
    if (!machine_read_group_number(folder, limit_name, &limit) ||
        !machine_read_group_number(folder, used_name, &used)) {
        return;
    }
    machine_read_file(folder, "memory.stat", text);
    for (int i = 0; i < 2; i++) {
        uint64_t cached;
        if (machine_find_line_number(text, cached_names[i], &cached)) {
            used -= cached < used ? cached : used;
        }
    }
    apply_memory_limit(memory, limit, used);
}

/* Beyond memory.high nobody is killed, but each thread of the group is made to sleep as it takes
 * more, up to two seconds at a time. */
static void visit_memory_2(const char *folder, void *user)
{
    static const char *const cached_names[] = {"inactive_file", "active_file"};
    apply_group_limit(user, folder, "memory.max", "memory.current", cached_names);
    apply_group_limit(user, folder, "memory.high", "memory.current", cached_names);
}

static void visit_memory_1(const char *folder, void *user)
{
    static const char *const cached_names[] = {"total_inactive_file", "total_active_file"};
    apply_group_limit(user, folder, "memory.limit_in_bytes", "memory.usage_in_bytes", cached_names);
}

uint64_t machine_free_memory(const char *root, uint64_t *ret_total)
{
    struct memory memory = {.available = UINT64_MAX};
    char text[TEXT_SIZE];
    uint64_t available;
    uint64_t total;
    if (machine_read_file(root, "proc/meminfo", text) &&
        machine_find_line_number(text, "MemAvailable", &available) &&
        machine_find_line_number(text, "MemTotal", &total) && available <= total) {
        apply_memory_limit(&memory, total * 1024, (total - available) * 1024);
    }
    visit_control_groups(root, NULL, visit_memory_2, &memory);
    visit_control_groups(root, "memory", visit_memory_1, &memory);
    *ret_total = memory.total;
    return memory.available;
}
