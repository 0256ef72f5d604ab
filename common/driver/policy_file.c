// SPDX-License-Identifier: Apache-2.0
#include "common/driver/policy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/text.h"
#include "common/driver/vulkan_names.h"
#include "common/settings/config.h"

const struct policy_member policy_members[POLICY_MEMBER_COUNT] = {
    {"inject", offsetof(struct policy, inject), POLICY_NO_INJECT, false},
    {"persist", offsetof(struct policy, persist), POLICY_NO_PERSIST, false},
    {"serve", offsetof(struct policy, serve), POLICY_NO_SERVE, false},
    {"deduplicate", offsetof(struct policy, deduplicate), POLICY_NO_DEDUPLICATE, false},
    {"serialize", offsetof(struct policy, serialize), POLICY_SERIALIZE, true},
    {"single_cache", offsetof(struct policy, single_cache), POLICY_SINGLE_CACHE, true},
    {"strict", offsetof(struct policy, strict), POLICY_STRICT, true},
    {"snapshot_at_exit", offsetof(struct policy, snapshot_at_exit), POLICY_SNAPSHOT_AT_EXIT, true},
    {"pipeline_key", offsetof(struct policy, pipeline_key), POLICY_NO_PIPELINE_KEY, false},
    {"count_costs", offsetof(struct policy, count_costs), POLICY_NO_COUNT_COSTS, false},
};

enum policy_key {
#define POLICY_KEY(id, ...) KEY_##id,
#include "common/driver/policy_keys.def"
#undef POLICY_KEY
    KEY_COUNT
};

/* A version can be parsed only when the rule's vendor and driver are known. */
struct version_text {
    const char *text; /* NULL: none */
    unsigned line;
};

struct policy_parser {
    struct policy_file file;
    unsigned line;
    struct policy_rule *rule; /* the current one; NULL before the first */
    unsigned keys;            /* that it has had: bits by enum policy_key */
    struct version_text from;
    struct version_text below;
    struct policy_file_error *error;
    bool out_of_memory;
};

__attribute__((format(printf, 3, 4))) static bool refuse(struct policy_parser *parser,
                                                         unsigned line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    parser->error->line = line;
    vsnprintf(parser->error->text, sizeof parser->error->text, format, arguments);
    va_end(arguments);
    return false;
}

/* Values. Each function reads one into the current rule: false if it is not valid. */

static bool read_number(const char *value, uint32_t *ret_number)
{
    bool hex = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
    const char *digits = hex ? value + 2 : value;
    size_t length = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    /* 0 is not valid: in a rule it means "all". */
    if (length == 0 || digits[length]) {
        return false;
    }
    uint64_t number = hex ? text_parse_hex(digits) : 0;
    if ((!hex && !text_parse_digits(&digits, UINT32_MAX, &number)) || number == 0 ||
        number > UINT32_MAX) {
        return false;
    }
    *ret_number = (uint32_t)number;
    return true;
}

static bool read_driver(struct policy_parser *parser, const char *value)
{
    return read_number(value, &parser->rule->driver_id) ||
           vulkan_parse_driver_id(value, &parser->rule->driver_id);
}

static bool read_version_from(struct policy_parser *parser, const char *value)
{
    parser->from = (struct version_text){value, parser->line};
    return true;
}

static bool read_version_below(struct policy_parser *parser, const char *value)
{
    parser->below = (struct version_text){value, parser->line};
    return true;
}

static bool read_api_below(struct policy_parser *parser, const char *value)
{
    return vulkan_parse_api_version(value, &parser->rule->api_below) &&
           parser->rule->api_below != 0;
}

/* One word asks for the action, the opposite word lifts it. */
static bool read_action(struct policy_parser *parser, const char *key, const char *value)
{
    const bool is_yes = strcmp(value, "yes") == 0;
    const struct policy_member *member = policy_members;
    while (strcmp(member->key, key) != 0) {
        member++;
    }
    *(is_yes == member->asked ? &parser->rule->actions : &parser->rule->lifted) |= member->action;
    return is_yes || strcmp(value, "no") == 0;
}

/* The values of most keys: NAME and field. */
#define READ_NUMBER(name, field)                                                                   \
    static bool read_##name(struct policy_parser *parser, const char *value)                       \
    {                                                                                              \
        return read_number(value, &parser->rule->field);                                           \
    }
#define READ_TEXT(name, field)                                                                     \
    static bool read_##name(struct policy_parser *parser, const char *value)                       \
    {                                                                                              \
        parser->rule->field = value;                                                               \
        return true;                                                                               \
    }
READ_NUMBER(vendor, vendor_id)
READ_NUMBER(device, device_id)
READ_TEXT(device_name, device_name)
READ_TEXT(driver_name, driver_name)

static bool read_max_blob(struct policy_parser *parser, const char *value)
{
    /* 0 would mean "no limit of its own"; to keep nothing, use persist=no. */
    return config_parse_size(value, &parser->rule->max_blob) && parser->rule->max_blob != 0;
}

static bool read_source(struct policy_parser *parser, const char *value)
{
    parser->rule->source = value;
    return strlen(value) < POLICY_SOURCE_SIZE;
}

static const struct {
    char name[20];   /* in place, as the member: a pointer would be bound at every start */
    char member[20]; /* of a policy, in place of a function; "": none */
    const char *values;
    bool (*read)(struct policy_parser *parser, const char *value);
} keys[] = {
#define POLICY_KEY(id, name, values, meaning) {name, "", values, read_##id},
#define POLICY_ACTION(id, name, meaning)      {name, #id, "yes or no", NULL},
#include "common/driver/policy_keys.def"
#undef POLICY_KEY
};

/* Rules. */

static bool policy_file_parse_rule_version(struct policy_parser *parser,
                                           const struct version_text *version,
                                           uint32_t *ret_version)
{
    const struct policy_rule *rule = parser->rule;
    if (!version->text) {
        return true;
    }
    if (rule->vendor_id == 0 && rule->driver_id == 0) {
        return refuse(parser, version->line,
                      "a version needs a vendor or driver beside it: each writes them differently");
    }
    if (!vulkan_parse_driver_version(version->text, rule->vendor_id, rule->driver_id,
                                     ret_version) ||
        *ret_version == 0) {
        return refuse(parser, version->line, "'%.40s' is no version of this driver", version->text);
    }
    return true;
}

static bool policy_file_end_rule(struct policy_parser *parser)
{
    struct policy_rule *rule = parser->rule;
    if (!rule) {
        return true;
    }
    if (!policy_file_parse_rule_version(parser, &parser->from, &rule->version_from) ||
        !policy_file_parse_rule_version(parser, &parser->below, &rule->version_below)) {
        return false;
    }
    if (rule->version_below != 0 && rule->version_from >= rule->version_below) {
        return refuse(parser, parser->below.line, "no version is below '%.20s' and from '%.20s' on",
                      parser->below.text, parser->from.text);
    }
    if (rule->actions == 0 && rule->lifted == 0 && rule->max_blob == 0) {
        return refuse(parser, rule->line, "rule '%s' says nothing", rule->id);
    }
    return true;
}

static bool policy_file_is_rule_name(const char *name)
{
    const size_t length = text_name_length(name, "._-");
    return length > 0 && length < POLICY_ID_SIZE && !name[length];
}

static bool policy_file_is_rule_name_taken(const struct policy_parser *parser, const char *name)
{
    for (size_t i = 0; i < parser->file.count; i++) {
        if (strcmp(parser->file.rules[i].id, name) == 0) {
            return true;
        }
    }
    return strcmp(name, "default") == 0; /* reported where no rule applies */
}

/* "name]", without the opening bracket. */
static bool policy_file_begin_rule(struct policy_parser *parser, char *text)
{
    if (!policy_file_end_rule(parser)) {
        return false;
    }
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] != ']') {
        return refuse(parser, parser->line, "']' is missing at the end of the line");
    }
    text[length - 1] = '\0';
    if (!policy_file_is_rule_name(text)) {
        return refuse(parser, parser->line,
                      "'%.40s': a rule's name is 1 to %d letters, digits, '.', '_' and '-'", text,
                      POLICY_ID_SIZE - 1);
    }
    if (policy_file_is_rule_name_taken(parser, text)) {
        return refuse(parser, parser->line, "a second rule '%s'", text);
    }
    struct policy_file *file = &parser->file;
    if (file->count == POLICY_FILE_MAX_RULES) {
        return refuse(parser, parser->line, "more than %d rules", POLICY_FILE_MAX_RULES);
    }
    parser->out_of_memory = !array_reserve(&file->rules, file->count, sizeof *file->rules);
    if (parser->out_of_memory) {
        return false;
    }
    parser->rule = &file->rules[file->count++];
    *parser->rule = (struct policy_rule){.id = text, .source = "", .line = parser->line};
    parser->keys = 0;
    parser->from = parser->below = (struct version_text){0};
    return true;
}

/* Lines. */

static char *policy_file_trim_blanks(char *text)
{
    static const char blanks[] = " \t\r";
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1])) {
        length--;
    }
    text[length] = '\0';
    return text;
}

static bool policy_file_read_setting(struct policy_parser *parser, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals) {
        return refuse(parser, parser->line, "expected '[name]' or 'key = value'");
    }
    *equals = '\0';
    const char *name = policy_file_trim_blanks(text);
    const char *value = policy_file_trim_blanks(equals + 1);
    int key = 0;
    while (key < KEY_COUNT && strcmp(keys[key].name, name) != 0) {
        key++;
    }
    if (key == KEY_COUNT) {
        return refuse(parser, parser->line, "unknown key '%.40s'", name);
    }
    if (!parser->rule) {
        return refuse(parser, parser->line, "'%s' before the first '[name]'", name);
    }
    if (parser->keys & 1u << key) {
        return refuse(parser, parser->line, "a second '%s' in rule '%s'", name, parser->rule->id);
    }
    parser->keys |= 1u << key;
    if (!*value || !(*keys[key].member ? read_action(parser, keys[key].member, value)
                                       : keys[key].read(parser, value))) {
        return refuse(parser, parser->line, "%s = '%.40s': expected %s", name, value,
                      keys[key].values);
    }
    return true;
}

static bool policy_file_has_control_char(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool policy_file_read_line(struct policy_parser *parser, char *line, size_t length)
{
    if (policy_file_has_control_char(line, length)) {
        return refuse(parser, parser->line, "a control character: is this a text file?");
    }
    char *text = policy_file_trim_blanks(line);
    if (*text == '\0' || *text == '#') {
        return true;
    }
    return *text == '[' ? policy_file_begin_rule(parser, text + 1)
                        : policy_file_read_setting(parser, text);
}

static bool policy_file_read_lines(struct policy_parser *parser, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8: some editors write it first */
    char *line = parser->file.text;
    char *end = line + size;
    line += size >= strlen(mark) && memcmp(line, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
    while (line < end) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        char *stop = newline ? newline : end;
        *stop = '\0';
        parser->line++;
        if (!policy_file_read_line(parser, line, (size_t)(stop - line))) {
            return false;
        }
        line = stop + 1;
    }
    return policy_file_end_rule(parser);
}

enum status policy_file_parse(const void *data, size_t size, struct policy_file *ret_file,
                              struct policy_file_error *ret_error)
{
    struct policy_file_error error = {0};
    struct policy_parser parser = {.error = &error};
    enum status reason = STATUS_bad_policy_file;
    if (size > POLICY_FILE_MAX_SIZE) {
        refuse(&parser, 0, "larger than %d bytes", POLICY_FILE_MAX_SIZE);
    } else {
        parser.file.text = malloc(size + 1);
        parser.out_of_memory = !parser.file.text;
        if (parser.file.text) {
            if (size > 0) {
                memcpy(parser.file.text, data, size);
            }
            reason = policy_file_read_lines(&parser, size) ? STATUS_ok : reason;
        }
    }
    if (reason == STATUS_ok) {
        *ret_file = parser.file;
        return reason;
    }
    policy_file_free(&parser.file);
    *ret_error = error;
    return parser.out_of_memory ? STATUS_out_of_memory : reason;
}

void policy_file_free(struct policy_file *file)
{
    free(file->text);
    free(file->rules);
    *file = (struct policy_file){0};
}
