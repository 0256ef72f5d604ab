// SPDX-License-Identifier: Apache-2.0
// docs/TROUBLESHOOTING.md explains every reason that a program or a user may be told.
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "paths.h"

namespace {

TEST(ReasonsDocument, ExplainsEveryReason)
{
    std::ifstream file(WARMPIPE_SOURCE_DIR "/docs/TROUBLESHOOTING.md");
    const std::string page(std::istreambuf_iterator<char>(file), {});
    const size_t table = page.find("## Every reason");
    ASSERT_NE(table, std::string::npos);
    std::string explained; // the first cells of the table
    for (size_t at = table; (at = page.find("\n| `", at)) != std::string::npos; at++) {
        explained += page.substr(at, page.find(" |", at) - at);
    }
#define REASON(id, text) EXPECT_NE(explained.find("`" #id "`"), std::string::npos) << #id;
#include "common/base/reasons.def"
#undef REASON
}

} // namespace
