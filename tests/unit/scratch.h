// SPDX-License-Identifier: Apache-2.0
// A directory of one test, removed with everything in it.
#ifndef WARMPIPE_TESTS_UNIT_SCRATCH_H
#define WARMPIPE_TESTS_UNIT_SCRATCH_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

// Where the folders of tests are: in memory where there is room, for at its end a program does not
// wait long for a slow disk.
inline std::string scratch_place()
{
    std::error_code none;
    const std::filesystem::space_info memory = std::filesystem::space("/dev/shm", none);
    const bool has_room = !none && memory.available >= 1 << 30 && access("/dev/shm", W_OK) == 0;
    return has_room && !std::getenv("TEST_TMPDIR") ? "/dev/shm/" : testing::TempDir();
}

class Scratch {
  public:
    Scratch()
    {
        std::string pattern = scratch_place() + "warmpipe-XXXXXX";
        EXPECT_NE(mkdtemp(pattern.data()), nullptr);
        path_ = pattern;
    }
    ~Scratch()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    std::string path(const std::string &name) const
    {
        return path_ + "/" + name;
    }

    std::string read(const std::string &name) const
    {
        std::ifstream file(path(name), std::ios::binary);
        std::stringstream content;
        content << file.rdbuf();
        return content.str();
    }

  private:
    std::string path_;
};

#endif
