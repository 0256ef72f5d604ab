// SPDX-License-Identifier: Apache-2.0
/* The process that watches: it starts the one that replays, and starts it again without the recipe
 * that crashed or hung the driver. It never loads Vulkan.
 *
 * SIGINT and SIGTERM end a run early and keep what is compiled. They are delivered only while this
 * process waits, so they interrupt nothing else. One thread. */
#ifndef WARMPIPE_TOOLS_WARM_WARM_WATCH_H
#define WARMPIPE_TOOLS_WARM_WARM_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/vulkan/vulkan_loader.h"
#include "tools/warm/warm_shared.h"

/* Handles SIGINT and SIGTERM from now on. Called once, before anything else here. */
void warm_watch_prepare(void);

/* Whether one of the signals has come. */
bool warm_watch_is_stopped(void);

/* The process that lists the devices. It keeps the drivers loaded and waits, because it may become
 * the process that replays: loading a driver again takes as long as tens of pipelines. */
struct warm_probe {
    pid_t pid;            /* 0: there is none (any more) */
    int fd;               /* our end of its socket */
    const char *settings; /* of drivers, that it has made its own; "": it has this process's */
};

/* Lists the devices of this machine as vulkan_devices_list does, in the probe process, which makes
 * `settings` its own before (driver_settings_use; borrowed while there is a probe). Waits for at
 * most `timeout_ns`, or until a signal comes. False after a message, and then there is no probe.
 * Ended by warm_watch_run or warm_probe_end. */
bool warm_probe_start(struct warm_probe *ret_probe, struct warm_shared *shared,
                      const char *settings, uint64_t timeout_ns,
                      struct vulkan_devices *ret_devices);

/* Ends it and waits for that; a no-op where there is none. */
void warm_probe_end(struct warm_probe *probe);

/* Replays the target, whose items `shared` is for, in child processes; the first one is the probe,
 * if there is one: it must have been started with `shared`, after what the target points to was
 * made. Shows its progress. shared->end tells how it ended. */
void warm_watch_run(const struct warm_target *target, struct warm_shared *shared,
                    struct warm_probe *probe);

#endif
