// SPDX-License-Identifier: Apache-2.0
#include "creator.h"

#include <pthread.h>
#include <stdatomic.h>

#include "allocator.h"
#include "util.h"

/* One round, shared by its threads. A job is one call: up to a batch of pipelines of one type. */
struct round {
    struct workload *workload;
    struct app_cache *cache;
    struct feedback *feedback;
    const struct options *options;
    uint32_t index;
    pthread_barrier_t start;
    _Atomic uint32_t next_job;
};

struct worker {
    pthread_t thread;
    struct round *round;
    struct creation_counts counts;
};

struct job {
    enum pipeline_type type;
    uint32_t first;
    uint32_t count;
};

static bool find_job(const struct round *round, uint32_t number, struct job *ret_job)
{
    uint32_t batch = round->options->batch;
    for (int type = 0; type < TYPE_COUNT; type++) {
        uint32_t count = round->workload->counts[type];
        uint32_t jobs = (count + batch - 1) / batch;
        if (number < jobs) {
            uint32_t first = number * batch;
            uint32_t rest = count - first;
            *ret_job = (struct job){(enum pipeline_type)type, first, rest < batch ? rest : batch};
            return true;
        }
        number -= jobs;
    }
    return false;
}

static void run_job(struct worker *worker, uint32_t number, struct job job)
{
    struct round *round = worker->round;
    struct workload *workload = round->workload;
    VkPipeline *pipelines = workload->pipelines[job.type] +
                            (size_t)round->index * workload->counts[job.type] + job.first;
    VkPipelineCache cache = app_cache_pick(round->cache, number);
    if (round->feedback) {
        feedback_poison(round->feedback, job.type, job.first, job.count);
    }
    uint64_t start = now_ns();
    VkResult result =
        workload_create_pipelines(workload, job.type, job.first, job.count, cache, pipelines);
    uint64_t took = now_ns() - start;
    worker->counts.create_ns += took;
    if (number == 0 && round->index == 0) {
        worker->counts.first_ns = took;
    }
    worker->counts.failed_calls += result != VK_SUCCESS;
    if (round->feedback) {
        feedback_count(round->feedback, job.type, job.first, job.count, &worker->counts.feedback);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    allocator_adopt_thread();
    pthread_barrier_wait(&worker->round->start);
    struct job job;
    uint32_t burst = worker->round->options->burst;
    uint32_t done = 0;
    uint32_t number = atomic_fetch_add(&worker->round->next_job, 1);
    while (find_job(worker->round, number, &job)) {
        run_job(worker, number, job);
        if (burst > 0 && ++done % burst == 0) {
            sleep_ms(worker->round->options->pause_ms);
        }
        number = atomic_fetch_add(&worker->round->next_job, 1);
    }
    return NULL;
}

static void *read_back(void *argument)
{
    struct round *round = argument;
    allocator_adopt_thread();
    pthread_barrier_wait(&round->start);
    /* Once: whoever asks again while others create may see the cache grow between the two calls,
     * with a driver alone as well. */
    app_cache_read_back(round->cache);
    return NULL;
}

static void add_counts(struct creation_counts *sum, const struct creation_counts *part)
{
    sum->create_ns += part->create_ns;
    sum->first_ns += part->first_ns;
    sum->failed_calls += part->failed_calls;
    sum->feedback.valid += part->feedback.valid;
    sum->feedback.hits += part->feedback.hits;
    sum->feedback.stage_hits += part->feedback.stage_hits;
    sum->feedback.untouched += part->feedback.untouched;
}

void creator_run(struct workload *workload, struct app_cache *cache, struct feedback *feedback,
                 const struct options *options, uint32_t round, struct creation_counts *counts)
{
    bool reading = options->cache == APP_CACHE_READBACK;
    uint32_t threads = options->threads;
    struct round shared = {.workload = workload,
                           .cache = cache,
                           .feedback = feedback,
                           .options = options,
                           .index = round};
    struct worker *workers = must_allocate(threads, sizeof(*workers));
    pthread_t reader;
    pthread_barrier_init(&shared.start, NULL, threads + (reading ? 1 : 0));
    if (reading && pthread_create(&reader, NULL, read_back, &shared) != 0) {
        fail("pthread_create", VK_ERROR_UNKNOWN);
    }
    for (uint32_t i = 0; i < threads; i++) {
        workers[i].round = &shared;
        /* The first worker is this thread itself. */
        if (i > 0 && pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fail("pthread_create", VK_ERROR_UNKNOWN);
        }
    }
    uint64_t start = now_ns();
    work(&workers[0]);
    for (uint32_t i = 1; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    counts->wall_ns += now_ns() - start;
    if (reading) {
        pthread_join(reader, NULL);
    }
    for (uint32_t i = 0; i < threads; i++) {
        add_counts(counts, &workers[i].counts);
    }
    pthread_barrier_destroy(&shared.start);
    free(workers);
}
