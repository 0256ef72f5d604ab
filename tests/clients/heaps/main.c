// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "heaps.h"

/* heaps [VARIANTS]: prints what was created and how long that took. */
int main(int argc, char **argv)
{
    struct heaps_count count = {0};
    const unsigned long variants = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
    const struct heaps_device device = heaps_open();
    for (uint32_t variant = 0; variant < variants; variant++) {
        heaps_create(&device, variant, &count);
    }
    heaps_close(&device);
    printf("calls %u, compile required %u, without stages %u, failures %u, creation %.3f ms\n",
           count.calls, count.compile_required, count.without_stages, count.failures,
           (double)count.ns / 1e6);
    return count.failures > 0;
}
