#include "recorder.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "housekeeper.h"
#include "recipe_draft.h"
#include "recorder_state.h"

#define SECONDS_A_DAY 86400

/* Bytes; what comes while so much waits for a disk that does not answer is not recorded. */
#define MAX_QUEUE ((size_t)64 << 20)

/* A use is marked, too, though it is no record of its own. */
enum { MARK_USE = RECIPE_ENVIRONMENT + 1 };

/* Half of a digest, told apart by kind: a coincidence costs a recipe. */
static uint64_t mark_of(unsigned kind, struct digest digest)
{
    return digest.low ^ (kind * UINT64_C(0x9E3779B97F4A7C15));
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
    recorder->housekeeper = setup->housekeeper;
    recorder->environment = *setup->environment;
    *setup->environment = (struct bytes){0};
    recorder->environment_digest =
        digest_of(recorder->environment.data, recorder->environment.size);
    pthread_mutex_init(&recorder->lock, NULL);
    pthread_mutex_init(&recorder->write_lock, NULL);
    form_table_init(&recorder->forms);
    fingerprint_set_init(&recorder->used_today);
    fingerprint_set_init(&recorder->written);
    recorder_write_init(recorder);
    return recorder;
}

void recorder_delete(struct recorder *recorder)
{
    if (recorder) {
        recipes_close(recorder->disk);
        form_table_release(&recorder->forms);
        fingerprint_set_release(&recorder->used_today);
        fingerprint_set_release(&recorder->written);
        bytes_free(&recorder->queue);
        bytes_free(&recorder->environment);
        pthread_mutex_destroy(&recorder->lock);
        pthread_mutex_destroy(&recorder->write_lock);
        free(recorder);
    }
}

const struct bytes *recorder_environment(const struct recorder *recorder)
{
    return &recorder->environment;
}

static void read_uses(struct recorder *recorder)
{
    const struct recipe_use *uses = NULL;
    size_t count = recorder->disk ? recipes_uses(recorder->disk, &uses) : 0;
    for (size_t i = 0; i < count; ++i) {
        if (uses[i].last_day >= recorder->day &&
            digest_equal(uses[i].environment, recorder->environment_digest)) {
            fingerprint_set_add(&recorder->used_today, uses[i].pipeline.low);
        }
    }
}

/* Programs that are ended as soon as they have recorded something leave nobody to make room. */
static void keep_to_limit(struct recorder *recorder)
{
    if (recipes_size(recorder->disk) > recorder->max_size) {
        log_info("nothing is recorded: there are more recipes than the limit allows");
        atomic_store(&recorder->is_broken, true);
        housekeeper_wrote(recorder->housekeeper, 0);
        housekeeper_start(recorder->housekeeper);
    }
}

/* A folder that cannot be used is told of by whoever loads or saves there; nothing is recorded. */
static void open_recipes(struct recorder *recorder)
{
    if (atomic_load_explicit(&recorder->opened, memory_order_acquire)) {
        return;
    }
    pthread_mutex_lock(&recorder->lock);
    if (!atomic_load_explicit(&recorder->opened, memory_order_relaxed)) {
        enum reason reason =
            recipes_open(recorder->root, recorder->app, RECIPES_READ, &recorder->disk);
        if (reason != REASON_ok && reason != REASON_no_file) {
            log_info("nothing is recorded (%s)", reason_id(reason));
            atomic_store(&recorder->is_broken, true);
        }
        if (recorder->disk) {
            recipes_detach(recorder->disk);
            keep_to_limit(recorder);
        }
        recorder->day = (uint32_t)(time(NULL) / SECONDS_A_DAY);
        read_uses(recorder);
        atomic_store_explicit(&recorder->opened, true, memory_order_release);
    }
    pthread_mutex_unlock(&recorder->lock);
}

static bool is_on_disk(const struct recorder *recorder, enum recipe_kind kind, struct digest digest)
{
    return recorder->disk && recipes_have(recorder->disk, kind, digest);
}

/* Whether a record exists, or is on its way. */
static bool is_recorded(struct recorder *recorder, enum recipe_kind kind, struct digest digest)
{
    return is_on_disk(recorder, kind, digest) ||
           fingerprint_set_has(&recorder->written, mark_of(kind, digest));
}

/* Uses count once a day. */
static bool is_used_today(struct recorder *recorder, struct digest pipeline)
{
    return fingerprint_set_has_settled(&recorder->used_today, pipeline.low) ||
           fingerprint_set_has(&recorder->written, mark_of(MARK_USE, pipeline));
}

/* Whether forms of this kind are kept: those of modules come with the draft. */
static bool is_referred_to(VkStructureType type)
{
    switch (type) {
    case VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO:
    case VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO:
    case VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO:
    case VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO:
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO:
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2:
        return true;
    default:
        return false;
    }
}

void recorder_keep(struct recorder *recorder, const struct canonical *form)
{
    VkStructureType type = canonical_stype(form->key.data, form->size);
    if (type == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO) {
        open_recipes(recorder);
    }
    if (!form->complete || atomic_load_explicit(&recorder->is_broken, memory_order_relaxed) ||
        !is_referred_to(type)) {
        return;
    }
    pthread_mutex_lock(&recorder->lock);
    if (!is_on_disk(recorder, RECIPE_FORM, form->digest)) {
        form_table_keep(&recorder->forms, form->digest, form->key.data, form->size);
    }
    pthread_mutex_unlock(&recorder->lock);
}

struct recipe_draft *recorder_draft(struct recorder *recorder, struct sharing *sharing,
                                    const struct canonical *form)
{
    if (!form->complete || atomic_load_explicit(&recorder->is_broken, memory_order_relaxed)) {
        return NULL;
    }
    open_recipes(recorder);
    if (is_used_today(recorder, form->digest)) {
        return NULL;
    }
    return is_recorded(recorder, RECIPE_FORM, form->digest) ? recipe_draft_of_use(form->digest)
                                                            : recipe_draft_new(sharing, form);
}

/* Under the lock, as all below. */
static void put(struct recorder *recorder, enum recipe_kind kind, struct digest digest,
                const void *data, size_t size)
{
    recipe_writer_put(&recorder->queue, kind, digest, data, size);
    fingerprint_set_add(&recorder->written, mark_of(kind, digest));
}

/* A form, on its way through what it refers to. */
struct visit {
    struct recorder *recorder;
    const struct recipe_draft *draft;
    const struct objects_module *module; /* whose form it is; NULL: of no module */
};

static bool put_form(const struct visit *visit, struct digest digest, const void *form,
                     size_t size);

/* Puts what a form refers to, unless it is recorded. False: it is not to be had. */
static bool put_reference(void *user, VkObjectType type, struct digest content)
{
    const struct visit *visit = user;
    struct recorder *recorder = visit->recorder;
    enum recipe_kind kind = type == VK_OBJECT_TYPE_UNKNOWN ? RECIPE_CODE : RECIPE_FORM;
    if (is_recorded(recorder, kind, content)) {
        return true;
    }
    struct visit below = {.recorder = recorder, .draft = visit->draft};
    if (kind == RECIPE_CODE) {
        if (visit->module) {
            put(recorder, RECIPE_CODE, content, visit->module->code, visit->module->code_size);
        }
        return visit->module;
    }
    if (type == VK_OBJECT_TYPE_SHADER_MODULE) {
        below.module = recipe_draft_module(visit->draft, content);
        return below.module &&
               put_form(&below, content, below.module->form, below.module->form_size);
    }
    size_t size = 0;
    const void *form = form_table_find(&recorder->forms, content, &size);
    return form && put_form(&below, content, form, size);
}

/* What it refers to stands before it. */
static bool put_form(const struct visit *visit, struct digest digest, const void *form, size_t size)
{
    struct visit own = *visit;
    if (!canonical_references(form, size, put_reference, &own)) {
        return false;
    }
    put(visit->recorder, RECIPE_FORM, digest, form, size);
    return true;
}

static void put_use(struct recorder *recorder, struct digest pipeline, uint32_t compile_us)
{
    struct digest environment = recorder->environment_digest;
    if (!is_recorded(recorder, RECIPE_ENVIRONMENT, environment)) {
        put(recorder, RECIPE_ENVIRONMENT, environment, recorder->environment.data,
            recorder->environment.size);
    }
    recipe_writer_put_use(&recorder->queue, &(struct recipe_use){
                                                .pipeline = pipeline,
                                                .environment = environment,
                                                .last_day = recorder->day,
                                                .days = 1,
                                                .compile_us = compile_us,
                                            });
    fingerprint_set_add(&recorder->written, mark_of(MARK_USE, pipeline));
}

/* False: there is nothing to write. */
static bool put_draft(struct recorder *recorder, const struct recipe_draft *draft,
                      uint32_t compile_us)
{
    if (is_used_today(recorder, draft->pipeline) || recorder->queue.size > MAX_QUEUE) {
        return false;
    }
    if (draft->form && !is_recorded(recorder, RECIPE_FORM, draft->pipeline)) {
        struct visit visit = {.recorder = recorder, .draft = draft};
        if (!put_form(&visit, draft->pipeline, draft->form, draft->form_size)) {
            return false;
        }
    }
    put_use(recorder, draft->pipeline, compile_us);
    return true;
}

void recorder_submit(struct recorder *recorder, struct recipe_draft *draft, uint32_t compile_us)
{
    if (!draft) {
        return;
    }
    pthread_mutex_lock(&recorder->lock);
    bool queued = put_draft(recorder, draft, compile_us);
    if (queued) {
        uint64_t now_ns = clock_now_ns();
        atomic_store(&recorder->last_queued_ns, now_ns);
        if (atomic_load(&recorder->first_queued_ns) == 0) {
            atomic_store(&recorder->first_queued_ns, now_ns);
        }
    }
    pthread_mutex_unlock(&recorder->lock);
    recipe_draft_free(draft);
    if (queued) {
        flusher_wake(&recorder->client);
    }
}
