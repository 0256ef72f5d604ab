// SPDX-License-Identifier: Apache-2.0
// What inspect and verify say of recipe files.
#include <algorithm>
#include <set>
#include <sys/stat.h>

#include "recipe_files.h"

namespace {

TEST_F(RecipeFiles, InspectCountsAndLists)
{
    write(a);
    write(b);
    EXPECT_EQ(tool({"export", file}).exit_status, 0);
    const json inspected = report({"inspect", "-v", file});
    EXPECT_EQ(inspected["verdict"], "ok");
    EXPECT_EQ(inspected["sealed"], true);
    EXPECT_EQ(inspected["pipelines"], 2);
    EXPECT_EQ(inspected["modules"]["count"], 2);
    EXPECT_EQ(inspected["modules"]["size"], a.code.size() + b.code.size());
    EXPECT_EQ(inspected["forms"]["count"], 6) << "layouts are shared";
    ASSERT_EQ(inspected["uses"].size(), 2u);
    EXPECT_EQ(inspected["uses"][0]["kind"], "compute");
    EXPECT_EQ(inspected["uses"][0]["compile_us"], 100);
    std::set<std::string> modules;
    for (const json &row : inspected["code"]) {
        modules.insert(row["module"]);
    }
    EXPECT_EQ(modules, (std::set<std::string>{hex(a.code), hex(b.code)}));

    std::string content = read_file(file);
    content[32 + 32 + 8] ^= 1;
    write_file(file, content);
    EXPECT_EQ(report({"inspect", file}, 1)["damaged_records"], 1);
    content[8] = 9;
    write_file(file + ".wprecipes", content);
    EXPECT_EQ(report({"inspect", file + ".wprecipes"}, 1)["verdict"], "damaged");
}

// Zeros would say that there are none.
TEST_F(RecipeFiles, ListAndStatsTellOfRecipesThatCannotBeRead)
{
    write(a);
    write_file(root + "/app/program.json", R"({"format":1,"since":1700000000,"requests":1})");
    chmod((root + "/app/program.json").c_str(), 0600);
    const std::string segment = segments().at(0);
    const std::vector<std::tuple<std::string, unsigned, std::string>> cases = {
        {segment, 0666, "file_mode"}, {root + "/app/recipes", 0777, "directory_mode"}};
    for (const auto &[path, mode, reason] : cases) {
        const std::filesystem::perms before = std::filesystem::status(path).permissions();
        chmod(path.c_str(), mode);
        for (const char *verb : {"list", "stats"}) {
            const ToolResult result = tool({verb});
            EXPECT_EQ(result.exit_status, 1) << verb;
            EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
            EXPECT_TRUE(contains(result.err, "recipes of 'app'")) << result.err;
            EXPECT_TRUE(contains(result.err, "(" + reason + ")")) << result.err;
        }
        std::filesystem::permissions(path, before);
    }
    EXPECT_EQ(report({"list"})["programs"][0]["pipelines"], 1);
}

// "No recipes yet" would be wrong, and a finding is not clean.
TEST_F(RecipeFiles, WarmAndExportTellOfRecipesThatCannotBeRead)
{
    write(a);
    chmod(segments().at(0).c_str(), 0666);
    const ToolResult warmed = tool({"warm"});
    EXPECT_EQ(warmed.exit_status, 1);
    EXPECT_TRUE(contains(warmed.err, "warm: recipes of 'app': ")) << warmed.err;
    EXPECT_TRUE(contains(warmed.err, "(file_mode)")) << warmed.err;
    EXPECT_FALSE(contains(warmed.err, "no recipes")) << warmed.err;
    const ToolResult exported = tool({"export", "-"});
    EXPECT_EQ(exported.exit_status, 2);
    EXPECT_TRUE(contains(exported.err, "no recipes of 'app' that can be read")) << exported.err;
}

TEST_F(RecipeFiles, InspectShowsAPipelineAndItsCode)
{
    write(a);
    const std::string path = segments().at(0);
    const json fields = report({"inspect", "--pipeline", hex(a.form), path});
    EXPECT_EQ(fields["stage.pName"], "main");
    EXPECT_EQ(fields["stage.stage"], "VK_SHADER_STAGE_COMPUTE_BIT");
    EXPECT_EQ(fields["stage.module"], hex(a.module));
    EXPECT_EQ(fields["layout"], hex(a.layout));
    EXPECT_EQ(report({"inspect", "--pipeline", hex(a.layout), path})["pSetLayouts[0]"],
              hex(a.set_layout));
    const json set_layout = report({"inspect", "--pipeline", hex(a.set_layout), path});
    EXPECT_EQ(set_layout["pBindings[0].descriptorType"], "VK_DESCRIPTOR_TYPE_STORAGE_BUFFER");
    EXPECT_EQ(set_layout["pBindings[0].stageFlags"], "VK_SHADER_STAGE_COMPUTE_BIT");
    const auto lines = lines_of(tool({"inspect", "--pipeline", hex(a.set_layout), path}).out);
    EXPECT_EQ(lines.size(), set_layout.size() + 1);
    EXPECT_EQ(lines.at(0).find("value"), lines.at(1).find("0x0")) << "one below the other";
    EXPECT_EQ(report({"inspect", "--pipeline", hex(a.module), path})["pCode"], hex(a.code));
    for (const std::string &digest : {hex(a.code), hex(a.module)}) {
        ToolResult result = tool({"inspect", "--spirv", digest, path});
        EXPECT_EQ(result.exit_status, 0);
        EXPECT_TRUE(contains(result.out, "OpEntryPoint GLCompute")) << result.out;
    }
    auto refused = [&](const std::vector<std::string> &words, const std::string &why) {
        std::vector<std::string> all = {"inspect", path};
        all.insert(all.end(), words.begin(), words.end());
        const ToolResult result = tool(all);
        EXPECT_EQ(result.exit_status, 2);
        EXPECT_EQ(result.out, "");
        EXPECT_TRUE(contains(result.err, why)) << result.err;
    };
    const std::string none = hex("none");
    refused({"--spirv", none}, "no SPIR-V '" + none + "' is in this file");
    refused({"--spirv", hex(a.form)}, "no SPIR-V");
    refused({"--pipeline", hex(a.code)}, "no object '" + hex(a.code) + "' is in this file");
    for (const std::string &word : {std::string("short"), hex(a.code) + "0"}) {
        refused({"--spirv", word}, "'" + word + "' is neither a digest nor the beginning of one");
    }
    refused({"--spirv", hex(a.code), "--pipeline", hex(a.form)}, "exclude each other");
}

TEST_F(RecipeFiles, ADigestMayBeShortened)
{
    write(a);
    write(b);
    ASSERT_EQ(tool({"export", "--app", "app", file}).exit_status, 0);
    const json fields = report({"inspect", "--pipeline", hex(a.form).substr(0, 12), file});
    EXPECT_EQ(fields["layout"], hex(a.layout));
    for (const std::string &digest : {hex(a.code), hex(a.module)}) {
        const ToolResult result = tool({"inspect", "--spirv", digest.substr(0, 12), file});
        EXPECT_EQ(result.exit_status, 0) << result.err;
        EXPECT_TRUE(contains(result.out, "OpEntryPoint GLCompute")) << result.out;
    }
    std::set<std::string> digests;
    for (const SamplePipeline &sample : {a, b}) {
        for (const std::string &data :
             {sample.form, sample.set_layout, sample.layout, sample.module}) {
            digests.insert(hex(data));
        }
    }
    const auto neighbours =
        std::adjacent_find(digests.begin(), digests.end(),
                           [](const auto &one, const auto &other) { return one[0] == other[0]; });
    if (neighbours != digests.end()) {
        const ToolResult result = tool({"inspect", "--pipeline", neighbours->substr(0, 1), file});
        EXPECT_EQ(result.exit_status, 2);
        EXPECT_TRUE(contains(result.err, "more than one object begins with")) << result.err;
    }
    const ToolResult none = tool({"inspect", "--pipeline", hex("none").substr(0, 12), file});
    EXPECT_EQ(none.exit_status, 2);
    EXPECT_TRUE(contains(none.err, "no object '" + hex("none").substr(0, 12) + "'")) << none.err;
}

TEST_F(RecipeFiles, VerifyChecksRecordsReferencesAndCode)
{
    write(a);
    const std::string path = segments().at(0);
    EXPECT_EQ(tool({"verify", root}).out, "ok                    " + path + "\n");

    std::string content = read_file(path);
    content[32 + 32 + 8] ^= 1;
    write_file(path, content);
    EXPECT_TRUE(contains(tool({"verify", root}).out, "bad_record"));
    EXPECT_EQ(tool({"verify", root}).exit_status, 1);

    Batch invalid;
    put_pipeline(invalid, b);
    invalid.put(RECIPE_CODE, "0123");
    ship(invalid);
    EXPECT_EQ(report({"verify", file}, 1)["files"][0]["reason"], "refused_record");

    Batch incomplete;
    incomplete.put(RECIPE_FORM, b.form).put(RECIPE_ENVIRONMENT, sample_environment);
    incomplete.use(b.form, sample_environment, today());
    ship(incomplete);
    EXPECT_EQ(report({"verify", file}, 1)["files"][0]["reason"], "incomplete_recipe");
}

TEST_F(RecipeFiles, VerifyFindsInOneSegmentWhatAnotherHas)
{
    Batch objects;
    put_objects(objects, a);
    write_batch(objects, "app");
    Batch use;
    use.use(a.form, sample_environment, today());
    write_batch(use, "app");
    const json verified = report({"verify", root});
    ASSERT_EQ(verified["files"].size(), 2u);
    EXPECT_EQ(verified["files"][0]["reason"], "ok");
    EXPECT_EQ(verified["files"][1]["reason"], "ok");
}

// All that lie in a folder are read once, and what is wrong is told of the file that has it.
TEST_F(RecipeFiles, VerifyNamesOfManySegmentsThoseThatAreDamaged)
{
    for (uint32_t i = 0; i < 20; i++) {
        write(Samples::pipeline(i));
    }
    Batch refused;
    refused.put(RECIPE_CODE, "0123");
    write_batch(refused, "app");
    const std::vector<std::string> paths = segments();
    std::string damaged;
    std::string unfit;
    for (const std::string &path : paths) {
        std::string content = read_file(path);
        const size_t at = content.find(Samples::pipeline(7).code);
        if (at != std::string::npos) {
            damaged = path;
            content[at + 20] ^= 1;
            write_file(path, content);
        } else if (content.find("0123") != std::string::npos) {
            unfit = path;
        }
    }
    const json files = report({"verify", "-v", root}, 1)["files"];
    ASSERT_EQ(files.size(), paths.size());
    for (const json &row : files) {
        const std::string path = row["path"];
        const bool is_damaged = path == damaged;
        const bool is_unfit = path == unfit;
        EXPECT_EQ(row["reason"], is_damaged ? "bad_record" : is_unfit ? "refused_record" : "ok");
        EXPECT_EQ(row["damaged_records"], is_damaged ? 1 : 0);
        EXPECT_EQ(row["refused_records"], is_unfit ? 1 : 0);
        EXPECT_EQ(row["incomplete_pipelines"], is_damaged ? 1 : 0);
        EXPECT_EQ(row["pipelines"], is_damaged || is_unfit ? 0 : 1);
    }
}

// It judges the file that is named, not those beside it.
TEST_F(RecipeFiles, VerifyOfOneFileTellsOfThatAlone)
{
    write(a);
    const std::string whole = segments().at(0);
    write_file(root + "/app/recipes/0000000000000000.wprecipes", std::string(4096, 'x'));
    const json files = report({"verify", whole})["files"];
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files[0]["reason"], "ok");
}

// Recipes come from elsewhere: what stands in their code must not steer a terminal.
TEST_F(RecipeFiles, TextInSpirvIsShownReadably)
{
    SamplePipeline sample = a;
    memcpy(&sample.code[sizeof(uint32_t) * 23], "\x1b[2J", 4); /* the text of OpString */
    Samples::encode_again(sample);
    write(sample);
    const std::vector<std::string> words = {"inspect", "--spirv", hex(sample.code),
                                            segments().at(0)};
    const ToolResult result = tool(words);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.out, "OpString \"\\x1b[2J")) << result.out;
    EXPECT_FALSE(contains(result.out, "\x1b")) << result.out;
    EXPECT_TRUE(contains(report(words)["spirv"], "\x1b[2J"));
}

// Whoever asked for a document gets one, whatever stands in the file.
TEST_F(RecipeFiles, CodeThatIsNoSpirvIsAFindingInJsonToo)
{
    SamplePipeline sample = a;
    sample.code[0] ^= 1; // the magic number
    Samples::encode_again(sample);
    write(sample);
    const std::vector<std::string> words = {"inspect", "--spirv", hex(sample.code),
                                            segments().at(0)};
    const ToolResult result = tool(words);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ("warmpipe: " + std::string(report(words, 1)["error"]) + "\n", result.err);
}

// It shows what could be read, and says in the document that this is not all.
TEST_F(RecipeFiles, AFormThatEndsEarlyIsAFindingInJsonToo)
{
    SamplePipeline sample = a;
    sample.form.pop_back();
    write(sample);
    const std::vector<std::string> words = {"inspect", "--pipeline", hex(sample.form),
                                            segments().at(0)};
    const std::string error = report(words, 1).value("error", "");
    EXPECT_EQ(error, "inspect: the form " + hex(sample.form) + " is malformed");
    EXPECT_EQ(tool(words).err, "warmpipe: " + error + "\n");
}

} // namespace
