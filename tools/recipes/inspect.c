// SPDX-License-Identifier: Apache-2.0
#include "tools/recipes/recipe_tool.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/codec/canonical.h"
#include "common/recipes/merge.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"

#define DAY_S 86400

bool inspect_recipes_is_one(const char *name, const uint8_t *data, size_t size)
{
    return verify_recipes_has_our_name(name) ||
           (size > 0 && recipe_check_header(data, size) != STATUS_bad_magic);
}

const char *inspect_recipes_kind(const void *form, size_t size)
{
    switch (canonical_stype(form, size)) {
    case VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO:
        return "compute";
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
        return "graphics";
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV:
        return "ray tracing";
    default:
        return "no pipeline";
    }
}

static void inspect_show_use(struct output *output, const struct recipe_segment *segment,
                             const struct recipe_use *use)
{
    struct recipe_record form;
    output_open(output, NULL, OUTPUT_ROW);
    output_digest(output, "pipeline", use->pipeline);
    output_text(output, "kind",
                recipe_segment_find(segment, RECIPE_FORM, use->pipeline, &form)
                    ? inspect_recipes_kind(form.data, form.size)
                    : "elsewhere");
    output_time(output, "last_day", (uint64_t)use->last_day * DAY_S);
    output_number(output, "days", use->days);
    output_number(output, "compile_us", use->compile_us);
    output_digest(output, "environment", use->environment);
    output_close(output);
}

static void inspect_show_uses(struct output *output, const struct recipe_segment *segment)
{
    AUTO(recipe_uses_free) struct recipe_uses uses = {0};
    recipe_segment_add_uses(segment, &uses);
    recipe_uses_fold(&uses);
    output_open(output, "uses", OUTPUT_TABLE);
    for (size_t i = 0; i < uses.count; i++) {
        inspect_show_use(output, segment, &uses.uses[i]);
    }
    output_close(output);
}

/* The intact records of a kind, and their bytes. */
static uint64_t inspect_count_records(const struct recipe_segment *segment, unsigned kind,
                                      uint64_t *ret_bytes)
{
    struct recipe_record record;
    uint64_t records = 0;
    size_t at = SIZE_MAX;
    *ret_bytes = 0;
    while (recipe_segment_next_of(segment, kind, &at, &record)) {
        records += record.data != NULL;
        *ret_bytes += record.size;
    }
    return records;
}

static void inspect_show_kind(struct output *output, const struct recipe_segment *segment,
                              unsigned kind, const char *name)
{
    uint64_t bytes;
    output_open(output, name, OUTPUT_GROUP);
    output_number(output, "count", inspect_count_records(segment, kind, &bytes));
    output_size(output, "size", bytes);
    output_close(output);
}

/* The digests that --spirv takes. */
static void inspect_show_code(struct output *output, const struct recipe_segment *segment)
{
    struct recipe_record record;
    size_t at = SIZE_MAX;
    output_open(output, "code", OUTPUT_TABLE);
    while (recipe_segment_next_of(segment, RECIPE_CODE, &at, &record)) {
        output_open(output, NULL, OUTPUT_ROW);
        output_digest(output, "module", record.digest);
        output_size(output, "size", record.size);
        output_close(output);
    }
    output_close(output);
}

static int inspect_show_segment(const struct recipe_segment *segment,
                                const struct arguments *arguments)
{
    const struct recipe_merge_input input = {.segment = segment};
    const struct recipe_merge_limits limits = {.max_size = UINT64_MAX};
    AUTO(recipe_merge_free) struct recipe_merged merged = {0};
    struct output output;
    if (recipe_merge(&input, 1, &limits, &merged) != STATUS_ok) {
        output_message("out of memory");
        return EXIT_USAGE;
    }
    const uint64_t damaged = merged.counts.damaged;
    const bool is_cut = recipe_tool_is_cut(arguments->operands[0], segment);
    const enum status reason = is_cut ? STATUS_truncated : damaged ? STATUS_bad_record : STATUS_ok;
    output_begin(&output, arguments->json);
    output_text(&output, "path", arguments->operands[0]);
    output_size(&output, "size", segment->size);
    output_text(&output, "verdict", reason == STATUS_ok ? "ok" : "damaged");
    output_text(&output, "reason", reason == STATUS_ok ? "ok" : status_id(reason));
    output_number(&output, "format_version", RECIPE_FORMAT_VERSION);
    output_number(&output, "canonical_version", CANONICAL_VERSION);
    output_flag(&output, "sealed", segment->is_sealed);
    output_number(&output, "pipelines", merged.counts.pipelines);
    output_number(&output, "incomplete_pipelines", merged.counts.incomplete);
    output_number(&output, "damaged_records", damaged);
    inspect_show_kind(&output, segment, RECIPE_CODE, "modules");
    inspect_show_kind(&output, segment, RECIPE_FORM, "forms");
    inspect_show_kind(&output, segment, RECIPE_ENVIRONMENT, "environments");
    if (options_value(arguments, "verbose")) {
        inspect_show_code(&output, segment);
        inspect_show_uses(&output, segment);
    }
    return output_end(&output, reason == STATUS_ok ? EXIT_CLEAN : EXIT_FINDING);
}

static bool inspect_note_code(void *user, VkObjectType type, struct digest content)
{
    if (type == VK_OBJECT_TYPE_UNKNOWN) {
        *(struct digest *)user = content;
    }
    return true;
}

/* A pipeline names a module by the digest of its form, and the form names the code. */
static struct digest inspect_code_of(const struct recipe_segment *segment, struct digest digest)
{
    struct recipe_record form;
    if (recipe_segment_find(segment, RECIPE_FORM, digest, &form)) {
        canonical_references(form.data, form.size, inspect_note_code, &digest);
    }
    return digest;
}

/* What a digest on the command line, which may be shortened, begins. */
struct inspect_search {
    const struct recipe_segment *segment;
    unsigned kind; /* of the record that is looked for */
    const char *text;
    struct recipe_record *found;
    bool unique;
};

static void inspect_search_among(struct inspect_search *search, unsigned kind)
{
    struct recipe_record record;
    size_t at = SIZE_MAX;
    while (recipe_segment_next_of(search->segment, kind, &at, &record)) {
        char hex[DIGEST_HEX_SIZE];
        digest_format(record.digest, hex);
        if (!record.data || strncasecmp(hex, search->text, strlen(search->text)) != 0) {
            continue;
        }
        /* A module names its code. */
        if (kind != search->kind &&
            !recipe_segment_find(search->segment, search->kind,
                                 inspect_code_of(search->segment, record.digest), &record)) {
            continue;
        }
        search->unique &=
            !search->found->data || digest_equal(search->found->digest, record.digest);
        *search->found = record;
    }
}

/* False after a message. */
static bool inspect_find_chosen(const struct recipe_segment *segment, unsigned kind,
                                const char *text, struct recipe_record *ret_record)
{
    struct recipe_record found = {0};
    struct inspect_search search = {
        .segment = segment, .kind = kind, .text = text, .found = &found, .unique = true};
    const size_t length = strspn(text, "0123456789abcdefABCDEF");
    if (length == 0 || length >= DIGEST_HEX_SIZE || text[length]) {
        output_message("'%s' is neither a digest nor the beginning of one: up to 32 "
                       "hexadecimal digits",
                       text);
        return false;
    }
    inspect_search_among(&search, RECIPE_FORM);
    if (kind == RECIPE_CODE) {
        inspect_search_among(&search, RECIPE_CODE);
    }
    if (!found.data) {
        output_message("no %s '%s' is in this file", kind == RECIPE_CODE ? "SPIR-V" : "object",
                       text);
    } else if (!search.unique) {
        output_message("more than one object begins with '%s'; give more digits", text);
    } else {
        *ret_record = found;
    }
    return found.data && search.unique;
}

static int inspect_show_spirv(const struct recipe_segment *segment, const char *spirv, bool json)
{
    struct recipe_record code;
    struct output output;
    if (!inspect_find_chosen(segment, RECIPE_CODE, spirv, &code)) {
        return EXIT_USAGE;
    }
    AUTO_FREE char *text = spirv_disassemble(code.data, code.size);
    if (!text) {
        output_message("SPIR-V %s cannot be disassembled", spirv);
        return EXIT_FINDING;
    }
    output_begin(&output, json);
    output_lines(&output, "spirv", text);
    return output_end(&output, EXIT_CLEAN);
}

/* Paths are of any length: in text they are a column of a table. */
static void inspect_show_field(void *user, const char *path, const char *value)
{
    struct output *output = user;
    if (output->json) {
        output_text(output, path, value);
        return;
    }
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "field", path);
    output_text(output, "value", value);
    output_close(output);
}

static int inspect_show_pipeline(const struct recipe_segment *segment, const char *pipeline,
                                 bool json)
{
    struct recipe_record form;
    struct output output;
    if (!inspect_find_chosen(segment, RECIPE_FORM, pipeline, &form)) {
        return EXIT_USAGE;
    }
    output_begin(&output, json);
    if (!json) {
        output_open(&output, NULL, OUTPUT_TABLE);
    }
    const bool whole = canonical_describe(form.data, form.size, inspect_show_field, &output);
    if (!json) {
        output_close(&output);
    }
    if (!whole) {
        output_message("the form %s is malformed", pipeline);
    }
    return output_end(&output, whole ? EXIT_CLEAN : EXIT_FINDING);
}

static int inspect_show_unusable(const char *path, size_t size, enum status reason, bool json)
{
    struct output output;
    output_begin(&output, json);
    output_text(&output, "path", path);
    output_size(&output, "size", size);
    output_text(&output, "verdict", "damaged");
    output_text(&output, "reason", status_id(reason));
    output_text(&output, "explanation", status_text(reason));
    return output_end(&output, EXIT_FINDING);
}

int inspect_recipes(uint8_t *data, size_t size, const struct arguments *arguments)
{
    const char *spirv = options_value(arguments, "spirv");
    const char *pipeline = options_value(arguments, "pipeline");
    const bool json = arguments->json;
    struct recipe_segment segment;
    const enum status reason = recipe_segment_take(data, size, &segment);
    if (reason != STATUS_ok) {
        return inspect_show_unusable(arguments->operands[0], size, reason, json);
    }
    const int status = spirv      ? inspect_show_spirv(&segment, spirv, json)
                       : pipeline ? inspect_show_pipeline(&segment, pipeline, json)
                                  : inspect_show_segment(&segment, arguments);
    recipe_segment_close(&segment);
    return status;
}
