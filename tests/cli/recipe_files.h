// SPDX-License-Identifier: Apache-2.0
// Programs with recipes, and the tool that is asked for them.
#ifndef RECIPE_FILES_H
#define RECIPE_FILES_H

#include <nlohmann/json.hpp>

#include "recipe_samples.h"
#include "tool.h"

using json = nlohmann::json;

class RecipeFiles : public testing::Test {
  protected:
    const SamplePipeline a = Samples::pipeline(1);
    const SamplePipeline b = Samples::pipeline(2, 2000);
    TemporaryFolder folder;
    std::string root = folder.path + "/root";
    std::string file = folder.path + "/recipes.file";

    static uint32_t today()
    {
        return static_cast<uint32_t>(time(nullptr) / 86400);
    }

    void write_batch(const Batch &batch, const char *app)
    {
        recipe_writer *writer = recipe_writer_new(root.c_str(), app, 1 << 30, 0);
        ASSERT_EQ(recipe_writer_append(writer, &batch.bytes), STATUS_ok);
        recipe_writer_close(writer, true);
    }

    // A segment of one pipeline.
    void write(const SamplePipeline &sample, const char *app = "app", uint32_t age = 0,
               uint32_t days = 1)
    {
        Batch batch;
        put_pipeline(batch, sample, today() - age, days);
        write_batch(batch, app);
    }

    // A file of recipes for itself, as somebody else would ship it.
    void ship(const Batch &batch)
    {
        struct bytes bytes = {};
        recipe_put_header(&bytes);
        write_file(file, text_of(bytes) + text_of(batch.bytes));
        bytes_free(&bytes);
    }

    ToolResult tool(std::vector<std::string> words)
    {
        std::filesystem::create_directories(root);
        return run_tool(std::move(words), {{"WARMPIPE_DIR", root}});
    }

    json report(std::vector<std::string> words, int status = 0)
    {
        words.push_back("--json");
        ToolResult result = tool(std::move(words));
        EXPECT_EQ(result.exit_status, status) << result.err;
        return json::parse(result.out);
    }

    // Whether the program's recipes hold the pipeline, with its code.
    bool has(const SamplePipeline &sample, const char *app = "app")
    {
        recipes *recipes = nullptr;
        if (recipes_open(root.c_str(), app, RECIPES_READ, &recipes) != STATUS_ok) {
            return false;
        }
        const bool has = recipes_have(recipes, RECIPE_FORM, digest_of(sample.form)) &&
                         recipes_have(recipes, RECIPE_CODE, digest_of(sample.code)) &&
                         find_use(recipes, digest_of(sample.form), digest_of(sample_environment));
        recipes_close(recipes);
        return has;
    }

    static std::string hex(const std::string &data)
    {
        char text[DIGEST_HEX_SIZE];
        digest_format(digest_of(data), text);
        return text;
    }

    std::vector<std::string> segments(const std::string &app = "app")
    {
        std::vector<std::string> paths;
        for (const std::string &name : names_in(root + "/" + app + "/recipes", ".wprecipes")) {
            paths.push_back(root + "/" + app + "/recipes/" + name);
        }
        return paths;
    }
};

#endif
