// SPDX-License-Identifier: Apache-2.0
/* A verb of the tool, read by the parser, `--help`, the manual pages and the list of verbs. Also
 * the command line, parsed by the table of a verb, and values from the environment (options.c).
 * Thread-safe as long as the environment does not change. */
#ifndef WARMPIPE_TOOLS_CLI_VERB_H
#define WARMPIPE_TOOLS_CLI_VERB_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Options that mean the same in every verb that has them. */
/* clang-format off */
#define VERB_APP_OPTION      {"app", 0, "NAME", "only this program"}
#define VERB_DIR_OPTION      {"dir", 0, "DIR", "use the caches in DIR instead of WARMPIPE_DIR"}
#define VERB_PROGRAM_OPTIONS VERB_APP_OPTION, VERB_DIR_OPTION
#define VERB_JSON_OPTION     {"json", 0, NULL, "print the results as a JSON document"}
#define VERB_DRY_RUN_OPTION  {"dry-run", 'n', NULL, "show what would be removed; remove nothing"}
/* clang-format on */

/* How often the option that repeats may be given. */
#define VERB_REPEAT_LIMIT 64

struct verb;

/* What was given on the command line. */
struct arguments {
    const struct verb *verb;
    const char *values[VERB_OPTION_LIMIT];   /* in the order of the verb's options: options_value */
    bool json;                               /* --json */
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
    const char *summary; /* one line */
    const char *doing; /* shown on a terminal after two seconds; NULL: nothing, or the verb does */
    const char *operands;              /* as the usage line shows them; NULL: none */
    const char *description;           /* for --help; the whole page fits 80 columns by 24 lines */
    const struct option_spec *options; /* ends with a NULL name; --help and -v are added to them */
    int min_operands;
    int max_operands;     /* INT_MAX: any number */
    const char *repeated; /* name of the option that may be repeated; NULL: none */
    bool runs_program;    /* the operands are a command line, so the first one ends the options */
    int (*run)(const struct arguments *arguments); /* gives the exit status; NULL: */
    verb_work *programs;  /* this is called with the programs of --app and --dir */
    bool tells_obstacles; /* also with obstacles in place of a program's folder (inventory.h) */
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

/* Parses the words after the verb's name, NULL-terminated. Options and operands may be mixed; "--"
 * ends the options. `words` is reordered, and the arguments borrow from it. *ret_help is set where
 * --help is given: then nothing else is checked. False after a message. */
bool options_parse(const struct verb *verb, char **words, struct arguments *ret_arguments,
                   bool *ret_help);

/* Whether --json is among these words, in whatever order, also where options_parse refuses them:
 * not as the value of another option, nor behind "--". False for a verb that has no such option. */
bool options_want_json(const struct verb *verb, char *const *words);

/* The value of the option of this name, a flag's is "". NULL: it was not given, or the verb has
 * none of the name. */
const char *options_value(const struct arguments *arguments, const char *name);

/* The page of `warmpipe VERB --help`, on standard output. */
void options_print_help(const struct verb *verb);

/* The value of an environment variable; `otherwise` if it is unset or empty. Borrowed. */
const char *options_variable(const char *name, const char *otherwise);

/* A base directory of the XDG specification: the variable's value, if that is an absolute path,
 * else `in_home` below HOME, if HOME exists (we do not make it). To be freed; NULL: there is none.
 */
char *options_base(const char *variable, const char *in_home);

/* "500ms", "2s", "5m", "24h", "30d", in milliseconds. False after a message. */
bool options_duration(const char *text, uint64_t *ret_ms);

/* Returns the one of `count` names that is nearest to `word`, the first of several; NULL: none is
 * within two edits. An edit is an added, removed or changed character, or two neighbours swapped;
 * case is ignored. */
const char *options_nearest(const char *word, const char *const *names, size_t count);

#endif
