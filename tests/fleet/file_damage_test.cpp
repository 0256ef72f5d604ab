// SPDX-License-Identifier: Apache-2.0
// What is damaged, on a remote or here, is not taken, and mended where that can be.
#include <zstd.h>

#include "file_remote.h"

namespace {

TEST_F(FileRemote, DamagedObjectsAreNotTaken)
{
    share();
    const std::string file = files("obj").at(0);
    const std::string object = read_file(file);
    for (size_t at = 0; at < object.size(); at += object.size() / 16 + 1) {
        write_file(file, flipped(object, at));
        expect_refused("remote_bad_object");
    }
    write_file(file, object.substr(0, object.size() - 1));
    expect_refused("remote_bad_object");
    write_file(file, object + "x");
    expect_refused("remote_bad_answer");
    // A small frame that says it is large, and is.
    std::string bomb(ZSTD_compressBound(1 << 24), '\0');
    const std::string zeros(1 << 24, '\0');
    bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), zeros.data(), zeros.size(), 19));
    write_file(file, bomb.substr(0, object.size()));
    expect_refused("remote_bad_object");
    std::filesystem::remove(file);
    expect_refused("remote_object_missing");
}

// By an operator, or a disk that was put back: who still has the cache sends it again.
TEST_F(FileRemote, AnObjectThatIsGoneIsSentAgain)
{
    share();
    std::filesystem::remove(files("obj").at(0));
    expect_refused("remote_object_missing");
    EXPECT_EQ(rows_of(push(first).out), Rows{"demo blob pushed"});
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});
    EXPECT_EQ(rows_of(push(first).out), Rows{"demo blob unchanged"});
}

TEST_F(FileRemote, DamageHereIsNotSent)
{
    const std::string hex = hex_of(sample_identity());
    std::filesystem::create_directories(first.root + "/demo");
    std::filesystem::permissions(first.root + "/demo", std::filesystem::perms(0700));
    write_file(first.root + "/demo/" + hex + ".wpcache", flipped(cache_file(), 970));
    const ToolResult result = push(first);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(bad_section_digest)")) << result.err;
    EXPECT_FALSE(std::filesystem::exists(place->data + "/v1/obj"));
}

// Whoever has quarantined a blob blocks it there: nobody else takes it.
TEST_F(FileRemote, WhatCrashedADriverIsBlocked)
{
    share();
    const std::string name = first.caches().at(0);
    const std::string folder = first.root + "/demo/";
    std::filesystem::create_directory(folder + "quarantine");
    std::filesystem::permissions(folder + "quarantine", std::filesystem::perms(0700));
    std::filesystem::rename(folder + name, folder + "quarantine/" + name);

    EXPECT_EQ(rows_of(pull(first).out), Rows{"demo blob blocked"});
    EXPECT_EQ(first.caches(), Rows{name}) << "the one in quarantine";

    EXPECT_EQ(rows_of(push(first).out), Rows{"demo blob pushed"});
    EXPECT_EQ(head_json()["parts"].size(), 0u);
    EXPECT_EQ(head_json()["blocked"].size(), 1u);
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob unchanged"});
    // The same bytes compiled again are not sent again.
    std::filesystem::rename(folder + "quarantine/" + name, folder + name);
    const ToolResult result = push(first);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_blocked)")) << result.err;
}

} // namespace
