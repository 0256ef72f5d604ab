// SPDX-License-Identifier: Apache-2.0
// docs/SETTINGS.md tells of the settings what their table does.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "paths.h"

namespace {

TEST(SettingsDocument, AgreesWithTheTable)
{
    std::vector<std::string> expected = {"| variable | values | default | meaning |",
                                         "|---|---|---|---|"};
#define SETTING(id, kind, from, name, values, fallback, meaning)                                   \
    expected.push_back(std::string("| `" name "` | ") + (values) + " | " + (fallback) + " | " +    \
                       (meaning) + " |");
#include "common/settings/settings.def"
#undef SETTING

    std::ifstream file(WARMPIPE_SOURCE_DIR "/docs/SETTINGS.md");
    ASSERT_TRUE(file.is_open());
    std::vector<std::string> found;
    std::string expected_text;
    for (std::string line; std::getline(file, line);) {
        if (line == expected[0] || (!found.empty() && found.size() < expected.size())) {
            found.push_back(line);
        }
    }
    for (const std::string &line : expected) {
        expected_text += line + "\n";
    }
    EXPECT_EQ(found, expected) << "docs/SETTINGS.md should have this table:\n" << expected_text;
}

} // namespace
