// SPDX-License-Identifier: Apache-2.0
// A driver and a program whose own caches are kept from start to start, or only read back.
#ifndef WARMPIPE_TESTS_KEPT_CACHES_HPP
#define WARMPIPE_TESTS_KEPT_CACHES_HPP

#include "own_caches.hpp"
#include "test_icd.h"

class KeptCachesTest : public OwnCachesTest {
  protected:
    json learnt() const
    {
        return json::parse(read_text(program_file()), nullptr, false);
    }

    std::filesystem::path program_file() const
    {
        return cache_root() / "test" / "program.json";
    }

    // Whether the one cache file holds so many pipelines, of 64 bytes each.
    bool are_saved(unsigned pipelines) const
    {
        std::error_code gone;
        const auto files = cache_files();
        const uintmax_t size = files.size() == 1 ? std::filesystem::file_size(files[0], gone) : 0;
        return !gone && size >= 960 + 56 + pipelines * 64;
    }

    void forget(const char *name)
    {
        std::filesystem::remove(file(name));
    }

    // A program that keeps one cache: loads what it has, creates, saves.
    std::function<void()> keeper(unsigned first, unsigned end, const ProgramOptions &options = {})
    {
        return [=] {
            Program program(options);
            VkPipelineCache cache = program.create_cache(read_bytes(file("own")));
            program.create_compute(first, end, cache);
            write_bytes(file("own"), program.cache_data(cache));
            program.destroy_cache(cache);
        };
    }

    static unsigned served(const Outcome &outcome)
    {
        return outcome.stats_of()["app_caches"]["served"];
    }
};

#endif
