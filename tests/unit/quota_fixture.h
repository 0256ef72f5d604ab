// SPDX-License-Identifier: Apache-2.0
// A root of caches with files of any size and age, and limits kept to in it.
#ifndef WARMPIPE_TESTS_UNIT_LIMITS_FIXTURE_H
#define WARMPIPE_TESTS_UNIT_LIMITS_FIXTURE_H

#include <ctime>

#include "scratch.h"
#include "store_fixture.h"

extern "C" {
#include "common/quota/quota.h"
}

constexpr uint64_t unlimited = UINT64_MAX;
constexpr time_t day = 24 * 60 * 60;

// An identity's digest, by a letter.
inline std::string id(char letter)
{
    return std::string(DIGEST_HEX_SIZE - 1, letter);
}

inline const std::string random_number = "0123456789abcdef";

// That of the driver whose stores these tests open.
inline std::string sample_id()
{
    driver_identity identity = sample_identity();
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&identity), hex);
    return hex;
}

class Root {
  public:
    Root() : path(scratch_.path("root"))
    {
        std::filesystem::create_directory(path);
    }

    // Makes the file, and the folders on the way to it. `age` in seconds.
    std::string add(const std::string &name, size_t size, time_t age = 0) const
    {
        return add_text(name, std::string(size, 'x'), age);
    }

    // A program.json of ours in the folder of `app`.
    std::string add_program(const std::string &app, size_t size, time_t age = 0) const
    {
        const std::string facts = "{\"format\":1}";
        return add_text(app + "/program.json", facts + std::string(size - facts.size(), ' '), age);
    }

    std::string add_text(const std::string &name, const std::string &text, time_t age = 0) const
    {
        const std::string file = path + "/" + name;
        const std::string folder = file.substr(0, file.rfind('/'));
        std::filesystem::create_directories(folder);
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
        write_file(file, text);
        std::filesystem::permissions(file, std::filesystem::perms::owner_read |
                                               std::filesystem::perms::owner_write);
        set_age(name, age);
        return file;
    }

    void set_age(const std::string &name, time_t age) const
    {
        const timespec when[2] = {{time(nullptr) - age, 0}, {time(nullptr) - age, 0}};
        EXPECT_EQ(utimensat(AT_FDCWD, (path + "/" + name).c_str(), when, AT_SYMLINK_NOFOLLOW), 0);
    }

    bool has(const std::string &name) const
    {
        struct stat status;
        return lstat((path + "/" + name).c_str(), &status) == 0;
    }

    std::vector<std::string> names(const std::string &app) const
    {
        return names_in(path + "/" + app);
    }

    quota_outcome enforce(uint64_t max_size, uint64_t max_total = unlimited, uint64_t written = 0,
                          const char *app = "app") const
    {
        quota_limits the_limits = {};
        the_limits.root = path.c_str();
        the_limits.app = app;
        the_limits.max_size = max_size;
        the_limits.max_total = max_total;
        quota_outcome outcome = {};
        quota_enforce(&the_limits, written, &outcome);
        return outcome;
    }

    // The next call looks at all folders.
    void forget() const
    {
        std::filesystem::remove(stamp());
    }

    std::string stamp() const
    {
        return path + "/" + stamp_name();
    }

    std::string read_stamp() const
    {
        return scratch_.read("root/" + stamp_name());
    }

  private:
    static std::string stamp_name()
    {
        return ".limits." + std::to_string(geteuid());
    }

    Scratch scratch_;

  public:
    const std::string path;
};

using Names = std::vector<std::string>;

#endif
