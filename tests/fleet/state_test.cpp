// SPDX-License-Identifier: Apache-2.0
// What is remembered of a remote, by programs that start at once.
#include <thread>
#include <vector>

#include "tool.h"

extern "C" {
#include "tools/remote/local.h"
}

namespace {

constexpr unsigned processes = 8;
constexpr unsigned times = 40;
constexpr const char *path = "v1/head/demo/recipes";

template <typename Function> void at_once(Function &&function)
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < processes; i++) {
        threads.emplace_back([&, i] { function(i); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

class State : public testing::Test {
  protected:
    TemporaryFolder folder;

    // As another process has it.
    template <typename Function> auto with_state(Function &&function)
    {
        struct state state;
        state_open("file:///x", nullptr, (folder.path + "/state").c_str(), &state);
        auto result = function(&state);
        state_free(&state);
        return result;
    }
};

TEST_F(State, NoDeathIsLost)
{
    auto name_of = [](unsigned number) {
        char name[OBJECT_NAME_SIZE];
        snprintf(name, sizeof name, "%064x", number);
        return std::string(name);
    };
    at_once([&](unsigned process) {
        for (unsigned i = 0; i < times; i++) {
            with_state([&](const struct state *state) {
                struct bytes names = {};
                state_add(&names, name_of(process * times + i).c_str());
                state_add_bad(state, path, &names, 1);
                bytes_free(&names);
                return true;
            });
        }
    });
    with_state([&](const struct state *state) {
        struct bytes bad;
        state_bad(state, path, &bad);
        EXPECT_EQ(state_deaths(state, path), processes * times);
        for (unsigned i = 0; i < processes * times; i++) {
            EXPECT_TRUE(state_has(&bad, name_of(i).c_str())) << i;
        }
        bytes_free(&bad);
        return true;
    });
}

TEST_F(State, ASerialNeverGoesBack)
{
    at_once([&](unsigned process) {
        for (unsigned i = 0; i < times; i++) {
            const uint64_t seen = i * processes + process + 1;
            EXPECT_GE(with_state([&](const struct state *state) {
                          state_see_serial(state, path, seen);
                          return state_serial(state, path);
                      }),
                      seen);
        }
    });
}

// Else what is pushed or pulled late would never be known, and a head never get rid of it.
TEST_F(State, TheOldestGivesWayWhereTheListIsFull)
{
    const std::string root = folder.path + "/root";
    std::filesystem::create_directories(root + "/demo");
    auto name_of = [](unsigned number) {
        char name[OBJECT_NAME_SIZE];
        snprintf(name, sizeof name, "%064x", number);
        return std::string(name);
    };
    struct state state;
    state_open("file:///x", root.c_str(), (folder.path + "/state").c_str(), &state);
    for (unsigned from = 0; from < 2000; from += 100) {
        struct bytes names;
        state_taken(&state, path, &names);
        EXPECT_EQ(state_has(&names, name_of(from - 1).c_str()), from > 0) << from;
        for (unsigned i = from; i < from + 100; i++) {
            state_add(&names, name_of(i).c_str());
        }
        state_set_taken(&state, path, &names);
        bytes_free(&names);
    }
    struct bytes names;
    state_taken(&state, path, &names);
    EXPECT_FALSE(state_has(&names, name_of(0).c_str()));
    EXPECT_TRUE(state_has(&names, name_of(1200).c_str()));
    bytes_free(&names);
    state_free(&state);
}

} // namespace
