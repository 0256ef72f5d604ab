// SPDX-License-Identifier: Apache-2.0
#include "common/files/patience.h"

#include <stdbool.h>

static _Thread_local bool patience_is_limited;
static _Thread_local uint64_t patience_left_ns;

uint64_t patience_set(uint64_t ns)
{
    const uint64_t before_ns = patience_is_limited ? patience_left_ns : UINT64_MAX;
    patience_is_limited = ns != UINT64_MAX;
    patience_left_ns = ns;
    return before_ns;
}

uint64_t patience_limit(uint64_t wait_ns)
{
    return patience_is_limited && patience_left_ns < wait_ns ? patience_left_ns : wait_ns;
}

void patience_spend(uint64_t since_ns)
{
    const uint64_t spent_ns = clock_now_ns() - since_ns;
    patience_left_ns -= spent_ns < patience_left_ns ? spent_ns : patience_left_ns;
}
