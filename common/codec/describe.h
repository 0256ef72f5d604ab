// SPDX-License-Identifier: Apache-2.0
/* A canonical form as text for people: every field of the create-info by its name. Not part of the
 * layer, whose tables have no names. */
#ifndef WARMPIPE_CODEC_DESCRIBE_H
#define WARMPIPE_CODEC_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls `field` for each field, in the order of the form: path "stage.pSpecializationInfo.
 * pMapEntries[0].offset", structs of a chain by their type: "pNext.VkPipelineRenderingCreateInfo.
 * viewMask". Objects are digests, enumerants and flags have the
 * registry's names. The strings are borrowed for the call; what comes from the form
 * may hold any characters. False, perhaps after some calls: the form is malformed, or memory is
 * out. Thread-safe. */
bool canonical_describe(const void *bytes, size_t size,
                        void (*field)(void *user, const char *path, const char *value), void *user);

/* For describe.c: describe_value.c. */

#define DESCRIBE_VALUE_SIZE 2048

/* The text of one field. */
struct describe_line {
    char text[DESCRIBE_VALUE_SIZE];
    size_t length;
};

/* Appends, as far as there is room. */
void describe_put(struct describe_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends in the way in which a value of this type is best read; `width`: its bytes in memory. */
void describe_put_value(struct describe_line *line, const char *type, uint64_t value, size_t width);

/* A number of so many bytes: 1, 2, 4 or 8. */
uint64_t describe_read(const uint8_t *at, size_t width);

#endif
