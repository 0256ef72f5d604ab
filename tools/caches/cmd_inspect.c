// SPDX-License-Identifier: Apache-2.0
/* warmpipe inspect: what a cache file or a recipe file says of itself, damaged or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/codec/canonical.h"
#include "common/driver/vulkan_names.h"
#include "tools/caches/cache_file.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/recipes/recipe_tool.h"

#define DAY_S 86400

#define FILE_LIMIT (UINT64_C(4) << 30)

static const struct option_spec options[] = {
    VERB_JSON_OPTION,
    {"verbose", 'v', NULL, "also the driver's own header, or modules and pipelines"},
    {"spirv", 0, "DIGEST", "disassemble this module of a recipe file"},
    {"pipeline", 0, "DIGEST", "show what this pipeline was created with"},
    {NULL, 0, NULL, NULL},
};

static void inspect_show_verdict(struct output *output, const char *path, size_t size,
                                 enum status reason)
{
    output_text(output, "path", path);
    output_size(output, "size", size);
    output_text(output, "verdict", reason == STATUS_ok ? "ok" : "damaged");
    output_text(output, "reason", reason == STATUS_ok ? "ok" : status_id(reason));
}

/* Cache files. */

static void inspect_show_header(struct output *output, const struct envelope_layout *layout,
                                const struct envelope *envelope)
{
    const uint32_t order = layout->endian_marker;
    output_open(output, "header", OUTPUT_GROUP);
    output_bytes(output, "magic", layout->magic, sizeof layout->magic);
    output_number(output, "format_version", layout->format_version);
    output_size(output, "header_size", layout->header_size);
    output_text(output, "byte_order",
                order == ENVELOPE_LITTLE_ENDIAN ? "little"
                : order == ENVELOPE_BIG_ENDIAN  ? "big"
                                                : "damaged");
    output_size(output, "pointer_size", layout->pointer_size);
    if (envelope) {
        output_hex(output, "generation", envelope->generation);
        output_time(output, "saved_at", envelope->saved_at);
    }
    output_close(output);
}

static void inspect_show_identity(struct output *output, const struct driver_identity *identity)
{
    char api_version[VULKAN_VERSION_SIZE];
    vulkan_api_version(identity->api_version, api_version);
    char driver_version[VULKAN_VERSION_SIZE];
    vulkan_driver_version(identity, driver_version);
    const uint8_t *conformance = identity->conformance;
    char conformance_version[VULKAN_VERSION_SIZE];
    snprintf(conformance_version, sizeof conformance_version, "%u.%u.%u.%u", conformance[0],
             conformance[1], conformance[2], conformance[3]);

    output_open(output, "identity", OUTPUT_GROUP);
    output_digest(output, "digest", identity_digest(identity));
    output_hex(output, "vendor_id", identity->vendor_id);
    output_hex(output, "device_id", identity->device_id);
    output_text(output, "device_name", identity->device_name);
    output_text(output, "api_version", api_version);
    output_number(output, "driver_id", identity->driver_id);
    output_text(output, "driver_id_name", vulkan_driver_id(identity->driver_id));
    output_text(output, "driver_name", identity->driver_name);
    output_text(output, "driver_info", identity->driver_info);
    output_text(output, "driver_version", driver_version);
    output_hex(output, "driver_version_raw", identity->driver_version);
    output_text(output, "conformance", conformance_version);
    output_bytes(output, "cache_uuid", identity->pipeline_cache_uuid, VK_UUID_SIZE);
    output_close(output);
}

static void inspect_show_sections(struct output *output, const struct envelope_layout *layout,
                                  const struct envelope *envelope)
{
    output_open(output, "sections", OUTPUT_GROUP);
    output_number(output, "count", layout->section_count);
    output_open(output, "blob", OUTPUT_GROUP);
    output_number(output, "type", layout->section_type);
    output_number(output, "offset", layout->section_offset);
    output_size(output, "size", envelope->blob_size);
    output_digest(output, "digest", envelope->blob_digest);
    output_close(output);
    output_close(output);
}

/* VkPipelineCacheHeaderVersionOne: chapter "Pipeline Cache Header". */
static void inspect_show_driver_header(struct output *output, const uint8_t *data, size_t size)
{
    struct bytes_reader reader = bytes_reader_over(data, size);
    bytes_get(&reader, ENVELOPE_HEADER_SIZE);
    uint32_t header_size = bytes_get_u32(&reader);
    uint32_t header_version = bytes_get_u32(&reader);
    uint32_t vendor_id = bytes_get_u32(&reader);
    uint32_t device_id = bytes_get_u32(&reader);
    const uint8_t *uuid = bytes_get(&reader, VK_UUID_SIZE);
    if (reader.overrun) {
        return;
    }
    output_open(output, "driver_header", OUTPUT_GROUP);
    output_size(output, "header_size", header_size);
    output_number(output, "header_version", header_version);
    output_hex(output, "vendor_id", vendor_id);
    output_hex(output, "device_id", device_id);
    output_bytes(output, "cache_uuid", uuid, VK_UUID_SIZE);
    output_close(output);
}

static int inspect_show_cache(const uint8_t *data, size_t size, const struct arguments *arguments)
{
    struct envelope_layout layout;
    struct envelope envelope;
    const enum status reason = envelope_validate(data, size, NULL, &envelope);
    struct output output;
    output_begin(&output, arguments->json);
    inspect_show_verdict(&output, arguments->operands[0], size, reason);
    if (reason != STATUS_ok) {
        output_text(&output, "explanation", status_text(reason));
    }
    const bool has_fields = envelope_peek(data, size, &envelope);
    if (envelope_peek_layout(data, size, &layout)) {
        inspect_show_header(&output, &layout, has_fields ? &envelope : NULL);
    }
    if (has_fields) {
        inspect_show_identity(&output, &envelope.identity);
        inspect_show_sections(&output, &layout, &envelope);
    }
    if (has_fields && options_value(arguments, "verbose")) {
        inspect_show_driver_header(&output, data, size);
    }
    return output_end(&output, reason == STATUS_ok ? EXIT_CLEAN : EXIT_FINDING);
}

/* Recipe files. */

static void inspect_show_uses(struct output *output, const struct recipe_segment *segment)
{
    AUTO(recipe_uses_free) struct recipe_uses uses = {0};
    recipe_segment_add_uses(segment, &uses);
    recipe_uses_fold(&uses);
    output_open(output, "uses", OUTPUT_TABLE);
    for (size_t i = 0; i < uses.count; i++) {
        const struct recipe_use *use = &uses.uses[i];
        struct recipe_record form;
        const bool is_here = recipe_segment_find(segment, RECIPE_FORM, use->pipeline, &form);
        output_open(output, NULL, OUTPUT_ROW);
        output_digest(output, "pipeline", use->pipeline);
        output_text(output, "kind", is_here ? recipe_tool_kind(form.data, form.size) : "elsewhere");
        output_time(output, "last_day", (uint64_t)use->last_day * DAY_S);
        output_number(output, "days", use->days);
        output_number(output, "compile_us", use->compile_us);
        output_digest(output, "environment", use->environment);
        output_close(output);
    }
    output_close(output);
}

/* The intact records of a kind, and their bytes. */
static void inspect_show_kind(struct output *output, const struct recipe_segment *segment,
                              unsigned kind, const char *name)
{
    struct recipe_record record;
    uint64_t records = 0;
    uint64_t bytes = 0;
    size_t at = SIZE_MAX;
    while (recipe_segment_next_of(segment, kind, &at, &record)) {
        records += record.data != NULL;
        bytes += record.size;
    }
    output_open(output, name, OUTPUT_GROUP);
    output_number(output, "count", records);
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
    inspect_show_verdict(&output, arguments->operands[0], segment->size, reason);
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

/* The record that a digest on the command line, which may be shortened, begins. */
struct inspect_search {
    const struct recipe_segment *segment;
    unsigned kind; /* of the record that is looked for */
    const char *text;
    struct recipe_record found; /* no data: there is none yet */
    bool is_ambiguous;
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
        search->is_ambiguous |=
            search->found.data && !digest_equal(search->found.digest, record.digest);
        search->found = record;
    }
}

/* False after a message. */
static bool inspect_find_chosen(const struct recipe_segment *segment, unsigned kind,
                                const char *text, struct recipe_record *ret_record)
{
    struct inspect_search search = {.segment = segment, .kind = kind, .text = text};
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
    if (!search.found.data) {
        output_message("no %s '%s' is in this file", kind == RECIPE_CODE ? "SPIR-V" : "object",
                       text);
    } else if (search.is_ambiguous) {
        output_message("more than one object begins with '%s'; give more digits", text);
    } else {
        *ret_record = search.found;
        return true;
    }
    return false;
}

static int inspect_show_spirv(const struct recipe_segment *segment, const char *spirv, bool json)
{
    struct recipe_record code;
    struct output output;
    if (!inspect_find_chosen(segment, RECIPE_CODE, spirv, &code)) {
        return EXIT_USAGE;
    }
    AUTO_FREE char *text = spirv_disassemble(code.data, code.size);
    output_begin(&output, json);
    if (text) {
        output_lines(&output, "spirv", text);
    } else {
        output_message("SPIR-V %s cannot be disassembled", spirv);
        output_note_error();
    }
    return output_end(&output, text ? EXIT_CLEAN : EXIT_FINDING);
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
        output_note_error();
    }
    return output_end(&output, whole ? EXIT_CLEAN : EXIT_FINDING);
}

/* Takes the malloc'ed data over. */
static int inspect_show_recipes(uint8_t *data, size_t size, const struct arguments *arguments)
{
    const char *spirv = options_value(arguments, "spirv");
    const char *pipeline = options_value(arguments, "pipeline");
    struct recipe_segment segment;
    const enum status reason = recipe_segment_take(data, size, &segment);
    if (reason != STATUS_ok) {
        struct output output;
        output_begin(&output, arguments->json);
        inspect_show_verdict(&output, arguments->operands[0], size, reason);
        output_text(&output, "explanation", status_text(reason));
        return output_end(&output, EXIT_FINDING);
    }
    const int status = spirv      ? inspect_show_spirv(&segment, spirv, arguments->json)
                       : pipeline ? inspect_show_pipeline(&segment, pipeline, arguments->json)
                                  : inspect_show_segment(&segment, arguments);
    recipe_segment_close(&segment);
    return status;
}

static int inspect_run(const struct arguments *arguments)
{
    const char *path = arguments->operands[0];
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const bool chooses = options_value(arguments, "spirv") || options_value(arguments, "pipeline");
    AUTO_FREE uint8_t *data = NULL;
    size_t size;
    if (options_value(arguments, "spirv") && options_value(arguments, "pipeline")) {
        output_message("--spirv and --pipeline exclude each other");
    } else if (!output_file_read(path, FILE_LIMIT, &data, &size)) {
        return EXIT_USAGE;
    } else if (recipe_tool_is_one(name, data, size)) {
        uint8_t *segment = data;
        data = NULL;
        return inspect_show_recipes(segment, size, arguments);
    } else if (!cache_file_has_our_name(name) && !cache_file_has_our_magic(data, size)) {
        output_message("'%s' is neither a cache file nor a recipe file of warmpipe (%s)", path,
                       status_id(STATUS_bad_magic));
    } else if (chooses) {
        output_message("'%s' is a cache file; --spirv and --pipeline need a recipe file", path);
    } else {
        return inspect_show_cache(data, size, arguments);
    }
    return EXIT_USAGE;
}

const struct verb verb_inspect = {
    .name = "inspect",
    .doing = "reading",
    .summary = "show the contents of a cache file or a recipe file",
    .operands = "FILE",
    .description =
        "Shows the header of FILE field by field, its sections, and whether the layer\n"
        "would use it; if not, with the id of the reason. The fields of a damaged file\n"
        "are shown as found and cannot be trusted. Of a recipe file it counts the\n"
        "records; a pipeline may need records of other files. A DIGEST may be shortened.\n\n"
        "Exit status: 0 FILE is whole, 1 it is damaged, 2 not readable, or not ours.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = inspect_run,
};
