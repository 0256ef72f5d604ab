/* A verb of the tool, told once: the parser, `--help` and the list of verbs all read this. */
#ifndef WARMPIPE_TOOLS_VERB_H
#define WARMPIPE_TOOLS_VERB_H

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
    const char *argument; /* what stands behind it, as --help calls it; NULL: a flag */
    const char *meaning;  /* one line */
};

/* What was given on the command line. */
struct arguments {
    const char *values[VERB_OPTION_LIMIT]; /* by the option's place in its verb's list: NULL if not
                                              given, "" for a flag that is, else the argument */
    char **operands;                       /* ends with NULL */
    int operand_count;
};

struct verb {
    const char *name;
    const char *summary;               /* one line */
    const char *operands;              /* as the usage line calls them */
    const char *description;           /* for --help; the whole page fits 80 columns, 24 lines */
    const struct option_spec *options; /* ends with a NULL name; --help is added to them */
    int min_operands;
    int max_operands;  /* INT_MAX: any number */
    bool runs_program; /* the operands are a command line: the first one ends our options */
    int (*run)(const struct arguments *arguments); /* gives an exit status */
};

#define VERB(name) extern const struct verb verb_##name;
#include "verbs.def"
#undef VERB

#endif
