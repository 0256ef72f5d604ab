// SPDX-License-Identifier: Apache-2.0
/* Cache data: a VkPipelineCacheHeaderVersionOne (chapter "Pipeline Cache Header"), a magic, the
 * records, and a hash of it all, so that any byte that is not as this driver wrote it is noticed.
 */
#ifndef ICD_BLOB_H
#define ICD_BLOB_H

#include "icd.h"

#define ICD_BLOB_HEADER_SIZE 32u

/* The size of a blob that holds this many pipelines. */
size_t icd_blob_size(const struct icd_device *device, uint32_t count);

/* How many pipelines fit into this many bytes; false if not even none do. */
bool icd_blob_fit(const struct icd_device *device, size_t size, uint32_t *ret_count);

/* Writes 32 bytes. */
void icd_blob_write_header(const struct icd_device *device, uint8_t *data);

/* Writes icd_blob_size(device, count) bytes. */
void icd_blob_write(const struct icd_device *device, const uint64_t *pipelines, uint32_t count,
                    uint8_t *data);

/* Whether a record of so many bytes is none that icd_blob_write writes. */
bool icd_blob_is_damaged(const uint8_t *record, uint32_t size);

/* Makes the record of this pipeline, in data that icd_blob_write has written, one that it does not
 * write. */
void icd_blob_damage(const struct icd_device *device, uint8_t *data, uint64_t pipeline);

/* What is wrong with the data; NULL if it is such as this driver writes. *ret_records then leads
 * to the first record; each begins with its pipeline, in the machine's byte order. */
const char *icd_blob_check(const struct icd_device *device, const void *data, size_t size,
                           const uint8_t **ret_records, uint32_t *ret_record_bytes,
                           uint32_t *ret_count);

#endif
