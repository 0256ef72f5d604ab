// SPDX-License-Identifier: Apache-2.0
// docs/TROUBLESHOOTING.md explains every reason that a program or a user may be told.
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "paths.h"

extern "C" {
#include "common/replay/replay.h"
}

namespace {

std::string whole_page()
{
    std::ifstream file(WARMPIPE_SOURCE_DIR "/docs/TROUBLESHOOTING.md");
    return std::string(std::istreambuf_iterator<char>(file), {});
}

// The first cells of the table.
std::string explained_reasons()
{
    const std::string page = whole_page();
    const size_t table = page.find("## Every reason");
    EXPECT_NE(table, std::string::npos);
    std::string explained;
    for (size_t at = table; (at = page.find("\n| `", at)) != std::string::npos; at++) {
        explained += page.substr(at, page.find(" |", at) - at);
    }
    return explained;
}

TEST(ReasonsDocument, ExplainsEveryReason)
{
    const std::string explained = explained_reasons();
#define REASON(id, text) EXPECT_NE(explained.find("`" #id "`"), std::string::npos) << #id;
#include "common/base/reasons.def"
#undef REASON
}

// What a line of statistics may say of a cache: each state with the reasons that come with it.
TEST(ReasonsDocument, ExplainsEveryStateOfACache)
{
    const std::string page = whole_page();
    for (const char *state :
         {"cold", "loaded", "rejected", "quarantined", "denied", "ineffective", "off"}) {
        EXPECT_NE(page.find("**`\"state\":\"" + std::string(state) + "\"`"), std::string::npos)
            << state;
    }
    const size_t rejected = page.find("**`\"state\":\"rejected\"`");
    const size_t off = page.find("**`\"state\":\"off\"`");
    ASSERT_LT(off, rejected);
    EXPECT_GT(page.find("`directory_owner`"), rejected);
    EXPECT_GT(page.find("`no_directory`"), off);
}

// Of single recipes, which `warm`, `import` and the trace tell of.
TEST(ReasonsDocument, ExplainsWhatBecomesOfRecipes)
{
    const std::string explained = explained_reasons();
    for (const char *id : {"invalid_spirv", "unknown_spirv", "malformed"}) {
        EXPECT_NE(explained.find("`" + std::string(id) + "`"), std::string::npos) << id;
    }
    for (int outcome = REPLAY_MISSING; outcome < REPLAY_OUTCOME_COUNT; outcome++) {
        const std::string id = replay_outcome_id(static_cast<replay_outcome>(outcome));
        EXPECT_NE(explained.find("`" + id + "`"), std::string::npos) << id;
    }
}

} // namespace
