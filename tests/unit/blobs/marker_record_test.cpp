// SPDX-License-Identifier: Apache-2.0
// What a loading marker says, as bytes.
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "marker_fixture.h"

namespace {

bool parse(const std::string &text, marker_record *ret_record)
{
    std::vector<char> memory(text.begin(), text.end());
    return marker_record_parse(memory.data(), memory.size(), ret_record);
}

TEST(MarkerRecord, RoundTrips)
{
    marker_record written = marker_record_of(1, 2, 3);
    EXPECT_EQ(written.process, static_cast<uint32_t>(getpid()));
    EXPECT_STREQ(written.program, "unit_tests");
    const std::string text = encode(written);
    ASSERT_EQ(text.size(), static_cast<size_t>(MARKER_RECORD_SIZE));
    marker_record read = {};
    ASSERT_TRUE(parse(text, &read));
    EXPECT_EQ(read.id, 1u);
    EXPECT_EQ(read.generation, 2u);
    EXPECT_EQ(read.failure, 3u);
    EXPECT_EQ(read.loaded_at, written.loaded_at);
    EXPECT_EQ(read.process, written.process);
    EXPECT_STREQ(read.program, written.program);
}

TEST(MarkerRecord, IsWholeOrNone)
{
    const std::string text = encode(marker_record_of(1, 2, 3));
    marker_record read = {};
    for (size_t size = 0; size < text.size(); size++) {
        EXPECT_FALSE(parse(text.substr(0, size), &read)) << size;
    }
    EXPECT_FALSE(parse(text + "x", &read));
    for (size_t i = 0; i < MARKER_MAGIC_SIZE; i++) {
        std::string changed = text;
        changed[i] ^= 1;
        EXPECT_FALSE(parse(changed, &read)) << i;
    }
    EXPECT_FALSE(parse(std::string(MARKER_RECORD_SIZE, '\0'), &read));
    EXPECT_FALSE(parse(encode(marker_record_of(0, 2, 3)), &read));
    EXPECT_EQ(read.id, 0u);
}

TEST(MarkerRecord, TellsNoTerminalWhatToDo)
{
    std::string text = encode(marker_record_of(1, 2, 3));
    text.replace(text.size() - MARKER_PROGRAM_SIZE, MARKER_PROGRAM_SIZE,
                 std::string("\x1b[2J\n\xff") + std::string(MARKER_PROGRAM_SIZE, 'x'), 0,
                 MARKER_PROGRAM_SIZE);
    marker_record read = {};
    ASSERT_TRUE(parse(text, &read));
    EXPECT_EQ(std::string(read.program), "?[2J??" + std::string(MARKER_PROGRAM_SIZE - 7, 'x'));
}

} // namespace
