#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "disk/names.h"
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
    expect_kind(identity + ".wpcache." + random_number + ".tmp", NAME_TEMPORARY);
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
             identity + "." + random_number.substr(1) + ".part",
             identity + "." + random_number + "0.part",
             identity + random_number + ".part",
             identity + "." + random_number + ".part~",
             identity + ".loading/",
             std::string("x.lock"),
             "." + random_number + ".tmp",
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

} // namespace
