/* warmpipe list: what is kept, a line a program and device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/vulkan_names.h"
#include "inventory.h"
#include "output.h"
#include "recipe_counts.h"
#include "verb.h"

enum { OPTION_APP, OPTION_DIR, OPTION_JSON, OPTION_VERBOSE };

static const struct option_spec options[] = {
    [OPTION_APP] = {"app", 0, "NAME", "of this program only"},
    [OPTION_DIR] = {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, "also the digest that names the files"},
    {NULL, 0, NULL, NULL},
};

struct list {
    struct output output;
    struct recipe_counts *counts; /* of the program in hand */
    bool verbose;
    bool found; /* something is damaged */
};

static void show_driver(struct output *output, const struct inventory_item *item)
{
    char driver[VK_MAX_DRIVER_NAME_SIZE + VULKAN_VERSION_SIZE + 1] = "";
    if (item->identified) {
        char version[VULKAN_VERSION_SIZE];
        vulkan_driver_version(&item->identity, version);
        snprintf(driver, sizeof driver, "%s %s", item->identity.driver_name, version);
    }
    output_text(output, "device", item->identified ? item->identity.device_name : "");
    output_text(output, "driver", driver);
}

static void show(const struct inventory_item *item, void *user)
{
    struct list *list = user;
    struct output *output = &list->output;
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "name", item->app);
    show_driver(output, item);
    output_number(output, "pipelines",
                  recipe_counts_pipelines(list->counts, item->identified ? &item->identity : NULL));
    output_size(output, "size", item->bytes);
    if (item->last_use == INT64_MIN) {
        output_text(output, "last_use", "");
    } else {
        output_time(output, "last_use", (uint64_t)(item->last_use / 1000000000));
    }
    if (list->verbose) {
        output_text(output, "identity", item->digest);
    }
    output_text(output, "state", item->reason == REASON_ok ? "ok" : reason_id(item->reason));
    output_close(output);
    if (inventory_is_damage(item->reason)) {
        output_message("list: '%s': %s (%s)", item->app, reason_text(item->reason),
                       reason_id(item->reason));
        list->found = true;
    }
}

static int run(const struct arguments *arguments)
{
    int status = EXIT_USAGE;
    struct inventory_apps apps = {0};
    char *root = inventory_root("list", arguments->values[OPTION_DIR]);
    if (root && inventory_select("list", root, arguments->values[OPTION_APP], &apps)) {
        struct list list = {.verbose = arguments->values[OPTION_VERBOSE]};
        output_begin(&list.output, arguments->values[OPTION_JSON]);
        output_open(&list.output, "programs", OUTPUT_TABLE);
        bool any = false;
        for (size_t i = 0; i < apps.count; i++) {
            list.counts = recipe_counts_open(root, apps.names[i]);
            any |= inventory_visit(root, apps.names[i], show, &list);
            recipe_counts_close(list.counts);
        }
        output_close(&list.output);
        if (!any) {
            output_message("list: nothing of warmpipe's is in '%s'", root);
        }
        bool not_ours = !any && apps.count > 0;
        status = output_end(&list.output, not_ours     ? EXIT_USAGE
                                          : list.found ? EXIT_FINDING
                                                       : EXIT_CLEAN);
    }
    inventory_apps_free(&apps);
    free(root);
    return status;
}

const struct verb verb_list = {
    .name = "list",
    .summary = "list what is kept, by program and device",
    .operands = "",
    .description =
        "One line for each program, driver and device that something is kept for. The\n"
        "pipelines are those that the program has asked for on that device, the size is\n"
        "that of the driver's cache data, and the state one of\n\n"
        "  ok           the next start can use it, as far as its header tells\n"
        "  no_file      no cache yet, or none that was worth keeping\n"
        "  suspect      a process died while it loaded this: skipped once\n"
        "  quarantined  two did: put away\n\n"
        "or the reason why it is not used; 'warmpipe verify' checks every byte.\n\n"
        "Exit status: 0 fine, 1 something is damaged, 2 no such program or directory.",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
