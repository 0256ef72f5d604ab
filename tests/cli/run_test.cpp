// SPDX-License-Identifier: Apache-2.0
#include "paths.h"
#include "tool.h"

namespace {

using std::filesystem::perms;

const std::string share = std::filesystem::canonical(WARMPIPE_BUILD_DIR).string() + "/share";
const std::string layer_name = "VK_LAYER_WARMPIPE_pipeline_cache";

// The variables that a program finds under `warmpipe run`.
Environment environment_of(std::vector<std::string> options, Environment before = {},
                           const std::string &directory = ".",
                           const std::string &tool = WARMPIPE_TOOL)
{
    std::vector<std::string> words = {tool, "run"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/usr/bin/env", "-0"});
    ToolResult result = run_program(words, std::move(before), directory);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    Environment environment;
    std::istringstream stream(result.out);
    for (std::string line; std::getline(stream, line, '\0');) {
        size_t equals = line.find('=');
        environment[line.substr(0, equals)] = line.substr(equals + 1);
    }
    environment.erase("TSAN_OPTIONS"); // run_program's
    return environment;
}

TEST(Run, SetsWhatTheLoaderNeedsAndNothingElse)
{
    EXPECT_EQ(environment_of({}),
              (Environment{{"PATH", "/usr/bin:/bin"},
                           {"WARMPIPE_ENABLE", "1"},
                           {"WARMPIPE_SUMMARY", "1"},
                           {"XDG_DATA_DIRS", "/usr/local/share/:/usr/share/:" + share},
                           {"VK_ADD_IMPLICIT_LAYER_PATH", share + "/vulkan/implicit_layer.d"},
                           {"VK_INSTANCE_LAYERS", layer_name}}));
}

// As some containers and sandboxes have it.
TEST(Run, NeedsNoProc)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "sanitizers need /proc";
#endif
    const std::string without = "mount -t tmpfs none /proc && exec \"$@\"";
    const std::vector<std::string> shell = {
        "/usr/bin/unshare", "--mount", "/bin/sh", "-c", without, "sh"};
    std::vector<std::string> words = shell;
    words.push_back("/bin/true");
    if (run_program(words).exit_status != 0) {
        GTEST_SKIP() << "no namespaces here";
    }
    words = shell;
    words.insert(words.end(), {WARMPIPE_TOOL, "run", "--", "/usr/bin/env"});
    const ToolResult result = run_program(words);
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(contains(result.out, "VK_ADD_IMPLICIT_LAYER_PATH=" + share)) << result.out;
}

TEST(Run, KeepsWhatTheUserHasSet)
{
    Environment environment = environment_of({}, {{"XDG_DATA_DIRS", "/a:/b"},
                                                  {"VK_ADD_IMPLICIT_LAYER_PATH", "/c"},
                                                  {"VK_INSTANCE_LAYERS", "VK_LAYER_other"},
                                                  {"WARMPIPE_DIR", "/d"},
                                                  {"WARMPIPE_APP", "e"},
                                                  {"MESA_SHADER_CACHE_DIR", "/f"}});
    EXPECT_EQ(environment["XDG_DATA_DIRS"], "/a:/b:" + share);
    EXPECT_EQ(environment["VK_ADD_IMPLICIT_LAYER_PATH"], share + "/vulkan/implicit_layer.d:/c");
    EXPECT_EQ(environment["VK_INSTANCE_LAYERS"], layer_name + ":VK_LAYER_other");
    EXPECT_EQ(environment["WARMPIPE_DIR"], "/d");
    EXPECT_EQ(environment["WARMPIPE_APP"], "e");
    EXPECT_EQ(environment["MESA_SHADER_CACHE_DIR"], "/f");
}

TEST(Run, NamesNothingTwice)
{
    Environment once = environment_of({});
    EXPECT_EQ(environment_of({}, once), once);

    Environment environment =
        environment_of({}, {{"XDG_DATA_DIRS", share + "/:/b"},
                            {"VK_INSTANCE_LAYERS", "VK_LAYER_a:" + layer_name}});
    EXPECT_EQ(environment["XDG_DATA_DIRS"], share + "/:/b");
    EXPECT_EQ(environment["VK_INSTANCE_LAYERS"], "VK_LAYER_a:" + layer_name);

    // A part of an entry is not the entry.
    environment = environment_of({}, {{"XDG_DATA_DIRS", share + "2:/x" + share}});
    EXPECT_EQ(environment["XDG_DATA_DIRS"], share + "2:/x" + share + ":" + share);
}

TEST(Run, AnEmptyListIsAnUnsetOne)
{
    Environment environment =
        environment_of({}, {{"XDG_DATA_DIRS", ""}, {"VK_INSTANCE_LAYERS", ""}});
    EXPECT_EQ(environment["XDG_DATA_DIRS"], "/usr/local/share/:/usr/share/:" + share);
    EXPECT_EQ(environment["VK_INSTANCE_LAYERS"], layer_name);
}

TEST(Run, DirHoldsAllCaches)
{
    TemporaryFolder folder;
    std::string cache = folder.path + "/a/cache";
    Environment environment = environment_of({"--dir", cache});
    EXPECT_EQ(environment["WARMPIPE_DIR"], cache);
    EXPECT_EQ(environment["MESA_SHADER_CACHE_DIR"], cache + "/driver");
    EXPECT_EQ(environment["__GL_SHADER_DISK_CACHE_PATH"], cache + "/driver");
    for (const char *made : {"/a", "/a/cache", "/a/cache/driver"}) {
        EXPECT_EQ(std::filesystem::status(folder.path + made).permissions(), perms::owner_all);
    }
    EXPECT_EQ(environment_of({"--dir=" + cache}), environment) << "a second start finds it there";
}

TEST(Run, DirIsMadeAbsolute)
{
    TemporaryFolder folder;
    std::string here = std::filesystem::canonical(folder.path).string();
    Environment environment = environment_of({"--dir", "cache"}, {}, here);
    EXPECT_EQ(environment["WARMPIPE_DIR"], here + "/cache");
    EXPECT_TRUE(std::filesystem::is_directory(here + "/cache/driver"));
}

TEST(Run, DirLeavesTheDriversCachesWhereTheUserHasPutThem)
{
    TemporaryFolder folder;
    Environment environment =
        environment_of({"--dir", folder.path}, {{"MESA_SHADER_CACHE_DIR", "/mesa"}});
    EXPECT_EQ(environment["MESA_SHADER_CACHE_DIR"], "/mesa");
    EXPECT_EQ(environment["__GL_SHADER_DISK_CACHE_PATH"], folder.path + "/driver");
    environment = environment_of({"--dir", folder.path}, {{"__GL_SHADER_DISK_CACHE_PATH", "/gl"}});
    EXPECT_EQ(environment["__GL_SHADER_DISK_CACHE_PATH"], "/gl");
    EXPECT_EQ(environment["MESA_SHADER_CACHE_DIR"], folder.path + "/driver");
}

// As in the image of a container: the driver keeps its cache where it is used to.
TEST(Run, DirThatCannotBeWrittenIsNotForTheDriver)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer does not begin as another user";
#endif
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    TemporaryFolder folder;
    environment_of({"--dir", folder.path + "/cache"});
    run_shell("chmod -R a+rX " + folder.path);
    const ToolResult result = run_tool_as_another(
        folder.path + "/warmpipe", {"run", "--dir", folder.path + "/cache", "--", "/usr/bin/env"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_TRUE(contains(result.out, "WARMPIPE_DIR=" + folder.path + "/cache\n")) << result.out;
    EXPECT_FALSE(contains(result.out, "MESA_SHADER_CACHE_DIR")) << result.out;
}

TEST(Run, OptionsWinOverVariables)
{
    TemporaryFolder folder;
    Environment environment =
        environment_of({"--dir", folder.path, "--app", "mine"},
                       {{"WARMPIPE_DIR", "/d"}, {"WARMPIPE_APP", "e"}, {"WARMPIPE_ENABLE", "0"}});
    EXPECT_EQ(environment["WARMPIPE_DIR"], folder.path);
    EXPECT_EQ(environment["WARMPIPE_APP"], "mine");
    EXPECT_EQ(environment["WARMPIPE_ENABLE"], "1");
}

TEST(Run, ADirectoryThatCannotBeMadeIsNoReasonNotToRun)
{
    TemporaryFolder folder;
    write_file(folder.path + "/file", "");
    ToolResult result = run_tool({"run", "--dir", folder.path + "/file/x", "--", "/usr/bin/env"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_TRUE(contains(result.err, "(directory_unusable)")) << result.err;
    EXPECT_EQ(lines_of(result.err).size(), 1u);
    EXPECT_TRUE(contains(result.out, "WARMPIPE_DIR=" + folder.path + "/file/x\n"));
    EXPECT_FALSE(contains(result.out, "MESA_SHADER_CACHE_DIR"));
}

TEST(Run, VerboseShowsWhatIsSet)
{
    ToolResult result = run_tool({"run", "-v", "--app", "mine", "/usr/bin/env"});
    for (const char *line : {"warmpipe: WARMPIPE_ENABLE=1\n", "warmpipe: WARMPIPE_APP=mine\n",
                             "warmpipe: WARMPIPE_LOG=info\n"}) {
        EXPECT_TRUE(contains(result.err, line)) << result.err;
    }
    EXPECT_TRUE(contains(result.out, "WARMPIPE_LOG=info\n"));
    EXPECT_EQ(environment_of({"-v"}, {{"WARMPIPE_LOG", "debug"}})["WARMPIPE_LOG"], "debug");
}

TEST(Run, QuietAsksForNoLineAtTheEnd)
{
    EXPECT_EQ(environment_of({"--quiet"}).count("WARMPIPE_SUMMARY"), 0u);
    EXPECT_EQ(environment_of({}, {{"WARMPIPE_SUMMARY", "0"}})["WARMPIPE_SUMMARY"], "0");
    // Docker's --env-file and Compose leave variables that are set and empty: they are not set.
    EXPECT_EQ(environment_of({}, {{"WARMPIPE_SUMMARY", ""}})["WARMPIPE_SUMMARY"], "1");
    EXPECT_EQ(environment_of({"-v"}, {{"WARMPIPE_LOG", ""}})["WARMPIPE_LOG"], "info");
}

TEST(Run, SaysThatTheLayerIsSwitchedOff)
{
    for (const char *value : {"1", "0", ""}) {
        ToolResult result = run_tool({"run", "echo", "done"}, {{"WARMPIPE_DISABLE", value}});
        EXPECT_EQ(result.exit_status, 0);
        EXPECT_EQ(result.out, "done\n");
        EXPECT_EQ(lines_of(result.err).size(), 1u);
        EXPECT_TRUE(contains(result.err, "WARMPIPE_DISABLE is set"));
    }
    EXPECT_EQ(run_tool({"run", "true"}).err, "");
}

// By the loader: `~implicit~` leaves a layer in that is asked for by name, as run does.
TEST(Run, SaysThatTheLoaderLeavesTheLayerOut)
{
    for (const std::string value : {"~all~", "other,*warmpipe*"}) {
        Environment disabled = {{"VK_LOADER_LAYERS_DISABLE", value}};
        EXPECT_EQ(run_tool({"run", "true"}, disabled).err,
                  "warmpipe: run: VK_LOADER_LAYERS_DISABLE=" + value +
                      " is set: the program runs without the layer\n");
        disabled["VK_LOADER_LAYERS_ENABLE"] = "*warmpipe*";
        EXPECT_EQ(run_tool({"run", "true"}, disabled).err, "");
    }
    for (const char *value : {"", "~implicit~", "~explicit~", "other"}) {
        EXPECT_EQ(run_tool({"run", "true"}, {{"VK_LOADER_LAYERS_DISABLE", value}}).err, "");
    }
}

TEST(Run, EndsAsTheProgramDoes)
{
    EXPECT_EQ(run_tool({"run", "--", "sh", "-c", "exit 7"}).exit_status, 7);
    EXPECT_EQ(run_tool({"run", "sh", "-c", "kill -TERM $$"}).exit_status, 128 + SIGTERM);
    // A closed pipe is the program's own affair.
    EXPECT_EQ(run_shell("$tool run yes | head -1; echo ${PIPESTATUS[0]}").out, "y\n141\n");
}

TEST(Run, SaysWhyAProgramCannotBeRun)
{
    TemporaryFolder folder;
    ToolResult result = run_tool({"run", "no-such-program-here"});
    EXPECT_EQ(result.exit_status, 127);
    EXPECT_TRUE(contains(result.err, "cannot run 'no-such-program-here'"));

    write_file(folder.path + "/file", "text");
    result = run_tool({"run", folder.path + "/file"});
    EXPECT_EQ(result.exit_status, 126);
    EXPECT_EQ(lines_of(result.err).size(), 1u);
    EXPECT_EQ(run_tool({"run", folder.path}).exit_status, 126);
}

TEST(Run, TheProgramsOwnOptionsAreItsOwn)
{
    EXPECT_EQ(run_tool({"run", "echo", "--dir", "x", "-v", "--help", "--"}).out,
              "--dir x -v --help --\n");
    EXPECT_EQ(run_tool({"run", "--", "echo", "--dir"}).out, "--dir\n");
    EXPECT_EQ(run_tool({"run", "--app", "a", "--", "echo", "--", "x"}).out, "-- x\n");
}

// The tool's prefix, as `cmake --install` lays it out.
class RunInstalled : public ::testing::Test {
  protected:
    void SetUp() override
    {
        prefix = std::filesystem::canonical(folder.path).string() + "/prefix";
        data = std::filesystem::path(prefix + "/bin/" + WARMPIPE_DATADIR_FROM_BINDIR)
                   .lexically_normal()
                   .string();
        std::filesystem::create_directories(prefix + "/bin");
        std::filesystem::copy_file(WARMPIPE_TOOL, prefix + "/bin/warmpipe");
        std::filesystem::create_directories(data + "/vulkan/implicit_layer.d");
        write_file(manifest(), "{}");
    }

    std::string manifest() const
    {
        return data + "/vulkan/implicit_layer.d/VkLayer_warmpipe.json";
    }

    TemporaryFolder folder;
    std::string prefix;
    std::string data;
};

TEST_F(RunInstalled, FindsTheManifestOfItsOwnPrefix)
{
    Environment environment = environment_of({}, {}, ".", prefix + "/bin/warmpipe");
    EXPECT_EQ(environment["XDG_DATA_DIRS"], "/usr/local/share/:/usr/share/:" + data);
    EXPECT_EQ(environment["VK_ADD_IMPLICIT_LAYER_PATH"], data + "/vulkan/implicit_layer.d");

    std::filesystem::create_symlink(prefix + "/bin/warmpipe", prefix + "/link");
    EXPECT_EQ(environment_of({}, {}, ".", prefix + "/link"), environment);
}

// The loader's lists have no other separator.
TEST_F(RunInstalled, AColonInItsPathIsTold)
{
    const std::string place = folder.path + "/12:30";
    std::filesystem::rename(prefix, place);
    const ToolResult result = run_program({place + "/bin/warmpipe", "run", "/usr/bin/env"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_TRUE(contains(result.err, "a colon in '")) << result.err;
    EXPECT_TRUE(contains(result.out, "WARMPIPE_ENABLE=1\n"));
    EXPECT_FALSE(contains(result.out, "12:30/"));
    const ToolResult doctor =
        run_program({place + "/bin/warmpipe", "doctor"}, {{"VK_DRIVER_FILES", TEST_ICD_MANIFEST}});
    EXPECT_TRUE(contains(doctor.out, "even under 'warmpipe run': a colon in '")) << doctor.out;
}

TEST_F(RunInstalled, WithoutAManifestLeavesTheSearchToTheLoader)
{
    std::filesystem::remove(manifest());
    ToolResult result = run_program({prefix + "/bin/warmpipe", "run", "/usr/bin/env"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_TRUE(contains(result.err, "programs get the layer only if it is installed"));
    EXPECT_TRUE(contains(result.out, "WARMPIPE_ENABLE=1\n"));
    EXPECT_FALSE(contains(result.out, "VK_INSTANCE_LAYERS"));
}

} // namespace
