// SPDX-License-Identifier: Apache-2.0
// What lies at a remote, and what is taken from it: on a folder.
#include "file_remote.h"

namespace {

TEST_F(FileRemote, WhatIsNotThereIsNothingToDo)
{
    std::filesystem::create_directories(place->data);
    const ToolResult result = pull(second);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(rows_of(result.out), Rows());
    EXPECT_EQ(pull(second, {"--app", "demo"}).exit_status, 0);
}

TEST_F(FileRemote, AFolderIsWrittenAsInAnyUrl)
{
    const std::string folder = place->data + "/with space";
    std::filesystem::create_directories(folder);
    first.run(2);
    place->url = "file://" + place->data + "/with%20space";
    EXPECT_EQ(push(first).exit_status, 0);
    EXPECT_TRUE(std::filesystem::exists(folder + "/v1"));
    EXPECT_FALSE(std::filesystem::exists(place->data + "/with%20space"));
    EXPECT_EQ(pull(second, {"--app", "demo"}).exit_status, 0);
    EXPECT_TRUE(contains(second.run(2), " 2 hits, 0 misses"));
    place->url = "file://" + place->data + "/why%3F/x";
    std::filesystem::create_directories(place->data + "/why?");
    EXPECT_EQ(push(first).exit_status, 0);
    EXPECT_TRUE(std::filesystem::exists(place->data + "/why?/x/v1"));
    place->url = "file://" + place->data + "/100%";
    EXPECT_TRUE(contains(pull(second).err, "(remote_bad_url)"));
}

// A name that was misspelt, or another folder than the program's.
TEST_F(FileRemote, APushOfNothingSaysSo)
{
    first.run(2);
    const ToolResult result = push(first, {"--app", "dem0"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.err,
              "warmpipe: push: nothing to do: no cache of dem0 in '" + first.root + "'\n");
    EXPECT_EQ(push(first, {"--app", "demo"}).err, "");
    EXPECT_EQ(push(first, {"--app", "demo"}).err, "")
        << "what is there already is told by the table";

    // A job whose program has saved nothing has no folder.
    std::filesystem::remove_all(first.root);
    const ToolResult without = push(first);
    EXPECT_EQ(without.exit_status, 0);
    EXPECT_EQ(without.err, "warmpipe: push: nothing to do: no cache in '" + first.root + "'\n");
}

// A name that holds the digest of a path is another name where the path is another one.
TEST_F(FileRemote, APushWarnsOfNamesThatOtherMachinesMayNotHave)
{
    ASSERT_EQ(
        first.tool({"run", "--quiet", "--dir", first.root, "--", PIPELINES_CLIENT}).exit_status, 0);
    ToolResult result = push(first);
    EXPECT_EQ(result.exit_status, 0);
    ASSERT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_TRUE(contains(result.err, "is named after a path")) << result.err;
    const std::string name = json::parse(result.out)["results"][0]["name"];
    EXPECT_EQ(push(first, {"--app", name}).err, "") << "who names it knows it";
    first.run(2);
    EXPECT_EQ(push(first, {"--app", "demo"}).err, "");
}

// What came from elsewhere is counted with what the program did with it.
TEST_F(FileRemote, StatsTellWhatWasPulled)
{
    share();
    const json pulled = json::parse(pull(second).out);
    EXPECT_TRUE(contains(second.run(4), " 4 hits, 0 misses"));
    pull(second); // nothing new
    const ToolResult result = second.tool({"stats", "--json", "--dir", second.root});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    const json stats = json::parse(result.out)["programs"][0];
    EXPECT_EQ(stats["name"], "demo");
    EXPECT_EQ(stats["pulled"], 1);
    EXPECT_EQ(stats["pulled_bytes"], pulled["results"][0]["size"]);
    EXPECT_EQ(stats["driver_hits"], 4);
}

// A machine that has seen nothing yet is told how old a head may be.
// The first pull saves what the other machine took to compile, the growth nothing that is known.
TEST_F(FileRemote, StatsTellWhatAPullHasSaved)
{
    first.more["WPTEST_ICD_COMPILE_US"] = "5000";
    share();
    EXPECT_GE(head_json()["parts"][0]["compile_ms"], 4 * 5);
    ASSERT_EQ(pull(second).exit_status, 0);
    auto saved = [&] {
        return json::parse(second.tool({"stats", "--json", "--dir", second.root})
                               .out)["total"]["pulled_saved_ns"]
            .get<uint64_t>();
    };
    EXPECT_EQ(saved(), head_json()["parts"][0]["compile_ms"].get<uint64_t>() * 1'000'000);
    // Who has compiled nothing of it passes on what it knows.
    second.more["WPTEST_ICD_COMPILE_US"] = "0";
    second.run(5);
    const uint64_t before = head_json()["parts"][0]["compile_ms"];
    ASSERT_EQ(push(second).exit_status, 0);
    EXPECT_GE(head_json()["parts"][0]["compile_ms"], before);
    first.run(7);
    ASSERT_EQ(push(first).exit_status, 0);
    const uint64_t known = saved();
    ASSERT_EQ(pull(second).exit_status, 0);
    EXPECT_EQ(saved(), known);
}

TEST_F(FileRemote, RecipesComeWhereThereIsNoBlob)
{
    first.run(3);
    ASSERT_EQ(push(first, {"--recipes"}).exit_status, 0);
    std::filesystem::remove(head_file());
    ToolResult result = pull(second);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo recipes pulled"});
    result = pull(second);
    EXPECT_EQ(rows_of(result.out), Rows{"demo recipes unchanged"});
    result = second.tool({"inspect", "--json", "--recipes", second.root + "/demo"});
    const ToolResult warm = second.tool({"warm", "--dir", second.root});
    EXPECT_EQ(warm.exit_status, 0) << warm.err;
    EXPECT_TRUE(contains(second.run(3), " 3 hits, 0 misses")) << warm.out;
}

// How many of them this device can have, and what the others lack.
TEST_F(FileRemote, APullTellsWhichRecipesADeviceCanHave)
{
    first.run(3);
    ASSERT_EQ(push(first, {"--recipes"}).exit_status, 0);
    std::filesystem::remove(head_file());
    json told = json::parse(pull(second).out);
    ASSERT_EQ(told["coverage"].size(), 1u) << told;
    EXPECT_EQ(told["coverage"][0]["pipelines"], 3);
    EXPECT_EQ(told["coverage"][0]["covered"], 3);
    EXPECT_EQ(told["lacks"], json::array());
    Machine old;
    old.more["WPTEST_ICD_API"] = "1.1";
    told = json::parse(pull(old).out);
    EXPECT_EQ(told["coverage"][0]["covered"], 0) << told;
    EXPECT_EQ(told["lacks"][0]["lacks"], "the Vulkan version");
    // They are there already, or there is no device: nothing is asked.
    EXPECT_EQ(json::parse(pull(second).out)["coverage"], json::array());
    Machine none;
    none.lose_driver();
    EXPECT_EQ(json::parse(pull(none).out)["coverage"], json::array());
}

// Recipes that were recorded of one release and driver, published, and compiled ahead elsewhere:
// the next release, on another driver, finds what it still has.
TEST_F(FileRemote, TheNextReleaseFindsWhatDidNotChange)
{
    first.run(6);
    ASSERT_EQ(push(first, {"--recipes"}).exit_status, 0);
    second.more["WPTEST_ICD_DRIVER_VERSION"] = "2";
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo recipes pulled"});
    ASSERT_EQ(second.tool({"warm", "--dir", second.root}).exit_status, 0);
    // Another file, elsewhere: two of its shaders are gone, three are new.
    const std::string release = second.folder.path + "/release-2";
    std::filesystem::copy_file(PIPELINES_CLIENT, release);
    const ToolResult result = second.tool({"run", "--dir", second.root, "--app", "demo", "--",
                                           release, "--compute", "4", "--graphics", "3"});
    EXPECT_TRUE(contains(result.err, " 4 hits, 3 misses")) << result.err;
}

TEST_F(FileRemote, RecipesUniteWithoutADriver)
{
    first.run(3);
    ASSERT_EQ(push(first, {"--recipes"}).exit_status, 0);
    second.run(5);
    ASSERT_EQ(rows_of(push(second, {"--recipes"}).out).at(1), "demo recipes pushed");
    EXPECT_EQ(rows_of(push(first, {"--recipes"}).out).at(1), "demo recipes unchanged");
}

// A program that ends has mostly recorded nothing new, and a sidecar looks all day.
TEST_F(FileRemote, RecipesAreFetchedToBeUnitedOnceEitherSideHasChanged)
{
    auto received = [&](const Machine &machine, const std::string &result) {
        const ToolResult pushed = push(machine, {"--recipes"});
        EXPECT_EQ(rows_of(pushed.out).at(1), "demo recipes " + result) << pushed.err;
        return json::parse(pushed.out)["received"].get<int>();
    };
    constexpr int size = 40000; // of the object, at least
    first.run(1500);
    received(first, "pushed");
    EXPECT_LT(received(first, "unchanged"), size);
    first.run(1600);
    EXPECT_GT(received(first, "pushed"), size);
    EXPECT_LT(received(first, "unchanged"), size);
    second.run(1700);
    EXPECT_GT(received(second, "pushed"), size);
    EXPECT_GT(received(first, "unchanged"), size);
    EXPECT_LT(received(first, "unchanged"), size);
    EXPECT_LT(received(second, "unchanged"), size);
    // What the remote has lost is told as before.
    for (const std::string &file : files("obj")) {
        std::filesystem::remove(file);
    }
    EXPECT_TRUE(contains(push(first, {"--recipes"}).err, "(remote_object_missing)"));
}

TEST_F(FileRemote, ShowsAndRemovesWhatLiesThere)
{
    share();
    const std::vector<std::string> remote = {"--remote", place->url, "--public-key", keys.open,
                                             "--json"};
    auto tool = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "remote");
        words.insert(words.end(), remote.begin(), remote.end());
        const ToolResult result = second.tool(words);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        return json::parse(result.out);
    };
    const json list = tool({"ls"})["heads"];
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0]["name"], "demo");
    EXPECT_EQ(list[0]["device"], "Warmpipe test device");
    EXPECT_EQ(list[0]["parts"], 1);
    EXPECT_EQ(list[0]["state"], "ok");
    EXPECT_EQ(tool({"show", "--app", "demo"})["heads"][0]["objects"].size(), 1u);
    EXPECT_EQ(tool({"show", "--app", "none"})["heads"].size(), 0u);
    const std::string shown =
        second.tool({"remote", "show", "--remote", place->url, "--public-key", keys.open}).out;
    EXPECT_TRUE(contains(shown, "\n\nobject  ")) << shown;
    EXPECT_FALSE(contains(shown, "\n\n\n")) << shown;
    const json check = tool({"check"});
    for (const json &finding : check["findings"]) {
        EXPECT_EQ(finding["verdict"], "ok") << finding;
    }
    EXPECT_EQ(tool({"rm", "--app", "demo", "--dry-run"})["removed"].size(), 1u);
    EXPECT_EQ(tool({"rm", "--app", "demo"})["removed"].size(), 1u);
    EXPECT_EQ(tool({"ls"})["heads"].size(), 0u);
    EXPECT_EQ(second.tool({"remote", "sweep"}).exit_status, 2);
}

TEST_F(FileRemote, AFileInPlaceOfTheHeadsIsTold)
{
    std::filesystem::create_directories(place->data + "/v1");
    write_file(place->data + "/v1/head", "");
    const ToolResult result =
        first.tool({"remote", "ls", "--remote", place->url, "--public-key", keys.open});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(result.err, "warmpipe: remote: " + place->url +
                              "/v1/head/: the remote failed (remote_error): Not a directory\n");
}

TEST_F(FileRemote, ReadOnlyMeansNothingIsTaken)
{
    share();
    second.more["WARMPIPE_READONLY"] = "1";
    const ToolResult result = pull(second);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "(read_only)")) << result.err;
}

// A name that is no folder's has one of its own, for `remote` as for `push`.
TEST_F(FileRemote, AnyNameIsAFoldersNameForAllVerbs)
{
    ASSERT_EQ(first
                  .tool({"run", "--quiet", "--dir", first.root, "--app", "my.app", "--",
                         PIPELINES_CLIENT, "--graphics", "0", "--compute", "2"})
                  .exit_status,
              0);
    ASSERT_EQ(push(first, {"--app", "my.app"}).exit_status, 0);
    auto remote = [&](const char *verb, const char *app) {
        return json::parse(first
                               .tool({"remote", verb, "--json", "--remote", place->url,
                                      "--public-key", keys.open, "--app", app})
                               .out);
    };
    EXPECT_EQ(remote("ls", "my.app")["heads"].size(), 1u);
    EXPECT_EQ(remote("rm", "my_app")["removed"].size(), 0u);
    EXPECT_EQ(remote("rm", "my.app")["removed"].size(), 1u);
    EXPECT_EQ(remote("ls", "my.app")["heads"].size(), 0u);
}

} // namespace
