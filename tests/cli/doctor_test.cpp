// warmpipe doctor, with the test driver below: what it finds, and what it makes of it.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "tool.h"

namespace {

using json = nlohmann::json;

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
    auto found = findings({}, 0);
    expect(found, "loader", "ok: libvulkan.so.1, version 1.");
    expect(found, "manifest", "note: the loader finds no manifest");
    expect(found, "layer", "note: programs started from here do not get the layer");
    expect(found, "run", "libVkLayer_warmpipe.so");
    expect(found, "device", "Warmpipe test device");
    expect(found, "policy", "ok: rule default");
    expect(found, "driver_cache", "a hit");
    expect(found, "layer_cache", "ok: under the layer the second start is warm");
    expect(found, "directory", "which the first save makes");
    EXPECT_TRUE(names_in(folder.path).empty()) << "nothing is left behind";
}

TEST_F(Doctor, FindsTheLayerWhereItIsInstalled)
{
    const std::string share = std::filesystem::canonical(WARMPIPE_BUILD_DIR).string() + "/share";
    auto found = findings({{"XDG_DATA_HOME", share}, {"WARMPIPE_ENABLE", "1"}}, 0);
    expect(found, "manifest", "VkLayer_warmpipe.json, implicit");
    expect(found, "manifest", "VkLayer_warmpipe.json, explicit");
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
    EXPECT_EQ(found.count("manifest"), 1u);
    expect(found, "manifest", "problem: ");
    expect(found, "manifest", "gone/lib.so");
}

TEST_F(Doctor, ADriverWhoseCacheIsEmptyIsNoProblemOfOurs)
{
    expect(findings({{"WPTEST_ICD_DATA", "header"}}, 0), "driver_cache", "note: ");
}

TEST_F(Doctor, ADriverThatDiesOfItsOwnDataIsTold)
{
    auto found = findings({{"WPTEST_ICD_CACHE_CREATE", "abort_data"}}, 1);
    expect(found, "driver_cache", "dies");
    EXPECT_EQ(found.count("layer_cache"), 0u);
    EXPECT_EQ(found.count("directory"), 1u) << "the rest is looked at";
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
    expect(found, "variable", "the nearest that does is WARMPIPE_READONLY");
    expect(found, "variable", "ok: VK_DRIVER_FILES=");
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
    expect(findings({}, 0), "cache", "ok: 1 usable");
}

TEST_F(Doctor, TextAndJsonAgree)
{
    std::string text = run_tool({"doctor"}, environment()).out;
    json document = json::parse(run_tool({"doctor", "--json"}, environment()).out);
    size_t lines = 0;
    for (const json &finding : document["findings"]) {
        lines += 1 + finding.count("advice");
        if (finding["check"] != "driver_cache" && finding["check"] != "space") { // times, bytes
            EXPECT_TRUE(contains(text, finding["finding"])) << finding;
        }
        if (finding.contains("advice")) {
            EXPECT_TRUE(contains(text, finding["advice"])) << finding;
        }
    }
    EXPECT_EQ(lines_of(text).size(), lines);
}

} // namespace
