// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

static const char usage[] =
    "usage: pipelines [OPTION…]\n"
    "Creates pipelines and prints one JSON object about it.\n"
    "  --list                name the devices instead: index, type, name\n"
    "  --compute N --graphics N --raytracing N   how many of each (200, 40, 0)\n"
    "  --heavy N             how many of the compute pipelines are large (a tenth)\n"
    "  --seed S              another set of pipelines (0 to 511)\n"
    "  --threads T           create on T threads (1)\n"
    "  --batch B             pipelines per call (1)\n"
    "  --repeat R            create the whole set R times, all alive at once (1)\n"
    "  --device I[,J…]       physical devices, one VkDevice each (0)\n"
    "  --two-devices         the same as --device 0,1\n"
    "  --api 1.0|1.1|1.2|1.3 the instance's version (1.3)\n"
    "  --properties2         enable VK_KHR_get_physical_device_properties2, as programs of 1.0 do\n"
    "  --cache KIND          none | own | many=K | file=PATH | readback[=PATH] | merge=K\n"
    "                        own: one empty cache; many: K empty caches in turn; neither is read\n"
    "                        back. file: loaded and saved. readback: empty, read back, saved "
    "where\n"
    "                        a path is given. merge: K empty caches merged into one, read back\n"
    "  --feedback            ask for creation feedback (Vulkan 1.3)\n"
    "  --feedback-extension  the same through VK_EXT_pipeline_creation_feedback\n"
    "  --libraries           graphics pipelines linked from libraries (an extension)\n"
    "  --render-pass         render pass objects, not dynamic rendering\n"
    "  --allocator           pass allocation callbacks, and account for them\n"
    "  --verify              run the compute pipelines and print a digest of what they wrote\n"
    "  --idle-thread         have a second thread, which does nothing\n"
    "  --delay-ms MS         wait before the first pipeline\n"
    "  --after FILE=TEXT     the same until the file holds the text\n"
    "  --burst N --pause-ms MS   wait after each N calls of a thread (0: never)\n"
    "  --wait-ms MS          wait after the last one\n"
    "  --end HOW             destroy | return | exit | kill: how the program ends (destroy)\n"
    "  --no-destroy          the same as --end return\n";

_Noreturn static void refuse(const char *what, const char *value)
{
    fprintf(stderr, "pipelines: bad value '%s' for %s\n", value, what);
    exit(2);
}

static uint32_t number_of(const char *what, const char *value)
{
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (end == value || *end || *value == '-' || number > 10000000) {
        refuse(what, value);
    }
    return (uint32_t)number;
}

static uint32_t positive_of(const char *what, const char *value)
{
    uint32_t number = number_of(what, value);
    if (number == 0) {
        refuse(what, value);
    }
    return number;
}

/* The part of `value` behind `word=`, "" for the word alone, NULL for another word. */
static const char *behind(const char *value, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(value, word, length) != 0) {
        return NULL;
    }
    if (value[length] == '=') {
        return value + length + 1;
    }
    return value[length] ? NULL : "";
}

static void parse_cache(struct options *options, const char *value)
{
    const char *rest;
    options->cache_count = 1;
    if (strcmp(value, "none") == 0) {
        options->cache = APP_CACHE_NONE;
        options->cache_count = 0;
    } else if (strcmp(value, "own") == 0) {
        options->cache = APP_CACHE_MANY;
    } else if ((rest = behind(value, "many"))) {
        options->cache = APP_CACHE_MANY;
        options->cache_count = positive_of("--cache many", rest);
    } else if ((rest = behind(value, "merge"))) {
        options->cache = APP_CACHE_MERGE;
        options->cache_count = positive_of("--cache merge", rest);
    } else if ((rest = behind(value, "file")) && *rest) {
        options->cache = APP_CACHE_FILE;
        options->cache_path = rest;
    } else if ((rest = behind(value, "readback"))) {
        options->cache = APP_CACHE_READBACK;
        options->cache_path = *rest ? rest : NULL;
    } else {
        refuse("--cache", value);
    }
}

static void parse_devices(struct options *options, const char *value)
{
    char copy[64];
    if (strlen(value) >= sizeof(copy)) {
        refuse("--device", value);
    }
    strcpy(copy, value);
    options->device_count = 0;
    for (char *save, *part = strtok_r(copy, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        if (options->device_count == MAX_DEVICES) {
            refuse("--device", value);
        }
        options->devices[options->device_count++] = number_of("--device", part);
    }
    if (options->device_count == 0) {
        refuse("--device", value);
    }
}

static void parse_api(struct options *options, const char *value)
{
    static const char *const names[] = {"1.0", "1.1", "1.2", "1.3"};
    for (uint32_t i = 0; i < 4; i++) {
        if (strcmp(value, names[i]) == 0) {
            options->api_version = VK_MAKE_API_VERSION(0, 1, i, 0);
            return;
        }
    }
    refuse("--api", value);
}

static void parse_ending(struct options *options, const char *value)
{
    static const char *const names[] = {"destroy", "return", "exit", "kill"};
    for (uint32_t i = 0; i < 4; i++) {
        if (strcmp(value, names[i]) == 0) {
            options->ending = (enum ending)i;
            return;
        }
    }
    refuse("--end", value);
}

static void parse_after(struct options *options, const char *value)
{
    const char *equals = strrchr(value, '=');
    if (!equals || equals == value || !equals[1]) {
        refuse("--after", value);
    }
    options->after_file = strndup(value, (size_t)(equals - value));
    options->after_text = equals + 1;
}

static void parse_two_devices(struct options *options, const char *value)
{
    (void)value;
    parse_devices(options, "0,1");
}

static void parse_no_destroy(struct options *options, const char *value)
{
    (void)value;
    options->ending = ENDING_RETURN;
}

static void parse_feedback_extension(struct options *options, const char *value)
{
    (void)value;
    options->feedback = options->feedback_extension = true;
}

static void print_help(struct options *options, const char *value)
{
    (void)options;
    (void)value;
    fputs(usage, stdout);
    exit(0);
}

/* Numbers and flags name their member, the others their function. */
struct setting {
    const char *name;
    enum { NUMBER, POSITIVE, FLAG, SPECIAL, SPECIAL_FLAG } kind;
    size_t offset;
    void (*parse)(struct options *options, const char *value);
};

#define MEMBER(name) offsetof(struct options, name), NULL

static const struct setting settings[] = {
    {"compute", NUMBER, MEMBER(compute)},
    {"graphics", NUMBER, MEMBER(graphics)},
    {"raytracing", NUMBER, MEMBER(raytracing)},
    {"heavy", NUMBER, MEMBER(heavy)},
    {"seed", NUMBER, MEMBER(seed)},
    {"threads", POSITIVE, MEMBER(threads)},
    {"batch", POSITIVE, MEMBER(batch)},
    {"repeat", POSITIVE, MEMBER(repeat)},
    {"delay-ms", NUMBER, MEMBER(delay_ms)},
    {"burst", NUMBER, MEMBER(burst)},
    {"pause-ms", NUMBER, MEMBER(pause_ms)},
    {"wait-ms", NUMBER, MEMBER(wait_ms)},
    {"feedback", FLAG, MEMBER(feedback)},
    {"libraries", FLAG, MEMBER(libraries)},
    {"render-pass", FLAG, MEMBER(render_pass)},
    {"properties2", FLAG, MEMBER(properties2)},
    {"allocator", FLAG, MEMBER(allocator)},
    {"verify", FLAG, MEMBER(verify)},
    {"idle-thread", FLAG, MEMBER(idle_thread)},
    {"list", FLAG, MEMBER(list)},
    {"device", SPECIAL, 0, parse_devices},
    {"api", SPECIAL, 0, parse_api},
    {"cache", SPECIAL, 0, parse_cache},
    {"end", SPECIAL, 0, parse_ending},
    {"after", SPECIAL, 0, parse_after},
    {"two-devices", SPECIAL_FLAG, 0, parse_two_devices},
    {"no-destroy", SPECIAL_FLAG, 0, parse_no_destroy},
    {"feedback-extension", SPECIAL_FLAG, 0, parse_feedback_extension},
    {"help", SPECIAL_FLAG, 0, print_help},
};

enum { SETTING_COUNT = sizeof(settings) / sizeof(settings[0]) };

static void apply(struct options *options, const struct setting *setting, const char *value)
{
    void *member = (char *)options + setting->offset;
    switch (setting->kind) {
    case NUMBER:
        *(uint32_t *)member = number_of(setting->name, value);
        break;
    case POSITIVE:
        *(uint32_t *)member = positive_of(setting->name, value);
        break;
    case FLAG:
        *(bool *)member = true;
        break;
    case SPECIAL:
    case SPECIAL_FLAG:
        setting->parse(options, value);
        break;
    }
}

struct options options_parse(int argc, char **argv)
{
    struct option table[SETTING_COUNT + 1] = {0};
    for (int i = 0; i < SETTING_COUNT; i++) {
        bool flag = settings[i].kind == FLAG || settings[i].kind == SPECIAL_FLAG;
        table[i] = (struct option){settings[i].name, flag ? no_argument : required_argument, NULL,
                                   1000 + i};
    }
    struct options options = {.compute = 200,
                              .heavy = UINT32_MAX,
                              .graphics = 40,
                              .threads = 1,
                              .batch = 1,
                              .repeat = 1,
                              .api_version = VK_API_VERSION_1_3,
                              .device_count = 1};
    for (int found; (found = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (found < 1000) {
            fputs(usage, stderr);
            exit(2);
        }
        apply(&options, &settings[found - 1000], optarg);
    }
    if (optind < argc) {
        fputs(usage, stderr);
        exit(2);
    }
    options.seed &= 511;
    if (options.heavy == UINT32_MAX) {
        options.heavy = options.compute / 10;
    } else if (options.heavy > options.compute) {
        options.heavy = options.compute;
    }
    return options;
}
