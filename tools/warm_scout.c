#include "warm_scout.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "output.h"
#include "warm_child.h"
#include "warm_process.h"
#include "warm_stop.h"

static _Noreturn void scout(int fd, struct warm_page *page)
{
    struct vulkan_loader loader; /* never closed: the drivers stay loaded */
    struct vulkan_devices devices;
    struct warm_target target;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!vulkan_devices_ask("warm", &loader, &devices) ||
        !warm_process_write(fd, &devices.count, sizeof devices.count) ||
        !warm_process_write(fd, devices.identities, devices.count * sizeof *devices.identities)) {
        _exit(EXIT_FAILURE);
    }
    if (warm_process_read(fd, &target, sizeof target)) {
        warm_child_run(&target, page, WARM_ALL);
    }
    _exit(EXIT_SUCCESS);
}

static bool read_devices(int fd, uint64_t until_ns, struct vulkan_devices *ret_devices)
{
    struct vulkan_devices devices = {0};
    if (!warm_stop_wait(fd, until_ns) ||
        !warm_process_read(fd, &devices.count, sizeof devices.count)) {
        return false;
    }
    devices.identities = calloc(devices.count + 1u, sizeof *devices.identities);
    if (!devices.identities ||
        !warm_process_read(fd, devices.identities, devices.count * sizeof *devices.identities)) {
        vulkan_devices_free(&devices);
        return false;
    }
    *ret_devices = devices;
    return true;
}

/* Why the devices are not known, unless the process has told that itself. */
static void tell_failure(int status, uint64_t until_ns)
{
    if (warm_stop_is_wanted()) {
        output_message("warm: interrupted");
    } else if (WIFSIGNALED(status) && clock_now_ns() >= until_ns) {
        output_message("warm: a driver hangs when it is asked for its devices");
    } else if (WIFSIGNALED(status)) {
        output_message("warm: a driver crashed when it was asked for its devices (signal %d)",
                       WTERMSIG(status));
    }
}

bool warm_scout_start(struct warm_scout *ret_scout, struct warm_page *page, uint64_t patience_ns,
                      struct vulkan_devices *ret_devices)
{
    const uint64_t until_ns = clock_now_ns() + patience_ns;
    int fd;
    pid_t pid = warm_process_start(&fd);
    if (pid < 0) {
        return false;
    }
    if (pid == 0) {
        scout(fd, page);
    }
    if (read_devices(fd, until_ns, ret_devices)) {
        *ret_scout = (struct warm_scout){.pid = pid, .fd = fd};
        return true;
    }
    close(fd);
    kill(pid, SIGKILL); /* it may hang */
    tell_failure(warm_process_wait(pid), until_ns);
    return false;
}

pid_t warm_scout_send(struct warm_scout *scout, const struct warm_target *target, int *ret_fd)
{
    pid_t pid = scout->pid;
    if (pid == 0 || !warm_process_write(scout->fd, target, sizeof *target)) {
        warm_scout_dismiss(scout);
        return 0;
    }
    *ret_fd = scout->fd;
    *scout = (struct warm_scout){0};
    return pid;
}

void warm_scout_dismiss(struct warm_scout *scout)
{
    if (scout->pid != 0) {
        close(scout->fd);
        warm_process_wait(scout->pid);
        *scout = (struct warm_scout){0};
    }
}
