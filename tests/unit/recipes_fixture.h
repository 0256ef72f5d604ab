// SPDX-License-Identifier: Apache-2.0
// What the tests of recipes share: small records, written and read back.
#ifndef WARMPIPE_TESTS_UNIT_RECIPES_FIXTURE_H
#define WARMPIPE_TESTS_UNIT_RECIPES_FIXTURE_H

#include <memory>
#include <optional>
#include <string>

#include <csignal>
#include <sys/wait.h>

#include "coverage.h"
#include "disk_fixture.h"
#include "scratch.h"

extern "C" {
#include "common/recipes/recipes.h"
#include "common/recipes/segment.h"
}

inline bool operator==(const digest &a, const digest &b)
{
    return digest_equal(a, b);
}

inline digest digest_of(const std::string &text)
{
    return digest_of(text.data(), text.size());
}

inline std::string text_of(const struct bytes &bytes)
{
    return std::string(reinterpret_cast<const char *>(bytes.data), bytes.size);
}

inline const uint8_t *bytes_of(const std::string &text)
{
    return reinterpret_cast<const uint8_t *>(text.data());
}

// Runs it in a process of its own; its exit status, 128 + number for a signal.
template <typename Body> int in_child(Body body)
{
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        body();
        end_child(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// A batch of records, freed with it.
class Batch {
  public:
    Batch() = default;
    Batch(const Batch &) = delete;
    Batch &operator=(const Batch &) = delete;
    ~Batch()
    {
        bytes_free(&bytes);
    }

    Batch &put(recipe_kind kind, const std::string &data)
    {
        recipe_put_record(&bytes, kind, digest_of(data), data.data(), data.size());
        return *this;
    }

    Batch &use(const std::string &pipeline, const std::string &environment, uint32_t last_day,
               uint16_t days = 1, uint32_t compile_us = 0, uint16_t inline_stages = 0)
    {
        const recipe_use use = {digest_of(pipeline),
                                digest_of(environment),
                                last_day,
                                days,
                                inline_stages,
                                compile_us,
                                false,
                                false};
        recipe_put_use(&bytes, &use);
        return *this;
    }

    struct bytes bytes = {};
};

struct CloseRecipes {
    void operator()(recipes *recipes) const
    {
        recipes_close(recipes);
    }
};
using Recipes = std::unique_ptr<recipes, CloseRecipes>;

// The use of a pipeline in an environment, or null.
inline const recipe_use *find_use(const recipes *recipes, const digest &pipeline,
                                  const digest &environment)
{
    const recipe_use *uses;
    const size_t count = recipes_uses(recipes, &uses);
    for (size_t i = 0; i < count; i++) {
        if (uses[i].pipeline == pipeline && uses[i].environment == environment) {
            return &uses[i];
        }
    }
    return nullptr;
}

class Writer {
  public:
    explicit Writer(const std::string &root, uint64_t max_size = 1 << 30, uint64_t small = 0)
        : writer_(recipe_writer_new(root.c_str(), "app", max_size, small))
    {
    }
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;
    ~Writer()
    {
        close(false);
    }

    enum status append(const Batch &batch)
    {
        return recipe_writer_append(writer_, &batch.bytes);
    }

    void close(bool seal = true)
    {
        recipe_writer_close(writer_, seal);
        writer_ = nullptr;
    }

    bool discard()
    {
        const bool discarded = recipe_writer_discard(writer_);
        writer_ = nullptr;
        return discarded;
    }

  private:
    recipe_writer *writer_;
};

class RecipesTest : public testing::Test {
  protected:
    Scratch scratch;
    std::string root = scratch.path("root");
    std::string folder = root + "/app/recipes";
    recipes_access access = RECIPES_MAP;

    Recipes open(enum status expected = STATUS_ok) const
    {
        recipes *recipes = nullptr;
        EXPECT_EQ(recipes_open(root.c_str(), "app", access, &recipes), expected);
        return Recipes(recipes);
    }

    static Recipes open_file(const std::string &path, enum status expected = STATUS_ok)
    {
        recipes *recipes = nullptr;
        EXPECT_EQ(recipes_open_file(path.c_str(), &recipes), expected);
        return Recipes(recipes);
    }

    // Writes a segment of one batch.
    void write(const Batch &batch, bool seal = true) const
    {
        Writer writer(root);
        ASSERT_EQ(writer.append(batch), STATUS_ok);
        writer.close(seal);
    }

    // The paths of all segments.
    std::vector<std::string> segments() const
    {
        std::vector<std::string> paths;
        for (const std::string &name : names_in(folder, ".wprecipes")) {
            paths.push_back(folder + "/" + name);
        }
        return paths;
    }

    // What a program does that closes descriptors it does not know: the one of an open segment is
    // now that of a file of its own. -1: there was none.
    static int take_descriptor(const std::string &own, const char *suffix = ".wprecipes")
    {
        int taken = -1;
        for (int fd = 3; fd < 64; fd++) {
            char link[64];
            char target[4096] = "";
            std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            if (readlink(link, target, sizeof target - 1) > 0 && std::strstr(target, suffix)) {
                const int other = ::open(own.c_str(), O_RDWR | O_CREAT, 0600);
                dup2(other, fd);
                close(other);
                taken = fd;
            }
        }
        return taken;
    }

    static std::string read(const std::string &path)
    {
        std::ifstream file(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    }

    static std::optional<std::string> find(const Recipes &recipes, recipe_kind kind,
                                           const std::string &data)
    {
        const void *found;
        size_t size;
        if (!recipes_find(recipes.get(), kind, digest_of(data), &found, &size)) {
            return std::nullopt;
        }
        EXPECT_EQ(reinterpret_cast<uintptr_t>(found) % 4, 0u);
        return std::string(static_cast<const char *>(found), size);
    }

    static bool has_all(const Recipes &recipes, recipe_kind kind,
                        const std::vector<std::string> &all)
    {
        for (const std::string &data : all) {
            if (find(recipes, kind, data) != data) {
                return false;
            }
        }
        return true;
    }

    static uint64_t damaged(const Recipes &recipes)
    {
        const recipe_damage damage = recipes_damage(recipes.get());
        EXPECT_EQ(damage.reason, damage.records ? STATUS_bad_record : STATUS_ok);
        return damage.records;
    }
};

#endif
