// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "features.h"

#define PIPELINE_FEATURE(name) VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##name

static const struct feature features[] = {
    {"flags2", {"VK_KHR_maintenance5"}, {{STYPE_MAINTENANCE_5_FEATURES, 1}}, create_flags2},
    {FEATURE_OF_MANY, /* with shader code in the stages, as engines of 2026 do */
     {"VK_KHR_maintenance5", "VK_KHR_maintenance6", "VK_KHR_maintenance7", "VK_KHR_maintenance8",
      "VK_KHR_maintenance9", "VK_KHR_maintenance10", "VK_KHR_maintenance11"},
     {{STYPE_MAINTENANCE_5_FEATURES, 1},
      {STYPE_MAINTENANCE_6_FEATURES, 1},
      {STYPE_MAINTENANCE_7_FEATURES, 1},
      {STYPE_MAINTENANCE_8_FEATURES, 1},
      {STYPE_MAINTENANCE_9_FEATURES, 1},
      {STYPE_MAINTENANCE_10_FEATURES, 1},
      {STYPE_MAINTENANCE_11_FEATURES, 1}},
     create_flags2},
    {"local_read",
     {"VK_KHR_dynamic_rendering_local_read"},
     {{STYPE_LOCAL_READ_FEATURES, 1}},
     create_local_read},
    {"robustness",
     {VK_EXT_PIPELINE_ROBUSTNESS_EXTENSION_NAME},
     {{PIPELINE_FEATURE(PIPELINE_ROBUSTNESS_FEATURES_EXT), 1}},
     create_robustness},
    {"descriptor_buffer",
     {VK_EXT_DESCRIPTOR_BUFFER_EXTENSION_NAME},
     {{PIPELINE_FEATURE(DESCRIPTOR_BUFFER_FEATURES_EXT), 1}},
     create_descriptor_buffer},
    {"queries",
     {VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME, VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME},
     {{PIPELINE_FEATURE(PRIMITIVES_GENERATED_QUERY_FEATURES_EXT), 1}},
     create_plain},
    {"discard", {NULL}, {{0}}, create_discarding},
    {"internal_cache", /* as programs do that keep pipeline binaries: the driver keeps nothing */
     {"VK_KHR_pipeline_binary", "VK_KHR_maintenance5"},
     {{STYPE_BINARY_FEATURES, 1},
      {STYPE_MAINTENANCE_5_FEATURES, 1},
      {STYPE_INTERNAL_CACHE_CONTROL, 1}},
     create_plain},
    {"libraries",
     {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME, VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME},
     {{PIPELINE_FEATURE(GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT), 1}},
     create_libraries},
    {"library_layouts",
     {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME, VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME},
     {{PIPELINE_FEATURE(GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT), 1}},
     create_library_layouts},
    {"identifiers",
     {VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME},
     {{PIPELINE_FEATURE(SHADER_MODULE_IDENTIFIER_FEATURES_EXT), 1}},
     create_identifiers},
    {"generated_commands",
     {"VK_EXT_device_generated_commands", "VK_KHR_maintenance5"},
     {{STYPE_GENERATED_COMMANDS_FEATURES, 1}, {STYPE_MAINTENANCE_5_FEATURES, 1}},
     create_generated_commands},
    {"ray_tracing",
     {VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME, VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME,
      VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME, VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME},
     {{PIPELINE_FEATURE(RAY_TRACING_PIPELINE_FEATURES_KHR), 1},
      {PIPELINE_FEATURE(ACCELERATION_STRUCTURE_FEATURES_KHR), 1}},
     create_ray_tracing},
    {"cooperative_matrix",
     {"VK_KHR_cooperative_matrix"},
     {{STYPE_COOPERATIVE_MATRIX_FEATURES, 1},
      {PIPELINE_FEATURE(VULKAN_MEMORY_MODEL_FEATURES), 1},
      {PIPELINE_FEATURE(SHADER_FLOAT16_INT8_FEATURES), 1}},
     create_cooperative_matrix},
    {"untyped_pointers",
     {"VK_KHR_shader_untyped_pointers"},
     {{STYPE_UNTYPED_POINTERS_FEATURES, 1}},
     create_untyped_pointers},
    {"shader_object",
     {"VK_EXT_shader_object"},
     {{STYPE_SHADER_OBJECT_FEATURES, 1}},
     create_shader_object},
    {"pipeline_binary",
     {"VK_KHR_pipeline_binary", "VK_KHR_maintenance5"},
     {{STYPE_BINARY_FEATURES, 1}, {STYPE_MAINTENANCE_5_FEATURES, 1}},
     create_pipeline_binary},
};

static const char usage[] =
    "usage: features NAME [--statistics] [--cache FILE] [--variants N] [--delay-s S]\n\n"
    "Creates N pipelines (4) of each kind with this feature, S seconds (0) after its device, and\n"
    "prints what came out, as JSON. --statistics: looks at what was compiled, too.\n"
    "--cache: with a cache of its own, kept in FILE.\n\n";

static _Noreturn void show_usage(void)
{
    fputs(usage, stderr);
    for (size_t i = 0; i < COUNT_OF(features); i++) {
        fprintf(stderr, "  %s\n", features[i].name);
    }
    exit(2);
}

static struct feature_options parse_options(int argc, char **argv)
{
    static const struct option known[] = {{"statistics", no_argument, NULL, 's'},
                                          {"cache", required_argument, NULL, 'c'},
                                          {"variants", required_argument, NULL, 'v'},
                                          {"delay-s", required_argument, NULL, 'd'},
                                          {NULL, 0, NULL, 0}};
    struct feature_options options = {.variants = 4};
    for (int found; (found = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (found) {
        case 's':
            options.statistics = true;
            break;
        case 'c':
            options.cache_path = optarg;
            break;
        case 'v':
            options.variants = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'd':
            options.delay_s = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        default:
            show_usage();
        }
    }
    return options;
}

int main(int argc, char **argv)
{
    const struct feature_options options = parse_options(argc, argv);
    const struct feature *feature = NULL;
    for (size_t i = 0; optind + 1 == argc && i < COUNT_OF(features); i++) {
        feature = strcmp(features[i].name, argv[optind]) == 0 ? &features[i] : feature;
    }
    if (!feature) {
        show_usage();
    }
    struct feature_device device;
    feature_device_open(&device, feature, &options);
    sleep(options.delay_s);
    for (uint32_t variant = 0; variant < options.variants; variant++) {
        feature->create(&device, variant);
    }
    feature_device_close(&device, &options);
    const struct outcome *outcome = &device.outcome;
    printf("{\"feature\": \"%s\", \"calls\": %u, \"failures\": %u, \"compile_required\": %u, "
           "\"misses\": %u, \"seen\": \"%016llx\"}\n",
           feature->name, outcome->calls, outcome->failures, outcome->compile_required,
           outcome->misses, (unsigned long long)outcome->seen);
    return 0;
}
