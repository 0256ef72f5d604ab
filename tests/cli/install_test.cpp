// SPDX-License-Identifier: Apache-2.0
// warmpipe install and uninstall: exactly what is put there goes again.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "paths.h"
#include "tool.h"

namespace {

using json = nlohmann::json;
namespace fs = std::filesystem;

class Install : public ::testing::Test {
  protected:
    Install()
    {
        fs::create_directory(home);
    }

    ToolResult tool(std::vector<std::string> words, Environment environment = {})
    {
        environment.emplace("HOME", home);
        return run_tool(std::move(words), environment);
    }

    // Every file and folder below the home directory, relative.
    std::vector<std::string> tree() const
    {
        std::vector<std::string> paths;
        for (const auto &entry : fs::recursive_directory_iterator(folder.path)) {
            paths.push_back(fs::relative(entry.path(), folder.path).string());
        }
        std::sort(paths.begin(), paths.end());
        return paths;
    }

    // Whether a program in this environment gets the layer.
    bool in_chain(Environment environment)
    {
        const std::string stats = folder.path + "/stats";
        environment.insert({{"HOME", home},
                            {"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
                            {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST},
                            {"WARMPIPE_STATS", stats},
                            {"WARMPIPE_DIR", folder.path + "/cache"},
                            {"ASAN_OPTIONS", "detect_leaks=0"}});
        EXPECT_EQ(run_program({PIPELINES_CLIENT, "--compute", "1", "--graphics", "1"}, environment)
                      .exit_status,
                  0);
        bool found = fs::exists(stats);
        fs::remove(stats);
        return found;
    }

    // The tool, the layer and its manifests, as a package puts them; gives the tool.
    std::string put_package() const
    {
        const fs::path bin = folder.path + "/package/bin";
        const fs::path share = (bin / WARMPIPE_DATADIR_FROM_BINDIR).lexically_normal();
        const fs::path lib = (bin / WARMPIPE_LAYER_FROM_BINDIR).lexically_normal();
        fs::create_directories(bin);
        fs::create_directories(lib);
        fs::create_directories(share);
        fs::copy(WARMPIPE_TOOL, bin / "warmpipe");
        fs::copy(WARMPIPE_LIBRARY, lib / "libVkLayer_warmpipe.so");
        fs::copy(std::string(WARMPIPE_BUILD_DIR) + "/share", share, fs::copy_options::recursive);
        for (const char *kind : {"implicit", "explicit"}) {
            const fs::path manifest =
                share / "vulkan" / (std::string(kind) + "_layer.d") / "VkLayer_warmpipe.json";
            std::string text = read_file(manifest);
            const std::string path = json::parse(text)["layer"]["library_path"];
            text.replace(text.find(path), path.size(), lib / "libVkLayer_warmpipe.so");
            fs::remove(manifest);
            write_file(manifest, text);
        }
        return bin / "warmpipe";
    }

    TemporaryFolder folder;
    const std::string home = folder.path + "/home";
    const std::string data = home + "/.local/share";
    const std::string implicit = data + "/vulkan/implicit_layer.d/VkLayer_warmpipe.json";
};

TEST_F(Install, ForAUserTheLayerWaitsToBeAskedFor)
{
    fs::create_directories(home);
    EXPECT_FALSE(in_chain({{"WARMPIPE_ENABLE", "1"}}));
    ToolResult result = tool({"install", "--user"});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(lines_of(result.out).size(), 3u);
    EXPECT_TRUE(in_chain({{"WARMPIPE_ENABLE", "1"}}));
    EXPECT_TRUE(in_chain({{"VK_INSTANCE_LAYERS", "VK_LAYER_WARMPIPE_pipeline_cache"}}));
    EXPECT_FALSE(in_chain({}));
    EXPECT_FALSE(in_chain({{"WARMPIPE_ENABLE", "1"}, {"WARMPIPE_DISABLE", "1"}}));
}

TEST_F(Install, AlwaysIsForEveryProgram)
{
    ASSERT_EQ(tool({"install", "--user", "--always"}).exit_status, 0);
    EXPECT_TRUE(in_chain({}));
    EXPECT_FALSE(in_chain({{"WARMPIPE_DISABLE", "1"}}));
    json layer = json::parse(read_file(implicit))["layer"];
    EXPECT_FALSE(layer.contains("enable_environment"));
    // And back.
    ASSERT_EQ(tool({"install", "--user"}).exit_status, 0);
    EXPECT_FALSE(in_chain({}));
}

TEST_F(Install, UninstallRemovesExactlyThat)
{
    fs::create_directories(data);
    const std::vector<std::string> before = tree();
    ASSERT_EQ(tool({"install", "--user"}).exit_status, 0);
    EXPECT_GT(tree().size(), before.size() + 3);
    ToolResult result = tool({"uninstall", "--user"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(tree(), before);
    result = tool({"uninstall", "--user", "--json"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    const json document = json::parse(result.out);
    for (const json &file : document["files"]) {
        EXPECT_EQ(file["state"], "not there");
    }

    // The folders of others stay, and so do their files.
    ASSERT_EQ(tool({"install", "--user"}).exit_status, 0);
    const std::string other = data + "/vulkan/implicit_layer.d/other.json";
    write_file(other, "{}");
    ASSERT_EQ(tool({"uninstall", "--user"}).exit_status, 0);
    EXPECT_TRUE(fs::exists(other));
    EXPECT_FALSE(fs::exists(implicit));
}

TEST_F(Install, BelowAPrefixTooAndMovable)
{
    const std::string prefix = folder.path + "/prefix";
    ASSERT_EQ(tool({"install", "--prefix", prefix}).exit_status, 0);
    fs::rename(prefix, folder.path + "/moved");
    EXPECT_TRUE(
        in_chain({{"WARMPIPE_ENABLE", "1"}, {"XDG_DATA_DIRS", folder.path + "/moved/share"}}));
    ASSERT_EQ(tool({"uninstall", "--prefix", folder.path + "/moved"}).exit_status, 0);
    EXPECT_FALSE(fs::exists(folder.path + "/moved/lib/warmpipe"));
}

// Many a root has a umask of 077.
TEST_F(Install, ForAllUsersItIsReadByAll)
{
    const std::string prefix = folder.path + "/prefix";
    const mode_t before = umask(077);
    EXPECT_EQ(tool({"install", "--prefix", prefix}).exit_status, 0);
    umask(before);
    for (const auto &entry : fs::recursive_directory_iterator(prefix)) {
        const fs::perms wanted = entry.is_directory() ? fs::perms(0555) : fs::perms(0444);
        EXPECT_EQ(entry.status().permissions() & wanted, wanted) << entry.path();
    }
    EXPECT_EQ(fs::status(prefix).permissions(), fs::perms(0755));
}

TEST_F(Install, AFileOfAnySizeInTheManifestsPlaceIsLeftAlone)
{
    fs::create_directories(fs::path(implicit).parent_path());
    write_file(implicit, std::string(1 << 20, ' '));
    const ToolResult result = tool({"install", "--user"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "belongs to a package or to")) << result.err;
}

TEST_F(Install, WhatAPackageHasPutIsLeftAlone)
{
    fs::create_directories(fs::path(implicit).parent_path());
    const std::string theirs =
        R"({"layer":{"name":"VK_LAYER_WARMPIPE_pipeline_cache","library_path":"libVkLayer.so"}})";
    write_file(implicit, theirs);
    const std::vector<std::string> before = tree();
    for (const char *verb : {"install", "uninstall"}) {
        ToolResult result = tool({verb, "--user"});
        EXPECT_EQ(result.exit_status, 2);
        EXPECT_TRUE(contains(result.err, "belongs to a package or to")) << result.err;
        EXPECT_EQ(contains(result.err, "WARMPIPE_ENABLE=1"), verb == std::string("install"));
    }
    EXPECT_EQ(tree(), before);
    EXPECT_EQ(read_file(implicit), theirs);
}

// A copy would hide the package's next version.
TEST_F(Install, WhatAPackageHasInstalledIsNotCopied)
{
    fs::create_directories(home);
    const std::string warmpipe = put_package();
    const std::string share = folder.path + "/package/share";
    const Environment environment = {{"HOME", home}, {"XDG_DATA_DIRS", share}};
    const auto install = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {warmpipe, "install"});
        return run_program(words, environment);
    };
    const std::string told = "the layer is installed already, by '" + share +
                             "/vulkan/implicit_layer.d/VkLayer_warmpipe.json'";
    const std::vector<std::string> before = tree();
    ToolResult result = install({"--user"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, told + ": start programs with WARMPIPE_ENABLE=1"))
        << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(tree(), before);

    // What was asked for by name is done, and what follows of that is said.
    result = install({"--user", "--always"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, told + "; it depends on the loader which copy is used"))
        << result.err;
    EXPECT_TRUE(in_chain({}));
    const std::string doctor = run_program({warmpipe, "doctor"}, environment).out;
    const size_t at = doctor.find("two copies of the layer");
    EXPECT_NE(at, std::string::npos) << doctor;
    EXPECT_EQ(doctor.find("two copies of the layer", at + 1), std::string::npos) << doctor;
    result = install({"--user"});
    EXPECT_TRUE(contains(result.err, "run 'warmpipe uninstall'")) << result.err;
    EXPECT_FALSE(in_chain({})) << "it is renewed";
    EXPECT_EQ(run_program({warmpipe, "uninstall", "--user"}, environment).exit_status, 0);
    EXPECT_EQ(install({"--prefix", folder.path + "/prefix"}).err, "");
    EXPECT_TRUE(fs::exists(folder.path + "/prefix/lib/warmpipe/libVkLayer_warmpipe.so"));

    // Where the loader does not find the package, a copy is what was asked for.
    EXPECT_EQ(run_program({warmpipe, "install", "--user"}, {{"HOME", home}}).err, "");
    EXPECT_TRUE(fs::exists(implicit));
}

TEST_F(Install, AHomeOfAnotherUserBelongsToNoPackage)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    const std::string copy = folder.path + "/bin/warmpipe";
    fs::create_directories(home);
    fs::create_directories(folder.path + "/bin");
    fs::copy(std::string(WARMPIPE_BUILD_DIR) + "/share", folder.path + "/share",
             fs::copy_options::recursive);
    chmod(folder.path.c_str(), 0755);
    chmod(home.c_str(), 0700);
    for (const char *verb : {"install", "uninstall"}) {
        const ToolResult result = run_tool_as_another(copy, {verb, "--user"}, {{"HOME", home}});
        EXPECT_EQ(result.exit_status, 2);
        EXPECT_EQ(result.err, std::string("warmpipe: ") + verb + ": cannot read '" + implicit +
                                  "': Permission denied\n");
    }
}

// As keepers of dotfiles do it: a path relative to the manifest leads out of the link's end.
TEST_F(Install, AFolderBehindALinkIsTold)
{
    fs::create_directories(home + "/dotfiles/vulkan");
    fs::create_directories(data);
    fs::create_directory_symlink(home + "/dotfiles/vulkan", data + "/vulkan");
    const ToolResult result = tool({"install", "--user"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "is behind a link")) << result.err;
    EXPECT_FALSE(fs::exists(implicit));
    EXPECT_EQ(tool({"uninstall", "--user"}).exit_status, 0);
    EXPECT_FALSE(fs::exists(data + "/warmpipe"));
    EXPECT_TRUE(fs::is_empty(home + "/dotfiles/vulkan"));

    // Where all of it is behind one link, all is found.
    fs::remove(data + "/vulkan");
    fs::remove(data);
    fs::create_directory_symlink(home + "/dotfiles", data);
    EXPECT_EQ(tool({"install", "--user"}).exit_status, 0);
    EXPECT_TRUE(in_chain({{"WARMPIPE_ENABLE", "1"}}));
}

// "sudo -E warmpipe install --user": root's folders in a user's home are in that user's way.
TEST_F(Install, IsNotMadeByRootInTheHomeOfWhoCalledSudo)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder away";
    }
    fs::create_directories(home);
    ASSERT_EQ(chown(home.c_str(), 12345, 12345), 0);
    const ToolResult result = tool({"install", "--user"}, {{"SUDO_UID", "12345"}});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.err, "warmpipe: install: under sudo, '" + data +
                              "' would become root's; do this without sudo\n");
    EXPECT_TRUE(fs::is_empty(home));
    // What was once made so can be removed so.
    ASSERT_EQ(tool({"install", "--user"}).exit_status, 0);
    EXPECT_EQ(tool({"uninstall", "--user"}, {{"SUDO_UID", "12345"}}).exit_status, 0);
    EXPECT_TRUE(fs::is_empty(home));
}

TEST_F(Install, SaysWhatIsWrong)
{
    EXPECT_EQ(tool({"install", "--user", "--system"}).exit_status, 2);
    EXPECT_EQ(tool({"install", "--prefix", "relative"}).exit_status, 2);
    EXPECT_EQ(tool({"install", "--user"}, {{"HOME", "relative"}}).exit_status, 2);
    EXPECT_EQ(tool({"install", "--user"}, {{"HOME", folder.path + "/gone"}}).exit_status, 2);
    EXPECT_FALSE(fs::exists(folder.path + "/gone"));
    write_file(folder.path + "/file", "");
    ToolResult result = tool({"install", "--prefix", folder.path + "/file"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
}

} // namespace
