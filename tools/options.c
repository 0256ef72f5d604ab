#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

/* Longer words than any name are compared by their beginning. */
#define WORD_LIMIT 32

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int fold(char c)
{
    return tolower((unsigned char)c);
}

/* Optimal string alignment distance, blind to case. */
static size_t distance(const char *a, const char *b)
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
            bool same = fold(a[row - 1]) == fold(b[column - 1]);
            size_t best = table[row - 1][column - 1] + (same ? 0 : 1);
            best = smaller(best, table[row - 1][column] + 1);
            best = smaller(best, table[row][column - 1] + 1);
            if (row > 1 && column > 1 && fold(a[row - 1]) == fold(b[column - 2]) &&
                fold(a[row - 2]) == fold(b[column - 1])) {
                best = smaller(best, table[row - 2][column - 2] + 1);
            }
            table[row][column] = best;
        }
    }
    return table[rows][columns];
}

const char *options_nearest(const char *word, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t least = 0;
    for (size_t i = 0; i < count; i++) {
        size_t edits = distance(word, names[i]);
        if (!nearest || edits < least) {
            nearest = names[i];
            least = edits;
        }
    }
    return nearest;
}

static const struct option_spec help_option = {"help", 'h', NULL, "show this page"};

static void complain_unknown(const struct verb *verb, const char *word, size_t length)
{
    const char *names[VERB_OPTION_LIMIT + 1];
    size_t count = 0;
    for (const struct option_spec *option = verb->options; option->name; option++) {
        names[count++] = option->name;
    }
    names[count++] = help_option.name;
    const char *typed = word + strspn(word, "-");
    output_message("%s: unknown option '%.*s', the nearest is '--%s'", verb->name, (int)length,
                   word, options_nearest(typed, names, count));
}

/* `length` bytes of `word` are the option, dashes included. */
static bool is_option(const struct option_spec *option, const char *word, size_t length)
{
    if (word[1] != '-') {
        return length == 2 && word[1] == option->letter;
    }
    return length - 2 == strlen(option->name) && memcmp(word + 2, option->name, length - 2) == 0;
}

/* One option and, if it takes one, its argument: *word is moved to the last word that was used. */
static bool parse_option(const struct verb *verb, char ***word, struct arguments *arguments,
                         bool *ret_help)
{
    const char *text = **word;
    size_t length = strcspn(text, "=");
    if (is_option(&help_option, text, length)) {
        *ret_help = true;
        return true;
    }
    int found = 0;
    while (verb->options[found].name && !is_option(&verb->options[found], text, length)) {
        found++;
    }
    const struct option_spec *option = &verb->options[found];
    if (!option->name) {
        complain_unknown(verb, text, length);
        return false;
    }
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    if (!option->argument && value) {
        output_message("%s: option '--%s' takes no value", verb->name, option->name);
        return false;
    }
    if (option->argument && !value) {
        value = (*word)[1];
        *word += value ? 1 : 0;
    }
    if (option->argument && (!value || !*value)) {
        output_message("%s: option '--%s' needs a value", verb->name, option->name);
        return false;
    }
    arguments->values[found] = option->argument ? value : "";
    return true;
}

bool options_parse(const struct verb *verb, char **words, struct arguments *ret_arguments,
                   bool *ret_help)
{
    struct arguments arguments = {.operands = words};
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
        } else if (!parse_option(verb, &word, &arguments, &help)) {
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
        output_message("%s: too %s operands, usage: warmpipe %s [OPTION...]%s%s", verb->name,
                       arguments.operand_count < verb->min_operands ? "few" : "many", verb->name,
                       verb->operands[0] ? " " : "", verb->operands);
        return false;
    }
    *ret_arguments = arguments;
    *ret_help = false;
    return true;
}

static void print_option(const struct option_spec *option)
{
    char form[32];
    snprintf(form, sizeof form, "%c%c --%s%s%s", option->letter ? '-' : ' ',
             option->letter ? option->letter : ' ', option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    printf("  %-16s %s\n", form, option->meaning);
}

void options_print_help(const struct verb *verb)
{
    printf("usage: warmpipe %s [OPTION...]%s%s\n\n%s\n\noptions:\n", verb->name,
           verb->operands[0] ? " " : "", verb->operands, verb->description);
    for (const struct option_spec *option = verb->options; option->name; option++) {
        print_option(option);
    }
    print_option(&help_option);
}
