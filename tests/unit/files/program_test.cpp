// SPDX-License-Identifier: Apache-2.0
// program.json: what is read, what is refused, and what another version finds again.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "disk_fixture.h"
#include "faults.h"
#include "scratch.h"

extern "C" {
#include "common/files/program.h"
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

    program_facts load_all()
    {
        program_facts facts = {PROGRAM_CACHES_READ_BACK, {}, 1, {}, {}, {}, {}};
        read = program_load(folder.c_str(), "app", &facts);
        return facts;
    }

    // What was learnt; `read` gets the reason.
    enum program_caches load()
    {
        return load_all().caches;
    }

    enum status save(enum program_caches caches) const
    {
        program_learnt learnt = {};
        learnt.caches = caches;
        return program_learn(folder.c_str(), "app", &learnt);
    }

    enum status count(uint64_t requests, uint64_t now_s) const
    {
        program_counters more = {};
        more.starts = 1;
        more.requests = requests;
        return program_count(folder.c_str(), "app", &more, now_s, nullptr);
    }

    Scratch scratch;
    const std::string folder = scratch.path(".");
    enum status read = STATUS_ok;
};

TEST_F(Program, NothingIsKnownOfANewOne)
{
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, STATUS_no_file);
    EXPECT_TRUE(names_in(folder).empty());
}

TEST_F(Program, RemembersWhatWasLearnt)
{
    for (enum program_caches caches : {PROGRAM_CACHES_NOT_READ, PROGRAM_CACHES_READ_BACK}) {
        ASSERT_EQ(save(caches), STATUS_ok);
        EXPECT_EQ(load(), caches);
        EXPECT_EQ(read, STATUS_ok);
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
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    EXPECT_EQ(scratch.read("app/program.json"), "{\"format\":1,\"app_caches\":\"not_read\"}\n");
    ASSERT_EQ(save(PROGRAM_CACHES_READ_BACK), STATUS_ok);
    EXPECT_EQ(scratch.read("app/program.json"), "{\"format\":1,\"app_caches\":\"read_back\"}\n");
}

// What a run tells of its caches, and what the next one knows.
TEST_F(Program, RemembersRunsThatReadBackAndTheirDays)
{
    program_learnt learnt = {};
    learnt.caches = PROGRAM_CACHES_READ_BACK;
    learnt.made = 20;
    learnt.read = 3;
    for (uint64_t day : {100, 100, 102}) {
        learnt.count_read_run = true;
        learnt.day = day;
        ASSERT_EQ(program_learn(folder.c_str(), "app", &learnt), STATUS_ok);
    }
    learnt.count_read_run = false;
    learnt.made = 5; // no more is learnt from a run that did less
    learnt.read = 0;
    ASSERT_EQ(program_learn(folder.c_str(), "app", &learnt), STATUS_ok);
    const program_facts facts = load_all();
    EXPECT_EQ(facts.caches, PROGRAM_CACHES_READ_BACK);
    EXPECT_EQ(facts.app_caches.read_runs, 3u);
    EXPECT_EQ(facts.app_caches.read_days, 2u);
    EXPECT_EQ(facts.app_caches.made, 20u);
    EXPECT_EQ(facts.app_caches.read, 3u);
    EXPECT_FALSE(facts.app_caches.kept);
    EXPECT_EQ(scratch.read("app/program.json"),
              "{\"format\":1,\"app_caches\":\"read_back\",\"app_caches_read_runs\":3,"
              "\"app_caches_read_days\":2,\"app_caches_last_day\":102,\"app_caches_made\":20,"
              "\"app_caches_read\":3}\n");
}

TEST_F(Program, RemembersTheLatestAnswers)
{
    const auto digest = [](uint64_t i) { return digest_of(&i, sizeof i); };
    for (uint64_t i = 0; i < PROGRAM_ANSWERS_MAX + 10; i++) {
        const program_answer answer = {digest(i), i % 2 == 0};
        program_learnt learnt = {};
        learnt.answers = &answer;
        learnt.answer_count = 1;
        ASSERT_EQ(program_learn(folder.c_str(), "app", &learnt), STATUS_ok);
        ASSERT_EQ(program_learn(folder.c_str(), "app", &learnt), STATUS_ok); // once more: no change
    }
    program_learnt kept = {};
    kept.kept = true;
    ASSERT_EQ(program_learn(folder.c_str(), "app", &kept), STATUS_ok);
    const program_facts facts = load_all();
    EXPECT_EQ(facts.app_caches.answer_count, size_t{PROGRAM_ANSWERS_MAX});
    EXPECT_TRUE(facts.app_caches.kept);
    for (uint64_t i = 0; i < PROGRAM_ANSWERS_MAX + 10; i++) {
        const program_answer *found = program_find_answer(&facts.app_caches, digest(i));
        ASSERT_EQ(found != nullptr, i >= 10) << i;
        EXPECT_TRUE(!found || found->empty == (i % 2 == 0));
    }
}

TEST_F(Program, AnswersThatCannotBeReadArePassedOver)
{
    const std::string hex = "0123456789abcdef0123456789abcdef";
    write(R"({"format":1,"app_caches_answers":"x )" + hex + "- " + hex + "x  " + hex.substr(1) +
          R"( ffffffffffffffffffffffffffffffff"})");
    const program_facts facts = load_all();
    EXPECT_EQ(read, STATUS_ok);
    EXPECT_EQ(facts.app_caches.answer_count, 2u);
    EXPECT_TRUE(facts.app_caches.answers[0].empty);
    EXPECT_FALSE(facts.app_caches.answers[1].empty);
}

TEST_F(Program, MembersOfOtherVersionsAreReadPastAndKept)
{
    const std::string theirs = R"("later":{"saved":[1,2.5e3,{"x":null}],"on":true},"note":"\"")";
    write("{ \"format\" : 1,\n " + theirs + " , \"app_caches\" : \"not_read\" }");
    EXPECT_EQ(load(), PROGRAM_CACHES_NOT_READ);
    EXPECT_EQ(read, STATUS_ok);
    ASSERT_EQ(save(PROGRAM_CACHES_READ_BACK), STATUS_ok);
    EXPECT_EQ(json::parse(scratch.read("app/program.json")),
              json::parse(R"({"format":1,"app_caches":"read_back",)" + theirs + "}"));
    EXPECT_EQ(load(), PROGRAM_CACHES_READ_BACK);
}

TEST_F(Program, AWordOfAnotherVersionMeansNothing)
{
    write(R"({"format":1,"app_caches":"sometimes"})");
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, STATUS_ok);
}

TEST_F(Program, DamageIsRefusedAndReplaced)
{
    for (const char *content :
         {"", "{", "{}", "[]", "null", R"({"app_caches":"not_read"})", R"({"format":0})",
          R"({"format":"1"})", R"({"format":1,"app_caches":1})", R"({"format":1}x)",
          R"({"format":1,"app_caches":"not_read")", R"({"format":1,"kept":?})"}) {
        write(content);
        EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN) << content;
        EXPECT_EQ(read, STATUS_bad_program_file) << content;
        ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
        EXPECT_EQ(scratch.read("app/program.json"), "{\"format\":1,\"app_caches\":\"not_read\"}\n")
            << content;
    }
}

TEST_F(Program, AnotherFormatIsNotGuessedAt)
{
    write(R"({"format":2,"app_caches":"not_read"})");
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, STATUS_bad_format_version);
}

// A file that cannot be read for want of descriptors or memory, or since the disk has failed for
// once, is none that is damaged.
TEST_F(Program, StaysWhereItCannotBeReadJustNow)
{
    program_learnt learnt = {};
    learnt.kept = true;
    ASSERT_EQ(program_learn(folder.c_str(), "app", &learnt), STATUS_ok);
    for (const auto &[name, error] :
         {std::pair{"openat", EMFILE}, {"openat", EIO}, {"read", EIO}}) {
        for (int call = 0, reached = 1; reached; call++) {
            {
                Arm arm(call, error, false, name);
                count(1, 1700000000);
                reached = faults.calls > call;
            }
            EXPECT_TRUE(load_all().app_caches.kept) << name << " " << call << " " << error;
        }
    }
    for (int call = 0, reached = 1; reached; call++) {
        {
            Starve starve(call);
            count(1, 1700000000);
            reached = starve.has_failed();
        }
        EXPECT_TRUE(load_all().app_caches.kept) << "allocation " << call;
    }
}

TEST_F(Program, SizeIsBounded)
{
    const std::string head = R"({"format":1,"app_caches":"not_read","long":")";
    const std::string longest = head + std::string(PROGRAM_FILE_LIMIT - head.size() - 2, 'x');
    write(longest + "\"}");
    EXPECT_EQ(load(), PROGRAM_CACHES_NOT_READ);
    EXPECT_EQ(read, STATUS_ok);
    // With the longer word there is no room for the rest: the file may not become unreadable.
    ASSERT_EQ(save(PROGRAM_CACHES_READ_BACK), STATUS_ok);
    EXPECT_EQ(load(), PROGRAM_CACHES_READ_BACK);

    write(longest + "x\"}");
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, STATUS_too_large);
}

TEST_F(Program, IsTrustedAsEveryFileIs)
{
    write(R"({"format":1,"app_caches":"not_read"})");
    chmod(file().c_str(), 0622);
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, STATUS_file_mode);

    const std::string elsewhere = folder + "/elsewhere.json";
    write_file(elsewhere, R"({"format":1,"app_caches":"not_read"})");
    ASSERT_EQ(unlink(file().c_str()), 0);
    ASSERT_EQ(symlink(elsewhere.c_str(), file().c_str()), 0);
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
    EXPECT_EQ(read, STATUS_symlink);
    // The link is replaced; what it pointed to is not written.
    ASSERT_EQ(save(PROGRAM_CACHES_READ_BACK), STATUS_ok);
    EXPECT_EQ(load(), PROGRAM_CACHES_READ_BACK);
    EXPECT_EQ(scratch.read("elsewhere.json"), R"({"format":1,"app_caches":"not_read"})");
}

TEST_F(Program, WhatStandsThereAlreadyIsNotWrittenAgain)
{
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    struct stat before = {};
    ASSERT_EQ(stat(file().c_str(), &before), 0);
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    struct stat after = {};
    ASSERT_EQ(stat(file().c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(Program, AFolderThatCannotBeMadeIsToldSo)
{
    write_file(folder + "/app", "a file in its place");
    EXPECT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_directory_unusable);
    EXPECT_EQ(load(), PROGRAM_CACHES_UNKNOWN);
}

TEST_F(Program, CountsAddUp)
{
    EXPECT_EQ(count(3, 1000), STATUS_no_file); // no folder is made to count
    EXPECT_TRUE(names_in(folder).empty());
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    ASSERT_EQ(count(3, 1000), STATUS_ok);
    ASSERT_EQ(count(4, 2000), STATUS_ok);
    program_facts facts = load_all();
    EXPECT_EQ(facts.caches, PROGRAM_CACHES_NOT_READ);
    EXPECT_EQ(facts.since, 1000u);
    EXPECT_EQ(facts.counters.starts, 2u);
    EXPECT_EQ(facts.counters.requests, 7u);
    EXPECT_EQ(facts.counters.shared, 0u);
    EXPECT_EQ(json::parse(scratch.read("app/program.json")), json::parse(R"({"format":1,
        "app_caches":"not_read","since":1000,"starts":2,"requests":7,"shared":0,"driver_hits":0,
        "driver_misses":0,"prewarmed":0,"create_ns":0,"compile_ns":0,"pulled":0,"pulled_bytes":0,
        "pulled_ns":0})"));
    ASSERT_EQ(save(PROGRAM_CACHES_READ_BACK), STATUS_ok);
    EXPECT_EQ(load_all().counters.requests, 7u);
    EXPECT_EQ(names_in(folder + "/app"), std::vector<std::string>{"program.json"});
}

// A start that only counts costs no new file, so no directory is changed and nothing is journalled.
TEST_F(Program, CountersAreChangedInPlace)
{
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    ASSERT_EQ(count(1, 1000), STATUS_ok);
    struct stat before = {};
    ASSERT_EQ(stat(file().c_str(), &before), 0);
    ASSERT_EQ(count(UINT64_MAX - 1, 1000), STATUS_ok);
    struct stat after = {};
    ASSERT_EQ(stat(file().c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
    EXPECT_EQ(before.st_size, after.st_size);
    EXPECT_EQ(load_all().counters.requests, UINT64_MAX);
}

TEST_F(Program, ZeroBeginsAnew)
{
    EXPECT_EQ(program_zero(folder.c_str(), "app", 5), STATUS_no_file);
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    ASSERT_EQ(count(3, 1000), STATUS_ok);
    ASSERT_EQ(program_zero(folder.c_str(), "app", 2000), STATUS_ok);
    program_facts facts = load_all();
    EXPECT_EQ(facts.since, 2000u);
    EXPECT_EQ(facts.counters.requests, 0u);
    EXPECT_EQ(facts.caches, PROGRAM_CACHES_NOT_READ);
}

TEST_F(Program, ZeroMakesNoFileAndChangesNoneOfOthers)
{
    write(R"({"name":"my own thing"})");
    EXPECT_EQ(program_zero(folder.c_str(), "app", 5), STATUS_bad_program_file);
    EXPECT_EQ(scratch.read("app/program.json"), R"({"name":"my own thing"})");
    std::filesystem::remove(folder + "/app/program.json");
    EXPECT_EQ(program_zero(folder.c_str(), "app", 5), STATUS_no_file);
    EXPECT_TRUE(names_in(folder + "/app").empty());
}

TEST_F(Program, CountersDoNotOverflow)
{
    write(R"({"format":1,"since":9,"requests":18446744073709551615})");
    ASSERT_EQ(count(2, 1000), STATUS_ok);
    program_facts facts = load_all();
    EXPECT_EQ(facts.counters.requests, UINT64_MAX);
    EXPECT_EQ(facts.counters.starts, 1u);
    EXPECT_EQ(facts.since, 9u);
    // Counts of nobody knows when count for nothing.
    write(R"({"format":1,"requests":5})");
    EXPECT_EQ(load_all().counters.requests, 0u);
    write(R"({"format":1,"since":1,"requests":-5})");
    load();
    EXPECT_EQ(read, STATUS_bad_program_file);
}

TEST_F(Program, ProcessesThatCountAtOnceLoseNothing)
{
    const unsigned processes = 8;
    const unsigned rounds = 50;
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    std::vector<pid_t> children;
    for (unsigned i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child == 0) {
            bool counted = true;
            for (unsigned round = 0; round < rounds; round++) {
                enum status reason = STATUS_locked; // bounded waits: tried again
                while (reason == STATUS_locked) {
                    reason = count(1, 1000);
                }
                counted &= reason == STATUS_ok;
            }
            _exit(counted ? 0 : 1);
        }
        children.push_back(child);
    }
    for (pid_t child : children) {
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(load_all().counters.requests, processes * rounds);
    EXPECT_EQ(names_in(folder + "/app"), std::vector<std::string>{"program.json"});
}

// Who reads has no lock, and must not find a mixture.
TEST_F(Program, NothingButCountsIsOverwrittenInPlace)
{
    const auto inode_after = [&](const char *settings) {
        program_counters more = {};
        more.requests = 1;
        EXPECT_EQ(program_count(folder.c_str(), "app", &more, 1000, settings), STATUS_ok);
        struct stat status = {};
        EXPECT_EQ(stat(file().c_str(), &status), 0);
        return status.st_ino;
    };
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    inode_after("RADV_PERFTEST=rt");
    const ino_t first = inode_after("RADV_PERFTEST=rt");
    EXPECT_EQ(inode_after("RADV_PERFTEST=rt"), first);
    EXPECT_EQ(inode_after(nullptr), first);
    const uintmax_t size = std::filesystem::file_size(file());
    std::filesystem::create_hard_link(file(), file() + ".kept"); // the number is not used again
    EXPECT_NE(inode_after("RADV_PERFTEST=sa"), first);
    EXPECT_EQ(std::filesystem::file_size(file()), size);
    std::filesystem::remove(file() + ".kept");
}

TEST_F(Program, AFolderThatIsHeldIsNotWaitedForWithoutEnd)
{
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    int fd = open((folder + "/app").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    EXPECT_EQ(count(1, 1000), STATUS_locked);
    // Anybody may hold a folder that he may list: to read it nobody waits, so that no core is given
    // up.
    bool has_waited = true;
    for (int i = 0; i < 20 && has_waited; i++) {
        rusage before = {};
        rusage after = {};
        getrusage(RUSAGE_THREAD, &before);
        EXPECT_EQ(load(), PROGRAM_CACHES_NOT_READ);
        getrusage(RUSAGE_THREAD, &after);
        has_waited = before.ru_nvcsw != after.ru_nvcsw;
    }
    EXPECT_FALSE(has_waited);
    close(fd);
    EXPECT_EQ(count(1, 1000), STATUS_ok);
}

TEST_F(Program, RemembersWhatTookADriverLong)
{
    const digest first = {1, 2};
    const digest second = {3, 4};
    slow_calls calls = {first, {0, 1200, UINT32_MAX}};
    EXPECT_EQ(program_note_slow(folder.c_str(), "app", &calls), STATUS_ok);
    calls = {second, {300, 0, 0}};
    EXPECT_EQ(program_note_slow(folder.c_str(), "app", &calls), STATUS_ok);
    EXPECT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    program_facts facts = load_all();
    EXPECT_EQ(facts.caches, PROGRAM_CACHES_NOT_READ);
    ASSERT_EQ(facts.slow.count, 2u);
    ASSERT_TRUE(slow_calls_find(&facts.slow, first));
    EXPECT_EQ(slow_calls_find(&facts.slow, first)->ms[SLOW_READ], 1200u);
    EXPECT_EQ(slow_calls_find(&facts.slow, first)->ms[SLOW_MERGE], UINT32_MAX);
    EXPECT_EQ(slow_calls_find(&facts.slow, second)->ms[SLOW_LOAD], 300u);
    EXPECT_FALSE(slow_calls_find(&facts.slow, {5, 6}));

    calls = {first, {0, 0, 0}};
    EXPECT_EQ(program_note_slow(folder.c_str(), "app", &calls), STATUS_ok);
    EXPECT_EQ(load_all().slow.count, 1u);
    for (uint64_t i = 0; i < 20; i++) {
        calls = {{100 + i, 0}, {1, 0, 0}};
        EXPECT_EQ(program_note_slow(folder.c_str(), "app", &calls), STATUS_ok);
    }
    facts = load_all();
    EXPECT_EQ(facts.slow.count, size_t{PROGRAM_LIST_MAX});
    EXPECT_FALSE(slow_calls_find(&facts.slow, {103, 0})) << "the oldest give way";
    EXPECT_TRUE(slow_calls_find(&facts.slow, {104, 0}));
}

TEST_F(Program, RemembersTheKeysOfTheLatestDevices)
{
    for (uint64_t i = 0; i < 20; i++) {
        const pipeline_key key = {{i, 1}, {2, i}};
        EXPECT_EQ(program_note_key(folder.c_str(), "app", &key), STATUS_ok);
    }
    const pipeline_key again = {{4, 1}, {7, 8}};
    EXPECT_EQ(program_note_key(folder.c_str(), "app", &again), STATUS_ok);
    const program_facts facts = load_all();
    ASSERT_EQ(facts.keys.count, size_t{PROGRAM_LIST_MAX});
    EXPECT_FALSE(pipeline_keys_find(&facts.keys, {3, 1})) << "the oldest give way";
    ASSERT_TRUE(pipeline_keys_find(&facts.keys, {4, 1}));
    EXPECT_TRUE(digest_equal(pipeline_keys_find(&facts.keys, {4, 1})->key, {7, 8}));
    EXPECT_TRUE(digest_equal(facts.keys.keys[PROGRAM_LIST_MAX - 1].device, {4, 1}));
}

TEST_F(Program, PassesOverWhatIsNoKeyOfADevice)
{
    const std::string hex = "0123456789abcdef0123456789abcdef";
    write(R"({"format":1,"pipeline_keys":"x )" + hex + " " + hex + "- " + hex + "-" + hex + "0 " +
          hex + "x" + hex + " " + hex + "-" + std::string(32, 'g') + "  " + hex + "-" + hex +
          " \"}");
    const program_facts facts = load_all();
    EXPECT_EQ(read, STATUS_ok);
    EXPECT_EQ(facts.keys.count, 1u);
}

TEST_F(Program, RemembersTheLatestSettingsOfDrivers)
{
    ASSERT_EQ(count(1, 7), STATUS_no_file) << "makes no folder";
    ASSERT_EQ(save(PROGRAM_CACHES_NOT_READ), STATUS_ok);
    const program_counters more = {};
    const std::string texts[] = {"RADV_PERFTEST=a;TU_DEBUG=", "TU_DEBUG=b c"};
    for (const std::string &text : texts) {
        ASSERT_EQ(program_count(folder.c_str(), "app", &more, 7, text.c_str()), STATUS_ok);
        EXPECT_EQ(load_all().driver_settings, text);
        ASSERT_EQ(program_count(folder.c_str(), "app", &more, 7, ""), STATUS_ok);
        ASSERT_EQ(program_count(folder.c_str(), "app", &more, 7, nullptr), STATUS_ok);
        EXPECT_EQ(load_all().driver_settings, text) << "what is not known changes nothing";
    }
}

TEST_F(Program, PassesOverSettingsOfAnotherForm)
{
    for (const std::string &text : {std::string("A=\\n"), std::string("A=\xc3\xa4"),
                                    std::string(PROGRAM_SETTINGS_SIZE, 'A')}) {
        write(R"({"format":1,"driver_settings":")" + text + "\"}");
        EXPECT_STREQ(load_all().driver_settings, "") << text;
        EXPECT_EQ(read, STATUS_ok);
    }
    write(R"({"format":1,"driver_settings":7})");
    EXPECT_STREQ(load_all().driver_settings, "");
}

TEST_F(Program, PassesOverWhatIsNoTimeOfADriver)
{
    const std::string hex = "0123456789abcdef0123456789abcdef";
    write(R"({"format":1,"slow_calls":"x -1-2-3 )" + hex + " " + hex + "-1-2 " + hex + "-1-2-3-4 " +
          hex + "-1--3 " + hex + "-1-2-x  " + hex + "-99999999999999999999-0-7 \"}");
    const program_facts facts = load_all();
    EXPECT_EQ(read, STATUS_ok);
    ASSERT_EQ(facts.slow.count, 1u);
    EXPECT_EQ(facts.slow.drivers[0].ms[SLOW_LOAD], UINT32_MAX);
    EXPECT_EQ(facts.slow.drivers[0].ms[SLOW_MERGE], 7u);
}

} // namespace
