// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tool.h"

namespace {

using json = nlohmann::json;

class Verify : public ::testing::Test {
  protected:
    void SetUp() override
    {
        std::filesystem::create_directory(app);
        std::filesystem::permissions(app, std::filesystem::perms::owner_all);
        name = hex_of(sample_identity());
    }

    // Writes a file of this name into the program's folder; gives its path.
    std::string put(const std::string &file_name, const std::string &content = cache_file())
    {
        std::string path = app + "/" + file_name;
        write_file(path, content);
        chmod(path.c_str(), 0600);
        return path;
    }

    // path → reason id, from the JSON document
    static std::map<std::string, std::string> reasons(const ToolResult &result)
    {
        std::map<std::string, std::string> reasons;
        const json document = json::parse(result.out);
        for (const json &file : document["files"]) {
            EXPECT_TRUE(reasons.emplace(file["path"], file["reason"]).second);
        }
        return reasons;
    }

    void expect_finding(const std::string &path, const std::string &reason)
    {
        ToolResult result = run_tool({"verify", "--json", folder.path});
        EXPECT_EQ(result.exit_status, 1) << reason;
        EXPECT_EQ(result.err, "");
        EXPECT_EQ(reasons(result)[path], reason);
    }

    TemporaryFolder folder;
    std::string app = folder.path + "/app";
    std::string name;
};

TEST_F(Verify, OneLineAFile)
{
    std::string file = put(name + ".wpcache");
    std::string part = put(name + ".0123456789abcdef.part");
    ToolResult result = run_tool({"verify", folder.path});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.err, "");
    std::vector<std::string> lines = lines_of(result.out);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0], "ok                    " + part);
    EXPECT_EQ(lines[1], "ok                    " + file);
}

TEST_F(Verify, TextAndJsonTellTheSame)
{
    put(name + ".wpcache");
    put("0123.wpcache", "damaged");
    for (std::vector<std::string> options : {std::vector<std::string>{}, {"-v"}}) {
        std::vector<std::string> words = {"verify", folder.path};
        words.insert(words.end(), options.begin(), options.end());
        std::vector<std::string> lines = lines_of(run_tool(words).out);
        words.push_back("--json");
        json files = json::parse(run_tool(words).out)["files"];
        ASSERT_EQ(lines.size(), files.size());
        for (size_t i = 0; i < lines.size(); i++) {
            EXPECT_EQ(lines[i].find(files[i]["reason"].get<std::string>()), 0u);
            EXPECT_TRUE(contains(lines[i], files[i]["path"]));
        }
    }
}

TEST_F(Verify, VerboseTellsWhoseFileItIs)
{
    put(name + ".wpcache");
    json file = json::parse(run_tool({"verify", "-v", "--json", app}).out)["files"][0];
    EXPECT_EQ(file["device_name"], "Sample device");
    EXPECT_EQ(file["driver_name"], "sample");
    EXPECT_EQ(file["driver_version"], "22.3.6");
    EXPECT_EQ(file["blob_size"], make_blob("payload").size());
    EXPECT_EQ(file["saved_at"], "2023-11-14T22:13:20Z");
}

TEST_F(Verify, FindsEveryFlippedByte)
{
    const std::string whole = cache_file();
    std::string path = put(name + ".wpcache");
    for (size_t at = 0; at < whole.size(); at += 7) {
        write_file(path, flipped(whole, at));
        ToolResult result = run_tool({"verify", path});
        ASSERT_EQ(result.exit_status, 1) << at;
    }
}

TEST_F(Verify, NamesTheReason)
{
    expect_finding(put(name + ".wpcache", cache_file().substr(0, 900)), "truncated");
    expect_finding(put(name + ".wpcache", cache_file() + "x"), "trailing_bytes");
    expect_finding(put(name + ".wpcache", ""), "truncated");
    expect_finding(put(name + ".wpcache", "text"), "bad_magic");
    expect_finding(put(name + ".1.part", flipped(cache_file(), 990)), "bad_section_digest");
}

TEST_F(Verify, FindsAFileUnderAnothersName)
{
    driver_identity other = sample_identity();
    other.device_id = 0x73bf;
    std::string path = put(hex_of(other) + ".wpcache");
    expect_finding(path, "renamed");
    std::filesystem::remove(path);

    expect_finding(put("copy-" + name + ".wpcache"), "renamed");
    expect_finding(put(name + "0.wpcache"), "renamed");
    expect_finding(put(".wpcache.part"), "renamed");
}

TEST_F(Verify, JudgesFilesAsTheLayerDoes)
{
    std::string path = put(name + ".wpcache");
    chmod(path.c_str(), 0620);
    expect_finding(path, "file_mode");
    chmod(path.c_str(), 0602);
    expect_finding(path, "file_mode");
    chmod(path.c_str(), 0644);
    EXPECT_EQ(run_tool({"verify", path}).exit_status, 0);

    std::filesystem::rename(path, folder.path + "/elsewhere");
    std::filesystem::create_symlink(folder.path + "/elsewhere", path);
    expect_finding(path, "symlink");
    std::filesystem::remove(path);

    std::filesystem::create_directory(path);
    expect_finding(path, "not_a_file");
    std::filesystem::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    expect_finding(path, "not_a_file");
}

TEST_F(Verify, JudgesTheFolderAsTheLayerDoes)
{
    std::string path = put(name + ".wpcache");
    chmod(app.c_str(), 0770);
    expect_finding(app, "directory_mode");
    ToolResult result = run_tool({"verify", "--json", folder.path});
    EXPECT_EQ(reasons(result)[path], "ok") << "the rest is done all the same";
    EXPECT_EQ(reasons(result).size(), 2u) << "parents are not judged";
    EXPECT_EQ(run_tool({"verify", path}).exit_status, 1);
    EXPECT_EQ(run_tool({"verify", name + ".wpcache"}, {}, app).exit_status, 1);
}

TEST_F(Verify, JudgesOwners)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    std::string path = put(name + ".wpcache");
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    expect_finding(path, "file_owner");
    ASSERT_EQ(chown(app.c_str(), 12345, 12345), 0);
    expect_finding(app, "directory_owner");
}

TEST_F(Verify, PassesOverWhatIsNotOurs)
{
    put(name + ".lock", "");
    put("program.json", "{}");
    put("notes.txt", "text");
    put(name + ".wpcache.tmp", "half");
    ToolResult result = run_tool({"verify", folder.path});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, "no cache files in '" + folder.path + "'"));
    EXPECT_EQ(run_tool({"verify", "--json", folder.path}).out, "{\"files\":[]}\n");
}

// Files are read in pieces: what is wrong behind the first is found as well.
TEST_F(Verify, ReadsLargeFilesToTheirEnd)
{
    std::string payload(3000000, 'x');
    for (size_t i = 0; i < payload.size(); i += 7) {
        payload[i] = static_cast<char>(i >> 3);
    }
    const std::string whole = cache_file(sample_identity(), make_blob(payload, sample_identity()));
    std::string path = put(name + ".wpcache", whole);
    EXPECT_EQ(run_tool({"verify", folder.path}).exit_status, 0);
    for (size_t at : {size_t(1 << 18), whole.size() / 2, whole.size() - 1}) {
        put(name + ".wpcache", flipped(whole, at));
        expect_finding(path, "bad_section_digest");
    }
}

TEST_F(Verify, ReportsQuarantineWithoutJudgingIt)
{
    std::filesystem::create_directory(app + "/quarantine");
    std::string path = put("quarantine/" + name + ".wpcache", "killed somebody");
    put("quarantine/" + name + ".wpcache.txt", "note");
    ToolResult result = run_tool({"verify", "--json", folder.path});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(reasons(result), (std::map<std::string, std::string>{{path, "quarantined"}}));
    EXPECT_EQ(run_tool({"verify", path}).exit_status, 1) << "checked where it is named itself";
}

TEST_F(Verify, GoesOnAfterAPathThatIsMissingOrNotOurs)
{
    std::string path = put(name + ".wpcache");
    std::string text = put("notes.txt", "text");
    ToolResult result = run_tool({"verify", folder.path + "/missing", text, path});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.out, "ok                    " + path + "\n");
    std::vector<std::string> messages = lines_of(result.err);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_TRUE(contains(messages[0], "/missing'"));
    EXPECT_TRUE(contains(messages[0], "(no_file)"));
    EXPECT_TRUE(contains(messages[1], text + "': not a warmpipe file"));
    EXPECT_TRUE(contains(messages[1], "(bad_magic)"));

    put(name + ".wpcache", "damaged");
    EXPECT_EQ(run_tool({"verify", path, folder.path + "/missing"}).exit_status, 2);
    EXPECT_EQ(run_tool({"verify", folder.path + "/missing", path}).out,
              "bad_magic             " + path + "\n");
}

// Also of what is not ours, the reason is named, as by the other verbs.
TEST_F(Verify, NamesTheReasonOfWhatCannotBeRead)
{
    const std::map<std::string, std::string> paths = {
        {"/dev/zero", "(not_a_file)"},
        {put("empty", ""), "(bad_magic)"},
        {app + "/../missing", "(no_file)"},
    };
    for (const auto &[path, reason] : paths) {
        ToolResult result = run_tool({"verify", path});
        EXPECT_EQ(result.exit_status, 2) << path;
        EXPECT_TRUE(contains(result.err, reason)) << result.err;
    }
}

TEST_F(Verify, ACacheUnderAForeignNameIsRenamed)
{
    ToolResult result = run_tool({"verify", put("backup", cache_file())});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(result.out.rfind("renamed", 0), 0u);
}

TEST_F(Verify, FollowsALinkToTheDirectoryThatIsNamed)
{
    put(name + ".wpcache");
    std::filesystem::create_symlink(folder.path, folder.path + "-link");
    ToolResult result = run_tool({"verify", folder.path + "-link"});
    std::filesystem::remove(folder.path + "-link");
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(lines_of(result.out).size(), 1u);
}

TEST_F(Verify, FollowsNoLinkBelowIt)
{
    std::string path = put(name + ".wpcache");
    std::filesystem::create_symlink("..", app + "/loop");
    ToolResult result = run_tool({"verify", folder.path});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.out, "ok                    " + path + "\n");
}

TEST_F(Verify, NamesWhatStandsInAProgramsPlace)
{
    put(name + ".wpcache");
    const std::string link = folder.path + "/link";
    std::filesystem::create_symlink("app", link);
    write_file(folder.path + "/notes.txt", "text");
    write_file(folder.path + "/.limits.0", "1 1");
    std::filesystem::create_symlink("..", app + "/loop");
    expect_finding(link, "symlink");
    EXPECT_EQ(reasons(run_tool({"verify", "--json", folder.path})).size(), 2u);
    EXPECT_EQ(run_tool({"verify", app}).exit_status, 0) << "this is no root";
    // Where no program is left, the settings tell.
    std::filesystem::remove_all(app);
    EXPECT_EQ(run_tool({"verify", folder.path}).exit_status, 0);
    EXPECT_EQ(run_tool({"verify", folder.path}, {{"WARMPIPE_DIR", folder.path}}).exit_status, 1);
}

TEST_F(Verify, ANameCannotBreakALine)
{
    put("a\nok b\x1b[2J.wpcache", "damaged");
    ToolResult result = run_tool({"verify", app});
    ASSERT_EQ(lines_of(result.out).size(), 1u);
    EXPECT_TRUE(contains(result.out, "a\\x0aok b\\x1b[2J.wpcache"));
}

} // namespace
