// SPDX-License-Identifier: Apache-2.0
/* The command line. */
#ifndef PIPELINES_OPTIONS_H
#define PIPELINES_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_DEVICES = 8 };

enum app_cache_kind {
    APP_CACHE_NONE,     /* VK_NULL_HANDLE in every creation */
    APP_CACHE_MANY,     /* empty caches in turn, never read back */
    APP_CACHE_FILE,     /* one, loaded from a file, and saved to it where it has grown */
    APP_CACHE_READBACK, /* one, empty at the start, read back while others create and at the end */
    APP_CACHE_MERGE     /* empty caches in turn, merged into one that is read back at the end */
};

enum ending {
    ENDING_DESTROY, /* as the specification wants it */
    ENDING_RETURN,  /* returns from main with everything alive */
    ENDING_EXIT,    /* _exit(0) with everything alive */
    ENDING_KILL     /* SIGKILL to itself */
};

struct options {
    bool idle_thread;
    bool list; /* name the devices, and nothing else */
    uint32_t compute;
    uint32_t heavy; /* of the compute pipelines */
    uint32_t graphics;
    uint32_t raytracing;
    uint32_t threads;
    uint32_t batch;
    uint32_t repeat;
    uint32_t seed;
    uint32_t api_version;
    uint32_t devices[MAX_DEVICES]; /* indices as vkEnumeratePhysicalDevices tells them */
    uint32_t device_count;
    enum app_cache_kind cache;
    uint32_t cache_count;
    const char *cache_path; /* NULL where nothing is kept */
    bool feedback;
    bool feedback_extension;
    bool allocator;
    bool libraries;   /* graphics pipelines are linked from libraries */
    bool render_pass; /* even where dynamic rendering is to be had */
    bool properties2; /* VK_KHR_get_physical_device_properties2 */
    bool verify;
    uint32_t delay_ms;      /* before the first pipeline */
    char *after_file;       /* NULL: nothing is waited for; it stays allocated */
    const char *after_text; /* what the file must hold before the first pipeline */
    uint32_t burst;         /* calls of a thread between two pauses; 0: no pauses */
    uint32_t pause_ms;
    uint32_t wait_ms; /* after the last */
    enum ending ending;
};

/* Ends the program with a message and status 2 where an argument cannot be understood. Strings in
 * the result belong to argv. */
struct options options_parse(int argc, char **argv);

#endif
