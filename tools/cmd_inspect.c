/* warmpipe inspect: what a cache file says of itself, damaged or not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "cache_file.h"
#include "driver/vulkan_names.h"
#include "inspect_recipes.h"
#include "output.h"
#include "verb.h"

enum { OPTION_JSON, OPTION_VERBOSE, OPTION_SPIRV, OPTION_PIPELINE };

static const struct option_spec options[] = {
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, "also the driver's own header; the pipelines"},
    [OPTION_SPIRV] = {"spirv", 0, "DIGEST", "disassemble this module of a recipe file"},
    [OPTION_PIPELINE] = {"pipeline", 0, "DIGEST", "show what this pipeline was created with"},
    {NULL, 0, NULL, NULL},
};

struct file {
    uint8_t *data; /* to be freed */
    size_t size;
};

/* Whoever owns it, unlike the layer: looking at a file is safe. False after a message. */
static bool read_file(const char *path, struct file *ret_file)
{
    const char *problem = NULL;
    struct file file = {0};
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        problem = strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
        problem = reason_text(REASON_not_a_file);
    } else {
        file.size = (size_t)status.st_size;
        file.data = malloc(file.size + 1);
        const ssize_t count = file.data ? io_read(fd, file.data, file.size, IO_HERE) : -1;
        problem = count < 0 ? strerror(errno) : NULL;
        file.size = count < 0 ? 0 : (size_t)count;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (problem) {
        output_message("inspect: cannot read '%s': %s", path, problem);
        free(file.data);
        return false;
    }
    *ret_file = file;
    return true;
}

static const char *byte_order(uint32_t endian_marker)
{
    return endian_marker == ENVELOPE_LITTLE_ENDIAN ? "little"
           : endian_marker == ENVELOPE_BIG_ENDIAN  ? "big"
                                                   : "damaged";
}

static void show_header(struct output *output, const struct envelope_layout *layout,
                        const struct envelope *envelope)
{
    output_open(output, "header", OUTPUT_GROUP);
    output_bytes(output, "magic", layout->magic, sizeof layout->magic);
    output_number(output, "format_version", layout->format_version);
    output_size(output, "header_size", layout->header_size);
    output_text(output, "byte_order", byte_order(layout->endian_marker));
    output_size(output, "pointer_size", layout->pointer_size);
    if (envelope) {
        output_hex(output, "generation", envelope->generation);
        output_time(output, "saved_at", envelope->saved_at);
    }
    output_close(output);
}

static void show_identity(struct output *output, const struct driver_identity *identity)
{
    char digest[DIGEST_HEX_SIZE];
    digest_format(identity_digest(identity), digest);
    char api_version[VULKAN_VERSION_SIZE];
    vulkan_api_version(identity->api_version, api_version);
    char driver_version[VULKAN_VERSION_SIZE];
    vulkan_driver_version(identity, driver_version);
    const uint8_t *conformance = identity->conformance;
    char conformance_version[VULKAN_VERSION_SIZE];
    snprintf(conformance_version, sizeof conformance_version, "%u.%u.%u.%u", conformance[0],
             conformance[1], conformance[2], conformance[3]);

    output_open(output, "identity", OUTPUT_GROUP);
    output_text(output, "digest", digest);
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

static void show_sections(struct output *output, const struct envelope_layout *layout,
                          const struct envelope *envelope)
{
    char digest[DIGEST_HEX_SIZE];
    digest_format(envelope->blob_digest, digest);
    output_open(output, "sections", OUTPUT_GROUP);
    output_number(output, "count", layout->section_count);
    output_open(output, "blob", OUTPUT_GROUP);
    output_number(output, "type", layout->section_type);
    output_number(output, "offset", layout->section_offset);
    output_size(output, "size", envelope->blob_size);
    output_text(output, "digest", digest);
    output_close(output);
    output_close(output);
}

/* VkPipelineCacheHeaderVersionOne: chapter "Pipeline Cache Header". */
static void show_driver_header(struct output *output, const struct file *file)
{
    struct bytes_reader reader = bytes_reader_over(file->data, file->size);
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

static void show_file(struct output *output, const char *path, const struct file *file,
                      enum reason reason, bool verbose)
{
    struct envelope_layout layout;
    struct envelope envelope;
    bool has_fields = envelope_peek(file->data, file->size, &envelope);

    output_text(output, "path", path);
    output_size(output, "size", file->size);
    output_text(output, "verdict", reason == REASON_ok ? "ok" : "damaged");
    output_text(output, "reason", reason == REASON_ok ? "ok" : reason_id(reason));
    if (reason != REASON_ok) {
        output_text(output, "explanation", reason_text(reason));
    }
    if (envelope_peek_layout(file->data, file->size, &layout)) {
        show_header(output, &layout, has_fields ? &envelope : NULL);
    }
    if (has_fields) {
        show_identity(output, &envelope.identity);
        show_sections(output, &layout, &envelope);
    }
    if (has_fields && verbose) {
        show_driver_header(output, file);
    }
}

static int run(const struct arguments *arguments)
{
    const char *path = arguments->operands[0];
    const char *slash = strrchr(path, '/');
    struct file file;
    if (!read_file(path, &file)) {
        return EXIT_USAGE;
    }
    if (inspect_recipes_is_one(slash ? slash + 1 : path, file.data, file.size)) {
        const struct inspect_recipes_choice choice = {
            .spirv = arguments->values[OPTION_SPIRV],
            .pipeline = arguments->values[OPTION_PIPELINE],
            .verbose = arguments->values[OPTION_VERBOSE],
            .json = arguments->values[OPTION_JSON],
        };
        return inspect_recipes(path, file.data, file.size, &choice);
    }
    if (!cache_file_has_our_name(slash ? slash + 1 : path) &&
        !cache_file_has_our_magic(file.data, file.size)) {
        output_message("inspect: '%s': %s", path, reason_text(REASON_bad_magic));
        free(file.data);
        return EXIT_USAGE;
    }
    struct envelope envelope;
    enum reason reason = envelope_validate(file.data, file.size, NULL, &envelope);
    struct output output;
    output_begin(&output, arguments->values[OPTION_JSON]);
    show_file(&output, path, &file, reason, arguments->values[OPTION_VERBOSE]);
    free(file.data);
    return output_end(&output, reason == REASON_ok ? EXIT_CLEAN : EXIT_FINDING);
}

const struct verb verb_inspect = {
    .name = "inspect",
    .summary = "show what a cache file, or a recipe file, says of itself",
    .operands = "FILE",
    .description =
        "Shows the header of FILE field by field, its sections, and whether the layer\n"
        "would take it: if not, the id of the reason stands beside the verdict. Fields of\n"
        "a damaged file are shown as they are found, and are not to be trusted. Of a\n"
        "recipe file it counts what it holds; a pipeline may need what others hold.\n\n"
        "Exit status: 0 FILE is whole, 1 it is damaged, 2 it is not readable or not ours.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
