// SPDX-License-Identifier: Apache-2.0
/* Environments from a hostile file: what decodes includes itself, and what can be made of it says
 * the same when it is encoded again. */
#include <stdlib.h>

#include "common/driver/environment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct environment *environment)
{
    VkDeviceCreateInfo *info = environment_create_info(environment);
    if (!info) {
        return;
    }
    struct environment_device device = environment_device_of(environment);
    struct bytes encoded = {0};
    environment_encode(&device, info, &encoded);
    struct environment *again = environment_decode(encoded.data, encoded.size);
    if (!again || !environment_includes(again, environment) ||
        !environment_includes(environment, again)) {
        abort();
    }
    environment_free(again);
    bytes_free(&encoded);
    free(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct environment *environment = environment_decode(data, size);
    if (environment) {
        if (!environment_includes(environment, environment)) {
            abort();
        }
        check_round_trip(environment);
        environment_free(environment);
    }
    return 0;
}
