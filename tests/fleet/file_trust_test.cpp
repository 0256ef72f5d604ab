// SPDX-License-Identifier: Apache-2.0
// Which heads are believed: signatures, serials, and what a signed head may say.
#include "file_remote.h"

namespace {

TEST_F(FileRemote, AHeadIsASignatureOfMinisignAndJson)
{
    if (!is_installed(minisign)) {
        GTEST_SKIP() << "no minisign";
    }
    share();
    const std::string text = read_file(head_file());
    std::vector<std::string> lines = lines_of(text);
    ASSERT_EQ(lines.size(), 5u);
    const std::string message = first.folder.path + "/head";
    write_file(message, lines[4] + "\n");
    write_file(message + ".minisig",
               lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n" + lines[3] + "\n");
    ToolResult result = run_program({minisign, "-V", "-p", keys.open, "-m", message});
    EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
    EXPECT_TRUE(contains(result.out, "Trusted comment: warmpipe head v1 v1/head/demo/"));

    // And the other way: with our secret key, minisign signs what we then take.
    const std::string comment = lines[2].substr(strlen("trusted comment: "));
    result = run_program({minisign, "-S", "-W", "-s", keys.secret, "-m", message, "-t", comment,
                          "-x", message + ".again"});
    ASSERT_EQ(result.exit_status, 0) << result.out << result.err;
    EXPECT_NE(read_file(message + ".again"), read_file(message + ".minisig"));
    write_file(head_file(), read_file(message + ".again") + read_file(message));
    result = pull(second);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pulled"});
}

TEST_F(FileRemote, AFreshMachineCanRefuseOldHeads)
{
    share();
    const std::string old_head = read_file(head_file());
    const uint64_t old_serial = head_json()["serial"];
    share(6);
    ASSERT_EQ(head_json()["serial"], old_serial + 1);
    const std::string serial = std::to_string(old_serial + 1);
    ToolResult result = pull(second, {"--min-serial", serial, "--max-age", "1h"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pulled"});

    write_file(head_file(), old_head); // signed, and once true
    Machine third;
    result = pull(third, {"--min-serial", serial, "--app", "demo"});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_rolled_back): serial " + std::to_string(old_serial) +
                                         ", at least " + serial))
        << result.err;
    sleep(2);
    for (const char *age : {"1s", "0s"}) {
        result = pull(third, {"--max-age", age, "--app", "demo"});
        EXPECT_EQ(result.exit_status, 1) << age;
        EXPECT_TRUE(contains(result.err, "(remote_rolled_back): made ")) << age << result.err;
        EXPECT_FALSE(contains(result.err, "seen here")) << age << result.err;
    }
    EXPECT_EQ(pull(third).exit_status, 0);
    for (const char *serial_text : {"", "-1", "1x", "99999999999999999999"}) {
        EXPECT_EQ(pull(third, {"--min-serial", serial_text}).exit_status, 2) << serial_text;
    }
}

// Or the storage was lost, and a machine that has seen nothing pushes first.
TEST_F(FileRemote, AHeadThatWasRemovedIsFollowedByANewerOne)
{
    share();
    first.run(6);
    ASSERT_EQ(push(first).exit_status, 0);
    EXPECT_EQ(pull(second).exit_status, 0);
    ASSERT_EQ(first.tool({"remote", "rm", "--remote", place->url, "--app", "demo"}).exit_status, 0);
    Machine third;
    third.run(8);
    ASSERT_EQ(push(third).exit_status, 0);
    const ToolResult result = pull(second);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pulled"});
}

// A server that checks and writes in two steps tells both that theirs is the first head, and keeps
// the one that was begun before. Neither is older than the other.
TEST_F(FileRemote, HeadsThatBeginTogetherAreOfOneAge)
{
    first.run(4);
    ASSERT_EQ(push(first).exit_status, 0);
    const std::string begun_before = read_file(head_file());
    const uint64_t serial = head_json()["serial"];
    std::filesystem::remove(head_file());
    second.run(6);
    ASSERT_EQ(push(second).exit_status, 0);
    ASSERT_GT(head_json()["serial"], serial);
    write_file(head_file(), begun_before);
    first.run(5);
    ASSERT_EQ(push(first).exit_status, 0);
    const ToolResult result = push(second);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(head_json()["parts"].size(), 2u);
    EXPECT_EQ(pull(first).exit_status, 0);

    // Whatever follows is older.
    const std::string old = read_file(head_file());
    second.run(8);
    ASSERT_EQ(push(second).exit_status, 0);
    write_file(head_file(), old);
    EXPECT_TRUE(contains(pull(second).err, "(remote_rolled_back)"));
}

// A server whose last writes are lost, as in a failover of Redis.
TEST_F(FileRemote, AHeadThatIsTooOldIsReplacedWhereThatIsAsked)
{
    first.run(4);
    ASSERT_EQ(push(first).exit_status, 0);
    const std::string old = read_file(head_file());
    first.run(6);
    ASSERT_EQ(push(first).exit_status, 0);
    const uint64_t newest = head_json()["serial"];
    pull(second);
    write_file(head_file(), old);
    first.run(8);
    ToolResult result = push(first);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_rolled_back)")) << result.err;
    EXPECT_EQ(read_file(head_file()), old);
    result = push(first, {"--replace"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, ": is replaced")) << result.err;
    EXPECT_GT(head_json()["serial"], newest);
    result = pull(second);
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pulled"}) << result.err;
}

TEST_F(FileRemote, EveryByteOfAHeadCounts)
{
    share();
    const std::string file = head_file();
    const std::string head = read_file(file);
    // The first line alone is a comment that nothing depends on.
    for (size_t at = head.find('\n') + 1; at < head.size(); at += 7) {
        write_file(file, flipped(head, at));
        const ToolResult result = pull(second, {"--app", "demo"});
        ASSERT_EQ(result.exit_status, 1) << "byte " << at;
        ASSERT_TRUE(contains(result.err, "(remote_bad_head)") ||
                    contains(result.err, "(remote_untrusted_head)"))
            << result.err;
    }
    for (const std::string &text :
         {std::string(), std::string("<html>no</html>"), head.substr(0, head.size() / 2),
          head + "{}\n", std::string(70000, 'x')}) {
        write_file(file, text);
        ASSERT_EQ(pull(second, {"--app", "demo"}).exit_status, 1) << text.substr(0, 40);
    }
    write_file(file, head);
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});
}

TEST_F(FileRemote, AHeadHoldsForItsOwnPlaceAlone)
{
    share();
    std::filesystem::create_directories(place->data + "/v1/head/other");
    std::filesystem::copy_file(head_file(),
                               place->data + "/v1/head/other/" +
                                   std::filesystem::path(head_file()).filename().string());
    const ToolResult result = pull(second, {"--app", "other"});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_bad_head)")) << result.err;
}

TEST_F(FileRemote, AnOldHeadIsNotTakenByWhoHasSeenANewer)
{
    share(4);
    const std::string old = read_file(head_file());
    const uint64_t serial = head_json()["serial"];
    first.run(6);
    EXPECT_EQ(push(first).exit_status, 0);
    EXPECT_EQ(head_json()["serial"], serial + 1);
    EXPECT_EQ(pull(second).exit_status, 0);
    write_file(head_file(), old);
    ToolResult result = pull(second);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_rolled_back): serial " + std::to_string(serial) +
                                         ", and " + std::to_string(serial + 1) + " was seen here"))
        << result.err;
    // Nor does a push build on it.
    first.run(8);
    EXPECT_TRUE(contains(push(first).err, "(remote_rolled_back)"));
    EXPECT_EQ(read_file(head_file()), old);
}

// A head that minisign signs with the right key: of this serial, and made then.
class SignedHead : public FileRemote {
  protected:
    void put(uint64_t serial, uint64_t made)
    {
        const std::vector<std::string> lines = lines_of(read_file(head_file()));
        const json head = json::parse(lines[4]);
        std::string text = lines[4];
        const auto say = [&](const char *key, uint64_t value) {
            const std::string truth = "\"" + std::string(key) + "\":" + head[key].dump();
            text.replace(text.find(truth), truth.size(),
                         "\"" + std::string(key) + "\":" + std::to_string(value));
        };
        say("serial", serial);
        say("made", made);
        const std::string message = first.folder.path + "/head";
        write_file(message, text + "\n");
        const std::string comment = lines[2].substr(strlen("trusted comment: "));
        const ToolResult result =
            run_program({minisign, "-S", "-W", "-s", keys.secret, "-m", message, "-t",
                         comment.substr(0, comment.rfind(' ') + 1) + std::to_string(serial), "-x",
                         message + ".minisig"});
        ASSERT_EQ(result.exit_status, 0) << result.err;
        write_file(head_file(), read_file(message + ".minisig") + read_file(message));
    }
};

TEST_F(SignedHead, NoneFollowsTheLastSerial)
{
    if (!is_installed(minisign)) {
        GTEST_SKIP() << "no minisign";
    }
    share(4);
    for (const uint64_t serial : {UINT64_MAX, uint64_t(INT64_MAX) + 1, uint64_t(INT64_MAX)}) {
        put(serial, time(nullptr));
        const std::string before = read_file(head_file());
        Machine other;
        other.run(6);
        const ToolResult result = push(other);
        EXPECT_EQ(result.exit_status, 1) << serial;
        EXPECT_TRUE(contains(result.err, "(remote_bad_head)")) << result.err;
        // Nothing is shown of a head that is none.
        if (serial > uint64_t(INT64_MAX)) {
            const json row = json::parse(result.out)["results"][0];
            EXPECT_EQ(row["serial"], 0) << result.out;
            EXPECT_EQ(row["device"], "") << result.out;
        }
        EXPECT_EQ(read_file(head_file()), before);
    }
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});
}

// A machine whose clock was wrong has made it: it would never be too old.
TEST_F(SignedHead, OfAYearToComeIsNotYoung)
{
    if (!is_installed(minisign)) {
        GTEST_SKIP() << "no minisign";
    }
    share(4);
    put(1, time(nullptr) + 86400);
    const ToolResult result = pull(second, {"--max-age", "1h", "--app", "demo"});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_rolled_back): made 8")) << result.err;
    EXPECT_TRUE(contains(result.err, "s ahead of the clock here")) << result.err;
    EXPECT_EQ(pull(second, {"--max-age", "2d", "--app", "demo"}).exit_status, 0);
}

// A writer with the right key that sends what belongs to no device here.
TEST_F(FileRemote, WhatIsSignedIsStillChecked)
{
    const std::string hex = hex_of(sample_identity());
    std::filesystem::create_directories(first.root + "/demo");
    std::filesystem::permissions(first.root + "/demo", std::filesystem::perms(0700));
    write_file(first.root + "/demo/" + hex + ".wpcache", cache_file());
    EXPECT_EQ(rows_of(push(first).out), Rows{"demo blob pushed"});
    // Of another device: it is not even asked for.
    EXPECT_EQ(rows_of(pull(second).out), Rows());
    std::filesystem::create_directories(second.root);
    EXPECT_EQ(second.caches(), std::vector<std::string>());
}

// The same with a head that lies: an object of another device, another payload, other sizes.
TEST_F(FileRemote, WhatASignedHeadClaimsIsStillChecked)
{
    if (!is_installed(minisign)) {
        GTEST_SKIP() << "no minisign";
    }
    share();
    const json part = head_json()["parts"][0];
    const std::vector<std::string> lines = lines_of(read_file(head_file()));
    const std::string head = lines[4];
    // Of another driver, and whole: the same device, but for its driver's version.
    first.more["WPTEST_ICD_DRIVER_VERSION"] = "2";
    const std::string path = head_file();
    first.run(3, {"--app", "other"});
    ASSERT_EQ(push(first, {"--app", "other"}).exit_status, 0);
    const json other = remote_head(files("head/other").at(0))["parts"][0];

    const std::string message = first.folder.path + "/head";
    auto expect_lie = [&](const std::map<std::string, json> &lies, const std::string &reason) {
        std::string text = head;
        for (const auto &[key, value] : lies) {
            const std::string truth = "\"" + key + "\":" + part[key].dump();
            ASSERT_NE(text.find(truth), std::string::npos) << truth;
            text.replace(text.find(truth), truth.size(), "\"" + key + "\":" + value.dump());
        }
        write_file(message, text + "\n");
        const std::string comment = lines[2].substr(strlen("trusted comment: "));
        ASSERT_EQ(run_program({minisign, "-S", "-W", "-s", keys.secret, "-m", message, "-t",
                               comment, "-x", message + ".minisig"})
                      .exit_status,
                  0);
        write_file(path, read_file(message + ".minisig") + text + "\n");
        expect_refused(reason);
    };
    const std::string nobody(64, 'a');
    const uint64_t bytes = part["bytes"];
    const uint64_t unpacked = part["unpacked"];
    expect_lie({{"object", other["object"]},
                {"payload", other["payload"]},
                {"bytes", other["bytes"]},
                {"unpacked", other["unpacked"]}},
               "renamed");
    expect_lie({{"payload", nobody}}, "remote_bad_object");
    expect_lie({{"object", nobody}}, "remote_object_missing");
    expect_lie({{"bytes", bytes - 1}}, "remote_bad_answer");
    expect_lie({{"unpacked", unpacked - 1}}, "remote_bad_object");
    expect_lie({{"unpacked", unpacked + 1}}, "remote_bad_object");
    expect_lie({{"unpacked", uint64_t(1) << 40}}, "remote_bad_head");
}

} // namespace
