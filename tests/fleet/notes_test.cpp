// SPDX-License-Identifier: Apache-2.0
// What a machine remembers of a remote, and when that is over.
#include "fleet.h"

namespace {

class Notes : public testing::Test {
  protected:
    Keys keys;
    Machine first;
    Machine second;
    std::unique_ptr<Place> place = file_place();

    ToolResult pull(std::vector<std::string> more = {})
    {
        std::vector<std::string> words = {"pull",  "--json",   "--remote",     place->url,
                                          "--app", "demo",     "--public-key", keys.open,
                                          "--dir", second.root};
        words.insert(words.end(), more.begin(), more.end());
        return second.tool(words);
    }

    void expect_unreachable_by_push()
    {
        first.run(2);
        const ToolResult result = first.tool({"push", "--remote", place->url, "--secret-key",
                                              keys.secret, "--dir", first.root, "--app", "demo"});
        EXPECT_EQ(result.exit_status, 1);
        EXPECT_TRUE(contains(result.err, "(remote_unreachable)")) << result.err;
    }

    void share(int pipelines)
    {
        first.run(pipelines, {"--remote", place->url, "--secret-key", keys.secret});
    }

    // The payloads of caches that the heads list.
    Rows blobs()
    {
        const ToolResult shown = first.tool({"remote", "show", "--json", "--remote", place->url,
                                             "--public-key", keys.open, "--app", "demo"});
        Rows names;
        const json answer = json::parse(shown.out);
        for (const json &head : answer["heads"]) {
            for (const json &object : head["objects"]) {
                if (head["kind"] == "blob") {
                    names.push_back(object["object"]);
                }
            }
        }
        return names;
    }

    // The second compiles something else, and pushes it.
    void expect_that_a_push_keeps_others()
    {
        const Rows old = blobs();
        ASSERT_EQ(second
                      .tool({"run", "--dir", second.root, "--app", "demo", "--", PIPELINES_CLIENT,
                             "--graphics", "9", "--compute", "0"})
                      .exit_status,
                  0);
        const ToolResult pushed = second.tool({"push", "--remote", place->url, "--secret-key",
                                               keys.secret, "--dir", second.root, "--app", "demo"});
        ASSERT_EQ(pushed.exit_status, 0) << pushed.err;
        Rows kept = blobs();
        EXPECT_EQ(kept.size(), old.size() + 1);
        for (const std::string &name : old) {
            EXPECT_EQ(std::count(kept.begin(), kept.end(), name), 1) << name;
        }
    }

    // A cache of the remote kills the program in its driver.
    void die()
    {
        second.more["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        const ToolResult result =
            second.tool({"run", "--quiet", "--remote-wait", "20s", "--dir", second.root, "--app",
                         "demo", "--remote", place->url, "--public-key", keys.open, "--",
                         PIPELINES_CLIENT, "--graphics", "0", "--compute", "4"});
        second.more.erase("WPTEST_ICD_CACHE_CREATE");
        EXPECT_TRUE(contains(result.err, "(quarantined)")) << result.err;
    }
};

// Two deaths bar all caches of that device: that is said each time, and can be taken back.
TEST_F(Notes, DeathsAreToldAndForgotten)
{
    second.more["WARMPIPE_PREWARM"] = "off"; // the recipes here would make the very cache there
    share(4);
    die();
    share(6);
    die();
    share(8);
    ToolResult result = pull();
    EXPECT_EQ(rows_of(result.out).at(0), "demo blob blocked");
    EXPECT_TRUE(contains(result.err, "'demo' has died here of pulled caches, 2 times"))
        << result.err;
    EXPECT_TRUE(contains(second.run(2, {"--remote", place->url, "--public-key", keys.open}),
                         "pull --forget"));
    result = pull({"--forget"});
    EXPECT_FALSE(contains(result.err, "died")) << result.err;
    EXPECT_EQ(rows_of(result.out).at(0), "demo blob pulled") << result.out;
    EXPECT_FALSE(contains(pull().err, "died"));
}

// A list of what has killed may be lost, and what is in quarantine too; how often is forgotten all
// the same.
TEST_F(Notes, DeathsOfNothingAreForgotten)
{
    share(4);
    die();
    share(6);
    die();
    share(8);
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator(second.folder.path + "/.local/state")) {
        if (entry.path().extension() == ".bad") {
            std::filesystem::remove(entry.path());
        }
    }
    std::filesystem::remove_all(second.root + "/demo/quarantine");
    EXPECT_EQ(rows_of(pull().out).at(0), "demo blob blocked");
    EXPECT_EQ(rows_of(pull({"--forget"}).out).at(0), "demo blob pulled");
}

// What was pulled and then cleared is not in a file that is compiled anew: a push drops nothing of
// others for its sake.
TEST_F(Notes, AFolderThatWasClearedHoldsNothing)
{
    share(4);
    ASSERT_EQ(rows_of(pull().out).at(0), "demo blob pulled");
    ASSERT_EQ(second.tool({"clear", "--yes", "--dir", second.root}).exit_status, 0);
    expect_that_a_push_keeps_others();
}

// Nor is it in a cache that was damaged, or removed by hand, and is begun anew.
TEST_F(Notes, ACacheThatWasDamagedHoldsNothing)
{
    for (const std::string damage : {"removed", "cut", "changed"}) {
        SCOPED_TRACE(damage);
        place = file_place();
        share(4);
        second.root = second.folder.path + "/" + damage;
        ASSERT_EQ(rows_of(pull().out).at(0), "demo blob pulled");
        const std::string path = second.root + "/demo/" + second.caches().at(0);
        std::string bytes = read_file(path);
        std::filesystem::remove(path);
        bytes[bytes.size() / 2] ^= 1;
        if (damage != "removed") {
            write_file(path, damage == "cut" ? bytes.substr(0, bytes.size() / 2) : bytes);
        }
        expect_that_a_push_keeps_others();
    }
}

// A folder that the first push will make is no failure, but said; one below nothing is.
TEST_F(Notes, AFolderThatIsNotThereIsTold)
{
    place->url = "file://" + first.folder.path + "/share";
    ToolResult result = pull();
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_TRUE(contains(result.err, "/share: is not there yet")) << result.err;
    share(2);
    EXPECT_EQ(pull().err, "");
    place->url = "file://" + first.folder.path + "/typo/share";
    result = pull();
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_unreachable): there is no folder")) << result.err;
    result = second.tool(
        {"pull", "--remote", place->url, "--public-key", keys.open, "--dir", second.root});
    EXPECT_EQ(result.exit_status, 1) << result.err;
}

// Of many first pushes at once each finds it missing, and then made by another.
TEST_F(Notes, AFolderThatAnotherMakesMeanwhileIsThere)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a library before the sanitizer's";
#endif
    place->url = "file://" + first.folder.path + "/share";
    first.run(2);
    first.more["LD_PRELOAD"] = MADE_MEANWHILE;
    first.more["MADE_MEANWHILE"] = first.folder.path + "/share";
    const ToolResult result = first.tool({"push", "--remote", place->url, "--secret-key",
                                          keys.secret, "--dir", first.root, "--app", "demo"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(std::filesystem::exists(first.folder.path + "/share/v1/head")) << result.err;
}

// Volumes are mounted directly below the root, or are not: nobody makes a folder there.
TEST_F(Notes, AFolderOfTheRootIsAVolumeThatIsMissing)
{
    place->url = "file:///warmpipe-no-such-volume";
    const ToolResult result = pull();
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_unreachable): there is no folder /warmpipe-no"))
        << result.err;
    expect_unreachable_by_push();
    EXPECT_FALSE(std::filesystem::exists("/warmpipe-no-such-volume"));
}

// Nor does anybody where a link leads to a volume that is missing.
TEST_F(Notes, ALinkToAVolumeThatIsMissingIsTold)
{
    const std::string link = first.folder.path + "/share";
    std::filesystem::create_symlink(first.folder.path + "/mnt/share", link);
    place->url = "file://" + link;
    const ToolResult result = pull();
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_unreachable): there is no folder " + link))
        << result.err;
    expect_unreachable_by_push();
}

// Who looks at a remote, cleans it up or starts with it makes nothing there, and is told once.
TEST_F(Notes, WhoDoesNotPushMakesNoFolder)
{
    const std::string folder = first.folder.path + "/share";
    place->url = "file://" + folder;
    const std::vector<std::vector<std::string>> verbs = {
        {"remote", "ls", "--public-key", keys.open},
        {"remote", "show", "--public-key", keys.open},
        {"remote", "check", "--public-key", keys.open},
        {"remote", "rm", "--app", "demo", "--secret-key", keys.secret},
        {"remote", "gc", "--secret-key", keys.secret},
        {"run", "--quiet", "--dir", second.root, "--app", "demo", "--public-key", keys.open}};
    for (std::vector<std::string> words : verbs) {
        words.insert(words.end(), {"--remote", place->url});
        if (words[0] == "run") {
            words.insert(words.end(), {"--", PIPELINES_CLIENT, "--compute", "1"});
        }
        const ToolResult result = second.tool(words);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        EXPECT_EQ(result.err, "warmpipe: " + words[0] + ": " + place->url +
                                  ": is not there yet: the first push makes it\n");
    }
    EXPECT_FALSE(std::filesystem::exists(folder));
}

// Who removes what has killed, and has it forgotten, may do so in this order.
TEST_F(Notes, DeathsAreForgottenWhereNoHeadIs)
{
    second.more["WARMPIPE_PREWARM"] = "off";
    share(4);
    die();
    share(6);
    die();
    EXPECT_EQ(first.tool({"remote", "rm", "--app", "demo", "--remote", place->url}).exit_status, 0);
    EXPECT_EQ(pull({"--forget"}).exit_status, 0);
    share(8);
    const ToolResult result = pull();
    EXPECT_FALSE(contains(result.err, "died")) << result.err;
    EXPECT_EQ(rows_of(result.out).at(0), "demo blob pulled") << result.out;
}

} // namespace
