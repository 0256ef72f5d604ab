#include "driver/environment.h"

#include <stdlib.h>
#include <string.h>

#include "driver/environment_private.h"

/* The least that a name and a struct take in the encoded form. */
#define LEAST_NAME_SIZE 5
#define STRUCT_SIZE     12

/* Bytes; no program enables as much. */
#define MAX_SIZE (1u << 20)

struct decoder {
    struct bytes_reader in;
    char *strings; /* where the next one goes; there is room for all that the bytes can hold */
};

/* NULL: no valid string. */
static const char *get_string(struct decoder *decoder)
{
    uint32_t length = bytes_get_u32(&decoder->in);
    const uint8_t *text = bytes_get(&decoder->in, length);
    if (!text || length > ENVIRONMENT_MAX_STRING || memchr(text, 0, length)) {
        return NULL;
    }
    char *string = decoder->strings;
    memcpy(string, text, length);
    string[length] = '\0';
    decoder->strings += length + 1;
    return string;
}

static bool get_device(struct decoder *decoder, struct environment_device *device)
{
    device->vendor_id = bytes_get_u32(&decoder->in);
    device->device_id = bytes_get_u32(&decoder->in);
    device->api_version = bytes_get_u32(&decoder->in);
    uint32_t has_properties2 = bytes_get_u32(&decoder->in);
    device->has_properties2 = has_properties2 == 1;
    device->application_version = bytes_get_u32(&decoder->in);
    device->engine_version = bytes_get_u32(&decoder->in);
    device->application_name = get_string(decoder);
    device->engine_name = get_string(decoder);
    return device->application_name && device->engine_name && has_properties2 <= 1 &&
           device->api_version == environment_version(device->api_version);
}

static bool get_extensions(struct decoder *decoder, struct environment *environment)
{
    uint32_t count = bytes_get_u32(&decoder->in);
    if (count > bytes_left(&decoder->in) / LEAST_NAME_SIZE) {
        return false;
    }
    environment->extensions = malloc((count + 1u) * sizeof(*environment->extensions));
    if (!environment->extensions) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *name = get_string(decoder);
        if (!name || strcmp(i == 0 ? "" : environment->extensions[i - 1], name) >= 0) {
            return false;
        }
        environment->extensions[i] = name;
    }
    environment->extension_count = count;
    return true;
}

static bool get_structs(struct decoder *decoder, struct environment *environment)
{
    uint32_t count = bytes_get_u32(&decoder->in);
    if (count > bytes_left(&decoder->in) / STRUCT_SIZE) {
        return false;
    }
    environment->structs = malloc((count + 1u) * sizeof(*environment->structs));
    if (!environment->structs) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct environment_features *features = &environment->structs[i];
        features->stype = bytes_get_u32(&decoder->in);
        features->bits = bytes_get_u64(&decoder->in);
        if (i > 0 && features[-1].stype >= features->stype) {
            return false;
        }
        if (features->stype == ENVIRONMENT_CORE_STYPE &&
            (features->bits == 0 || features->bits >> ENVIRONMENT_CORE_COUNT != 0)) {
            return false;
        }
    }
    environment->struct_count = count;
    return true;
}

struct environment *environment_decode(const void *bytes, size_t size)
{
    struct environment *environment = size <= MAX_SIZE ? calloc(1, sizeof(*environment)) : NULL;
    if (!environment) {
        return NULL;
    }
    environment->strings = malloc(size + 1);
    struct decoder decoder = {bytes_reader_over(bytes, size), environment->strings};
    if (environment->strings && bytes_get_u32(&decoder.in) == ENVIRONMENT_VERSION &&
        get_device(&decoder, &environment->device) && get_extensions(&decoder, environment) &&
        get_structs(&decoder, environment) && !decoder.in.overrun && bytes_left(&decoder.in) == 0) {
        return environment;
    }
    environment_free(environment);
    return NULL;
}

void environment_free(struct environment *environment)
{
    if (environment) {
        free(environment->strings);
        free((void *)environment->extensions);
        free(environment->structs);
        free(environment);
    }
}

struct environment_device environment_device_of(const struct environment *environment)
{
    return environment->device;
}

bool environment_has_extension(const struct environment *environment, const char *name)
{
    for (uint32_t i = 0; i < environment->extension_count; i++) {
        if (strcmp(environment->extensions[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool includes_extensions(const struct environment *enabled, const struct environment *needed)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < needed->extension_count; i++) {
        int order = -1;
        while (at < enabled->extension_count &&
               (order = strcmp(enabled->extensions[at], needed->extensions[i])) < 0) {
            at++;
        }
        if (order != 0) {
            return false;
        }
    }
    return true;
}

/* What was unknown to who encoded one may be anything but what somebody else knew. */
static bool includes_features(const struct environment_features *enabled,
                              const struct environment_features *needed)
{
    return enabled->stype == needed->stype && (needed->bits & ~enabled->bits) == 0 &&
           (needed->bits == 0) == (enabled->bits == 0);
}

static bool includes_structs(const struct environment *enabled, const struct environment *needed)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < needed->struct_count; i++) {
        const struct environment_features *features = &needed->structs[i];
        while (at < enabled->struct_count && enabled->structs[at].stype < features->stype) {
            at++;
        }
        if (at == enabled->struct_count || !includes_features(&enabled->structs[at], features)) {
            return false;
        }
    }
    return true;
}

bool environment_includes(const struct environment *enabled, const struct environment *needed)
{
    return enabled->device.api_version >= needed->device.api_version &&
           includes_extensions(enabled, needed) && includes_structs(enabled, needed);
}
