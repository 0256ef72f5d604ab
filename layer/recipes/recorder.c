// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/recorder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/recipes/recipes.h"
#include "layer/recipes/recipe_draft.h"
#include "layer/recipes/recorder_queue.h"
#include "layer/worker/maintenance.h"
#include "layer/worker/sandbox.h"

#define SECONDS_A_DAY 86400

/* Bytes; what comes while so much waits for a disk that does not answer is not recorded. */
#define MAX_QUEUE ((size_t)64 << 20)

struct recorder {
    struct recorder_queue queue; /* its lock is over what stands at the end, too */
    const struct bytes *environment;
    struct digest environment_digest;
    void (*tell_unsaved)(void *user); /* NULL: nobody is told */
    void *unsaved_user;

    atomic_bool opened;            /* what follows is set and stays */
    struct recipes *disk;          /* what was recorded before; NULL: nothing */
    uint32_t day;                  /* today: days since 1970-01-01 UTC */
    struct digest_set used_today;  /* pipelines on disk, in this environment */
    struct digest_set never_saved; /* likewise: their process ended before it saved them */

    /* Under the queue's lock. */
    struct recipe_forms forms; /* that pipelines may refer to */
    bool has_environment;      /* it is recorded, or queued */
    struct bytes unsaved;      /* digests of pipelines that are to be saved */

    /* Bytes of `unsaved`, for who must not wait for the lock; and those that belong to the next
     * save, of the thread that saves. */
    _Atomic size_t unsaved_size;
    size_t looked;
};

bool recorder_make_room(void *recorder)
{
    return recorder_queue_make_room(&((struct recorder *)recorder)->queue);
}

bool recorder_finish(struct recorder *recorder)
{
    return recorder_queue_finish(&recorder->queue);
}

struct recorder *recorder_new(const struct recorder_setup *setup)
{
    struct recorder *recorder = setup->environment->failed ? NULL : calloc(1, sizeof *recorder);
    if (recorder) {
        recorder->environment = setup->environment;
        recorder->environment_digest =
            digest_of(setup->environment->data, setup->environment->size);
        recorder_queue_init(&recorder->queue, setup);
    }
    return recorder;
}

void recorder_delete(struct recorder *recorder)
{
    if (recorder) {
        recipes_close(recorder->disk);
        recipe_forms_release(&recorder->forms);
        digest_set_release(&recorder->used_today);
        digest_set_release(&recorder->never_saved);
        bytes_free(&recorder->unsaved);
        recorder_queue_release(&recorder->queue);
        free(recorder);
    }
}

/* What the program asks for. */

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
        if (recipe_use_is_unsaved(&uses[i])) {
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
    if (recipes_size(recorder->disk) > recorder->queue.max_size) {
        log_info("nothing is recorded: there are more recipes than the limit allows");
        atomic_store(&recorder->queue.is_broken, true);
        maintenance_wrote(recorder->queue.maintenance, 0);
        maintenance_start(recorder->queue.maintenance);
    }
}

/* A folder that cannot be used: nothing is recorded; loading or saving there logs it. True: the
 * disk was asked just now. */
static bool recorder_open_recipes(struct recorder *recorder)
{
    if (atomic_load_explicit(&recorder->opened, memory_order_acquire)) {
        return false;
    }
    bool has_unsaved = false;
    bool is_opened = false;
    pthread_mutex_lock(&recorder->queue.lock);
    if (!atomic_load_explicit(&recorder->opened, memory_order_relaxed)) {
        const bool is_shut_in = sandbox_is_closed();
        enum status reason = is_shut_in ? STATUS_no_file
                                        : recipes_open(recorder->queue.root, recorder->queue.app,
                                                       RECIPES_READ, &recorder->disk);
        if (reason != STATUS_ok && reason != STATUS_no_file) {
            log_info("nothing is recorded (%s)", status_id(reason));
        }
        if (is_shut_in || (reason != STATUS_ok && reason != STATUS_no_file)) {
            atomic_store(&recorder->queue.is_broken, true);
        }
        if (recorder->disk) {
            recipes_detach(recorder->disk);
            recorder_keep_to_limit(recorder);
            recorder->queue.has_recorded = true;
        }
        recorder->day = (uint32_t)(time(NULL) / SECONDS_A_DAY);
        has_unsaved = recorder_read_uses(recorder);
        atomic_store_explicit(&recorder->opened, true, memory_order_release);
        is_opened = !is_shut_in;
    }
    pthread_mutex_unlock(&recorder->queue.lock);
    if (has_unsaved && recorder->tell_unsaved) {
        recorder->tell_unsaved(recorder->unsaved_user);
    }
    return is_opened;
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
           recorder_queue_has(&recorder->queue, kind, digest);
}

/* Uses count once a day. */
static bool recorder_is_used_today(struct recorder *recorder, struct digest pipeline)
{
    return digest_set_has(&recorder->used_today, pipeline.low) ||
           recorder_queue_has(&recorder->queue, RECORDER_QUEUE_USE, pipeline);
}

bool recorder_keep(struct recorder *recorder, const struct canonical *form)
{
    VkStructureType type = canonical_stype(form->key.data, form->size);
    const bool is_opened =
        type == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO && recorder_open_recipes(recorder);
    if (!form->complete || atomic_load_explicit(&recorder->queue.is_broken, memory_order_relaxed) ||
        !recipe_forms_keep_type(type)) {
        return is_opened;
    }
    pthread_mutex_lock(&recorder->queue.lock);
    if (!recorder_is_on_disk(recorder, RECIPE_FORM, form->digest)) {
        recipe_forms_keep(&recorder->forms, form->digest, form->key.data, form->size);
    }
    pthread_mutex_unlock(&recorder->queue.lock);
    return is_opened;
}

void recorder_accuse(struct recorder *recorder, struct digest identity,
                     const struct digest *pipelines, size_t count)
{
    recorder_queue_accuse(&recorder->queue, identity, pipelines, count);
}

struct recipe_draft *recorder_draft(struct recorder *recorder, struct dedup *dedup,
                                    const struct canonical *form, bool *ret_stored)
{
    *ret_stored = false;
    if (!form->complete || atomic_load_explicit(&recorder->queue.is_broken, memory_order_relaxed)) {
        return NULL;
    }
    recorder_open_recipes(recorder);
    recorder_queue_ask(&recorder->queue, form->digest);
    const bool is_saved = !digest_set_has(&recorder->never_saved, form->digest.low);
    if (recorder_is_used_today(recorder, form->digest)) {
        *ret_stored = is_saved;
        return NULL;
    }
    const bool is_on_disk = recorder_is_on_disk(recorder, RECIPE_FORM, form->digest);
    *ret_stored = is_saved && is_on_disk;
    return recipe_draft_new(
        dedup, form, is_on_disk || recorder_queue_has(&recorder->queue, RECIPE_FORM, form->digest));
}

/* The form whose references are being walked; under the lock, as all below. */
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
            recorder_queue_put(&recorder->queue, RECIPE_CODE, content, visit->module->code,
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
    recorder_queue_put(&visit->recorder->queue, RECIPE_FORM, digest, form, size);
    return true;
}

static void recorder_put_unsaved(struct recorder *recorder, struct digest pipeline)
{
    bytes_put(&recorder->unsaved, &pipeline, sizeof pipeline);
    atomic_store(&recorder->unsaved_size, recorder->unsaved.size);
}

static void recorder_put_use(struct recorder *recorder, const struct recipe_draft *draft,
                             uint32_t compile_us, bool to_be_saved)
{
    const bool unsaved = to_be_saved && compile_us > 0;
    struct digest environment = recorder->environment_digest;
    if (!recorder->has_environment &&
        !recorder_is_recorded(recorder, RECIPE_ENVIRONMENT, environment)) {
        recorder_queue_put(&recorder->queue, RECIPE_ENVIRONMENT, environment,
                           recorder->environment->data, recorder->environment->size);
    }
    recorder->has_environment = true;
    recorder_queue_put_use(&recorder->queue, &(struct recipe_use){
                                                 .pipeline = draft->pipeline,
                                                 .environment = environment,
                                                 .last_day = recorder->day,
                                                 .days = 1,
                                                 .inline_stages = draft->inline_stages,
                                                 .compile_us = compile_us,
                                                 .unsaved = unsaved,
                                             });
    if (unsaved) {
        recorder_put_unsaved(recorder, draft->pipeline);
    }
}

/* False: there is nothing to write. */
static bool recorder_put_draft(struct recorder *recorder, const struct recipe_draft *draft,
                               uint32_t compile_us, bool to_be_saved)
{
    if (recorder_is_used_today(recorder, draft->pipeline) ||
        recorder->queue.records.size > MAX_QUEUE) {
        return false;
    }
    if (draft->form && !recorder_is_recorded(recorder, RECIPE_FORM, draft->pipeline)) {
        struct recorder_visit visit = {.recorder = recorder, .draft = draft};
        if (!recorder_put_form(&visit, draft->pipeline, draft->form, draft->form_size)) {
            return false;
        }
    }
    recorder_put_use(recorder, draft, compile_us, to_be_saved);
    return true;
}

void recorder_submit(struct recorder *recorder, struct recipe_draft *draft, uint32_t compile_us,
                     bool to_be_saved)
{
    if (!draft) {
        return;
    }
    pthread_mutex_lock(&recorder->queue.lock);
    bool queued = recorder_put_draft(recorder, draft, compile_us, to_be_saved);
    if (queued) {
        recorder_queue_note(&recorder->queue);
    }
    pthread_mutex_unlock(&recorder->queue.lock);
    recipe_draft_free(draft);
    if (queued) {
        recorder_queue_wake(&recorder->queue);
    }
}

void recorder_prewarmed(struct recorder *recorder, struct digest pipeline)
{
    pthread_mutex_lock(&recorder->queue.lock);
    recorder_put_unsaved(recorder, pipeline);
    pthread_mutex_unlock(&recorder->queue.lock);
}

bool recorder_took_long(struct recorder *recorder, const struct recipe_use *use,
                        uint32_t compile_us)
{
    if (!recorder || atomic_load(&recorder->queue.is_broken) ||
        !recorder_queue_lock(&recorder->queue)) {
        return false;
    }
    recipe_put_use(&recorder->queue.records, &(struct recipe_use){
                                                 .pipeline = use->pipeline,
                                                 .environment = use->environment,
                                                 .last_day = use->last_day,
                                                 .compile_us = compile_us,
                                             });
    recorder_queue_note(&recorder->queue);
    pthread_mutex_unlock(&recorder->queue.lock);
    return true;
}

void recorder_looking(void *user)
{
    struct recorder *recorder = user;
    recorder->looked = atomic_load(&recorder->unsaved_size);
}

void recorder_saved(void *user)
{
    struct recorder *recorder = user;
    if (!recorder_queue_lock(&recorder->queue)) {
        return;
    }
    const bool disproved = recorder_queue_disproves(&recorder->queue);
    const size_t looked =
        recorder->looked < recorder->unsaved.size ? recorder->looked : recorder->unsaved.size;
    for (size_t at = 0; at < looked && !atomic_load(&recorder->queue.is_broken);
         at += sizeof(struct digest)) {
        struct recipe_use use = {
            .environment = recorder->environment_digest,
            .last_day = recorder->day,
            .saved = true,
        };
        memcpy(&use.pipeline, recorder->unsaved.data + at, sizeof use.pipeline);
        recipe_put_use(&recorder->queue.records, &use);
    }
    if (looked > 0) {
        memmove(recorder->unsaved.data, recorder->unsaved.data + looked,
                recorder->unsaved.size - looked);
        recorder->unsaved.size -= looked;
        atomic_store(&recorder->unsaved_size, recorder->unsaved.size);
        recorder->looked = 0;
        recorder_queue_note(&recorder->queue);
    }
    pthread_mutex_unlock(&recorder->queue.lock);
    if (looked > 0 || disproved) {
        recorder_queue_hurry(&recorder->queue);
    }
}
