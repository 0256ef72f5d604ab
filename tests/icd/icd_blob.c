// SPDX-License-Identifier: Apache-2.0
#include "icd_blob.h"

#include <string.h>

#include "icd_objects.h"

#define PREFIX_SIZE (ICD_BLOB_HEADER_SIZE + 8u + 4u + 4u)
#define HASH_SIZE   8u
#define GARBAGE     4u

static const char magic[8] = {'W', 'P', 'T', 'I', 'C', 'D', '0', '1'};

static size_t padding_size(const struct icd_device *device)
{
    return (size_t)4 * device->settings->wander;
}

/* In whatever order the records stand; of what means nothing nothing is said. */
static uint64_t hash_of(const struct icd_device *device, const uint8_t *data, uint32_t record_bytes,
                        uint32_t count)
{
    const uint32_t meant = record_bytes - (device->settings->garbage != 0 ? GARBAGE : 0);
    uint64_t hash = icd_hash(ICD_HASH_SEED, data, PREFIX_SIZE);
    for (uint32_t i = 0; i < count; ++i) {
        hash += icd_hash(ICD_HASH_SEED, data + PREFIX_SIZE + (size_t)i * record_bytes, meant);
    }
    return hash;
}

size_t icd_blob_size(const struct icd_device *device, uint32_t count)
{
    return PREFIX_SIZE + (size_t)count * device->settings->record_bytes + HASH_SIZE +
           padding_size(device);
}

bool icd_blob_fit(const struct icd_device *device, size_t size, uint32_t *ret_count)
{
    if (size < PREFIX_SIZE + HASH_SIZE) {
        return false;
    }
    const size_t room = size - PREFIX_SIZE - HASH_SIZE;
    const size_t padding = padding_size(device);
    *ret_count = (uint32_t)((room > padding ? room - padding : 0) / device->settings->record_bytes);
    return room >= padding;
}

void icd_blob_write_header(const struct icd_device *device, uint8_t *data)
{
    const uint32_t words[] = {ICD_BLOB_HEADER_SIZE, VK_PIPELINE_CACHE_HEADER_VERSION_ONE,
                              device->settings->vendor_id,
                              icd_physical_device_id(device->physical)};
    for (unsigned i = 0; i < 16; ++i) {
        data[i] = (uint8_t)(words[i / 4] >> i % 4 * 8);
    }
    icd_physical_uuid(device->physical, data + 16);
}

/* What stands for machine code: bytes that follow from the pipeline alone. */
static void write_record(uint8_t *data, uint32_t size, uint64_t pipeline)
{
    uint64_t word = pipeline;
    for (uint32_t at = 0; at < size; at += (uint32_t)sizeof word) {
        uint32_t length = size - at < sizeof word ? size - at : (uint32_t)sizeof word;
        memcpy(data + at, &word, length);
        word = icd_hash_u64(word, pipeline);
    }
}

bool icd_blob_is_damaged(const uint8_t *record, uint32_t size)
{
    uint64_t pipeline;
    uint64_t word;
    memcpy(&pipeline, record, sizeof pipeline);
    word = pipeline;
    for (uint32_t at = 0; at < size; at += (uint32_t)sizeof word) {
        uint32_t length = size - at < sizeof word ? size - at : (uint32_t)sizeof word;
        if (memcmp(record + at, &word, length) != 0) {
            return true;
        }
        word = icd_hash_u64(word, pipeline);
    }
    return false;
}

void icd_blob_write(const struct icd_device *device, const uint64_t *pipelines, uint32_t count,
                    uint8_t *data)
{
    uint32_t record_bytes = device->settings->record_bytes;
    icd_blob_write_header(device, data);
    memcpy(data + ICD_BLOB_HEADER_SIZE, magic, sizeof magic);
    memcpy(data + ICD_BLOB_HEADER_SIZE + 8, &record_bytes, sizeof record_bytes);
    memcpy(data + ICD_BLOB_HEADER_SIZE + 12, &count, sizeof count);
    uint8_t *end = data + PREFIX_SIZE;
    for (uint32_t i = 0; i < count; ++i) {
        write_record(end, record_bytes, pipelines[(i + device->settings->wander) % count]);
        end += record_bytes;
        if (device->settings->garbage != 0) {
            memcpy(end - GARBAGE, &device->settings->garbage, GARBAGE);
        }
    }
    uint64_t hash = hash_of(device, data, record_bytes, count);
    memcpy(end, &hash, sizeof hash);
    memset(end + HASH_SIZE, 0, padding_size(device));
}

void icd_blob_damage(const struct icd_device *device, uint8_t *data, uint64_t pipeline)
{
    const uint32_t record_bytes = device->settings->record_bytes;
    uint32_t count;
    memcpy(&count, data + ICD_BLOB_HEADER_SIZE + 12, sizeof count);
    for (uint32_t i = 0; i < count && record_bytes > sizeof pipeline; ++i) {
        uint8_t *record = data + PREFIX_SIZE + (size_t)i * record_bytes;
        if (memcmp(record, &pipeline, sizeof pipeline) == 0) {
            record[sizeof pipeline] ^= 1;
        }
    }
}

const char *icd_blob_check(const struct icd_device *device, const void *data, size_t size,
                           const uint8_t **ret_records, uint32_t *ret_record_bytes,
                           uint32_t *ret_count)
{
    const uint8_t *bytes = data;
    uint8_t header[ICD_BLOB_HEADER_SIZE];
    uint32_t record_bytes;
    uint32_t count;
    uint64_t hash;

    icd_blob_write_header(device, header);
    if (size < sizeof header) {
        return "shorter than a header";
    }
    if (memcmp(bytes, header, sizeof header) != 0) {
        return "another header than this device's";
    }
    if (size == sizeof header) {
        *ret_count = 0;
        return NULL;
    }
    if (size < PREFIX_SIZE + HASH_SIZE || memcmp(bytes + sizeof header, magic, sizeof magic) != 0) {
        return "no records of this driver";
    }
    memcpy(&record_bytes, bytes + ICD_BLOB_HEADER_SIZE + 8, sizeof record_bytes);
    memcpy(&count, bytes + ICD_BLOB_HEADER_SIZE + 12, sizeof count);
    if (record_bytes < sizeof(uint64_t) ||
        size < PREFIX_SIZE + (uint64_t)count * record_bytes + HASH_SIZE ||
        (device->settings->wander == 0 &&
         size > PREFIX_SIZE + (uint64_t)count * record_bytes + HASH_SIZE)) {
        return "another size than its records have";
    }
    const uint8_t *end = bytes + PREFIX_SIZE + (size_t)count * record_bytes;
    memcpy(&hash, end, sizeof hash);
    if (hash != hash_of(device, bytes, record_bytes, count) && !device->settings->trust) {
        return "damaged";
    }
    for (end += HASH_SIZE; end < bytes + size; ++end) {
        if (*end != 0) {
            return "another size than its records have";
        }
    }
    *ret_records = bytes + PREFIX_SIZE;
    *ret_record_bytes = record_bytes;
    *ret_count = count;
    return NULL;
}
