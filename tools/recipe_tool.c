#include "recipe_tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk/file.h"
#include "disk/names.h"
#include "disk/recipes.h"
#include "inventory.h"

/* To be freed; NULL after a message. */
static char *find_app(const char *verb, const char *root, const char *option)
{
    if (option && !names_is_app(option)) {
        output_message("%s: '%s' is not the name of a program's folder", verb, option);
        return NULL;
    }
    struct inventory_apps apps = {0};
    char *app = NULL;
    if (option) {
        app = strdup(option);
    } else if (!inventory_apps(verb, root, &apps)) {
        return NULL;
    } else if (apps.count == 1) {
        app = strdup(apps.names[0]);
    } else {
        output_message("%s: there are %zu programs in '%s', say which one with --app", verb,
                       apps.count, root);
    }
    inventory_apps_free(&apps);
    return app;
}

int recipe_tool_run(const char *verb, const struct arguments *arguments, char *root,
                    const char *app, recipe_tool_work *work)
{
    char *meant = root ? find_app(verb, root, app) : NULL;
    const int status = meant ? work(arguments, root, meant) : EXIT_USAGE;
    free(meant);
    free(root);
    return status;
}

bool recipe_tool_read(const char *verb, const char *path, struct recipe_segment *ret_segment)
{
    uint8_t *data;
    size_t size;
    enum reason reason = file_read_any(path, RECIPES_MAX_FILE, &data, &size);
    if (reason == REASON_ok) {
        reason = recipe_segment_take(data, size, ret_segment);
        if (reason != REASON_ok) {
            free(data);
        }
    }
    if (reason != REASON_ok) {
        output_message("%s: '%s': %s (%s)", verb, path,
                       reason == REASON_no_file ? strerror(ENOENT) : reason_text(reason),
                       reason_id(reason));
    }
    return reason == REASON_ok;
}

void recipe_tool_name_damage(const char *verb, const char *path,
                             const struct recipe_merge_counts *counts)
{
    if (counts->damaged > 0) {
        output_message("%s: '%s': %s (%s)", verb, path, reason_text(REASON_bad_record),
                       reason_id(REASON_bad_record));
    }
}

void recipe_tool_show(struct output *output, const struct recipe_merged *merged)
{
    const struct recipe_merge_counts *counts = &merged->counts;
    output_number(output, "pipelines", counts->pipelines);
    output_number(output, "modules", counts->modules);
    output_size(output, "size", merged->size);
    output_number(output, "refused_records", counts->refused);
    output_number(output, "damaged_records", counts->damaged);
    output_number(output, "incomplete_pipelines", counts->incomplete);
    output_number(output, "left_out_for_size", counts->too_many);
}

bool recipe_tool_is_finding(const struct recipe_merge_counts *counts)
{
    return counts->refused > 0 || counts->damaged > 0 || counts->incomplete > 0 ||
           counts->too_many > 0;
}
