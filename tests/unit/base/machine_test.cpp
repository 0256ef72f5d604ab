// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <sched.h>

#include <gtest/gtest.h>

extern "C" {
#include "common/base/machine.h"
}
#include "scratch.h"

namespace {

// A machine of files, and what it is said to have.
class Machine : public testing::Test {
  protected:
    void write(const std::string &path, const std::string &text)
    {
        const std::filesystem::path file = scratch_.path(path);
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    unsigned cores() const
    {
        return machine_cores(root().c_str());
    }
    uint64_t available()
    {
        return machine_free_memory(root().c_str(), &total_);
    }
    std::string root() const
    {
        std::string path = scratch_.path("");
        path.pop_back();
        return path;
    }

    uint64_t total_ = 0;

  private:
    Scratch scratch_;
};

unsigned affinity()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return static_cast<unsigned>(CPU_COUNT(&set));
}

TEST_F(Machine, WithoutGroupsAffinityDecides)
{
    EXPECT_EQ(cores(), affinity());
    EXPECT_EQ(available(), UINT64_MAX);
}

TEST_F(Machine, AQuotaOfVersion2LimitsCores)
{
    write("proc/self/cgroup", "0::/user/program\n");
    write("sys/fs/cgroup/user/program/cpu.max", "100000 100000\n");
    EXPECT_EQ(cores(), 1u);
    write("sys/fs/cgroup/user/program/cpu.max", "max 100000\n");
    EXPECT_EQ(cores(), affinity());
    write("sys/fs/cgroup/user/program/cpu.max", "900000000 100000\n");
    EXPECT_EQ(cores(), affinity());
}

TEST_F(Machine, LessThanACoreIsOne)
{
    write("proc/self/cgroup", "0::/program\n");
    write("sys/fs/cgroup/program/cpu.max", "20000 100000\n");
    EXPECT_EQ(cores(), 1u);
}

TEST_F(Machine, AGroupAboveLimitsToo)
{
    write("proc/self/cgroup", "0::/user/deep/program\n");
    write("sys/fs/cgroup/user/deep/program/cpu.max", "max 100000\n");
    write("sys/fs/cgroup/user/cpu.max", "100000 100000\n");
    EXPECT_EQ(cores(), 1u);
}

// In a container the path is that of the host, and only the container's own folder is there.
TEST_F(Machine, InAContainerTheRootIsTheGroup)
{
    write("proc/self/cgroup", "0::/docker/0123\n");
    write("sys/fs/cgroup/cpu.max", "100000 100000\n");
    EXPECT_EQ(cores(), 1u);
}

TEST_F(Machine, AQuotaOfVersion1LimitsCores)
{
    write("proc/self/cgroup", "7:memory:/m\n4:cpu,cpuacct:/program\n1:name=systemd:/s\n");
    write("sys/fs/cgroup/cpu/program/cpu.cfs_quota_us", "100000\n");
    write("sys/fs/cgroup/cpu/program/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(cores(), 1u);
    write("sys/fs/cgroup/cpu/program/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(cores(), affinity());
}

TEST_F(Machine, MemoryIsThatOfTheMachine)
{
    write("proc/meminfo", "MemTotal:        1000 kB\nMemFree:  1 kB\nMemAvailable:     300 kB\n");
    EXPECT_EQ(available(), 300u * 1024);
    EXPECT_EQ(total_, 1000u * 1024);
}

TEST_F(Machine, OrOfTheGroupThatHasLeast)
{
    write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 900 kB\n");
    write("proc/self/cgroup", "0::/program\n");
    write("sys/fs/cgroup/program/memory.max", "100000\n");
    write("sys/fs/cgroup/program/memory.current", "90000\n");
    EXPECT_EQ(available(), 10000u);
    EXPECT_EQ(total_, 100000u);
    // Page cache goes first, whether it is in use or not.
    write("sys/fs/cgroup/program/memory.stat", "anon 1\ninactive_file 40000\nslab 7\n");
    EXPECT_EQ(available(), 50000u);
    write("sys/fs/cgroup/program/memory.stat",
          "inactive_anon 2\ninactive_file 40000\nactive_file 30000\n");
    EXPECT_EQ(available(), 80000u);
    // The kernel counts the one later than the other.
    write("sys/fs/cgroup/program/memory.stat", "inactive_file 40000\nactive_file 60000\n");
    EXPECT_EQ(available(), 100000u);
    write("sys/fs/cgroup/program/memory.max", "max\n");
    EXPECT_EQ(available(), 900u * 1024);
}

// A group is slowed down to a standstill beyond it.
TEST_F(Machine, WhatSlowsAGroupDownIsALimitToo)
{
    write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
    write("proc/self/cgroup", "0::/program\n");
    write("sys/fs/cgroup/program/memory.max", "100000\n");
    write("sys/fs/cgroup/program/memory.current", "50000\n");
    write("sys/fs/cgroup/program/memory.high", "max\n");
    EXPECT_EQ(available(), 50000u);
    write("sys/fs/cgroup/program/memory.high", "70000\n");
    EXPECT_EQ(available(), 20000u);
    EXPECT_EQ(total_, 70000u);
    write("sys/fs/cgroup/program/memory.high", "0\n");
    EXPECT_EQ(available(), 0u);
}

TEST_F(Machine, OrOfAGroupOfVersion1)
{
    write("proc/self/cgroup", "7:memory:/program\n");
    write("sys/fs/cgroup/memory/program/memory.limit_in_bytes", "100000\n");
    write("sys/fs/cgroup/memory/program/memory.usage_in_bytes", "120000\n");
    EXPECT_EQ(available(), 0u);
    write("sys/fs/cgroup/memory/program/memory.stat", "total_inactive_file 30000\n");
    EXPECT_EQ(available(), 10000u);
    write("sys/fs/cgroup/memory/program/memory.stat",
          "active_file 7\ntotal_inactive_file 30000\ntotal_active_file 60000\n");
    EXPECT_EQ(available(), 70000u);
}

TEST_F(Machine, NonsenseLimitsNothing)
{
    write("proc/meminfo", "MemTotal: 1 kB\nMemAvailable: 300 kB\n");
    write("proc/self/cgroup", "0::\n::::\nnonsense\n0::relative\n0::/" + std::string(5000, 'x'));
    write("sys/fs/cgroup/cpu.max", "0 0\n");
    EXPECT_EQ(cores(), affinity());
    EXPECT_EQ(available(), UINT64_MAX);
}

// A name goes to its end.
TEST_F(Machine, ALongerNameIsAnother)
{
    write("proc/meminfo", "MemTotals: 7 kB\nMemAvailable: 300 kB\nMemTotal:\t1000 kB\n");
    EXPECT_EQ(available(), 300u * 1024);
    EXPECT_EQ(total_, 1000u * 1024);
}

TEST_F(Machine, TheRealOneHasSome)
{
    EXPECT_GE(machine_cores(""), 1u);
    EXPECT_GT(machine_free_memory("", &total_), 0u);
}

} // namespace
