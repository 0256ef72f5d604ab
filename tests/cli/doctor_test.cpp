// SPDX-License-Identifier: Apache-2.0
// warmpipe doctor, with the test driver below: what it finds, and what it makes of it.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "paths.h"
#include "tool.h"

namespace {

using json = nlohmann::json;

// Where the tests themselves run in a container, their folder dies with it, and doctor says so.
const bool in_container =
    std::filesystem::exists("/.dockerenv") || std::filesystem::exists("/run/.containerenv");
const int healthy = in_container ? 1 : 0;

class Doctor : public ::testing::Test {
  protected:
    Environment environment(Environment more = {})
    {
        more.insert({{"HOME", folder.path},
                     {"TMPDIR", folder.path},
                     {"WARMPIPE_DIR", folder.path + "/root"},
                     {"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
                     {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST}});
        return more;
    }

    // Findings by check, "verdict: finding".
    std::multimap<std::string, std::string> findings(const Environment &more, int status)
    {
        ToolResult result = run_tool({"doctor", "--json"}, environment(more));
        EXPECT_EQ(result.exit_status, status) << result.out;
        std::multimap<std::string, std::string> findings;
        const json document = json::parse(result.out);
        for (const json &finding : document["findings"]) {
            std::string verdict = finding["verdict"];
            findings.emplace(finding["check"], verdict + ": " + std::string(finding["finding"]));
            EXPECT_TRUE(verdict == "ok" || finding.contains("advice")) << finding;
        }
        return findings;
    }

    static void expect(const std::multimap<std::string, std::string> &findings,
                       const std::string &check, const std::string &part)
    {
        auto [from, to] = findings.equal_range(check);
        bool found = std::any_of(
            from, to, [&](const auto &finding) { return contains(finding.second, part); });
        EXPECT_TRUE(found) << check << ": " << (from == to ? "nothing" : from->second);
    }

    TemporaryFolder folder;
};

TEST_F(Doctor, FindsThatItWorks)
{
    auto found = findings({}, healthy);
    expect(found, "loader", "ok: libvulkan.so.1, version 1.");
    expect(found, "manifest", "note: the loader finds no manifest");
    expect(found, "layer", "note: programs started from here do not get the layer");
    expect(found, "run", "libVkLayer_warmpipe.so");
    expect(found, "device", "Warmpipe test device");
    expect(found, "policy", "ok: rule default");
    expect(found, "driver_cache", "a hit");
    expect(found, "layer_cache", "ok: under the layer the second start is warm");
    expect(found, "directory",
           in_container ? "is lost with this container" : "the first save creates it");
    EXPECT_TRUE(names_in(folder.path).empty()) << "nothing is left behind";
}

TEST_F(Doctor, FindsTheLayerWhereItIsInstalled)
{
    const std::string share = std::filesystem::canonical(WARMPIPE_BUILD_DIR).string() + "/share";
    auto found = findings({{"XDG_DATA_HOME", share}, {"WARMPIPE_ENABLE", "1"}}, healthy);
    expect(found, "manifest", "VkLayer_warmpipe.json (implicit)");
    expect(found, "manifest", "VkLayer_warmpipe.json (explicit)");
    expect(found, "layer", "ok: programs started from here get ");
}

TEST_F(Doctor, AManifestWithoutItsLibraryIsAProblem)
{
    const std::string implicit = folder.path + "/.local/share/vulkan/implicit_layer.d";
    std::filesystem::create_directories(implicit);
    write_file(implicit + "/broken.json",
               R"({"file_format_version":"1.2.0","layer":{"library_path":"gone/lib.so",
                   "name":"VK_LAYER_WARMPIPE_pipeline_cache"}})");
    write_file(implicit + "/other.json", R"({"layer":{"name":"VK_LAYER_other"}})");
    write_file(implicit + "/junk.json", "{");
    auto found = findings({}, 1);
    EXPECT_EQ(found.count("manifest"), 1u) << "junk.json may be anybody's";
    expect(found, "manifest", "problem: ");
    expect(found, "manifest", "gone/lib.so");
}

TEST_F(Doctor, ADriverWhoseCacheIsEmptyIsNoProblemOfOurs)
{
    expect(findings({{"WPTEST_ICD_DATA", "header"}}, healthy), "driver_cache", "note: ");
}

TEST_F(Doctor, ADriverThatDiesOfItsOwnDataIsTold)
{
    auto found = findings({{"WPTEST_ICD_CACHE_CREATE", "abort_data"}}, 1);
    expect(found, "driver_cache", "dies");
    EXPECT_EQ(found.count("layer_cache"), 0u);
    EXPECT_EQ(found.count("directory"), 1u) << "the rest is looked at";
}

TEST_F(Doctor, GraphicsPipelinesAreTriedToo)
{
    expect(findings({}, healthy), "driver_cache", "ok: compute: saved ");
    expect(findings({}, healthy), "driver_cache", "ok: graphics: saved ");
    auto found = findings({{"WPTEST_ICD_FAIL", "vkCreateGraphicsPipelines:*=-13"}}, 1);
    expect(found, "driver_cache", "problem: graphics: a small pipeline cannot be created");
    expect(found, "driver_cache", "ok: compute: saved ");
    expect(found, "layer_cache", "ok: under the layer the second start is warm");
}

TEST_F(Doctor, FeedbackThatLiesIsTold)
{
    EXPECT_EQ(findings({}, healthy).count("driver_feedback"), 0u);
    auto found = findings({{"WPTEST_ICD_FEEDBACK", "hit"}}, healthy);
    expect(found, "driver_feedback", "note: compute: the driver reports a hit in an empty cache");
    expect(found, "driver_feedback", "note: graphics: the driver reports a hit in an empty cache");
}

TEST_F(Doctor, SizesThatWanderAreTold)
{
    EXPECT_EQ(findings({}, healthy).count("driver_sizes"), 0u);
    auto found = findings({{"WPTEST_ICD_WANDER", "process"}}, healthy);
    expect(found, "driver_sizes", "note: compute: the same takes ");
    expect(found, "driver_sizes", "note: graphics: the same takes ");
}

TEST_F(Doctor, AMergeThatMovesEntriesIsTold)
{
    EXPECT_EQ(findings({}, healthy).count("driver_merge"), 0u);
    expect(findings({{"WPTEST_ICD_MERGE_MOVES", "1"}}, healthy), "driver_merge",
           "note: a merge takes entries out of the cache that is merged");
    expect(findings({{"WPTEST_ICD_FAIL", "vkMergePipelineCaches:*=-1"}}, healthy), "driver_merge",
           "note: the driver merges no caches (VkResult -1)");
}

TEST_F(Doctor, NoDeviceIsAProblem)
{
    auto found = findings({{"VK_DRIVER_FILES", "/nowhere"}, {"VK_ICD_FILENAMES", "/nowhere"}}, 1);
    expect(found, "device", "problem: there is no Vulkan device");
}

TEST_F(Doctor, VariablesAreLookedAt)
{
    auto found = findings({{"WARMPIPE_DISABLE", ""}, {"WARMPIPE_REDONLY", "1"}}, 1);
    expect(found, "variable", "problem: WARMPIPE_DISABLE");
    expect(found, "variable",
           "note: unknown variable WARMPIPE_REDONLY; did you mean WARMPIPE_READONLY?");
    expect(found, "variable", "ok: VK_DRIVER_FILES=");
}

// What breaks it, each with the finding that names the cause.
struct Breakage {
    const char *name;
    Environment variables; // @ is the test's folder
    const char *check;
    const char *finding;
};

void PrintTo(const Breakage &breakage, std::ostream *out)
{
    *out << breakage.name;
}

class DoctorNames : public Doctor, public testing::WithParamInterface<Breakage> {};

TEST_P(DoctorNames, TheCause)
{
    std::filesystem::create_directories(folder.path + "/full/.cache/mesa_shader_cache");
    write_file(folder.path + "/full/.cache/mesa_shader_cache/data", std::string(4096, 'x'));
    write_file(folder.path + "/file", "");
    Environment variables = GetParam().variables;
    for (auto &[name, value] : variables) {
        if (value.rfind("@", 0) == 0) {
            value = folder.path + value.substr(1);
        }
    }
    std::string finding = std::string("problem: ") + GetParam().finding;
    for (size_t at; (at = finding.find('@')) != std::string::npos;) {
        finding.replace(at, 1, folder.path);
    }
    expect(findings(variables, 1), GetParam().check, finding);
}

const char *const mesa = "3";   // VK_DRIVER_ID_MESA_RADV
const char *const nvidia = "4"; // VK_DRIVER_ID_NVIDIA_PROPRIETARY

const Breakage breakages[] = {
    {"all_layers_disabled",
     {{"VK_LOADER_LAYERS_DISABLE", "~all~"}},
     "variable",
     "VK_LOADER_LAYERS_DISABLE=~all~: the loader does not load the layer"},
    {"implicit_layers_disabled",
     {{"VK_LOADER_LAYERS_DISABLE", "~implicit~"}},
     "variable",
     "VK_LOADER_LAYERS_DISABLE=~implicit~"},
    {"layer_disabled_by_pattern",
     {{"VK_LOADER_LAYERS_DISABLE", "other,*WARMPIPE*"}},
     "variable",
     "VK_LOADER_LAYERS_DISABLE=other,*WARMPIPE*"},
    {"driver_files_to_nowhere",
     {{"VK_DRIVER_FILES", "/nowhere.json"}},
     "variable",
     "VK_DRIVER_FILES names '/nowhere.json'"},
    {"layer_path_to_nowhere",
     {{"VK_LAYER_PATH", "/nowhere"}},
     "variable",
     "VK_LAYER_PATH names '/nowhere'"},
    {"prewarm_maybe",
     {{"WARMPIPE_PREWARM", "maybe"}},
     "variable",
     "WARMPIPE_PREWARM='maybe' is ignored: expected auto"},
    {"relative_directory",
     {{"WARMPIPE_DIR", "relative"}},
     "variable",
     "WARMPIPE_DIR='relative' is ignored: expected an absolute path"},
    {"enable_true",
     {{"WARMPIPE_ENABLE", "true"}},
     "variable",
     "WARMPIPE_ENABLE='true': the loader accepts only 1"},
    {"disable", {{"WARMPIPE_DISABLE", "0"}}, "variable", "WARMPIPE_DISABLE is set"},
    {"directory_is_a_file", {{"WARMPIPE_DIR", "@/file"}}, "directory", "@/file cannot be used"},
    {"directory_below_a_file",
     {{"WARMPIPE_DIR", "@/file/below"}},
     "directory",
     "@/file/below cannot be created"},
    {"mesa_cache_off",
     {{"WPTEST_ICD_DRIVER_ID", mesa}, {"MESA_SHADER_CACHE_DISABLE", "true"}},
     "driver_disk_cache",
     "MESA_SHADER_CACHE_DISABLE switches the driver's own cache off"},
    {"mesa_cache_full",
     {{"WPTEST_ICD_DRIVER_ID", mesa},
      {"HOME", "@/full"},
      {"XDG_CACHE_HOME", ""},
      {"MESA_SHADER_CACHE_MAX_SIZE", "4K"}},
     "driver_disk_cache",
     "the driver's own cache in @/full/.cache is full"},
    {"mesa_cache_without_a_place",
     {{"WPTEST_ICD_DRIVER_ID", mesa}, {"MESA_SHADER_CACHE_DIR", "@/file/below"}},
     "driver_disk_cache",
     "the driver cannot write its own cache in @/file/below"},
    {"caches_in_a_container",
     {{"container", "podman"}, {"WARMPIPE_DIR", "/dev/shm/warmpipe-test"}},
     "directory",
     "/dev/shm/warmpipe-test is lost with this container"},
    {"nvidia_cache_off",
     {{"WPTEST_ICD_DRIVER_ID", nvidia}, {"__GL_SHADER_DISK_CACHE", "0"}},
     "driver_disk_cache",
     "__GL_SHADER_DISK_CACHE=0 switches the driver's own cache off"},
    {"nvidia_cache_folder_missing",
     {{"WPTEST_ICD_DRIVER_ID", nvidia}, {"__GL_SHADER_DISK_CACHE_PATH", "@/missing"}},
     "driver_disk_cache",
     "__GL_SHADER_DISK_CACHE_PATH names @/missing"},
    {"nvidia_cache_full",
     {{"WPTEST_ICD_DRIVER_ID", nvidia},
      {"__GL_SHADER_DISK_CACHE_PATH", "@/full"},
      {"__GL_SHADER_DISK_CACHE_SIZE", "4096"}},
     "driver_disk_cache",
     "the driver's own cache in @/full is full"},
    {"nvidia_without_home",
     {{"WPTEST_ICD_DRIVER_ID", nvidia}, {"HOME", ""}, {"XDG_CACHE_HOME", ""}},
     "driver_disk_cache",
     "HOME is not set: the driver's own cache is off"},
};

INSTANTIATE_TEST_SUITE_P(Of, DoctorNames, testing::ValuesIn(breakages),
                         [](const auto &tested) { return std::string(tested.param.name); });

TEST_F(Doctor, AFolderThatOthersMayWriteIsAProblem)
{
    const std::string app = folder.path + "/root/app";
    std::filesystem::create_directories(app);
    write_file(app + "/" + hex_of(sample_identity()) + ".wpcache", make_file(make_blob("x")));
    chmod(app.c_str(), 0777);
    auto found = findings({}, 1);
    expect(found, "cache", "problem: '" + folder.path + "/root/app' is neither read nor written");
    expect(found, "cache", "(directory_mode)");
}

TEST_F(Doctor, ADriversCacheThatDiesWithTheContainerIsTold)
{
    auto found = findings({{"WPTEST_ICD_DRIVER_ID", mesa},
                           {"container", "podman"},
                           {"MESA_SHADER_CACHE_DIR", "/dev/shm"}},
                          1);
    expect(found, "driver_disk_cache",
           "note: the driver's own cache in /dev/shm is lost with this container");
}

TEST_F(Doctor, ADriversCacheThatIsFineIsTold)
{
    auto found = findings({{"WPTEST_ICD_DRIVER_ID", mesa}}, healthy);
    expect(found, "driver_disk_cache",
           in_container ? "note: the driver's own cache in " + folder.path
                        : "ok: the driver's own, in " + folder.path + "/.cache: 0.0 of");
}

TEST_F(Doctor, EachOfMesasDriversIsKnown)
{
    // RADV, ANV, lavapipe, Turnip, V3DV, PanVK, NVK, Honeykrisp
    for (const char *driver : {"3", "6", "13", "18", "19", "20", "24", "26"}) {
        SCOPED_TRACE(driver);
        const Environment variables = {{"WPTEST_ICD_DRIVER_ID", driver},
                                       {"MESA_SHADER_CACHE_DISABLE", "true"}};
        expect(findings(variables, 1), "driver_disk_cache", "problem: MESA_SHADER_CACHE_DISABLE");
    }
}

// A layer's library and manifest, as a package would put them below the home directory.
class DoctorManifest : public Doctor {
  protected:
    void put_manifest(const std::string &name, const std::string &library, bool in_config = false)
    {
        const std::string below =
            folder.path + (in_config ? "/.config" : "/.local/share") + "/vulkan/implicit_layer.d";
        std::filesystem::create_directories(below);
        write_file(below + "/" + name,
                   R"({"file_format_version":"1.2.0","layer":{"library_path":")" + library +
                       R"(","name":"VK_LAYER_WARMPIPE_pipeline_cache","type":"GLOBAL",
                       "api_version":"1.3.239","implementation_version":"1","description":"x",
                       "enable_environment":{"WARMPIPE_ENABLE":"1"},
                       "disable_environment":{"WARMPIPE_DISABLE":""}}})");
    }

    std::string put_library(const std::string &name, const std::string &content)
    {
        write_file(folder.path + "/" + name, content);
        return folder.path + "/" + name;
    }
};

TEST_F(DoctorManifest, AManifestThatIsNoJsonIsAProblem)
{
    put_manifest("VkLayer_warmpipe.json", "x");
    write_file(folder.path + "/.local/share/vulkan/implicit_layer.d/VkLayer_warmpipe.json",
               "{\"layer\": {");
    expect(findings({}, 1), "manifest", "is not a manifest that the loader can read");
}

TEST_F(DoctorManifest, ALibraryThatCannotBeLoadedIsAProblem)
{
    std::string other = std::string("\177ELF\1\1\1", 7) + std::string(64, '\0');
    if (sizeof(void *) == 4) {
        other[4] = 2;
    }
    for (const auto &[content, finding] :
         std::map<std::string, std::string>{{"", "names a library that cannot be loaded: "},
                                            {"garbage", "names a library that cannot be loaded: "},
                                            {other, "-bit programs; this one is "}}) {
        put_manifest("VkLayer_warmpipe.json", put_library("lib.so", content));
        expect(findings({}, 1), "manifest", finding);
    }
    put_manifest("VkLayer_warmpipe.json", TEST_ICD_LIBRARY);
    expect(findings({}, 1), "manifest", "it is not a Vulkan layer");
}

TEST_F(DoctorManifest, OfTwoCopiesOneIsShadowed)
{
    const std::string library = read_file(WARMPIPE_LIBRARY);
    put_manifest("a.json", put_library("first.so", library), true);
    put_manifest("b.json", put_library("second.so", library));
    auto found = findings({}, 1);
    expect(found, "manifest",
           "problem: two copies of the layer: " + folder.path + "/first.so is used, " +
               folder.path + "/second.so is not");
}

TEST_F(Doctor, TheLastLineCounts)
{
    auto last = [&](const Environment &more) {
        return lines_of(run_tool({"doctor"}, environment(more)).out).back();
    };
    EXPECT_EQ(last({}), in_container ? "1 problem, 2 notes" : "no problems, 2 notes");
    EXPECT_EQ(last({{"WARMPIPE_DISABLE", ""}, {"WARMPIPE_REDONLY", "1"}}),
              in_container ? "2 problems, 3 notes" : "1 problem, 3 notes");
    json document = json::parse(run_tool({"doctor", "--json"}, environment()).out);
    EXPECT_EQ(document["problems"], healthy);
    EXPECT_EQ(document["notes"], 2);
}

TEST_F(Doctor, APlaceThatCannotBeWrittenIsAProblem)
{
    expect(findings({{"WARMPIPE_DIR", "/dev/null/cache"}}, 1), "directory",
           "/dev/null/cache cannot be");
    Environment nowhere = environment();
    nowhere.erase("WARMPIPE_DIR");
    nowhere.erase("HOME");
    ToolResult result = run_tool({"doctor"}, nowhere);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.out, "(no_directory)"));
}

// Root made the image, and a user of another number runs the program in it.
TEST_F(Doctor, WhatTheUserCannotReadIsAProblem)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    const std::string app = folder.path + "/root/app";
    const std::string tool = folder.path + "/warmpipe";
    std::filesystem::create_directories(app);
    std::filesystem::copy_file(WARMPIPE_TOOL, tool);
    chmod(folder.path.c_str(), 0755);
    auto doctor = [&](mode_t of_root, mode_t of_app) {
        chmod((folder.path + "/root").c_str(), of_root);
        chmod(app.c_str(), of_app);
        return run_program({"/usr/bin/setpriv", "--reuid=54321", "--regid=54321", "--clear-groups",
                            tool, "doctor"},
                           environment({{"WARMPIPE_READONLY", "1"}}))
            .out;
    };
    const std::string advice = "chmod -R a+rX";
    EXPECT_TRUE(contains(doctor(0755, 0700), "/root/app' cannot be read"));
    EXPECT_TRUE(contains(doctor(0755, 0700), advice));
    EXPECT_TRUE(contains(doctor(0700, 0755), "/root cannot be read")) << doctor(0700, 0755);
    EXPECT_TRUE(contains(doctor(0700, 0755), advice));
    EXPECT_FALSE(contains(doctor(0755, 0755), advice));
}

TEST_F(Doctor, DamageInTheCachesIsAProblem)
{
    const std::string app = folder.path + "/root/app";
    std::filesystem::create_directories(app);
    chmod(app.c_str(), 0700);
    const std::string file = app + "/" + hex_of(sample_identity()) + ".wpcache";
    const std::string whole = make_file(make_blob("x"));
    for (const std::string &content : {std::string("damaged"), flipped(whole, whole.size() - 1)}) {
        write_file(file, content);
        chmod(file.c_str(), 0600);
        expect(findings({}, 1), "cache", "problem: 'app'");
    }
    write_file(file, whole);
    expect(findings({}, healthy), "cache", "ok: 1 usable");
}

TEST_F(Doctor, TextAndJsonAgree)
{
    std::string text = run_tool({"doctor"}, environment()).out;
    json document = json::parse(run_tool({"doctor", "--json"}, environment()).out);
    // Other programs come and go between the two.
    const auto others = [](const std::vector<std::string> &lines) {
        return 2 * std::count_if(lines.begin(), lines.end(), [](const std::string &line) {
                   return line.rfind("program ", 0) == 0;
               });
    };
    long lines = others(lines_of(text));
    for (const json &finding : document["findings"]) {
        if (finding["check"] == "program") {
            continue;
        }
        lines += 1 + static_cast<long>(finding.count("advice"));
        if (finding["check"] != "driver_cache" && finding["check"] != "space") { // times, bytes
            EXPECT_TRUE(contains(text, finding["finding"])) << finding;
        }
        if (finding.contains("advice")) {
            EXPECT_TRUE(contains(text, finding["advice"])) << finding;
        }
    }
    EXPECT_EQ(static_cast<long>(lines_of(text).size()), lines + 1) << "and the line that counts";
}

} // namespace
