// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <regex>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "common/files/names.h"
}

namespace {

const std::string identity = "0123456789abcdef0123456789abcdef";
const std::string random_number = "fedcba9876543210";

void expect_kind(const std::string &name, name_kind kind)
{
    char found[DIGEST_HEX_SIZE] = "untouched";
    EXPECT_EQ(names_classify(name.c_str(), found), kind) << name;
    const bool has_identity = kind != NAME_FOREIGN && kind != NAME_TEMPORARY;
    EXPECT_EQ(found, has_identity ? identity : "untouched") << name;
}

TEST(Names, KnowsOurs)
{
    expect_kind(identity + ".wpcache", NAME_CACHE);
    expect_kind(identity + "." + random_number + ".part", NAME_PART);
    expect_kind(identity + ".lock", NAME_LOCK);
    expect_kind(identity + ".loading", NAME_LOADING);
    expect_kind(identity + ".wanted", NAME_WANTED);
    expect_kind(identity + "." + random_number + ".asked", NAME_ASKED);
    expect_kind("asked." + random_number + ".tmp", NAME_TEMPORARY);
    expect_kind(identity + ".wpcache." + random_number + ".tmp", NAME_TEMPORARY);
    expect_kind(identity + "." + random_number + ".part." + random_number + ".tmp", NAME_TEMPORARY);
    expect_kind("program.json." + random_number + ".tmp", NAME_TEMPORARY);
}

TEST(Names, KnowsNothingElse)
{
    const std::string upper = "0123456789ABCDEF0123456789ABCDEF";
    for (const std::string &name : {
             std::string(""),
             std::string("."),
             std::string(".."),
             std::string("program.json"),
             std::string("notes.tmp"),
             std::string(".wpcache"),
             identity,
             identity + ".",
             identity + ".wpcache2",
             identity + ".wpcache.bak",
             identity + "0.wpcache",
             identity.substr(1) + ".wpcache",
             upper + ".wpcache",
             "g" + identity.substr(1) + ".lock",
             identity + ".part",
             identity + ".asked",
             identity + "." + random_number.substr(1) + ".part",
             identity + "." + random_number + "0.part",
             identity + random_number + ".part",
             identity + "." + random_number + ".part~",
             identity + ".loading/",
             std::string("x.lock"),
             "." + random_number + ".tmp",
             "inbox." + random_number + ".tmp",
             identity + ".lock." + random_number + ".tmp",
             "program.json." + random_number + ".tmp." + random_number + ".tmp",
             std::string(300, 'a') + "." + random_number + ".tmp",
             "x." + random_number.substr(1) + ".tmp",
             "x." + random_number + ".tmp~",
             "x" + random_number + ".tmp",
         }) {
        expect_kind(name, NAME_FOREIGN);
    }
}

TEST(Names, InQuarantine)
{
    EXPECT_TRUE(names_is_quarantined((identity + ".wpcache").c_str()));
    EXPECT_TRUE(names_is_quarantined((identity + ".part").c_str()));
    for (const std::string &name :
         {std::string(""), identity, identity + ".wpcache.txt", identity + ".lock",
          std::string(".part"), identity + "." + random_number + ".part"}) {
        EXPECT_FALSE(names_is_quarantined(name.c_str())) << name;
    }
}

TEST(Names, FoldersOfPrograms)
{
    for (const std::string &name : {std::string("a"), std::string("game_x86_64-1a2b3c4d"),
                                    std::string("hash_") + identity, std::string(199, 'a')}) {
        EXPECT_TRUE(names_is_app(name.c_str())) << name;
    }
    for (const std::string &name :
         {std::string(""), std::string("."), std::string(".."), std::string(".limits.0"),
          std::string("a b"), std::string("a.b"), std::string("\xc3\xa4"), std::string(200, 'a')}) {
        EXPECT_FALSE(names_is_app(name.c_str())) << name;
    }
}

std::string name_of(const struct names_program &program)
{
    char name[NAMES_APP_SIZE];
    memset(name, 'x', sizeof name);
    names_app_folder(&program, name);
    EXPECT_NE(memchr(name, '\0', sizeof name), nullptr);
    EXPECT_TRUE(std::regex_match(name, std::regex("[A-Za-z0-9_-]+"))) << name;
    return name;
}

std::string name_of_setting(const std::string &setting)
{
    struct names_program program = {};
    program.app_setting = setting.c_str();
    program.executable = "/usr/bin/other";
    return name_of(program);
}

std::string name_of_executable(const char *executable)
{
    struct names_program program = {};
    program.executable = executable;
    return name_of(program);
}

TEST(AppName, KeepsAPlainSetting)
{
    EXPECT_EQ(name_of_setting("game"), "game");
    EXPECT_EQ(name_of_setting("A-Z_09"), "A-Z_09");
    EXPECT_EQ(name_of_setting("-"), "-");
    EXPECT_EQ(name_of_setting(std::string(128, 'a')), std::string(128, 'a'));
}

// Digests made with `xxhsum -H2`.
TEST(AppName, HashesAnyOtherSetting)
{
    EXPECT_EQ(name_of_setting("../x"), "hash_bd15ffc83bbfd04de92d0c4f2d7e1749");
    EXPECT_EQ(name_of_setting("."), "hash_4a810a3f4b01805cab8a815a3d735ad3");
    EXPECT_EQ(name_of_setting(""), "hash_99aa06d3014798d86001c324468d497f");
    EXPECT_EQ(name_of_setting(std::string(129, 'a')), "hash_a7758bdd09a0b20fd53a57a017f40a2f");
    for (const char *odd : {"a b", "a/b", "a.b", "..", "é", "a\nb", "/", "a:"}) {
        EXPECT_EQ(name_of_setting(odd).rfind("hash_", 0), 0u) << odd;
    }
}

TEST(AppName, IsBaseNameAndDigest)
{
    EXPECT_EQ(name_of_executable("/usr/bin/vkcube"), "vkcube-98a0811e");
    struct names_program program = {};
    program.executable = "/usr/bin/vkcube";
    program.application_name = "vkcube";
    program.engine_name = "vkcube";
    EXPECT_EQ(name_of(program), "vkcube-a6800a56");
    program.executable = "/opt/My Game!/My Game!.bin";
    program.application_name = "My Game";
    program.engine_name = "UE4";
    EXPECT_EQ(name_of(program), "My_Game__bin-e08b0190");
}

TEST(AppName, EveryPartCounts)
{
    struct names_program program = {};
    program.executable = "/usr/bin/x";
    program.application_name = "ab";
    program.engine_name = "c";
    const std::string name = name_of(program);

    struct names_program other = program;
    other.executable = "/usr/local/bin/x";
    EXPECT_NE(name_of(other), name);
    other = program;
    other.application_name = "a";
    other.engine_name = "bc";
    EXPECT_NE(name_of(other), name);
    other = program;
    other.application_name = "c";
    other.engine_name = "ab";
    EXPECT_NE(name_of(other), name);
}

TEST(AppName, AbsentAndEmptyNamesAreTheSame)
{
    struct names_program program = {};
    program.executable = "/usr/bin/vkcube";
    program.application_name = "";
    program.engine_name = "";
    EXPECT_EQ(name_of(program), name_of_executable("/usr/bin/vkcube"));
}

TEST(AppName, LeavesOutTheMountOfAnAppImage)
{
    struct names_program program = {};
    program.executable = "/tmp/.mount_gameXa81/usr/bin/game.x86_64";
    program.appdir = "/tmp/.mount_gameXa81";
    EXPECT_EQ(name_of(program), "game_x86_64-770343a4");
    program.executable = "/tmp/.mount_gameQq02/usr/bin/game.x86_64";
    program.appdir = "/tmp/.mount_gameQq02//";
    EXPECT_EQ(name_of(program), "game_x86_64-770343a4");
}

TEST(AppName, LeavesOutTheRevisionOfASnap)
{
    struct names_program program = {};
    program.executable = "/snap/blender/4321/bin/blender";
    program.snap = "/snap/blender/4321";
    EXPECT_EQ(name_of(program), "blender-264c037b");
}

TEST(AppName, AMountCountsByWholeComponentsOnly)
{
    struct names_program program = {};
    program.executable = "/tmp/.mount_AB/usr/bin/x";
    const std::string untouched = name_of(program);
    for (const char *mount : {"/tmp/.mount_A", "", "/", "/elsewhere", "/tmp/.mount_AB/usr/bin/x",
                              "/tmp/.mount_AB/usr/bin/x/y"}) {
        program.appdir = mount;
        EXPECT_EQ(name_of(program), untouched) << mount;
    }
}

TEST(AppName, LeavesOutHashAndVersionOfAStorePath)
{
    EXPECT_EQ(name_of_executable("/nix/store/3kv1bq0s4h-firefox-unwrapped-128.0.3/bin/firefox"),
              "firefox-53c63330");
    EXPECT_EQ(name_of_executable("/nix/store/zzzzzzzzzz-firefox-unwrapped-129.0/bin/firefox"),
              "firefox-53c63330");
    EXPECT_EQ(name_of_executable("/nix/store/zzzzzzzzzz-firefox-unwrapped/bin/firefox"),
              "firefox-53c63330");
    EXPECT_EQ(name_of_executable("/gnu/store/aaaa-blender-4.2.0/bin/blender"), "blender-44038eb4");
    EXPECT_NE(name_of_executable("/nix/store/zzzzzzzzzz-chromium-129.0/bin/firefox"),
              "firefox-53c63330");
}

TEST(AppName, OddStorePathsAreOrdinaryPaths)
{
    const char *const odd[] = {"/nix/store/x", "/nix/store/a-b", "/nix/store/nodash/bin/x",
                               "/nix/store//x", "/nix/store/"};
    for (const char *path : odd) {
        EXPECT_FALSE(name_of_executable(path).empty()) << path;
    }
    EXPECT_NE(name_of_executable("/nix/store/nodash/bin/x"), name_of_executable("/bin/x"));
}

TEST(AppName, ForgetsThatTheFileWasDeleted)
{
    EXPECT_EQ(name_of_executable("/usr/bin/vkcube (deleted)"), "vkcube-98a0811e");
}

TEST(AppName, IsBoundedAndNeverEmpty)
{
    EXPECT_EQ(name_of_executable(nullptr), "unknown-fe412d00");
    EXPECT_EQ(name_of_executable(""), "unknown-fe412d00");
    EXPECT_EQ(name_of_executable("/").rfind("unknown-", 0), 0u);
    EXPECT_EQ(name_of_executable("/usr/bin/..").rfind("__-", 0), 0u);
    EXPECT_EQ(name_of_executable("plain").rfind("plain-", 0), 0u);
    const std::string longest = "/" + std::string(5000, 'n');
    EXPECT_EQ(name_of_executable(longest.c_str()).size(), 64u + 1 + 8);
    EXPECT_EQ(name_of_executable("/opt/\xc3\xa9\xff").rfind("___-", 0), 0u);
}

} // namespace
