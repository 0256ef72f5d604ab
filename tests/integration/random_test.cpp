// SPDX-License-Identifier: Apache-2.0
// What tests/clients/random draws, above the test driver: it sees what must never reach a driver.
// What a program gets is what it gets without the layer.
#include <map>
#include <sstream>

#include "harness.hpp"
#include "paths.h"

namespace {

class RandomTest : public LayerTest {
  protected:
    // What was asked for, and what came of it. What may depend on a cache is left out.
    static std::map<std::string, std::string> rows(const Outcome &outcome)
    {
        std::map<std::string, std::string> rows;
        std::istringstream lines(outcome.output);
        for (std::string line; std::getline(lines, line);) {
            const size_t name = line.find(' ');
            if (line.find('.') < name && line.find(" loose ") == std::string::npos) {
                rows[line.substr(0, name)] = line.substr(name, line.rfind(' ') - name);
            }
        }
        return rows;
    }

    // Starts of each seed, with threads, caches of the program's own, and a messenger.
    void expect_equal()
    {
        for (const std::string seed : {"1", "2", "3", "4"}) {
            SCOPED_TRACE("seed " + seed);
            environment["WARMPIPE_APP"] = "random-" + seed;
            environment["WARMPIPE_DISABLE"] = "1";
            const auto plain = rows(execute({RANDOM_CLIENT, seed}, {Layer::absent}));
            environment.erase("WARMPIPE_DISABLE");
            EXPECT_GT(plain.size(), 20u);
            for (const std::vector<std::string> &arguments :
                 {std::vector<std::string>{"--threads", "4"},
                  {"--threads", "4", "--own-caches"},
                  {"--threads", "2", "--messages"},
                  {"--own-caches"}}) {
                std::vector<std::string> command = {RANDOM_CLIENT, seed};
                command.insert(command.end(), arguments.begin(), arguments.end());
                EXPECT_EQ(rows(execute(command)), plain) << arguments[0] << arguments.size();
            }
        }
    }
};

TEST_F(RandomTest, IsEqual)
{
    expect_equal();
}

TEST_F(RandomTest, IsEqualWhereHandlesComeAgain)
{
    environment["WPTEST_ICD_RECYCLE"] = "1";
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    expect_equal();
}

TEST_F(RandomTest, IsEqualWhereAMergeEmptiesItsSources)
{
    environment["WPTEST_ICD_MERGE_MOVES"] = "1";
    environment["WPTEST_ICD_FEEDBACK"] = "hit";
    environment["WARMPIPE_PREWARM"] = "on";
    expect_equal();
}

} // namespace
