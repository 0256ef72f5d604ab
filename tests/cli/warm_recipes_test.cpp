// SPDX-License-Identifier: Apache-2.0
// Which recipes warmpipe warm replays: a program's own, those of folders and files, those of
// others.
#include "recipe_samples.h"
#include "warm_fixture.h"

namespace {

// Of an earlier version of the program, say.
TEST_F(Warm, WhatWasImportedBesideACacheIsCompiled)
{
    record();
    const std::string recipes = folder.path + "/recipes.wprecipes";
    EXPECT_EQ(run_tool({"export", recipes}, environment()).exit_status, 0);
    std::filesystem::remove_all(root);
    run_client({}, {"--compute", "2", "--graphics", "0"});
    EXPECT_EQ(run_tool({"import", "--dry-run", recipes}, environment()).exit_status, 0);
    EXPECT_EQ(caches({}).at(0)["state"], "ready") << "nothing was taken in";
    EXPECT_EQ(run_tool({"import", recipes}, environment()).exit_status, 0);
    EXPECT_EQ(caches({}).at(0)["state"], "warmed");
    EXPECT_EQ(caches({}).at(0)["state"], "ready");
    EXPECT_EQ(run_client()["pipelines"]["driver_hits"], PIPELINES);
    EXPECT_EQ(run_tool({"import", recipes}, environment()).exit_status, 0);
    EXPECT_EQ(caches({}).at(0)["state"], "ready") << "nothing was new";
}

TEST_F(Warm, ADamagedRecipeIsAFinding)
{
    record();
    const std::string recipes = root + "/program/recipes/";
    const std::string segment = recipes + names_in(recipes, ".wprecipes").at(0);
    write_file(segment, flipped(read_file(segment), 32 + 32 + 8)); // the SPIR-V of the first one
    json cache = caches({}, {}, 1).at(0);
    EXPECT_EQ(cache["missing"], 1);
    EXPECT_EQ(cache["compiled"], PIPELINES - 1);
}

TEST_F(Warm, RecipesFromElsewhere)
{
    record();
    std::filesystem::create_directory(folder.path + "/given");
    for (const auto &entry : std::filesystem::directory_iterator(root + "/program/recipes")) {
        std::filesystem::copy(entry.path(), folder.path + "/given");
    }
    json cache = caches({"--app", "guest", folder.path + "/given"}).at(0);
    EXPECT_EQ(cache["name"], "guest");
    EXPECT_EQ(cache["state"], "warmed");
    EXPECT_EQ(cache["compiled"], PIPELINES);
    const std::string image = folder.path + "/image/cache";
    caches({"--app", "guest", "--dir", image, folder.path + "/given"});
    EXPECT_EQ(names_in(image + "/guest", ".wpcache").size(), 1u);
    EXPECT_EQ(warm({folder.path + "/given"}).exit_status, 2) << "whose are they?";
    EXPECT_EQ(warm({"--app", "guest", folder.path + "/nowhere"}).exit_status, 2);
}

// What a program there has never saved says nothing of the cache here.
TEST_F(Warm, RecipesOfAKilledProgramFromElsewhere)
{
    run_client({}, {"--compute", "6", "--graphics", "0"});
    run_client_until_killed();
    const std::string recipes = root + "/program/recipes";
    EXPECT_EQ(caches({"--app", "guest", recipes}).at(0)["compiled"], PIPELINES);
    EXPECT_EQ(names_in(root + "/guest/recipes", ".wprecipes").size(), 0u) << "without the forms";
    EXPECT_EQ(caches({"--app", "guest", recipes}).at(0)["state"], "ready");
}

TEST_F(Warm, AProgramsFolderWhereverItIs)
{
    record();
    const std::string elsewhere = folder.path + "/elsewhere";
    std::filesystem::rename(root, elsewhere);
    json cache = caches({elsewhere + "/program/"}).at(0);
    EXPECT_EQ(cache["name"], "program");
    EXPECT_EQ(cache["state"], "warmed");
    EXPECT_EQ(cache["compiled"], PIPELINES);
    EXPECT_EQ(caches({elsewhere + "/program/recipes"}).at(0)["state"], "ready");
    EXPECT_FALSE(std::filesystem::exists(root));
    EXPECT_EQ(warm({elsewhere}).exit_status, 2);
}

// A folder without any, a program whose recipes are gone.
TEST_F(Warm, SaysThatThereAreNoRecipes)
{
    record();
    const std::string recipes = root + "/program/recipes";
    const std::string empty = folder.path + "/empty";
    std::filesystem::create_directory(empty);
    const ToolResult result = warm({"--app", "guest", empty});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(result.err, "warmpipe: warm: nothing to do: no pipelines in '" + empty + "'\n");
    std::filesystem::remove_all(recipes);
    EXPECT_EQ(warm({}).err, "warmpipe: warm: nothing to do: no recipes in '" + root + "' yet\n");
    EXPECT_EQ(run_tool({"prune"}, environment()).err,
              "warmpipe: prune: no recipes in '" + root + "'\n");
    EXPECT_EQ(warm({"/nowhere"}).err,
              "warmpipe: warm: cannot open '/nowhere': No such file or directory\n");
}

// The uses stand last: mostly nothing is left. A segment of a killed program may rightly end so.
TEST_F(Warm, AFileThatWasCutIsToldAsSuch)
{
    record();
    const std::string recipes = root + "/program/recipes";
    const std::string whole = folder.path + "/whole";
    const std::string cut = folder.path + "/cut";
    ASSERT_EQ(run_tool({"export", whole}, environment()).exit_status, 0);
    const std::string told = "warmpipe: warm: '" + cut +
                             "' ends too early: it was cut or not wholly copied (truncated)\n";
    write_file(cut, read_file(whole).substr(0, 2000));
    const ToolResult nothing = warm({"--app", "guest", cut});
    EXPECT_EQ(nothing.exit_status, 2) << nothing.out;
    EXPECT_EQ(nothing.err, told);
    EXPECT_EQ(warm({"--app", "guest", whole, cut, "-n"}).exit_status, 1) << "the rest is replayed";
    write_file(cut, read_file(whole).substr(0, read_file(whole).size() - 8));
    const ToolResult end = warm({"--app", "guest", cut});
    EXPECT_EQ(end.exit_status, 1) << "only the index is missing";
    EXPECT_TRUE(contains(end.err, told)) << end.err;
    const std::string torn = folder.path + "/torn";
    std::filesystem::copy(recipes, torn);
    const std::string segment = torn + "/" + names_in(torn, ".wprecipes").at(0);
    write_file(segment, read_file(segment) + std::string(16, '\0'));
    EXPECT_EQ(warm({"--app", "other", torn}).exit_status, 0);
}

// Its code is not valid (it needs another capability), though every digest is right, and all that
// the layer itself can see.
TEST_F(Warm, CodeOfOthersIsValidated)
{
    SamplePipeline invalid = Samples::pipeline(1);
    invalid.code[4 * 6] = 0; // OpCapability Matrix
    Samples::encode_again(invalid);
    Batch batch;
    put_pipeline(batch, invalid);
    Writer writer(root);
    EXPECT_EQ(writer.append(batch), STATUS_ok);
    writer.close();
    EXPECT_EQ(caches({"--app", "app"}).at(0)["compiled"], 1) << "what was recorded here is trusted";
    json cache = caches({"--app", "guest", root + "/app/recipes"}).at(0);
    EXPECT_EQ(cache["compiled"], 0);
    EXPECT_EQ(cache["invalid"], 1);
    EXPECT_EQ(cache["state"], "nothing");
}

#ifndef WARMPIPE_SANITIZED

// Memory that runs out in a validation is no crash of the driver, and one process alone writes the
// document.
TEST_F(Warm, CodeOfOthersThatMemoryLacksForIsNotBlamed)
{
    const SamplePipeline large = Samples::costly_to_validate();
    Batch batch;
    put_pipeline(batch, large);
    Writer writer(root);
    EXPECT_EQ(writer.append(batch), STATUS_ok);
    writer.close();
    size_t lacking = 0;
    for (int kib = 65536; kib > 8192; kib -= kib / 8) {
        const ToolResult result = run_program(
            {"/bin/bash", "-c",
             "ulimit -v " + std::to_string(kib) +
                 "; exec \"$tool\" warm --json --jobs 1 --app guest " + root + "/app/recipes"},
            environment({{"tool", WARMPIPE_TOOL}}));
        const json document = json::parse(result.out, nullptr, false);
        if (!document.is_object() && !contains(result.err, ": out of memory\n")) {
            break; // too little for any program
        }
        ASSERT_TRUE(document.is_object()) << kib << ": " << result.out << result.err;
        for (const json &cache : document.value("caches", json::array())) {
            EXPECT_EQ(cache["crashed"], 0) << kib << ": " << result.err;
            lacking += cache["no_memory"] == 1;
        }
        std::filesystem::remove_all(root + "/guest");
    }
    EXPECT_GT(lacking, 0u);
}

#endif

} // namespace
