// SPDX-License-Identifier: Apache-2.0
/* warmpipe inspect: what a cache file says of itself, damaged or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/driver/vulkan_names.h"
#include "tools/caches/cache_file.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/recipes/recipe_tool.h"

#define FILE_LIMIT (UINT64_C(4) << 30)

static const struct option_spec options[] = {
    VERB_JSON_OPTION,
    {"verbose", 'v', NULL, "also the driver's own header, or modules and pipelines"},
    {"spirv", 0, "DIGEST", "disassemble this module of a recipe file"},
    {"pipeline", 0, "DIGEST", "show what this pipeline was created with"},
    {NULL, 0, NULL, NULL},
};

static const char *inspect_byte_order(uint32_t endian_marker)
{
    return endian_marker == ENVELOPE_LITTLE_ENDIAN ? "little"
           : endian_marker == ENVELOPE_BIG_ENDIAN  ? "big"
                                                   : "damaged";
}

static void inspect_show_header(struct output *output, const struct envelope_layout *layout,
                                const struct envelope *envelope)
{
    output_open(output, "header", OUTPUT_GROUP);
    output_bytes(output, "magic", layout->magic, sizeof layout->magic);
    output_number(output, "format_version", layout->format_version);
    output_size(output, "header_size", layout->header_size);
    output_text(output, "byte_order", inspect_byte_order(layout->endian_marker));
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

static void inspect_show_file(struct output *output, const char *path, const uint8_t *data,
                              size_t size, enum status reason, bool verbose)
{
    struct envelope_layout layout;
    struct envelope envelope;
    bool has_fields = envelope_peek(data, size, &envelope);

    output_text(output, "path", path);
    output_size(output, "size", size);
    output_text(output, "verdict", reason == STATUS_ok ? "ok" : "damaged");
    output_text(output, "reason", reason == STATUS_ok ? "ok" : status_id(reason));
    if (reason != STATUS_ok) {
        output_text(output, "explanation", status_text(reason));
    }
    if (envelope_peek_layout(data, size, &layout)) {
        inspect_show_header(output, &layout, has_fields ? &envelope : NULL);
    }
    if (has_fields) {
        inspect_show_identity(output, &envelope.identity);
        inspect_show_sections(output, &layout, &envelope);
    }
    if (has_fields && verbose) {
        inspect_show_driver_header(output, data, size);
    }
}

static int inspect_run(const struct arguments *arguments)
{
    const char *path = arguments->operands[0];
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *spirv = options_value(arguments, "spirv");
    const char *pipeline = options_value(arguments, "pipeline");
    AUTO_FREE uint8_t *data = NULL;
    size_t size;
    if (spirv && pipeline) {
        output_message("--spirv and --pipeline exclude each other");
        return EXIT_USAGE;
    }
    if (!output_file_read(path, FILE_LIMIT, &data, &size)) {
        return EXIT_USAGE;
    }
    if (inspect_recipes_is_one(name, data, size)) {
        uint8_t *segment = data;
        data = NULL;
        return inspect_recipes(segment, size, arguments);
    }
    if (!cache_file_has_our_name(name) && !cache_file_has_our_magic(data, size)) {
        output_message("'%s' is neither a cache file nor a recipe file of warmpipe (%s)", path,
                       status_id(STATUS_bad_magic));
        return EXIT_USAGE;
    }
    if (spirv || pipeline) {
        output_message("'%s' is a cache file; --spirv and --pipeline need a recipe file", path);
        return EXIT_USAGE;
    }
    struct envelope envelope;
    enum status reason = envelope_validate(data, size, NULL, &envelope);
    struct output output;
    output_begin(&output, arguments->json);
    inspect_show_file(&output, path, data, size, reason, options_value(arguments, "verbose"));
    return output_end(&output, reason == STATUS_ok ? EXIT_CLEAN : EXIT_FINDING);
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
