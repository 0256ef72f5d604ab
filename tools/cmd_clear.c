/* warmpipe clear: removes what is kept. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/evict.h"
#include "disk/file.h"
#include "disk/usage.h"
#include "inventory.h"
#include "output.h"
#include "verb.h"

enum { OPTION_APP, OPTION_DIR, OPTION_YES, OPTION_DRY_RUN, OPTION_JSON };

static const struct option_spec options[] = {
    [OPTION_APP] = {"app", 0, "NAME", "of this program only"},
    [OPTION_DIR] = {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    [OPTION_YES] = {"yes", 'y', NULL, "do not ask"},
    [OPTION_DRY_RUN] = {"dry-run", 'n', NULL, "show what would go, and remove nothing"},
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

struct clearing {
    struct output output;
    const char *root;
    int root_fd;
    bool dry_run;
    bool found; /* something could not be removed */
    bool any;   /* a folder was one of ours */
};

/* Everything in the folder that is ours. The bytes that went. */
static uint64_t empty_folder(int folder_fd, const struct usage *usage, bool *all)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < usage->count; i++) {
        uint64_t removed = 0;
        *all &= evict_identity(folder_fd, usage->identities[i].identity, INT64_MAX, &removed);
        bytes += removed;
    }
    bool locked = false;
    evict_temporaries(folder_fd);
    bytes += evict_rest(folder_fd, INT64_MAX, usage->count > 0 || usage->recipe_bytes > 0, &locked);
    *all &= !locked;
    return bytes;
}

/* Why the folder stays; "": it is gone, or would be; NULL: it is none of ours. */
static const char *clear_folder(struct clearing *clearing, const char *app, uint64_t *ret_bytes)
{
    int folder_fd;
    struct usage usage;
    size_t entries = SIZE_MAX;
    enum reason reason = file_open_directory(clearing->root, app, false, &folder_fd);
    if (reason == REASON_ok) {
        reason = usage_read(folder_fd, &entries, &usage);
        if (reason != REASON_ok) {
            close(folder_fd);
        }
    }
    if (reason != REASON_ok) {
        return reason_id(reason);
    }
    const char *left = inventory_is_ours(folder_fd, &usage) ? "" : NULL;
    *ret_bytes = usage_bytes(&usage);
    if (left && !clearing->dry_run) {
        bool all = true;
        *ret_bytes = empty_folder(folder_fd, &usage, &all);
        if (unlinkat(clearing->root_fd, app, AT_REMOVEDIR) != 0) {
            left = !all                                    ? reason_id(REASON_locked)
                   : errno == ENOTEMPTY || errno == EEXIST ? "foreign_files"
                                                           : reason_id(reason_from_errno(errno));
        }
    }
    usage_free(&usage);
    close(folder_fd);
    return left;
}

static void clear_app(struct clearing *clearing, const char *app)
{
    struct output *output = &clearing->output;
    uint64_t bytes = 0;
    const char *left = clear_folder(clearing, app, &bytes);
    if (!left) {
        return;
    }
    clearing->any = true;
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "name", app);
    output_size(output, "size", bytes);
    output_text(output, "state", *left ? left : clearing->dry_run ? "would go" : "removed");
    output_close(output);
    clearing->found |= *left != '\0';
}

/* What this user's processes know of the folders together, which are gone. */
static void remove_stamp(const struct clearing *clearing)
{
    char name[32];
    snprintf(name, sizeof name, ".limits.%" PRIu32, (uint32_t)geteuid());
    unlinkat(clearing->root_fd, name, 0);
}

/* False: no, or nobody can be asked, which is said. */
static bool ask(const char *root, const struct inventory_apps *apps)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        output_message("clear: nobody is there to be asked, give --yes to remove what is kept");
        return false;
    }
    fprintf(stderr, "warmpipe: clear: remove what is kept of ");
    if (apps->count == 1) {
        fprintf(stderr, "'%s'", apps->names[0]);
    } else {
        fprintf(stderr, "%zu programs", apps->count);
    }
    fprintf(stderr, " in '%s'? [y/N] ", root);
    char answer[16];
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int clear(const struct arguments *arguments, const char *root,
                 const struct inventory_apps *apps)
{
    struct clearing clearing = {
        .root = root,
        .root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .dry_run = arguments->values[OPTION_DRY_RUN],
    };
    output_begin(&clearing.output, arguments->values[OPTION_JSON]);
    output_open(&clearing.output, "programs", OUTPUT_TABLE);
    for (size_t i = 0; i < apps->count; i++) {
        clear_app(&clearing, apps->names[i]);
    }
    output_close(&clearing.output);
    if (clearing.root_fd >= 0) {
        if (!clearing.dry_run && !arguments->values[OPTION_APP] && !clearing.found) {
            remove_stamp(&clearing);
        }
        close(clearing.root_fd);
    }
    bool not_ours = !clearing.any && apps->count > 0;
    if (!clearing.any) {
        output_message("clear: nothing of warmpipe's is in '%s'", root);
    }
    return output_end(&clearing.output, not_ours         ? EXIT_USAGE
                                        : clearing.found ? EXIT_FINDING
                                                         : EXIT_CLEAN);
}

static int run(const struct arguments *arguments)
{
    int status = EXIT_USAGE;
    struct inventory_apps apps = {0};
    char *root = inventory_root("clear", arguments->values[OPTION_DIR]);
    if (root && inventory_select("clear", root, arguments->values[OPTION_APP], &apps) &&
        (arguments->values[OPTION_YES] || arguments->values[OPTION_DRY_RUN] || apps.count == 0 ||
         ask(root, &apps))) {
        status = clear(arguments, root, &apps);
    }
    inventory_apps_free(&apps);
    free(root);
    return status;
}

const struct verb verb_clear = {
    .name = "clear",
    .summary = "remove what is kept",
    .operands = "",
    .description =
        "Removes caches, recipes, counters and what is in quarantine, of all programs or\n"
        "of one, and the folders of programs with them. Asks before, unless --yes is\n"
        "given. Programs that run meanwhile are not disturbed: what they are saving at\n"
        "that moment stays (state 'locked'), and so does a file that warmpipe has not\n"
        "made (state 'foreign_files').\n\n"
        "Exit status: 0 all is gone, 1 something stays, 2 not done.",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
