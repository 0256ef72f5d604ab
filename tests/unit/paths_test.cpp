#include <cstring>
#include <regex>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "disk/paths.h"
}

namespace {

std::string name_of(const struct paths_program &program)
{
    char name[PATHS_APP_SIZE];
    memset(name, 'x', sizeof name);
    paths_app_name(&program, name);
    EXPECT_NE(memchr(name, '\0', sizeof name), nullptr);
    EXPECT_TRUE(std::regex_match(name, std::regex("[A-Za-z0-9_-]+"))) << name;
    return name;
}

std::string name_of_setting(const std::string &setting)
{
    struct paths_program program = {};
    program.app_setting = setting.c_str();
    program.executable = "/usr/bin/other";
    return name_of(program);
}

std::string name_of_executable(const char *executable)
{
    struct paths_program program = {};
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
    struct paths_program program = {};
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
    struct paths_program program = {};
    program.executable = "/usr/bin/x";
    program.application_name = "ab";
    program.engine_name = "c";
    const std::string name = name_of(program);

    struct paths_program other = program;
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
    struct paths_program program = {};
    program.executable = "/usr/bin/vkcube";
    program.application_name = "";
    program.engine_name = "";
    EXPECT_EQ(name_of(program), name_of_executable("/usr/bin/vkcube"));
}

TEST(AppName, LeavesOutTheMountOfAnAppImage)
{
    struct paths_program program = {};
    program.executable = "/tmp/.mount_gameXa81/usr/bin/game.x86_64";
    program.appdir = "/tmp/.mount_gameXa81";
    EXPECT_EQ(name_of(program), "game_x86_64-770343a4");
    program.executable = "/tmp/.mount_gameQq02/usr/bin/game.x86_64";
    program.appdir = "/tmp/.mount_gameQq02//";
    EXPECT_EQ(name_of(program), "game_x86_64-770343a4");
}

TEST(AppName, LeavesOutTheRevisionOfASnap)
{
    struct paths_program program = {};
    program.executable = "/snap/blender/4321/bin/blender";
    program.snap = "/snap/blender/4321";
    EXPECT_EQ(name_of(program), "blender-264c037b");
}

TEST(AppName, AMountCountsByWholeComponentsOnly)
{
    struct paths_program program = {};
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
