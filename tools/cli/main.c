// SPDX-License-Identifier: Apache-2.0
/* warmpipe: the tool. A verb is a struct verb that a file cmd_*.c defines, and a name in VERBS of
 * verb.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "tools/cli/inventory.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"

#ifndef WARMPIPE_HAVE_REMOTE
/* pull, push, sync and remote in a build without libsodium or libzstd: each says so. */
static const struct option_spec no_options[] = {{NULL, 0, NULL, NULL}};

static int missing_verb_main(const struct arguments *arguments)
{
    (void)arguments;
    output_message("this warmpipe was built without libsodium or libzstd: it has no remotes");
    return EXIT_USAGE;
}

#define MISSING_VERB(verb_name, what)                                                              \
    const struct verb verb_##verb_name = {                                                         \
        .name = #verb_name,                                                                        \
        .summary = what,                                                                           \
        .description = "Not in this build: it lacks libsodium or libzstd.",                        \
        .options = no_options,                                                                     \
        .max_operands = INT_MAX,                                                                   \
        .run = missing_verb_main,                                                                  \
    }

MISSING_VERB(pull, "not in this build");
MISSING_VERB(push, "not in this build");
MISSING_VERB(sync, "not in this build");
MISSING_VERB(remote, "not in this build");
#endif

#define VERB_ADDRESS(name) &verb_##name,
static const struct verb *const verbs[] = {VERBS(VERB_ADDRESS)};
#undef VERB_ADDRESS

#define VERB_COUNT (sizeof verbs / sizeof verbs[0])

static void main_print_usage(FILE *stream)
{
    fprintf(stream, "usage: warmpipe VERB [OPTION...] [OPERAND...]\n"
                    "Runs Vulkan programs with their pipelines cached, and manages the caches.\n\n"
                    "verbs:\n");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        fprintf(stream, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    }
    fprintf(stream, "\noptions:\n"
                    "  -h --help     show this page; 'warmpipe VERB --help' explains a verb\n"
                    "  -v --verbose  of a verb: more detail, where it has more to show\n"
                    "  -V --version  show the version\n");
}

static const struct verb *main_find_verb(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(verbs[i]->name, name) == 0) {
            return verbs[i];
        }
    }
    return NULL;
}

static int main_tell_unknown(const char *word)
{
    static const char *const options[] = {"--help", "--version"};
    const char *names[VERB_COUNT];
    for (size_t i = 0; i < VERB_COUNT; i++) {
        names[i] = verbs[i]->name;
    }
    const bool is_option = word[0] == '-';
    const char *nearest =
        is_option ? options_nearest(word, options, 2) : options_nearest(word, names, VERB_COUNT);
    const char *what = is_option ? "option" : "verb";
    if (nearest) {
        output_message("unknown %s '%s'; did you mean '%s'?", what, word, nearest);
    } else {
        output_message("unknown %s '%s'; see 'warmpipe --help'", what, word);
    }
    return EXIT_USAGE;
}

/* On standard output; verb NULL: of the whole tool. */
static int main_show_help(const struct verb *verb)
{
    struct output output;
    output_begin(&output, false);
    if (verb) {
        options_print_help(verb);
    } else {
        main_print_usage(stdout);
    }
    return output_end(&output, EXIT_CLEAN);
}

static bool main_is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int main_run_verb(const struct verb *verb, char **words)
{
    struct arguments arguments;
    bool help = false;
    output_begin_messages(verb->name, options_want_json(verb, words)); /* parsing moves the words */
#ifndef WARMPIPE_HAVE_REMOTE
    /* Before its options, none of which is known. */
    if (verb->options == no_options && words[0] && !main_is_help(words[0])) {
        return missing_verb_main(NULL);
    }
#endif
    if (!options_parse(verb, words, &arguments, &help)) {
        return EXIT_USAGE;
    }
    if (help) {
        return main_show_help(verb);
    }
    if (!verb->runs_program) {
        /* Where it is ignored, how a child has ended is lost. A program gets it as it was. */
        signal(SIGCHLD, SIG_DFL);
    }
    if (verb->doing) {
        progress_begin(verb->name, verb->doing);
    }
    const int status =
        verb->run ? verb->run(&arguments) : inventory_run(&arguments, verb->programs);
    progress_end();
    return status;
}

/* No descriptor of ours takes the place of a standard stream that is closed: messages would go into
 * a file, or to a server. Reading and writing fail as before, and a program gets it closed. */
static void main_fill_streams(void)
{
    int fd;
    do {
        fd = open("/", O_PATH | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    io_close(fd);
}

int main(int argc, char **argv)
{
    main_fill_streams();
    if (argc < 2) {
        main_print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (main_is_help(word)) {
        return main_show_help(NULL);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        struct output output;
        output_begin(&output, false);
        printf("warmpipe " WARMPIPE_VERSION "\n");
        return output_end(&output, EXIT_CLEAN);
    }
    if (strcmp(word, "help") == 0) {
        const struct verb *about = argv[2] ? main_find_verb(argv[2]) : NULL;
        return argv[2] && !about ? main_tell_unknown(argv[2]) : main_show_help(about);
    }
    const struct verb *verb = main_find_verb(word);
    if (!verb) {
        return main_tell_unknown(word);
    }
    const bool wants_json = options_want_json(verb, argv + 2); /* parsing moves the words */
    const int status = main_run_verb(verb, argv + 2);
    if (status == EXIT_USAGE && wants_json) {
        output_failure();
    }
    return status;
}
