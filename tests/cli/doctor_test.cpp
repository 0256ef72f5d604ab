// SPDX-License-Identifier: Apache-2.0
// warmpipe doctor, with the test driver below: what it finds, and what it makes of it.
#include <algorithm>

#include "doctor_fixture.h"

namespace {

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
    expect(findings({{"XDG_DATA_HOME", share}}, healthy), "layer",
           "do not get the layer; start them with 'warmpipe run --', or set WARMPIPE_ENABLE=1");
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

TEST_F(Doctor, TheLastLineCounts)
{
    // Programs that run beside this one, of other tests or of the user, may be told of.
    const auto expect_last = [&](const Environment &more, int problems, int notes) {
        const std::vector<std::string> lines =
            lines_of(run_tool({"doctor"}, environment(more)).out);
        for (const std::string &line : lines) {
            const bool is_of_others = line.rfind("program ", 0) == 0;
            problems += is_of_others && contains(line, " problem ");
            notes += is_of_others && contains(line, " note ");
        }
        const std::string count = problems == 0 ? "no" : std::to_string(problems);
        EXPECT_EQ(lines.back(), count + (problems == 1 ? " problem, " : " problems, ") +
                                    std::to_string(notes) + " notes");
    };
    expect_last({}, in_container ? 1 : 0, 2);
    expect_last({{"WARMPIPE_DISABLE", ""}, {"WARMPIPE_REDONLY", "1"}}, in_container ? 2 : 1, 3);
    json document = json::parse(run_tool({"doctor", "--json"}, environment()).out);
    std::map<std::string, int> told;
    for (const json &finding : document["findings"]) {
        told[finding["verdict"]]++;
    }
    EXPECT_EQ(document["problems"], told["problem"]);
    EXPECT_EQ(document["notes"], told["note"]);
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
    chmod(folder.path.c_str(), 0755);
    auto doctor = [&](mode_t of_root, mode_t of_app) {
        chmod((folder.path + "/root").c_str(), of_root);
        chmod(app.c_str(), of_app);
        return run_tool_as_another(tool, {"doctor"}, environment({{"WARMPIPE_READONLY", "1"}})).out;
    };
    const std::string advice = "chmod -R a+rX";
    // Below a home of another user nobody else should be let in.
    chmod(folder.path.c_str(), 0755);
    std::filesystem::create_directories(folder.path + "/root/home");
    const auto away = [&](const std::string &home) {
        chmod((folder.path + "/root").c_str(), 0700);
        return run_tool_as_another(tool, {"doctor"},
                                   environment({{"HOME", home}, {"WARMPIPE_DIR", ""}}))
            .out;
    };
    for (const std::string &home : {folder.path + "/root/home", folder.path + "/none"}) {
        const std::string out = away(home);
        EXPECT_TRUE(contains(out, "HOME (a folder that can be reached;")) << out;
        EXPECT_TRUE(contains(out, "set WARMPIPE_DIR")) << out;
        EXPECT_FALSE(contains(out, advice)) << out;
    }
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
    std::string part = file;
    part.replace(part.rfind(".wpcache"), std::string::npos, ".0123456789abcdef.part");
    write_file(part, whole);
    chmod(part.c_str(), 0600);
    expect(findings({}, healthy), "cache",
           "note: 'app': 1 save lies beside the cache, not loaded; 'warmpipe warm --app app'");
}

// A phone's terminal: what is found begins at the left.
TEST_F(Doctor, ANarrowTerminalGetsLinesOfTheirOwn)
{
    Environment variables = environment({{"tool", WARMPIPE_TOOL}});
    const std::string out =
        run_program(
            {"/bin/bash", "-c", "script -qec 'stty cols 40; $tool doctor' /dev/null < /dev/null"},
            variables)
            .out;
    EXPECT_TRUE(contains(out, "layer  note\r\n  programs started from here do not get the layer\r\n"
                              "  start them with"))
        << out;
}

TEST_F(Doctor, TextAndJsonAgree)
{
    std::string text = run_tool({"doctor"}, environment()).out;
    for (const char *row : {"device                ok       ", "layer                 note     "}) {
        EXPECT_TRUE(contains(text, row)) << text;
    }
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
