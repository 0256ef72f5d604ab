// program.json: what is read, what is refused, and what another version finds again.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "disk_fixture.h"
#include "scratch.h"

extern "C" {
#include "disk/program.h"
}

namespace {

using nlohmann::json;

class Program : public ::testing::Test {
  protected:
    std::string file() const
    {
        return folder + "/app/program.json";
    }

    void write(const std::string &content) const
    {
        std::filesystem::create_directories(folder + "/app");
        chmod((folder + "/app").c_str(), 0700);
        write_file(file(), content);
        chmod(file().c_str(), 0600);
    }

    // What was learnt; `read` gets the reason.
    enum program_caches load()
    {
        program_facts facts = {PROGRAM_CACHES_READ_BACK};
        read = program_load(folder.c_str(), "app", &facts);
        return facts.caches;
    }

    enum reason save(enum program_caches caches) const
    {
        const program_facts facts = {caches};
        return program_save(folder.c_str(), "app", &facts);
    }

    Scratch scratch;
    const std::string folder = scratch.path(".");
    enum reason read = REASON_ok;
};

TEST_F(Program, NothingIsKnownOfANewOne)
{
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, REASON_no_file);
    EXPECT_TRUE(names_in(folder).empty());
}

TEST_F(Program, RemembersWhatWasLearnt)
{
    for (enum program_caches caches :
         {PROGRAM_CACHES_NOT_READ, PROGRAM_CACHES_READ_BACK, PROGRAM_CACHES_UNKNOWN}) {
        ASSERT_EQ(save(caches), REASON_ok);
        EXPECT_EQ(load(), caches);
        EXPECT_EQ(read, REASON_ok);
    }
    struct stat status = {};
    ASSERT_EQ(stat(file().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
    ASSERT_EQ(stat((folder + "/app").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
    EXPECT_EQ(names_in(folder + "/app"), std::vector<std::string>{"program.json"});
}

TEST_F(Program, TheFormIsTheDocumentedOne)
{
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), REASON_ok);
    EXPECT_EQ(scratch.read("app/program.json"), "{\"format\":1,\"app_caches\":\"not_read\"}\n");
    ASSERT_EQ(save(PROGRAM_CACHES_READ_BACK), REASON_ok);
    EXPECT_EQ(scratch.read("app/program.json"), "{\"format\":1,\"app_caches\":\"read_back\"}\n");
}

TEST_F(Program, MembersOfOtherVersionsAreReadPastAndKept)
{
    const std::string theirs = R"("counters":{"saved":[1,2.5e3,{"x":null}],"on":true},"note":"\"")";
    write("{ \"format\" : 1,\n " + theirs + " , \"app_caches\" : \"not_read\" }");
    EXPECT_EQ(load(), PROGRAM_CACHES_NOT_READ);
    EXPECT_EQ(read, REASON_ok);
    ASSERT_EQ(save(PROGRAM_CACHES_READ_BACK), REASON_ok);
    EXPECT_EQ(json::parse(scratch.read("app/program.json")),
              json::parse(R"({"format":1,"app_caches":"read_back",)" + theirs + "}"));
    EXPECT_EQ(load(), PROGRAM_CACHES_READ_BACK);
}

TEST_F(Program, AWordOfAnotherVersionMeansNothing)
{
    write(R"({"format":1,"app_caches":"sometimes"})");
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, REASON_ok);
}

TEST_F(Program, DamageIsRefusedAndReplaced)
{
    for (const char *content :
         {"", "{", "{}", "[]", "null", R"({"app_caches":"not_read"})", R"({"format":0})",
          R"({"format":"1"})", R"({"format":1,"app_caches":1})", R"({"format":1}x)",
          R"({"format":1,"app_caches":"not_read")", R"({"format":1,"kept":?})"}) {
        write(content);
        EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN) << content;
        EXPECT_EQ(read, REASON_bad_program_file) << content;
        ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), REASON_ok);
        EXPECT_EQ(scratch.read("app/program.json"), "{\"format\":1,\"app_caches\":\"not_read\"}\n")
            << content;
    }
}

TEST_F(Program, AnotherFormatIsNotGuessedAt)
{
    write(R"({"format":2,"app_caches":"not_read"})");
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, REASON_bad_format_version);
}

TEST_F(Program, SizeIsBounded)
{
    const std::string head = R"({"format":1,"app_caches":"not_read","long":")";
    const std::string longest = head + std::string(PROGRAM_FILE_LIMIT - head.size() - 2, 'x');
    write(longest + "\"}");
    EXPECT_EQ(load(), PROGRAM_CACHES_NOT_READ);
    EXPECT_EQ(read, REASON_ok);
    // With the longer word there is no room for the rest: the file may not become unreadable.
    ASSERT_EQ(save(PROGRAM_CACHES_READ_BACK), REASON_ok);
    EXPECT_EQ(load(), PROGRAM_CACHES_READ_BACK);

    write(longest + "x\"}");
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, REASON_too_large);
}

TEST_F(Program, IsTrustedAsEveryFileIs)
{
    write(R"({"format":1,"app_caches":"not_read"})");
    chmod(file().c_str(), 0622);
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, REASON_file_mode);

    const std::string elsewhere = folder + "/elsewhere.json";
    write_file(elsewhere, R"({"format":1,"app_caches":"not_read"})");
    ASSERT_EQ(unlink(file().c_str()), 0);
    ASSERT_EQ(symlink(elsewhere.c_str(), file().c_str()), 0);
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, REASON_symlink);
    // The link is replaced; what it pointed to is not written.
    ASSERT_EQ(save(PROGRAM_CACHES_READ_BACK), REASON_ok);
    EXPECT_EQ(load(), PROGRAM_CACHES_READ_BACK);
    EXPECT_EQ(scratch.read("elsewhere.json"), R"({"format":1,"app_caches":"not_read"})");
}

TEST_F(Program, WhatStandsThereAlreadyIsNotWrittenAgain)
{
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), REASON_ok);
    struct stat before = {};
    ASSERT_EQ(stat(file().c_str(), &before), 0);
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), REASON_ok);
    struct stat after = {};
    ASSERT_EQ(stat(file().c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(Program, AFolderThatCannotBeMadeIsToldSo)
{
    write_file(folder + "/app", "a file in its place");
    EXPECT_EQ(save(PROGRAM_CACHES_NOT_READ), REASON_directory_unusable);
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
}

} // namespace
