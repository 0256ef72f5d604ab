// SPDX-License-Identifier: Apache-2.0
// docs/POLICY.md tells what the code does.
#include <fstream>

#include "paths.h"
#include "policy_file_fixture.h"

namespace {

std::vector<std::string> document()
{
    std::vector<std::string> lines;
    std::ifstream file(WARMPIPE_SOURCE_DIR "/docs/POLICY.md");
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    EXPECT_FALSE(lines.empty());
    return lines;
}

// What stands in the first block of indented lines behind this heading.
std::string block_behind(const std::string &heading)
{
    std::string text;
    bool behind = false;
    for (const std::string &line : document()) {
        const bool indented = line.compare(0, 4, "    ") == 0;
        if (line == heading) {
            behind = true;
        } else if (behind && (indented || (line.empty() && !text.empty()))) {
            text += (indented ? line.substr(4) : "") + "\n";
        } else if (!text.empty()) {
            break;
        }
    }
    EXPECT_FALSE(text.empty()) << heading;
    return text;
}

TEST(PolicyDocument, ListsEveryKey)
{
    std::vector<std::string> expected = {"| key | value | meaning |", "|---|---|---|"};
#define POLICY_KEY(id, name, values, meaning)                                                      \
    expected.push_back(std::string("| `" name "` | ") + (values) + " | " + (meaning) + " |");
#include "common/driver/policy_keys.def"
#undef POLICY_KEY
    std::string expected_text;
    std::vector<std::string> found;
    for (const std::string &line : document()) {
        if (line == expected[0] || (!found.empty() && found.size() < expected.size())) {
            found.push_back(line);
        }
    }
    for (const std::string &line : expected) {
        expected_text += line + "\n";
    }
    EXPECT_EQ(found, expected) << "docs/POLICY.md should have this table:\n" << expected_text;
}

TEST(PolicyDocument, TheExampleIsGood)
{
    File file(block_behind("## By example"));
    EXPECT_TRUE(file.is_good()) << file.error();
    EXPECT_GE(file.count(), 3u);
}

TEST(PolicyDocument, ListsTheBuiltInTable)
{
    File file(block_behind("## The built-in table"));
    ASSERT_TRUE(file.is_good()) << file.error();
    ASSERT_EQ(file.count(), policy_table_size);
    for (size_t i = 0; i < policy_table_size; i++) {
        const policy_rule &told = file.rule(i);
        const policy_rule &rule = policy_table[i];
        EXPECT_STREQ(told.id, rule.id);
        EXPECT_STREQ(told.source, rule.source) << rule.id;
        EXPECT_EQ(told.vendor_id, rule.vendor_id) << rule.id;
        EXPECT_EQ(told.device_id, rule.device_id) << rule.id;
        EXPECT_EQ(told.driver_id, rule.driver_id) << rule.id;
        EXPECT_STREQ(told.driver_name, rule.driver_name) << rule.id;
        EXPECT_STREQ(told.device_name, rule.device_name) << rule.id;
        EXPECT_EQ(told.api_below, rule.api_below) << rule.id;
        EXPECT_EQ(told.version_from, rule.version_from) << rule.id;
        EXPECT_EQ(told.version_below, rule.version_below) << rule.id;
        EXPECT_EQ(told.actions, rule.actions) << rule.id;
        EXPECT_EQ(told.lifted, rule.lifted) << rule.id;
        EXPECT_EQ(told.max_blob, rule.max_blob) << rule.id;
    }
}

} // namespace
