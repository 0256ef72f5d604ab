// SPDX-License-Identifier: Apache-2.0
/* A canonical form as text for people: every field of the create-info by its name. Not part of the
 * layer, whose tables have no names. */
#ifndef WARMPIPE_CODEC_DESCRIBE_H
#define WARMPIPE_CODEC_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

/* Calls `field` for each field, in the order of the form: path "stage.pSpecializationInfo.
 * pMapEntries[0].offset", structs of a chain by their type: "pNext.VkPipelineRenderingCreateInfo.
 * viewMask". Objects are digests, enumerants and flags have the
 * registry's names. The strings are borrowed for the call; what comes from the form
 * may hold any characters. False, perhaps after some calls: the form is malformed, or memory is
 * out. Thread-safe. */
bool canonical_describe(const void *bytes, size_t size,
                        void (*field)(void *user, const char *path, const char *value), void *user);

#endif
