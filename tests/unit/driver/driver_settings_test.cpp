// SPDX-License-Identifier: Apache-2.0
// Settings of drivers that a replay takes from the program. The variables are this process's own.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "common/driver/identity.h"
}

namespace {

class DriverSettings : public ::testing::Test {
  protected:
    void SetUp() override
    {
        forget();
        program_invocation_name = name.data();
    }

    void TearDown() override
    {
        forget();
        program_invocation_name = before;
    }

    static void forget()
    {
        for (const char *variable : {"RADV_PERFTEST", "TU_DEBUG",
                                     "MESA_DRICONF_EXECUTABLE_OVERRIDE", "MESA_PROCESS_NAME"}) {
            unsetenv(variable);
        }
    }

    static std::string told()
    {
        char text[DRIVER_SETTINGS_SIZE];
        driver_settings_of_process(text);
        return text;
    }

    static std::string value(const char *variable)
    {
        const char *text = getenv(variable);
        return text ? text : "not set";
    }

    std::string name = "/usr/bin/game";
    char *before = program_invocation_name;
};

TEST_F(DriverSettings, AreVariablesAndTheProgramsName)
{
    EXPECT_EQ(told(), "MESA_DRICONF_EXECUTABLE_OVERRIDE=game");
    setenv("TU_DEBUG", "", 1);
    setenv("RADV_PERFTEST", "cswave32,nggc", 1);
    EXPECT_EQ(told(),
              "RADV_PERFTEST=cswave32,nggc;TU_DEBUG=;MESA_DRICONF_EXECUTABLE_OVERRIDE=game");
}

TEST_F(DriverSettings, TheNameIsTheOneThatMesaKnows)
{
    name = "C:\\Games\\A Game.exe";
    program_invocation_name = name.data();
    EXPECT_EQ(told(), "MESA_DRICONF_EXECUTABLE_OVERRIDE=A Game.exe");
    setenv("MESA_PROCESS_NAME", "other", 1);
    EXPECT_EQ(told(), "MESA_DRICONF_EXECUTABLE_OVERRIDE=other");
    setenv("MESA_DRICONF_EXECUTABLE_OVERRIDE", "another", 1);
    EXPECT_EQ(told(), "MESA_DRICONF_EXECUTABLE_OVERRIDE=another");
}

// As a process does that shows its arguments in `ps`: they may hold anything, and change.
TEST_F(DriverSettings, ArgumentsAreNoPartOfTheName)
{
    const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe");
    name = file.string() + " --token=secret --profile=/home/me";
    program_invocation_name = name.data();
    EXPECT_EQ(told(), "MESA_DRICONF_EXECUTABLE_OVERRIDE=" + file.filename().string());
}

TEST_F(DriverSettings, WhatCannotStandInTheTextIsNotTold)
{
    for (const std::string &odd :
         {std::string("a;RADV_DEBUG=b"), std::string("\""), std::string("\\"), std::string("\n"),
          std::string("\xc3\xa4"), std::string(DRIVER_SETTINGS_SIZE, 'a')}) {
        setenv("RADV_PERFTEST", odd.c_str(), 1);
        EXPECT_EQ(told(), "") << odd;
    }
}

TEST_F(DriverSettings, AreCompared)
{
    const std::string named = "MESA_DRICONF_EXECUTABLE_OVERRIDE=game";
    EXPECT_FALSE(driver_settings_differ(named.c_str()));
    EXPECT_TRUE(driver_settings_differ("MESA_DRICONF_EXECUTABLE_OVERRIDE=other"));
    EXPECT_TRUE(driver_settings_differ(("RADV_PERFTEST=a;" + named).c_str()));
    setenv("RADV_PERFTEST", "a", 1);
    EXPECT_FALSE(driver_settings_differ(("RADV_PERFTEST=a;" + named).c_str()));
    EXPECT_TRUE(driver_settings_differ(("RADV_PERFTEST=b;" + named).c_str()));
    EXPECT_TRUE(driver_settings_differ(named.c_str()));
    EXPECT_FALSE(driver_settings_differ("")) << "not known";
}

TEST_F(DriverSettings, BecomeThoseOfThisProcess)
{
    setenv("RADV_PERFTEST", "mine", 1);
    setenv("TU_DEBUG", "mine", 1);
    driver_settings_use("");
    EXPECT_EQ(value("RADV_PERFTEST"), "mine");
    driver_settings_use("TU_DEBUG=a b,c;MESA_DRICONF_EXECUTABLE_OVERRIDE=game");
    EXPECT_EQ(value("RADV_PERFTEST"), "not set");
    EXPECT_EQ(value("TU_DEBUG"), "a b,c");
    EXPECT_EQ(value("MESA_DRICONF_EXECUTABLE_OVERRIDE"), "game");
}

// The file they are kept in may be anybody's.
TEST_F(DriverSettings, OtherNamesArePassedOver)
{
    unsetenv("LD_AUDIT");
    driver_settings_use(";;LD_AUDIT=a;RADV_PERFTEST;=;RADV_PERFTEST=b;xTU_DEBUG=c");
    EXPECT_EQ(value("LD_AUDIT"), "not set");
    EXPECT_EQ(value("RADV_PERFTEST"), "b");
    EXPECT_EQ(value("TU_DEBUG"), "not set");
}

} // namespace
