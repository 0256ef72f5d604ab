// SPDX-License-Identifier: Apache-2.0
// Marks of blobs on trial, and what a store does with them.
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/resource.h>

#include "child.h"
#include "disk_fixture.h"
#include "faults.h"
#include "file_fixture.h"
#include "scratch.h"

extern "C" {
#include "common/blobs/trial.h"
}

namespace {

const std::string identity(32, 'a');
const std::string part = identity + ".0123456789abcdef.part";

std::string line(char digit)
{
    return std::string(TRIAL_PAYLOAD_DIGITS, digit) + "\n";
}

class Trial : public testing::Test {
  protected:
    Trial()
    {
        fd = open(folder.path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }

    ~Trial() override
    {
        close(fd);
    }

    void begin(uint64_t generation, const std::string &payloads, const std::string &kept = "")
    {
        struct trial trial = {};
        bytes_put(&trial.payloads, payloads.data(), payloads.size());
        snprintf(trial.kept, sizeof trial.kept, "%s", kept.c_str());
        EXPECT_EQ(trial_begin(fd, "x.loading", generation, &trial), STATUS_ok);
        trial_free(&trial);
    }

    // Payloads, and behind them what was kept; "-": it is not on trial.
    std::string read(uint64_t generation)
    {
        struct trial trial;
        std::string text = "-";
        if (trial_find(fd, "x.loading", generation, &trial) == STATUS_ok) {
            text = std::string(reinterpret_cast<char *>(trial.payloads.data), trial.payloads.size) +
                   trial.kept;
            trial_free(&trial);
        }
        return text;
    }

    Scratch folder;
    int fd = -1;
};

TEST_F(Trial, IsReadAsItWasWritten)
{
    EXPECT_EQ(read(1), "-");
    begin(1, line('0') + line('1'), part);
    EXPECT_EQ(read(1), line('0') + line('1') + part);
    EXPECT_EQ(read(2), "-");
    write_file(folder.path(part), "before");
    trial_end(fd, "x.loading", 1, nullptr);
    EXPECT_EQ(read(1), "-");
    EXPECT_FALSE(std::filesystem::exists(folder.path(part)));
}

TEST_F(Trial, BringsBackTheFileFromBefore)
{
    begin(1, line('0'), part);
    write_file(folder.path(part), "before");
    write_file(folder.path("file"), "after");
    trial_end(fd, "x.loading", 1, "file");
    EXPECT_EQ(folder.read("file"), "before");
    EXPECT_EQ(read(1), "-");
}

// Whoever writes there can name no file but a part.
TEST_F(Trial, WhatIsNoMarkIsNotBelieved)
{
    begin(1, "");
    const std::string mark = folder.path("x.loading/0000000000000001.trial");
    const std::string victim = folder.path("victim");
    write_file(victim, "stays");
    for (const std::string &text :
         {std::string("kept ../victim\n"), std::string("kept victim\n"), std::string("kept "),
          "kept " + std::string(500, 'a') + "\n", std::string("\n\n\0x", 4), std::string(64, '0'),
          std::string(64, 'G') + "\n"}) {
        write_file(mark, text);
        EXPECT_EQ(read(1), "") << text;
    }
    write_file(mark, "kept ../victim\nkept victim\n");
    trial_end(fd, "x.loading", 1, nullptr);
    EXPECT_TRUE(std::filesystem::exists(victim));
}

TEST_F(Trial, OneThatCannotBeReadIsNotTakenForNone)
{
    struct trial trial;
    EXPECT_EQ(trial_find(fd, "x.loading", 1, &trial), STATUS_no_file);
    begin(1, line('0'));
    EXPECT_EQ(trial_find(fd, "x.loading", 2, &trial), STATUS_no_file);
    for (int call = 0; call < 2; call++) {
        Arm arm(call, EIO, false, "openat");
        EXPECT_EQ(trial_find(fd, "x.loading", 1, &trial), STATUS_io_error);
    }
    {
        Starve starve(1); // behind that of the file
        EXPECT_EQ(trial_find(fd, "x.loading", 1, &trial), STATUS_out_of_memory);
    }
    write_file(folder.path("file"), "");
    EXPECT_EQ(trial_find(fd, "file", 1, &trial), STATUS_no_file);
}

// A write beyond RLIMIT_FSIZE does not fail: it kills.
TEST_F(Trial, IsNotMarkedWhereNothingMayBeWritten)
{
    run_in_child([&] {
        rlimit limit = {0, 0};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        struct trial trial = {};
        const std::string payloads = line('0');
        bytes_put(&trial.payloads, payloads.data(), payloads.size());
        EXPECT_EQ(trial_begin(fd, "x.loading", 1, &trial), STATUS_disk_full);
        trial_free(&trial);
    });
}

TEST_F(Trial, CanBeReadWhateverTheUmask)
{
    Umask umask(0777);
    begin(1, line('0'));
    EXPECT_EQ(mode_of(folder.path("x.loading/" + names_in(folder.path("x.loading")).at(0))), 0600u);
}

TEST_F(Trial, Unites)
{
    struct trial one = {};
    struct trial other = {};
    bytes_put(&one.payloads, line('0').data(), line('0').size());
    bytes_put(&other.payloads, (line('1') + line('0')).data(), 2 * line('0').size());
    snprintf(other.kept, sizeof other.kept, "%s", part.c_str());
    trial_unite(&one, &other);
    EXPECT_EQ(std::string(reinterpret_cast<char *>(one.payloads.data), one.payloads.size),
              line('0') + line('1'));
    EXPECT_EQ(one.kept, part);
    trial_free(&one);
    trial_free(&other);
}

} // namespace
