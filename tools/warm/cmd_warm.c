// SPDX-License-Identifier: Apache-2.0
/* warmpipe warm: compiles what programs have asked for into the driver's caches, before they ask
 * again. Here: which recipes, for which program, on which device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/clock.h"
#include "common/base/machine.h"
#include "common/base/text.h"
#include "common/files/names.h"
#include "common/files/program.h"
#include "common/settings/config.h"
#include "tools/cli/inventory.h"
#include "tools/cli/verb.h"
#include "tools/warm/warm.h"

#define DEFAULT_TIMEOUT_S 300
#define MAX_TIMEOUT_S     86400

static const struct option_spec options[] = {
    VERB_APP_OPTION,
    {"device", 0, "N", "for this device only, by its index"},
    {"jobs", 'j', "N", "threads (default: half of the cores)"},
    {"force", 'f', NULL, "also where there is a cache, or the driver's key differs"},
    {"timeout", 0, "S", "seconds a driver may take at a time (default 300)"},
    VERB_DIR_OPTION,
    {"dry-run", 'n', NULL, "show what would be replayed, and replay nothing"},
    VERB_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

struct warming {
    const struct arguments *arguments;
    const char *root;
    struct config config;
    bool own;                   /* the recipes at hand are all those of the program */
    bool alone;                 /* they are of the only program */
    struct program_facts facts; /* of that one */
    bool begun;
    bool able; /* once it has begun */
    struct vulkan_devices devices;
    struct warm_probe probe;
    struct warm_shared *shared; /* for the recipes at hand */
    uint32_t device;            /* UINT32_MAX: all */
    unsigned jobs;
    uint64_t timeout_ns;
    struct output output;
    struct warm_coverage coverage;
    bool found; /* something could not be done */
    bool any;   /* there are recipes */
};

/* False after a message. */
static bool warm_parse_number(const char *name, const char *text, uint64_t least, uint64_t most,
                              uint64_t *number)
{
    if (!text) {
        return true;
    }
    const char *end = text;
    uint64_t value;
    if (!text_parse_digits(&end, most, &value) || *end || value < least) {
        output_message("--%s: '%s' is not a number from %llu to %llu", name, text,
                       (unsigned long long)least, (unsigned long long)most);
        return false;
    }
    *number = value;
    return true;
}

static bool warm_parse(const struct arguments *arguments, struct warming *warming)
{
    uint64_t device = UINT32_MAX;
    const unsigned half = machine_cores("") / 2;
    uint64_t jobs = half < 1 ? 1 : half > WARM_MAX_JOBS ? WARM_MAX_JOBS : half;
    uint64_t timeout = DEFAULT_TIMEOUT_S;
    if (!warm_parse_number("device", options_value(arguments, "device"), 0, 255, &device) ||
        !warm_parse_number("jobs", options_value(arguments, "jobs"), 1, WARM_MAX_JOBS, &jobs) ||
        !warm_parse_number("timeout", options_value(arguments, "timeout"), 1, MAX_TIMEOUT_S,
                           &timeout)) {
        return false;
    }
    warming->device = (uint32_t)device;
    warming->jobs = (unsigned)jobs;
    warming->timeout_ns = timeout * CLOCK_S;
    return true;
}

/* What the layer would say of the cache. *ret_has_others: saves lie beside it. */
static enum status warm_try_cache(const struct warm_target *target, bool *ret_has_others)
{
    AUTO(store_blob_free) struct store_blob blob = {0};
    struct store *store = warm_target_store(target, true);
    const enum status reason = store ? store_load(store, &blob) : STATUS_no_file;
    *ret_has_others = store && store_has_others(store) && !target->policy.single_cache;
    store_close(store);
    return reason;
}

/* Where there is something to do, does it. */
static void warm_one(struct warming *warming, const struct warm_target *target,
                     struct warm_report *report)
{
    if (!target->policy.persist) {
        report->state = WARM_STATE_DENIED;
        return;
    }
    bool has_others = false;
    const enum status reason = options_value(warming->arguments, "force")
                                   ? STATUS_no_file
                                   : warm_try_cache(target, &has_others);
    size_t unsaved_count;
    AUTO_FREE struct recipe_use *unsaved = warm_recipes_unsaved(target, &unsaved_count);
    /* Whether there is a cache which what is compiled all at once has come to the end of. */
    const bool is_finished =
        reason == STATUS_ok && !warm_unfinished_is(target) &&
        !(target->offer_only ? warm_many_have_died : recipe_crashes_are_many_of)(
            target->root, target->app, target->digest);
    if (reason == STATUS_out_of_memory || /* nothing could be saved */
        (is_finished && unsaved_count == 0 && !has_others)) {
        report->state = WARM_STATE_READY;
        return;
    }
    warm_shared_reset(warming->shared);
    const bool was_unfinished = warm_unfinished_is(target);
    const bool made = !target->offer_only && warm_unfinished_begin(target);
    uint64_t begin = clock_now_ns();
    warm_watch_run(target, warming->shared, &warming->probe);
    report->time_ns = clock_now_ns() - begin;
    warm_report_take(report, target, warming->shared);
    if (report->state == WARM_STATE_WARMED) {
        warm_recipes_note_saved(target, warming->shared, unsaved, unsaved_count);
    }
    const bool is_done = !target->offer_only && warming->shared->end == WARM_END_DONE;
    /* What the driver compiles otherwise here waits for the program, or for a later `warm`. */
    const bool is_through = is_done && report->counts.of[WARM_OTHER_KEY] == 0;
    if (is_done && report->state != WARM_STATE_NOT_SAVED && (is_through || !was_unfinished)) {
        warm_unfinished_end(target, made);
    }
    warm_coverage_add(&warming->coverage, report, warming->shared);
    if (warming->own && is_through) {
        recipe_crashes_change(target->root, target->app, target->digest, NULL);
    }
}

static void warm_identity(struct warming *warming, const char *app,
                          const struct warm_recipes *recipes, uint32_t device,
                          const struct driver_identity *identity)
{
    struct warm_target target = {
        .root = warming->root,
        .app = app,
        .recipes = recipes,
        .identity = *identity,
        .digest = identity_digest(identity),
        .device = device,
        .jobs = warming->jobs,
        .timeout_ns = warming->timeout_ns,
        .any_key = options_value(warming->arguments, "force"),
        .offer_only = options_value(warming->arguments, "dry-run"),
    };
    policy_of_settings(&warming->config, identity, &target.policy);
    target.max_blob = target.policy.max_blob < warming->config.max_size ? target.policy.max_blob
                                                                        : warming->config.max_size;
    target.jobs = target.policy.serialize ? 1 : target.jobs;
    struct warm_report report = {
        .app = app,
        .device = identity->device_name,
        .total = warm_target_count(&target),
    };
    if (report.total > 0) {
        warm_one(warming, &target, &report);
        warm_report_show(&report, &warming->output, warming->arguments->json);
        warming->found |= warm_report_is_finding(&report);
    }
}

/* A program that knows the driver's whole identity, and one that does not, has files of its own. */
static void warm_app(struct warming *warming, const char *app, const struct warm_recipes *recipes)
{
    for (uint32_t i = 0; i < warming->devices.count && !warm_watch_is_stopped(); i++) {
        if (warming->device == UINT32_MAX || warming->device == i) {
            const struct driver_identity *whole = &warming->devices.identities[i];
            struct driver_identity basic = warm_basic_identity(whole);
            warm_identity(warming, app, recipes, i, whole);
            if (!digest_equal(identity_digest(&basic), identity_digest(whole))) {
                warm_identity(warming, app, recipes, i, &basic);
            }
        }
    }
}

/* Once the first recipes are open, if there are any: so the process that is asked for the devices
 * has them, and can replay them; for an only program, with its settings of the drivers. app NULL:
 * there are none. False after a message: nothing can be done. */
static bool warm_begin(struct warming *warming, const char *app)
{
    if (!warming->begun) {
        warming->begun = true;
        const bool has_settings = warming->alone && app &&
                                  !options_value(warming->arguments, "force") &&
                                  program_load(warming->root, app, &warming->facts) == STATUS_ok;
        warming->able = warm_probe_start(&warming->probe, warming->shared,
                                         has_settings ? warming->facts.driver_settings : "",
                                         warming->timeout_ns, &warming->devices);
        if (warming->able && warming->device != UINT32_MAX &&
            warming->device >= warming->devices.count) {
            output_message("no device '%u'; see 'warmpipe policy'", warming->device);
            warming->able = false;
        }
        if (warming->able) {
            output_begin(&warming->output, warming->arguments->json);
            output_open(&warming->output, "caches", OUTPUT_TABLE);
        }
    }
    return warming->able;
}

static bool warm_goes_on(const struct warming *warming)
{
    return !warm_watch_is_stopped() && (warming->able || !warming->begun);
}

/* paths NULL: the recipes are those in the program's own folder. */
static bool warm_open(struct warming *warming, const char *app, char **paths)
{
    struct warm_recipes recipes;
    warming->own = !paths;
    if (!warm_recipes_open(warming->root, app, paths, &recipes)) {
        return false;
    }
    warming->found |= recipes.is_cut;
    if (recipes.is_cut && recipes.item_count == 0) { /* the uses stand last */
        warm_recipes_close(&recipes);
        return false;
    }
    const struct recipe_damage damage =
        recipes.files ? recipes_damage(recipes.files) : (struct recipe_damage){.segments = 0};
    if (recipes.item_count == 0 && damage.segments > 0) {
        output_reason(damage.reason, "recipes of '%s'", app);
        output_note_error();
        warming->any = warming->found = true;
    }
    if (recipes.unusable > 0) {
        output_message("'%s': %zu %s not usable: the device features are unknown", app,
                       recipes.unusable, text_noun(recipes.unusable, "recipe is", "recipes are"));
    }
    bool fine = false;
    warming->any |= recipes.item_count > 0 || recipes.unusable > 0;
    warming->shared = warm_shared_new(recipes.item_count);
    if (!warming->shared) {
        output_message("out of memory");
    } else if (warm_begin(warming, app)) {
        warm_app(warming, app, &recipes);
        fine = true;
    }
    warm_probe_end(&warming->probe);
    warm_shared_delete(warming->shared);
    warming->shared = NULL;
    warm_recipes_close(&recipes);
    return fine;
}

/* A program's folder, wherever its root is, or the folder of recipes in it. */
static bool warm_folder(struct warming *warming, const char *path)
{
    bool fine = false;
    struct stat status;
    AUTO_FREE char *recipes = NULL;
    AUTO_FREE char *folder = realpath(path, NULL);
    char *name = folder ? strrchr(folder, '/') : NULL;
    if (name && name > folder && strcmp(name, "/recipes") == 0) {
        *name = '\0';
        name = strrchr(folder, '/');
    }
    if (name && name > folder && names_is_app(name + 1) &&
        asprintf(&recipes, "%s/recipes", folder) >= 0 && stat(recipes, &status) == 0 &&
        S_ISDIR(status.st_mode)) {
        *name = '\0';
        warming->root = folder;
        fine = warm_open(warming, name + 1, NULL);
    } else if (!folder) {
        output_message("cannot open '%s': %s", path, strerror(errno));
    } else {
        output_message("'%s' is not a program's folder: use --app to name the program", path);
    }
    return fine;
}

/* Programs' folders, one program, or all. */
static bool warm_all(struct warming *warming)
{
    const char *app = options_value(warming->arguments, "app");
    AUTO(inventory_apps_free) struct inventory_apps apps = {0};
    bool fine = true;
    warming->alone = app || warming->arguments->operand_count == 1;
    if (warming->arguments->operand_count > 0 && app) {
        /* Recipes from elsewhere: the program that they are for need not have a folder yet. */
        char name[NAMES_APP_SIZE];
        names_app_folder(&(struct names_program){.app_setting = app}, name);
        return warm_open(warming, name, warming->arguments->operands);
    }
    for (char **path = warming->arguments->operands; *path && warm_goes_on(warming); path++) {
        fine &= warm_folder(warming, *path);
    }
    if (warming->arguments->operand_count > 0) {
        return fine;
    }
    if (!inventory_apps(warming->root, app, INVENTORY_CLOSED, &apps)) {
        return false;
    }
    warming->alone = apps.count == 1;
    for (size_t i = 0; i < apps.count && warm_goes_on(warming); i++) {
        /* What may be of no program fails nothing. */
        fine &= warm_open(warming, apps.list[i].name, NULL) ||
                (!app && apps.list[i].kind != INVENTORY_PROGRAM);
    }
    return fine;
}

/* Neither in the files that were named, nor for the programs. */
static void warm_tell_nothing(const struct warming *warming)
{
    const char *app = options_value(warming->arguments, "app");
    const char *path = warming->arguments->operands[0];
    if (path) {
        output_message("nothing to do: no pipelines in '%s'%s", path,
                       warming->arguments->operand_count > 1 ? " and the others" : "");
    } else {
        output_message("nothing to do: no recipes%s%s in '%s' yet", app ? " of " : "",
                       app ? app : "", warming->root);
    }
}

static int warm_run(struct warming *warming)
{
    int status = EXIT_USAGE;
    output_share_messages();
    warm_watch_prepare();
    bool fine = warm_all(warming);
    if (fine && !warming->any) {
        warm_tell_nothing(warming);
    }
    const bool has_none = !warming->begun && fine;
    if (has_none) { /* no recipes: no driver need be asked for anything */
        output_begin(&warming->output, warming->arguments->json);
        output_open(&warming->output, "caches", OUTPUT_TABLE);
    }
    if (has_none || warm_begin(warming, NULL)) {
        output_close(&warming->output);
        warm_coverage_show(&warming->coverage, &warming->output, false);
        if (!has_none && warming->devices.count == 0) {
            output_message("nothing to do: no Vulkan device on this machine");
        }
        status = output_end(&warming->output, !fine            ? EXIT_USAGE
                                              : warming->found ? EXIT_FINDING
                                                               : EXIT_CLEAN);
    }
    warm_probe_end(&warming->probe);
    vulkan_devices_free(&warming->devices);
    warm_coverage_free(&warming->coverage);
    return status;
}

static int warm_main(const struct arguments *arguments)
{
    struct warming warming = {.arguments = arguments};
    int status = EXIT_USAGE;
    setenv("WARMPIPE_DISABLE", "1", 1); /* the layer has nothing to do in our own processes */
    if (!warm_parse(arguments, &warming)) {
        return status;
    }
    /* Nothing may be there yet: an empty volume, or recipes from elsewhere that make the folder. */
    AUTO_FREE char *root = inventory_new_root(arguments);
    if (!root) {
        return status;
    }
    config_read(config_environment, &warming.config);
    warming.root = root;
    if (warming.config.read_only && !options_value(arguments, "dry-run")) {
        output_reason(STATUS_read_only, NULL);
    } else {
        status = warm_run(&warming);
    }
    config_free(&warming.config);
    return status;
}

const struct verb verb_warm = {
    .name = "warm",
    .summary = "make caches of what programs asked for before",
    .operands = "[PATH...]",
    .description =
        "Replays the recipes of all programs, or of one, for each device that has no\n"
        "cache yet, or an unfinished one: after a driver update, on another GPU, in a\n"
        "new container, after a kill. PATH: a program's folder, or, with --app, recipes\n"
        "from elsewhere: a file, or a folder of them; their SPIR-V is validated.\n"
        "What crashes or hangs the driver is skipped from then on, by programs too.\n"
        "Where a device lacks something, it says how many of the program's pipelines it\n"
        "covers, and by name (not in a dry run) what the others need. Nothing is compiled\n"
        "where the driver compiles otherwise than in the program (other_pipeline_key).\n\n"
        "Exit status: 0 fine, or nothing to do; 1 something could not be replayed as it\n"
        "should; 2 not done.",
    .options = options,
    .max_operands = INT_MAX,
    .run = warm_main,
};
