// SPDX-License-Identifier: Apache-2.0
// What `remote gc` takes from a folder, and what it leaves.
#include "file_remote.h"

namespace {

TEST_F(FileRemote, GarbageGoesInTwoRuns)
{
    share(4);
    first.run(6);
    ASSERT_EQ(push(first).exit_status, 0);
    ASSERT_EQ(files("obj").size(), 2u);
    auto gc = [&](std::vector<std::string> more) {
        std::vector<std::string> words = {"remote", "gc", "--json", "--remote", place->url};
        words.insert(words.end(), more.begin(), more.end());
        return json::parse(first.tool(words).out);
    };
    EXPECT_EQ(gc({"--grace", "0s"})["removed"], 0) << "the first run notes";
    EXPECT_EQ(gc({})["removed"], 0) << "within the time of grace";
    EXPECT_EQ(gc({"--grace", "0s", "--dry-run"})["removed"], 1);
    EXPECT_EQ(files("obj").size(), 2u);
    EXPECT_EQ(gc({"--grace", "0s"})["removed"], 1);
    ASSERT_EQ(files("obj").size(), 1u);
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});

    // A head that cannot be read ends it before anything goes.
    std::filesystem::create_directories(place->data + "/v1/head/other");
    write_file(place->data + "/v1/head/other/recipes", "?");
    std::filesystem::remove(head_file());
    const ToolResult result = first.tool({"remote", "gc", "--grace", "0s", "--remote", place->url});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(files("obj").size(), 1u);
}

// A push that was killed leaves a file that nobody names: no longer than objects that nobody names.
TEST_F(FileRemote, GarbageIsAlsoWhatKilledPushesHaveLeft)
{
    share();
    const std::string ending = ".0123456789abcdef.tmp";
    const auto day = std::chrono::hours(24);
    std::vector<std::string> left;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(place->data)) {
        if (entry.is_regular_file()) {
            left.push_back(entry.path().string() + ending);
        }
    }
    for (const std::string &path : left) {
        write_file(path, "half");
    }
    auto count = [&] {
        return std::count_if(left.begin(), left.end(),
                             [](const std::string &path) { return std::filesystem::exists(path); });
    };
    auto collect = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"remote", "gc", "--remote", place->url});
        EXPECT_EQ(first.tool(more).exit_status, 0);
    };
    collect({"--grace", "0s"});
    EXPECT_EQ(size_t(count()), left.size()) << "who writes them may live";
    for (const std::string &path : left) {
        std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - day -
                                                   std::chrono::minutes(1));
    }
    collect({"--dry-run"});
    EXPECT_EQ(size_t(count()), left.size());
    collect({});
    EXPECT_EQ(count(), 0);
    EXPECT_EQ(rows_of(pull(second, {"--app", "demo"}).out), Rows{"demo blob pulled"});
}

// By a pusher that is about to name it again: it looks for it before the collection removes it.
TEST_F(FileRemote, WhatWasWrittenSinceItWasNotedIsNotCollected)
{
    share(4);
    const auto collect = [&] {
        const ToolResult result =
            first.tool({"remote", "gc", "--json", "--grace", "0s", "--remote", place->url});
        return json::parse(result.out);
    };
    const std::string object = files("obj").at(0);
    std::filesystem::remove(head_file());
    EXPECT_EQ(collect()["unused"], 1);
    write_file(place->data + "/v1/gc",
               "1000000000 " + std::filesystem::path(object).filename().string() + "\n");
    EXPECT_EQ(collect()["removed"], 0);
    EXPECT_TRUE(std::filesystem::exists(object));
    EXPECT_EQ(collect()["removed"], 1) << "it is noted anew, and nobody has named it";
}

// A program whose heads are another's by a link: what is pulled by it is named by it.
TEST_F(FileRemote, GarbageIsNotWhatAHeadBehindALinkNames)
{
    share();
    const std::string heads = place->data + "/v1/head/demo";
    std::filesystem::rename(heads, place->data + "/elsewhere");
    std::filesystem::create_directory_symlink(place->data + "/elsewhere", heads);
    std::filesystem::create_symlink("loop", place->data + "/v1/head/loop");
    for (int i = 0; i < 2; i++) {
        const ToolResult result =
            first.tool({"remote", "gc", "--json", "--grace", "0s", "--remote", place->url});
        EXPECT_EQ(result.exit_status, 0) << result.err;
        EXPECT_EQ(json::parse(result.out)["unused"], 0);
    }
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});
}

} // namespace
