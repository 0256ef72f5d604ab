// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/verb.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli/output.h"

/* A name with more edits than this was not meant. */
#define MAX_EDITS 2

/* Longer words are compared by their beginning: no name is longer. */
#define WORD_LIMIT 32

static size_t options_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int options_fold_case(char c)
{
    return tolower((unsigned char)c);
}

/* Optimal string alignment distance, ignoring case. */
static size_t options_distance(const char *a, const char *b)
{
    size_t rows = strnlen(a, WORD_LIMIT);
    size_t columns = strnlen(b, WORD_LIMIT);
    size_t table[WORD_LIMIT + 1][WORD_LIMIT + 1];
    for (size_t row = 0; row <= rows; row++) {
        for (size_t column = 0; column <= columns; column++) {
            if (row == 0 || column == 0) {
                table[row][column] = row + column;
                continue;
            }
            bool same = options_fold_case(a[row - 1]) == options_fold_case(b[column - 1]);
            size_t best = table[row - 1][column - 1] + (same ? 0 : 1);
            best = options_smaller(best, table[row - 1][column] + 1);
            best = options_smaller(best, table[row][column - 1] + 1);
            if (row > 1 && column > 1 &&
                options_fold_case(a[row - 1]) == options_fold_case(b[column - 2]) &&
                options_fold_case(a[row - 2]) == options_fold_case(b[column - 1])) {
                best = options_smaller(best, table[row - 2][column - 2] + 1);
            }
            table[row][column] = best;
        }
    }
    return table[rows][columns];
}

const char *options_nearest(const char *word, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t least = MAX_EDITS + 1;
    for (size_t i = 0; i < count; i++) {
        size_t edits = options_distance(word, names[i]);
        if (edits < least) {
            nearest = names[i];
            least = edits;
        }
    }
    return nearest;
}

static const struct option_spec help_option = {"help", 'h', NULL, "show this page"};

/* Of verbs that have no more to show: every verb takes it. */
static const struct option_spec verbose_option = {"verbose", 'v', NULL, NULL};

static void options_tell_unknown(const struct verb *verb, const char *word, size_t length)
{
    const char *names[VERB_OPTION_LIMIT + 1];
    size_t count = 0;
    for (const struct option_spec *option = verb->options; option->name; option++) {
        names[count++] = option->name;
    }
    names[count++] = help_option.name;
    const char *typed = word + strspn(word, "-");
    const char *nearest = options_nearest(typed, names, count);
    if (nearest) {
        output_message("unknown option '%.*s'; did you mean '--%s'?", (int)length, word, nearest);
    } else {
        output_message("unknown option '%.*s'; see 'warmpipe %s --help'", (int)length, word,
                       verb->name);
    }
}

/* `length` bytes of `word` are the option, dashes included. */
static bool options_is_meant(const struct option_spec *option, const char *word, size_t length)
{
    if (word[1] != '-') {
        return length == 2 && word[1] == option->letter;
    }
    return length - 2 == strlen(option->name) && memcmp(word + 2, option->name, length - 2) == 0;
}

/* The verb's option of this name or letter; its name is NULL: there is none. */
static const struct option_spec *options_find(const struct verb *verb, const char *word,
                                              size_t length)
{
    const struct option_spec *option = verb->options;
    while (option->name && !options_is_meant(option, word, length)) {
        option++;
    }
    return option;
}

/* One option and, if it takes one, its argument: *word is moved to the last word that was used. */
static bool options_parse_one(const struct verb *verb, char ***word, struct arguments *arguments,
                              bool *ret_help)
{
    const char *text = **word;
    size_t length = strcspn(text, "=");
    if (options_is_meant(&help_option, text, length)) {
        *ret_help = true;
        return true;
    }
    const struct option_spec *option = options_find(verb, text, length);
    if (!option->name && options_is_meant(&verbose_option, text, length)) {
        option = &verbose_option;
    }
    if (!option->name) {
        options_tell_unknown(verb, text, length);
        return false;
    }
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    if (!option->argument && value) {
        output_message("option '--%s' takes no value", option->name);
        return false;
    }
    if (option->argument && !value) {
        value = (*word)[1];
        *word += value ? 1 : 0;
    }
    if (option->argument && (!value || !*value)) {
        output_message("option '--%s' needs a value", option->name);
        return false;
    }
    if (option == &verbose_option) {
        return true;
    }
    arguments->values[option - verb->options] = option->argument ? value : "";
    if (verb->repeated && strcmp(option->name, verb->repeated) == 0) {
        if (arguments->repeated_count == VERB_REPEAT_LIMIT) {
            output_message("option '--%s' is given more than %d times", option->name,
                           VERB_REPEAT_LIMIT);
            return false;
        }
        arguments->repeated[arguments->repeated_count++] = value;
    }
    return true;
}

const char *options_value(const struct arguments *arguments, const char *name)
{
    const struct option_spec *options = arguments->verb->options;
    for (size_t i = 0; options[i].name; i++) {
        if (strcmp(options[i].name, name) == 0) {
            return arguments->values[i];
        }
    }
    return NULL;
}

bool options_parse(const struct verb *verb, char **words, struct arguments *ret_arguments,
                   bool *ret_help)
{
    struct arguments arguments = {.verb = verb, .operands = words};
    bool help = false;
    bool options_over = false;
    char **word = words;
    for (; *word; word++) {
        bool is_operand = options_over || (*word)[0] != '-' || (*word)[1] == '\0';
        if (is_operand && verb->runs_program) {
            break;
        }
        if (is_operand) {
            arguments.operands[arguments.operand_count++] = *word;
        } else if (strcmp(*word, "--") == 0) {
            options_over = true;
        } else if (!options_parse_one(verb, &word, &arguments, &help)) {
            return false;
        } else if (help) {
            *ret_help = true;
            return true;
        }
    }
    if (verb->runs_program) {
        arguments.operands = word;
        while (arguments.operands[arguments.operand_count]) {
            arguments.operand_count++;
        }
    }
    arguments.operands[arguments.operand_count] = NULL;
    if (arguments.operand_count < verb->min_operands ||
        arguments.operand_count > verb->max_operands) {
        output_message("too %s operands; usage: warmpipe %s [OPTION...]%s%s",
                       arguments.operand_count < verb->min_operands ? "few" : "many", verb->name,
                       verb->operands ? " " : "", verb->operands ? verb->operands : "");
        return false;
    }
    arguments.json = options_value(&arguments, "json");
    *ret_arguments = arguments;
    *ret_help = false;
    return true;
}

bool options_want_json(const struct verb *verb, char *const *words)
{
    bool wanted = false;
    for (; *words && strcmp(*words, "--") != 0; words++) {
        const size_t length = strcspn(*words, "=");
        const bool is_option = (*words)[0] == '-' && (*words)[1];
        const struct option_spec *option = is_option ? options_find(verb, *words, length) : NULL;
        if (option && option->name && strcmp(*words, "--json") == 0) {
            wanted = true;
        } else if (option && option->name && option->argument && !(*words)[length] && words[1]) {
            words++; /* its value */
        }
    }
    return wanted;
}

/* "-n --name ARGUMENT", as --help shows it; gives its length. */
static int options_format_one(const struct option_spec *option, char ret_form[64])
{
    return snprintf(ret_form, 64, "%c%c --%s%s%s", option->letter ? '-' : ' ',
                    option->letter ? option->letter : ' ', option->name,
                    option->argument ? " " : "", option->argument ? option->argument : "");
}

static void options_print_one(const struct option_spec *option, int width)
{
    char form[64];
    options_format_one(option, form);
    printf("  %-*s %s\n", width, form, option->meaning);
}

void options_print_help(const struct verb *verb)
{
    int width = 16;
    const char *operands = verb->operands ? verb->operands : "";
    printf("usage: warmpipe %s [OPTION...]%s%s\n\n%s\n\noptions:\n", verb->name,
           *operands ? " " : "", operands, verb->description);
    for (const struct option_spec *option = verb->options; option->name; option++) {
        char form[64];
        const int length = options_format_one(option, form);
        width = length > width ? length : width;
    }
    for (const struct option_spec *option = verb->options; option->name; option++) {
        options_print_one(option, width);
    }
    options_print_one(&help_option, width);
}

const char *options_variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

char *options_base(const char *variable, const char *in_home)
{
    const char *base = getenv(variable);
    const char *home = getenv("HOME");
    char *path = NULL;
    if (base && base[0] == '/') {
        return strdup(base);
    }
    const bool has_home = home && home[0] == '/' && access(home, F_OK) == 0;
    return has_home && asprintf(&path, "%s/%s", home, in_home) >= 0 ? path : NULL;
}

bool options_duration(const char *text, uint64_t *ret_ms)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    char *end;
    const size_t digits = strspn(text, "0123456789");
    const uint64_t number = strtoull(text, &end, 10);
    for (size_t i = 0; digits > 0 && digits < 10 && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(text + digits, units[i].unit) == 0) {
            *ret_ms = number * units[i].ms;
            return true;
        }
    }
    output_message("invalid duration '%s' (for example 2s, 5m, 24h)", text);
    return false;
}
