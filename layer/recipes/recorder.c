// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/recorder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/files/program.h"
#include "common/recipes/recipes.h"
#include "common/recipes/segment.h"
#include "layer/recipes/recipe_draft.h"
#include "layer/worker/maintenance.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/sandbox.h"
#include "layer/worker/worker.h"

#define SECONDS_A_DAY 86400

/* Quiet time before a write, and longest wait under steady creation. Less than half of what a
 * record may take to disk after quiet, for the worker may just be busy. */
#define QUIET_NS  (20 * CLOCK_MS)
#define STEADY_NS (100 * CLOCK_MS)

/* Bytes; what comes while so much waits for a disk that does not answer is not recorded. */
#define MAX_QUEUE ((size_t)64 << 20)

/* A use is marked, too, though it is no record of its own. */
enum { MARK_USE = RECIPE_ENVIRONMENT + 1 };

struct recorder {
    const char *root;
    const char *app;
    uint64_t max_size;
    struct bytes environment;
    struct digest environment_digest;
    struct maintenance *maintenance;
    void (*tell_unsaved)(void *user); /* NULL: nobody is told */
    void *unsaved_user;

    atomic_bool opened;            /* what follows is set and stays */
    struct recipes *disk;          /* what was recorded before; NULL: nothing */
    uint32_t day;                  /* today: days since 1970-01-01 UTC */
    struct digest_set used_today;  /* pipelines on disk, in this environment */
    struct digest_set never_saved; /* likewise: their process ended before it saved them */
    atomic_bool is_broken;         /* nothing more can be written */

    pthread_mutex_t lock;             /* over what follows */
    struct recipe_forms forms;        /* that pipelines may refer to */
    struct bytes unsaved;             /* digests of pipelines that are to be saved */
    size_t looked;                    /* bytes of them that belong to the next save */
    struct bytes queue;               /* records that are not on disk */
    _Atomic uint64_t first_queued_ns; /* monotonic; 0: the queue is empty */
    _Atomic uint64_t last_queued_ns;

    pthread_mutex_t written_lock; /* over `written`; nothing else is locked or called under it */
    struct digest_set written;    /* what this device has recorded: see recorder_mark */

    pthread_mutex_t write_lock;   /* over the writer; never taken by a thread that creates */
    struct recipe_writer *writer; /* NULL: nothing was written yet */
    struct worker_client client;
    bool has_written; /* of the thread that writes */
    bool has_key;     /* under write_lock: `key` is to be written down */
    struct pipeline_key key;
    bool has_ended; /* the process ends: whoever queues something writes it */
};

/* Half of a digest, told apart by kind: a coincidence costs a recipe. */
static uint64_t recorder_mark(unsigned kind, struct digest digest)
{
    return digest.low ^ (kind * UINT64_C(0x9E3779B97F4A7C15));
}

static bool recorder_has_written(struct recorder *recorder, unsigned kind, struct digest digest)
{
    pthread_mutex_lock(&recorder->written_lock);
    const bool has_written = digest_set_has(&recorder->written, recorder_mark(kind, digest));
    pthread_mutex_unlock(&recorder->written_lock);
    return has_written;
}

static void recorder_note_written(struct recorder *recorder, unsigned kind, struct digest digest)
{
    pthread_mutex_lock(&recorder->written_lock);
    digest_set_add(&recorder->written, recorder_mark(kind, digest)); /* on failure: once more */
    pthread_mutex_unlock(&recorder->written_lock);
}

/* The way to disk. */

static uint64_t recorder_due(struct worker_client *client, uint64_t now_ns)
{
    (void)now_ns;
    const struct recorder *recorder = WORKER_OWNER(client, struct recorder, client);
    uint64_t first = atomic_load(&recorder->first_queued_ns);
    if (first == 0 || atomic_load(&recorder->is_broken)) {
        return UINT64_MAX;
    }
    uint64_t quiet = atomic_load(&recorder->last_queued_ns) + QUIET_NS;
    return quiet < first + STEADY_NS ? quiet : first + STEADY_NS;
}

/* Nothing more is recorded; told once. */
static void recorder_break(struct recorder *recorder, enum status reason)
{
    if (!atomic_exchange(&recorder->is_broken, true) && log_once(reason)) {
        log_warn("not recorded (%s): %s: %s/%s", status_id(reason), status_text(reason),
                 recorder->root, recorder->app);
    }
}

/* Under write_lock, once something is recorded. A key that is not written down costs nothing but a
 * comparison. */
static void recorder_write_key(struct recorder *recorder)
{
    if (recorder->has_key) {
        recorder->has_key = false;
        const enum status reason = program_note_key(recorder->root, recorder->app, &recorder->key);
        if (reason != STATUS_ok) {
            log_info("the driver's pipeline key is not recorded (%s)", status_id(reason));
        }
    }
}

/* Under write_lock. What others refer to may be missing when a write failed before. */
static void recorder_write_batch(struct recorder *recorder, struct bytes *batch)
{
    if (atomic_load(&recorder->is_broken)) {
        bytes_free(batch);
        return;
    }
    if (batch->size > 0 && !recorder->writer) {
        recorder->writer = recipe_writer_new(recorder->root, recorder->app, recorder->max_size,
                                             RECIPE_SEGMENT_SMALL);
    }
    enum status reason =
        batch->failed || (batch->size > 0 && !recorder->writer) ? STATUS_out_of_memory : STATUS_ok;
    if (reason == STATUS_ok && batch->size > 0) {
        reason = recipe_writer_append(recorder->writer, batch);
    }
    if (reason != STATUS_ok) {
        recorder_break(recorder, reason);
    } else if (batch->size > 0) {
        recorder_write_key(recorder);
    }
    bytes_free(batch);
}

/* Writes what is queued. At the end of the process others may be in the middle of a call: then only
 * so long a wait for their locks, and no maintenance. */
static void recorder_write_queue(struct recorder *recorder, uint64_t wait_ns)
{
    struct bytes batch = {0};
    if (sandbox_is_closed()) {
        return;
    }
    if (!timed_lock(&recorder->write_lock, wait_ns)) {
        return;
    }
    if (timed_lock(&recorder->lock, wait_ns)) {
        batch = recorder->queue;
        recorder->queue = (struct bytes){0};
        atomic_store(&recorder->first_queued_ns, 0);
        pthread_mutex_unlock(&recorder->lock);
    }
    const size_t size = batch.size;
    recorder_write_batch(recorder, &batch);
    pthread_mutex_unlock(&recorder->write_lock);
    if (size > 0 && wait_ns == WAIT_FOREVER) {
        maintenance_wrote(recorder->maintenance, size);
    }
}

static void recorder_work(struct worker_client *client)
{
    struct recorder *recorder = WORKER_OWNER(client, struct recorder, client);
    uint64_t now_ns = clock_now_ns();
    if (recorder_due(client, now_ns) > now_ns) {
        return;
    }
    recorder_write_queue(recorder, WAIT_FOREVER);
    /* With the first records alone: what comes later waits for the end of the device. */
    if (!recorder->has_written) {
        recorder->has_written = true;
        maintenance_start(recorder->maintenance);
    }
}

/* The process ends and the device was never destroyed. */
static void recorder_last(struct worker_client *client)
{
    struct recorder *recorder = WORKER_OWNER(client, struct recorder, client);
    recorder->has_ended = true;
    recorder_write_queue(recorder, PATIENCE_AT_END);
}

static void recorder_write_end(void *user)
{
    struct recorder *recorder = user;
    recorder_write_queue(recorder, WAIT_FOREVER);
    if (!sandbox_is_closed()) {
        recipe_writer_close(recorder->writer, true);
    }
    recorder->writer = NULL;
}

bool recorder_make_room(struct recorder *recorder)
{
    if (!timed_lock(&recorder->write_lock, PATIENCE_AT_END)) {
        return false;
    }
    const bool made = recipe_writer_discard(recorder->writer);
    recorder->writer = NULL;
    if (made) {
        recorder_break(recorder, STATUS_disk_full);
    }
    pthread_mutex_unlock(&recorder->write_lock);
    return made;
}

bool recorder_finish(struct recorder *recorder)
{
    return worker_remove(&recorder->client) && worker_do(recorder_write_end, recorder);
}

struct recorder *recorder_new(const struct recorder_setup *setup)
{
    struct recorder *recorder = setup->environment->failed ? NULL : calloc(1, sizeof *recorder);
    if (!recorder) {
        bytes_free(setup->environment);
        return NULL;
    }
    recorder->root = setup->root;
    recorder->app = setup->app;
    recorder->max_size = setup->max_size;
    recorder->has_key = setup->key;
    if (setup->key) {
        recorder->key = *setup->key;
    }
    recorder->maintenance = setup->maintenance;
    recorder->environment = *setup->environment;
    *setup->environment = (struct bytes){0};
    recorder->environment_digest =
        digest_of(recorder->environment.data, recorder->environment.size);
    pthread_mutex_init(&recorder->lock, NULL);
    pthread_mutex_init(&recorder->write_lock, NULL);
    pthread_mutex_init(&recorder->written_lock, NULL);
    recorder->client.due = recorder_due;
    recorder->client.work = recorder_work;
    recorder->client.last = recorder_last;
    worker_add(&recorder->client);
    return recorder;
}

void recorder_delete(struct recorder *recorder)
{
    if (recorder) {
        recipes_close(recorder->disk);
        recipe_forms_release(&recorder->forms);
        digest_set_release(&recorder->used_today);
        digest_set_release(&recorder->never_saved);
        digest_set_release(&recorder->written);
        bytes_free(&recorder->queue);
        bytes_free(&recorder->unsaved);
        bytes_free(&recorder->environment);
        pthread_mutex_destroy(&recorder->lock);
        pthread_mutex_destroy(&recorder->write_lock);
        pthread_mutex_destroy(&recorder->written_lock);
        free(recorder);
    }
}

/* What the program asks for. */

const struct bytes *recorder_environment(const struct recorder *recorder)
{
    return &recorder->environment;
}

/* Whether there is something to be prewarmed. */
static bool recorder_read_uses(struct recorder *recorder)
{
    bool has_unsaved = false;
    const struct recipe_use *uses = NULL;
    size_t count = recorder->disk ? recipes_uses(recorder->disk, &uses) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!digest_equal(uses[i].environment, recorder->environment_digest)) {
            continue;
        }
        if (uses[i].unsaved && !uses[i].saved) {
            has_unsaved = true;
            digest_set_add(&recorder->never_saved, uses[i].pipeline.low);
        }
        if (uses[i].last_day >= recorder->day) {
            digest_set_add(&recorder->used_today, uses[i].pipeline.low);
        }
    }
    return has_unsaved;
}

/* A program may be killed as soon as it has recorded something, so that no maintenance runs: do it
 * now. */
static void recorder_keep_to_limit(struct recorder *recorder)
{
    if (recipes_size(recorder->disk) > recorder->max_size) {
        log_info("nothing is recorded: there are more recipes than the limit allows");
        atomic_store(&recorder->is_broken, true);
        maintenance_wrote(recorder->maintenance, 0);
        maintenance_start(recorder->maintenance);
    }
}

/* A folder that cannot be used: nothing is recorded; loading or saving there logs it. */
static void recorder_open_recipes(struct recorder *recorder)
{
    if (atomic_load_explicit(&recorder->opened, memory_order_acquire)) {
        return;
    }
    bool has_unsaved = false;
    pthread_mutex_lock(&recorder->lock);
    if (!atomic_load_explicit(&recorder->opened, memory_order_relaxed)) {
        const bool is_shut_in = sandbox_is_closed();
        enum status reason =
            is_shut_in ? STATUS_no_file
                       : recipes_open(recorder->root, recorder->app, RECIPES_READ, &recorder->disk);
        if (reason != STATUS_ok && reason != STATUS_no_file) {
            log_info("nothing is recorded (%s)", status_id(reason));
        }
        if (is_shut_in || (reason != STATUS_ok && reason != STATUS_no_file)) {
            atomic_store(&recorder->is_broken, true);
        }
        if (recorder->disk) {
            recipes_detach(recorder->disk);
            recorder_keep_to_limit(recorder);
        }
        recorder->day = (uint32_t)(time(NULL) / SECONDS_A_DAY);
        has_unsaved = recorder_read_uses(recorder);
        atomic_store_explicit(&recorder->opened, true, memory_order_release);
    }
    pthread_mutex_unlock(&recorder->lock);
    if (has_unsaved && recorder->tell_unsaved) {
        recorder->tell_unsaved(recorder->unsaved_user);
    }
}

void recorder_set_unsaved(struct recorder *recorder, void (*tell)(void *user), void *user)
{
    recorder->tell_unsaved = tell;
    recorder->unsaved_user = user;
}

static bool recorder_is_on_disk(const struct recorder *recorder, enum recipe_kind kind,
                                struct digest digest)
{
    return recorder->disk && recipes_have(recorder->disk, kind, digest);
}

/* Whether a record exists, or is on its way. */
static bool recorder_is_recorded(struct recorder *recorder, enum recipe_kind kind,
                                 struct digest digest)
{
    return recorder_is_on_disk(recorder, kind, digest) ||
           recorder_has_written(recorder, kind, digest);
}

/* Uses count once a day. */
static bool recorder_is_used_today(struct recorder *recorder, struct digest pipeline)
{
    return digest_set_has(&recorder->used_today, pipeline.low) ||
           recorder_has_written(recorder, MARK_USE, pipeline);
}

void recorder_keep(struct recorder *recorder, const struct canonical *form)
{
    VkStructureType type = canonical_stype(form->key.data, form->size);
    if (type == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO) {
        recorder_open_recipes(recorder);
    }
    if (!form->complete || atomic_load_explicit(&recorder->is_broken, memory_order_relaxed) ||
        !recipe_forms_keep_type(type)) {
        return;
    }
    pthread_mutex_lock(&recorder->lock);
    if (!recorder_is_on_disk(recorder, RECIPE_FORM, form->digest)) {
        recipe_forms_keep(&recorder->forms, form->digest, form->key.data, form->size);
    }
    pthread_mutex_unlock(&recorder->lock);
}

struct recipe_draft *recorder_draft(struct recorder *recorder, struct dedup *dedup,
                                    const struct canonical *form, bool *ret_stored)
{
    *ret_stored = false;
    if (!form->complete || atomic_load_explicit(&recorder->is_broken, memory_order_relaxed)) {
        return NULL;
    }
    recorder_open_recipes(recorder);
    const bool is_saved = !digest_set_has(&recorder->never_saved, form->digest.low);
    if (recorder_is_used_today(recorder, form->digest)) {
        *ret_stored = is_saved;
        return NULL;
    }
    *ret_stored = is_saved && recorder_is_on_disk(recorder, RECIPE_FORM, form->digest);
    return recorder_is_recorded(recorder, RECIPE_FORM, form->digest)
               ? recipe_draft_of_use(form->digest)
               : recipe_draft_new(dedup, form);
}

/* Under the lock, as all below. */
static void recorder_put(struct recorder *recorder, enum recipe_kind kind, struct digest digest,
                         const void *data, size_t size)
{
    recipe_put_record(&recorder->queue, kind, digest, data, size);
    recorder_note_written(recorder, kind, digest);
}

/* The form whose references are being walked. */
struct recorder_visit {
    struct recorder *recorder;
    const struct recipe_draft *draft;
    const struct objects_module *module; /* whose form it is; NULL: of no module */
};

static bool recorder_put_form(const struct recorder_visit *visit, struct digest digest,
                              const void *form, size_t size);

/* Puts what a form refers to, unless it is recorded. False: it is not available. */
static bool recorder_put_reference(void *user, VkObjectType type, struct digest content)
{
    const struct recorder_visit *visit = user;
    struct recorder *recorder = visit->recorder;
    enum recipe_kind kind = type == VK_OBJECT_TYPE_UNKNOWN ? RECIPE_CODE : RECIPE_FORM;
    if (recorder_is_recorded(recorder, kind, content)) {
        return true;
    }
    struct recorder_visit below = {.recorder = recorder, .draft = visit->draft};
    if (kind == RECIPE_CODE) {
        if (visit->module) {
            recorder_put(recorder, RECIPE_CODE, content, visit->module->code,
                         visit->module->code_size);
        }
        return visit->module;
    }
    if (type == VK_OBJECT_TYPE_SHADER_MODULE) {
        below.module = recipe_draft_module(visit->draft, content);
        return below.module &&
               recorder_put_form(&below, content, below.module->form, below.module->form_size);
    }
    size_t size = 0;
    const void *form = recipe_forms_find(&recorder->forms, content, &size);
    return form && recorder_put_form(&below, content, form, size);
}

/* Puts what it refers to first. */
static bool recorder_put_form(const struct recorder_visit *visit, struct digest digest,
                              const void *form, size_t size)
{
    struct recorder_visit own = *visit;
    if (!canonical_references(form, size, recorder_put_reference, &own)) {
        return false;
    }
    recorder_put(visit->recorder, RECIPE_FORM, digest, form, size);
    return true;
}

static void recorder_put_use(struct recorder *recorder, struct digest pipeline, uint32_t compile_us,
                             bool to_be_saved)
{
    const bool unsaved = to_be_saved && compile_us > 0;
    struct digest environment = recorder->environment_digest;
    if (!recorder_is_recorded(recorder, RECIPE_ENVIRONMENT, environment)) {
        recorder_put(recorder, RECIPE_ENVIRONMENT, environment, recorder->environment.data,
                     recorder->environment.size);
    }
    recipe_put_use(&recorder->queue, &(struct recipe_use){
                                         .pipeline = pipeline,
                                         .environment = environment,
                                         .last_day = recorder->day,
                                         .days = 1,
                                         .compile_us = compile_us,
                                         .unsaved = unsaved,
                                     });
    if (unsaved) {
        bytes_put(&recorder->unsaved, &pipeline, sizeof pipeline);
    }
    recorder_note_written(recorder, MARK_USE, pipeline);
}

/* False: there is nothing to write. */
static bool recorder_put_draft(struct recorder *recorder, const struct recipe_draft *draft,
                               uint32_t compile_us, bool to_be_saved)
{
    if (recorder_is_used_today(recorder, draft->pipeline) || recorder->queue.size > MAX_QUEUE) {
        return false;
    }
    if (draft->form && !recorder_is_recorded(recorder, RECIPE_FORM, draft->pipeline)) {
        struct recorder_visit visit = {.recorder = recorder, .draft = draft};
        if (!recorder_put_form(&visit, draft->pipeline, draft->form, draft->form_size)) {
            return false;
        }
    }
    recorder_put_use(recorder, draft->pipeline, compile_us, to_be_saved);
    return true;
}

static void recorder_note_queued(struct recorder *recorder)
{
    uint64_t now_ns = clock_now_ns();
    atomic_store(&recorder->last_queued_ns, now_ns);
    if (atomic_load(&recorder->first_queued_ns) == 0) {
        atomic_store(&recorder->first_queued_ns, now_ns);
    }
}

void recorder_submit(struct recorder *recorder, struct recipe_draft *draft, uint32_t compile_us,
                     bool to_be_saved)
{
    if (!draft) {
        return;
    }
    pthread_mutex_lock(&recorder->lock);
    bool queued = recorder_put_draft(recorder, draft, compile_us, to_be_saved);
    if (queued) {
        recorder_note_queued(recorder);
    }
    pthread_mutex_unlock(&recorder->lock);
    recipe_draft_free(draft);
    if (queued) {
        worker_wake(&recorder->client);
    }
}

void recorder_prewarmed(struct recorder *recorder, struct digest pipeline)
{
    pthread_mutex_lock(&recorder->lock);
    bytes_put(&recorder->unsaved, &pipeline, sizeof pipeline);
    pthread_mutex_unlock(&recorder->lock);
}

bool recorder_took_long(struct recorder *recorder, const struct recipe_use *use,
                        uint32_t compile_us)
{
    if (!recorder || atomic_load(&recorder->is_broken)) {
        return false;
    }
    pthread_mutex_lock(&recorder->lock);
    recipe_put_use(&recorder->queue, &(struct recipe_use){
                                         .pipeline = use->pipeline,
                                         .environment = use->environment,
                                         .last_day = use->last_day,
                                         .compile_us = compile_us,
                                     });
    recorder_note_queued(recorder);
    pthread_mutex_unlock(&recorder->lock);
    return true;
}

void recorder_looking(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->looked = recorder->unsaved.size;
    pthread_mutex_unlock(&recorder->lock);
}

void recorder_saved(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    const size_t looked = recorder->looked;
    for (size_t at = 0; at < looked && !atomic_load(&recorder->is_broken);
         at += sizeof(struct digest)) {
        struct recipe_use use = {
            .environment = recorder->environment_digest,
            .last_day = recorder->day,
            .saved = true,
        };
        memcpy(&use.pipeline, recorder->unsaved.data + at, sizeof use.pipeline);
        recipe_put_use(&recorder->queue, &use);
    }
    if (looked > 0) {
        memmove(recorder->unsaved.data, recorder->unsaved.data + looked,
                recorder->unsaved.size - looked);
        recorder->unsaved.size -= looked;
        recorder->looked = 0;
        recorder_note_queued(recorder);
    }
    pthread_mutex_unlock(&recorder->lock);
    if (looked > 0 && recorder->has_ended) {
        recorder_write_queue(recorder, PATIENCE_AT_END);
    } else if (looked > 0) {
        worker_wake(&recorder->client);
    }
}
