/* warmpipe: the tool. A verb is a file cmd_VERB.c that defines a struct verb, and a line in
 * verbs.def. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "output.h"
#include "verb.h"

static const struct verb *const verbs[] = {
#define VERB(name) &verb_##name,
#include "verbs.def"
#undef VERB
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static void print_usage(FILE *stream)
{
    fprintf(stream, "usage: warmpipe VERB [OPTION...] [OPERAND...]\n"
                    "Vulkan programs that start warm: runs them, and looks after their caches.\n\n"
                    "verbs:\n");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        fprintf(stream, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    }
    fprintf(stream, "\noptions:\n"
                    "  -h --help     show this page; 'warmpipe VERB --help' tells of a verb\n"
                    "     --version  show the version\n");
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(verbs[i]->name, name) == 0) {
            return verbs[i];
        }
    }
    return NULL;
}

static int complain_unknown(const char *word)
{
    static const char *const options[] = {"--help", "--version"};
    const char *names[VERB_COUNT];
    for (size_t i = 0; i < VERB_COUNT; i++) {
        names[i] = verbs[i]->name;
    }
    bool is_option = word[0] == '-';
    output_message("unknown %s '%s', the nearest is '%s'", is_option ? "option" : "verb", word,
                   is_option ? options_nearest(word, options, 2)
                             : options_nearest(word, names, VERB_COUNT));
    return EXIT_USAGE;
}

/* A page on standard output: of the tool, or of a verb. */
static int show_help(const struct verb *verb)
{
    struct output output;
    output_begin(&output, false);
    if (verb) {
        options_print_help(verb);
    } else {
        print_usage(stdout);
    }
    return output_end(&output, EXIT_CLEAN);
}

static int show_version(void)
{
    struct output output;
    output_begin(&output, false);
    printf("warmpipe " WARMPIPE_VERSION "\n");
    return output_end(&output, EXIT_CLEAN);
}

static int run_verb(const struct verb *verb, char **words)
{
    struct arguments arguments;
    bool help = false;
    if (!options_parse(verb, words, &arguments, &help)) {
        return EXIT_USAGE;
    }
    return help ? show_help(verb) : verb->run(&arguments);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return show_help(NULL);
    }
    if (strcmp(word, "--version") == 0) {
        return show_version();
    }
    const struct verb *verb = find_verb(word);
    return verb ? run_verb(verb, argv + 2) : complain_unknown(word);
}
