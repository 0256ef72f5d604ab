/* warmpipe warm: makes the driver's caches of what programs have asked for, before they ask again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/machine.h"
#include "disk/names.h"
#include "disk/paths.h"
#include "driver/policy_load.h"
#include "inventory.h"
#include "output.h"
#include "verb.h"
#include "warm_report.h"
#include "warm_run.h"
#include "warm_stop.h"

#define DEFAULT_TIMEOUT_S 300
#define MAX_TIMEOUT_S     86400

enum {
    OPTION_APP,
    OPTION_DEVICE,
    OPTION_JOBS,
    OPTION_FORCE,
    OPTION_TIMEOUT,
    OPTION_DIR,
    OPTION_DRY_RUN,
    OPTION_JSON
};

static const struct option_spec options[] = {
    [OPTION_APP] = {"app", 0, "NAME", "for this program only"},
    [OPTION_DEVICE] = {"device", 0, "N", "for this device only, by its index"},
    [OPTION_JOBS] = {"jobs", 'j', "N", "threads; otherwise half as many as there are cores"},
    [OPTION_FORCE] = {"force", 'f', NULL, "also where there is a cache: it may lack some"},
    [OPTION_TIMEOUT] = {"timeout", 0, "S",
                        "seconds that a driver may take at a time; otherwise 300"},
    [OPTION_DIR] = {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    [OPTION_DRY_RUN] = {"dry-run", 'n', NULL, "show what would be replayed, and replay nothing"},
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

struct warming {
    const struct arguments *arguments;
    const char *root;
    struct config config;
    bool begun;
    bool able; /* once it has begun */
    struct vulkan_devices devices;
    struct warm_scout scout;
    struct warm_page *page; /* of the recipes in hand */
    uint32_t device;        /* UINT32_MAX: all */
    unsigned jobs;
    uint64_t patience_ns;
    struct output output;
    bool found; /* something could not be done */
};

/* False after a message. */
static bool parse_number(const char *name, const char *text, uint64_t least, uint64_t most,
                         uint64_t *number)
{
    if (!text) {
        return true;
    }
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[strspn(text, "0123456789")] != '\0' || *end || value < least || value > most) {
        output_message("warm: --%s: '%s' is not a number from %llu to %llu", name, text,
                       (unsigned long long)least, (unsigned long long)most);
        return false;
    }
    *number = value;
    return true;
}

/* Half of the cores that this process may use. */
static uint64_t default_jobs(void)
{
    const unsigned count = machine_cores("") / 2;
    return count < 1 ? 1 : count > WARM_MAX_JOBS ? WARM_MAX_JOBS : count;
}

static bool parse(const struct arguments *arguments, struct warming *warming)
{
    uint64_t device = UINT32_MAX;
    uint64_t jobs = default_jobs();
    uint64_t timeout = DEFAULT_TIMEOUT_S;
    if (!parse_number("device", arguments->values[OPTION_DEVICE], 0, 255, &device) ||
        !parse_number("jobs", arguments->values[OPTION_JOBS], 1, WARM_MAX_JOBS, &jobs) ||
        !parse_number("timeout", arguments->values[OPTION_TIMEOUT], 1, MAX_TIMEOUT_S, &timeout)) {
        return false;
    }
    warming->device = (uint32_t)device;
    warming->jobs = (unsigned)jobs;
    warming->patience_ns = timeout * CLOCK_S;
    return true;
}

/* Where there is something to do, does it. */
static void warm_target(struct warming *warming, const struct warm_target *target,
                        struct warm_report *report)
{
    bool forced = warming->arguments->values[OPTION_FORCE];
    if (!target->policy.persist) {
        report->state = WARM_STATE_DENIED;
        return;
    }
    if (!forced && warm_target_has_cache(target)) {
        report->state = WARM_STATE_READY;
        return;
    }
    struct warm_progress progress;
    warm_page_reset(warming->page);
    uint64_t begin = clock_now_ns();
    warm_progress_begin(&progress, target->app, target->identity.device_name, report->total);
    warm_run(target, warming->page, &warming->scout, &progress);
    report->time_ns = clock_now_ns() - begin;
    warm_report_take(report, warming->page, target->offer_only);
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
        .patience_ns = warming->patience_ns,
        .offer_only = warming->arguments->values[OPTION_DRY_RUN],
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
        warm_target(warming, &target, &report);
        warm_report_show(&report, &warming->output, warming->arguments->values[OPTION_JSON]);
        warming->found |= warm_report_is_finding(&report);
    }
}

/* A program that knows the driver's whole identity, and one that does not, has files of its own. */
static void warm_app(struct warming *warming, const char *app, const struct warm_recipes *recipes)
{
    for (uint32_t i = 0; i < warming->devices.count && !warm_stop_is_wanted(); i++) {
        if (warming->device == UINT32_MAX || warming->device == i) {
            const struct driver_identity *whole = &warming->devices.identities[i];
            struct driver_identity basic = warm_target_basic_identity(whole);
            warm_identity(warming, app, recipes, i, whole);
            if (!digest_equal(identity_digest(&basic), identity_digest(whole))) {
                warm_identity(warming, app, recipes, i, &basic);
            }
        }
    }
}

/* False after a message: there is no such device. */
static bool check_device(const struct warming *warming)
{
    if (warming->device != UINT32_MAX && warming->device >= warming->devices.count) {
        output_message("warm: no device %u among %u", warming->device, warming->devices.count);
        return false;
    }
    return true;
}

/* Once the first recipes are open, if there are any: so the process that is asked for the devices
 * has them, and can replay them. False after a message: nothing can be done. */
static bool begin(struct warming *warming)
{
    if (!warming->begun) {
        warming->begun = true;
        warming->able = warm_scout_start(&warming->scout, warming->page, warming->patience_ns,
                                         &warming->devices) &&
                        check_device(warming);
        if (warming->able) {
            output_begin(&warming->output, warming->arguments->values[OPTION_JSON]);
            output_open(&warming->output, "caches", OUTPUT_TABLE);
        }
    }
    return warming->able;
}

static bool goes_on(const struct warming *warming)
{
    return !warm_stop_is_wanted() && (warming->able || !warming->begun);
}

/* paths NULL: the recipes are those in the program's own folder. */
static bool open_and_warm(struct warming *warming, const char *app, char **paths)
{
    struct warm_recipes recipes;
    if (!warm_recipes_open(warming->root, app, paths, &recipes)) {
        return false;
    }
    if (recipes.unusable > 0) {
        output_message("warm: '%s': %zu recipes are of no use: what was enabled is not known", app,
                       recipes.unusable);
    }
    bool fine = false;
    warming->page = warm_page_new(recipes.item_count);
    if (!warming->page) {
        output_message("warm: out of memory");
    } else if (begin(warming)) {
        warm_app(warming, app, &recipes);
        fine = true;
    }
    warm_scout_dismiss(&warming->scout);
    warm_page_delete(warming->page);
    warming->page = NULL;
    warm_recipes_close(&recipes);
    return fine;
}

/* A program's folder, wherever its root is, or the folder of recipes in it. */
static bool warm_folder(struct warming *warming, const char *path)
{
    bool fine = false;
    struct stat status;
    char *recipes = NULL;
    char *folder = realpath(path, NULL);
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
        fine = open_and_warm(warming, name + 1, NULL);
    } else {
        output_message("warm: '%s' is no program's folder: --app tells whose recipes they are",
                       path);
    }
    free(recipes);
    free(folder);
    return fine;
}

/* Recipes from elsewhere: the program that they are for need not have a folder yet. */
static bool warm_elsewhere(struct warming *warming, const char *app)
{
    const struct paths_program program = {.app_setting = app};
    char name[PATHS_APP_SIZE];
    paths_app_name(&program, name);
    return open_and_warm(warming, name, warming->arguments->operands);
}

/* Programs' folders, one program, or all. */
static bool warm_all(struct warming *warming)
{
    const char *app = warming->arguments->values[OPTION_APP];
    struct inventory_apps apps = {0};
    bool fine = true;
    if (warming->arguments->operand_count > 0 && app) {
        return warm_elsewhere(warming, app);
    }
    for (char **path = warming->arguments->operands; *path && goes_on(warming); path++) {
        fine &= warm_folder(warming, *path);
    }
    if (warming->arguments->operand_count > 0) {
        return fine;
    }
    if (!inventory_select("warm", warming->root, app, &apps)) {
        return false;
    }
    for (size_t i = 0; i < apps.count && goes_on(warming); i++) {
        fine &= open_and_warm(warming, apps.names[i], NULL);
    }
    inventory_apps_free(&apps);
    return fine;
}

static int warm(struct warming *warming)
{
    int status = EXIT_USAGE;
    warm_stop_prepare();
    bool fine = warm_all(warming);
    if (begin(warming)) {
        output_close(&warming->output);
        if (warming->devices.count == 0) {
            output_message("warm: no Vulkan device on this machine");
            warming->found = true;
        }
        status = output_end(&warming->output, !fine            ? EXIT_USAGE
                                              : warming->found ? EXIT_FINDING
                                                               : EXIT_CLEAN);
    }
    warm_scout_dismiss(&warming->scout);
    vulkan_devices_free(&warming->devices);
    return status;
}

static const char *read_environment(const char *name)
{
    return getenv(name);
}

static int run(const struct arguments *arguments)
{
    struct warming warming = {.arguments = arguments};
    int status = EXIT_USAGE;
    setenv("WARMPIPE_DISABLE", "1", 1); /* the layer has nothing to do in our own processes */
    if (!parse(arguments, &warming)) {
        return status;
    }
    /* Recipes from elsewhere may be the first that a folder is made of. */
    const bool elsewhere = arguments->operand_count > 0 && arguments->values[OPTION_APP];
    const char *dir = arguments->values[OPTION_DIR];
    char *root = elsewhere ? inventory_new_root("warm", dir) : inventory_root("warm", dir);
    if (!root) {
        return status;
    }
    config_read(read_environment, &warming.config);
    warming.root = root;
    if (warming.config.read_only) {
        output_message("warm: %s (%s)", reason_text(REASON_read_only), reason_id(REASON_read_only));
    } else {
        status = warm(&warming);
    }
    config_free(&warming.config);
    free(root);
    return status;
}

const struct verb verb_warm = {
    .name = "warm",
    .summary = "make caches of what programs asked for before",
    .operands = "[PATH...]",
    .description =
        "Replays the recipes of all programs, or of one, for each device that has no\n"
        "cache yet: after a driver update, on another GPU, in a new container. PATH: a\n"
        "program's folder, or, with --app, recipes from elsewhere: a file, or a folder of\n"
        "them; their SPIR-V is validated.\n"
        "What crashes or hangs the driver is passed over from then on.\n\n"
        "Exit status: 0 fine, 1 something could not be replayed as it should, 2 not done.",
    .options = options,
    .min_operands = 0,
    .max_operands = INT_MAX,
    .run = run,
};
