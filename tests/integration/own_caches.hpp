// SPDX-License-Identifier: Apache-2.0
// What the tests of a program's own caches share.
#ifndef WARMPIPE_TESTS_OWN_CACHES_HPP
#define WARMPIPE_TESTS_OWN_CACHES_HPP

#include "harness.hpp"
#include "program.hpp"

class OwnCachesTest : public LayerTest {
  protected:
    // WARMPIPE_APP_CACHE of the programs.
    void mode(const char *value)
    {
        environment["WARMPIPE_APP_CACHE"] = value;
    }

    // How many of the compute pipelines of these numbers the cache data holds; the driver alone is
    // asked.
    size_t holds(const std::vector<uint8_t> &data, unsigned first, unsigned end);

    // How many of these a program without caches finds warm.
    size_t warm(unsigned first, unsigned end);

    // The cache that was made with so many bytes of data; ours may have been made before it, or
    // after.
    static json cache_made_with(const Outcome &outcome, size_t bytes);

    std::filesystem::path file(const char *name) const
    {
        return folder() / name;
    }
};

// What a program does that makes `count` caches of its own, creates `each` compute pipelines in
// each of them, and reads the first `read` back, the first pipeline being number `first`. The data.
std::vector<std::vector<uint8_t>> use_caches(Program &program, unsigned count, unsigned each,
                                             unsigned read, unsigned first = 0);

// A program that reads a cache of its own back into `file` while eight threads create; shared: with
// this very cache.
void read_back_while_others_create(const std::filesystem::path &file, bool shared);

#endif
