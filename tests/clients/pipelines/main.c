// SPDX-License-Identifier: Apache-2.0
/* A plain Vulkan program that creates many real pipelines and says how long that took. It knows
 * nothing of any layer. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "report.h"
#include "util.h"

struct session {
    struct gpu gpu;
    struct workload workload;
    struct app_cache *cache;
    struct feedback *feedback; /* NULL where none was asked for */
};

static void open_session(struct session *session, VkInstance instance,
                         const struct options *options, uint32_t index,
                         struct device_report *report)
{
    session->gpu = gpu_open(instance, options, index);
    uint64_t start = now_ns();
    session->workload = workload_create(&session->gpu, options);
    report->objects_ns = now_ns() - start;
    session->cache = app_cache_create(&session->gpu, options);
    session->feedback = options->feedback ? feedback_create(&session->workload) : NULL;
    report->gpu = &session->gpu;
}

static void finish_session(struct session *session, const struct options *options,
                           struct device_report *report)
{
    if (options->verify) {
        report->verification = verify_run(&session->workload, options);
    }
    app_cache_save(session->cache, options);
    report->cache = app_cache_counts(session->cache);
}

static void close_session(struct session *session, const struct options *options)
{
    app_cache_destroy(session->cache);
    workload_destroy(&session->workload, options);
    feedback_destroy(session->feedback);
    gpu_close(&session->gpu);
}

static void end(const struct options *options)
{
    switch (options->ending) {
    case ENDING_EXIT:
        _exit(0);
    case ENDING_KILL:
        raise(SIGKILL);
        break;
    default:
        break;
    }
}

static bool file_holds(const char *path, const char *text)
{
    static char bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(bytes, 1, sizeof bytes - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    bytes[size] = '\0';
    return strstr(bytes, text) != NULL;
}

static void wait_to_begin(const struct options *options)
{
    sleep_ms(options->delay_ms);
    for (int tries = 0; options->after_file; tries++) {
        if (file_holds(options->after_file, options->after_text)) {
            return;
        }
        if (tries == 40000) { /* 200 s: who waits for this process would wait for ever */
            fail("--after", VK_TIMEOUT);
        }
        sleep_ms(5);
    }
}

static void *do_nothing(void *argument)
{
    pause();
    return argument;
}

int main(int argc, char **argv)
{
    uint64_t start = now_ns();
    struct options options = options_parse(argc, argv);
    allocator_adopt_thread();
    pthread_t idle;
    if (options.idle_thread && pthread_create(&idle, NULL, do_nothing, NULL) != 0) {
        fail("pthread_create", VK_ERROR_UNKNOWN);
    }
    VkInstance instance = gpu_create_instance(&options);
    if (options.list) {
        gpu_list(instance);
        vkDestroyInstance(instance, options.allocator ? allocator_callbacks() : NULL);
        return 0;
    }
    static struct session sessions[MAX_DEVICES];
    static struct device_report reports[MAX_DEVICES];
    for (uint32_t i = 0; i < options.device_count; i++) {
        open_session(&sessions[i], instance, &options, options.devices[i], &reports[i]);
    }
    wait_to_begin(&options);
    for (uint32_t round = 0; round < options.repeat; round++) {
        for (uint32_t i = 0; i < options.device_count; i++) {
            creator_run(&sessions[i].workload, sessions[i].cache, sessions[i].feedback, &options,
                        round, &reports[i].creation);
        }
    }
    for (uint32_t i = 0; i < options.device_count; i++) {
        finish_session(&sessions[i], &options, &reports[i]);
    }
    sleep_ms(options.wait_ms);
    if (options.ending == ENDING_DESTROY) {
        for (uint32_t i = 0; i < options.device_count; i++) {
            close_session(&sessions[i], &options);
        }
        vkDestroyInstance(instance, options.allocator ? allocator_callbacks() : NULL);
    }
    report_print(&options, reports, options.device_count, now_ns() - start);
    end(&options);
    return 0;
}
