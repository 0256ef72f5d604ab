// SPDX-License-Identifier: Apache-2.0
#include "common/driver/pipeline_key.h"

#include <stdint.h>

#include "common/base/bytes.h"

/* VkPipelineBinaryKeyKHR, which older headers lack. */
#define STYPE_PIPELINE_BINARY_KEY 1000483003
#define MAX_KEY_SIZE              32
struct binary_key {
    VkStructureType stype;
    void *next;
    uint32_t size;
    uint8_t key[MAX_KEY_SIZE];
};

typedef VkResult(VKAPI_PTR *get_pipeline_key)(VkDevice device, const void *create_info,
                                              struct binary_key *ret_key);

bool pipeline_key_query(PFN_vkGetDeviceProcAddr get, VkDevice device, struct digest *ret_key)
{
    struct binary_key key = {.stype = (VkStructureType)STYPE_PIPELINE_BINARY_KEY};
    get_pipeline_key query = (get_pipeline_key)get(device, "vkGetPipelineKeyKHR");
    if (!query || query(device, NULL, &key) != VK_SUCCESS || key.size == 0 ||
        key.size > MAX_KEY_SIZE) {
        return false;
    }
    *ret_key = digest_of(key.key, key.size);
    return true;
}

struct digest pipeline_key_device(struct digest identity, struct digest meaning)
{
    uint8_t memory[32];
    struct bytes bytes = {.data = memory, .capacity = sizeof memory};
    digest_put(&bytes, identity);
    digest_put(&bytes, meaning);
    return digest_of(bytes.data, bytes.size);
}
