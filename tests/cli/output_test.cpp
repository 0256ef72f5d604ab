// SPDX-License-Identifier: Apache-2.0
// What the tool prints, where no verb shows it.
#include <cstdint>

#include <gtest/gtest.h>

extern "C" {
#include "tools/cli/output.h"
}

namespace {

// A table that is left out would look like one without rows.
TEST(Output, ATableThatLacksMemoryIsNoEmptyTable)
{
    const output_table table = {{}, SIZE_MAX, SIZE_MAX};
    bytes out = {};
    output_table_put(&table, 80, &out);
    EXPECT_TRUE(out.failed);
    EXPECT_EQ(out.size, 0u);
    bytes_free(&out);
}

} // namespace
