// SPDX-License-Identifier: Apache-2.0
/* A verb of the tool: the parser, `--help`, the manual pages and the list of verbs read this. */
#ifndef WARMPIPE_TOOLS_CLI_VERB_H
#define WARMPIPE_TOOLS_CLI_VERB_H

#include <limits.h>
#include <stdbool.h>

enum exit_status {
    EXIT_CLEAN = 0,
    EXIT_FINDING = 1, /* something is damaged or does not work */
    EXIT_USAGE = 2    /* wrong usage, or input and output failed */
};

/* The most options that one verb has, --help included. */
#define VERB_OPTION_LIMIT 16

struct option_spec {
    const char *name;     /* without the dashes */
    char letter;          /* short form, 0: none */
    const char *argument; /* its value, as --help calls it; NULL: a flag */
    const char *meaning;  /* one line */
};

/* Options that mean the same in every verb that has them. The first two have these places. */
enum { VERB_APP, VERB_DIR };
/* clang-format off */
#define VERB_APP_OPTION     {"app", 0, "NAME", "only this program"}
#define VERB_DIR_OPTION     {"dir", 0, "DIR", "use the caches in DIR instead of WARMPIPE_DIR"}
#define VERB_JSON_OPTION    {"json", 0, NULL, "print the results as a JSON document"}
#define VERB_DRY_RUN_OPTION {"dry-run", 'n', NULL, "show what would be removed; remove nothing"}
/* clang-format on */

/* How often the option that repeats may be given. */
#define VERB_REPEAT_LIMIT 64

/* What was given on the command line. */
struct arguments {
    const char *values[VERB_OPTION_LIMIT];   /* by the option's index in its verb's list; NULL: not
                                                given; a flag: "" */
    const char *repeated[VERB_REPEAT_LIMIT]; /* each value of the option that repeats */
    int repeated_count;
    char **operands; /* ends with NULL */
    int operand_count;
};

struct inventory_apps;

/* What a verb does with programs, in a root; gives its exit status. */
typedef int verb_work(const struct arguments *arguments, const char *root,
                      const struct inventory_apps *apps);

struct verb {
    const char *name;
    const char *summary;     /* one line */
    const char *doing;       /* what a terminal is told after two seconds; NULL: nothing, or more */
    const char *operands;    /* as the usage line shows them; NULL: none */
    const char *description; /* for --help; the whole page fits 80 columns by 24 lines */
    const struct option_spec *options; /* ends with a NULL name; --help and -v are added to them */
    int min_operands;
    int max_operands;  /* INT_MAX: any number */
    int repeated;      /* index of the option that may be repeated; 0: none */
    bool runs_program; /* the operands are a command line, so the first one ends the options */
    int (*run)(const struct arguments *arguments); /* gives the exit status; NULL: */
    verb_work *programs; /* the options begin with --app and --dir, and this gets what they name */
};

/* All verbs, in the order of `warmpipe --help`. */
/* clang-format off */
#define VERBS(X) \
    X(run) X(warm) X(list) X(stats) X(report) X(inspect) X(verify) \
    X(policy) X(doctor) X(export) X(import) X(merge) X(pull) X(push) \
    X(sync) X(remote) X(prune) X(clear) X(install) X(uninstall)
/* clang-format on */

#define VERB_DECLARATION(name) extern const struct verb verb_##name;
VERBS(VERB_DECLARATION)
#undef VERB_DECLARATION

#endif
