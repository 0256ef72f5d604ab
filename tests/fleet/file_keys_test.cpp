// SPDX-License-Identifier: Apache-2.0
// Keys: where they lie, which are trusted, and what becomes of heads that others have signed.
#include "file_remote.h"

namespace {

TEST_F(FileRemote, AKeyOfMinisignItselfWillDo)
{
    if (!is_installed(minisign)) {
        GTEST_SKIP() << "no minisign";
    }
    const std::string folder = first.folder.path;
    const ToolResult made =
        run_program({minisign, "-G", "-W", "-p", folder + "/k.pub", "-s", folder + "/k.key"});
    ASSERT_EQ(made.exit_status, 0) << made.err;
    keys.secret = folder + "/k.key";
    keys.open = folder + "/k.pub";
    share();
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});
}

TEST_F(FileRemote, KeygenOverwritesNoKey)
{
    const std::string before = read_file(keys.secret);
    EXPECT_EQ(std::filesystem::status(keys.secret).permissions(), std::filesystem::perms(0600));
    EXPECT_EQ(run_tool({"remote", "keygen", "--out", keys.folder.path + "/keys"}).exit_status, 2);
    EXPECT_EQ(read_file(keys.secret), before);
    EXPECT_EQ(run_tool({"remote", "keygen"}).exit_status, 2);
    // Where one of the two is there, the other is not made: they would not belong together.
    for (const char *there : {"/warmpipe.pub", "/warmpipe.key"}) {
        TemporaryFolder folder;
        write_file(folder.path + there, "mine");
        EXPECT_EQ(run_tool({"remote", "keygen", "--out", folder.path}).exit_status, 2);
        EXPECT_EQ(read_file(folder.path + there), "mine");
        const std::filesystem::directory_iterator files(folder.path);
        EXPECT_EQ(std::distance(begin(files), end(files)), 1) << there;
    }
}

TEST_F(FileRemote, TrustedKeysMayLieInAFolder)
{
    share();
    const std::string folder = second.folder.path + "/.config/warmpipe/trusted";
    const std::vector<std::string> words = {"pull",     "--json", "--remote",
                                            place->url, "--dir",  second.root};
    ToolResult result = second.tool(words);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_no_key)")) << result.err;
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(keys.open, folder + "/ci.pub");
    // Whoever may write there decides whom this machine trusts.
    using std::filesystem::perms;
    std::filesystem::permissions(folder + "/ci.pub", perms(0666));
    result = second.tool(words);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "(file_mode)")) << result.err;
    std::filesystem::permissions(folder + "/ci.pub", perms(0664));
    std::filesystem::permissions(folder, perms(0777));
    result = second.tool(words);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "(directory_mode)")) << result.err;
    std::filesystem::permissions(folder, perms(01777)); // as Kubernetes mounts a secret
    if (geteuid() == 0) {
        ASSERT_EQ(chown((folder + "/ci.pub").c_str(), 65533, 65533), 0); // whoever could add it
        EXPECT_TRUE(contains(second.tool(words).err, "(remote_no_key)"));
        ASSERT_EQ(chown((folder + "/ci.pub").c_str(), 0, 0), 0);
    }
    EXPECT_EQ(rows_of(second.tool(words).out), Rows{"demo blob pulled"});

    for (int i = 0; i < 16; i++) {
        std::filesystem::copy_file(folder + "/ci.pub", folder + "/" + std::to_string(i) + ".pub");
    }
    result = second.tool(words);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, ".pub': no more than 16 keys can be trusted")) << result.err;
    std::filesystem::remove(folder + "/0.pub");
    EXPECT_EQ(second.tool(words).exit_status, 0);
    // That of the secret key is one's own.
    result = second.tool({"push", "--remote", place->url, "--secret-key", keys.secret, "--dir",
                          second.root, "--app", "demo"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
}

TEST_F(FileRemote, AnotherKeyIsNotTrusted)
{
    share();
    Keys others;
    keys.open = others.open;
    expect_refused("remote_untrusted_head");
    const ToolResult result = pull(second, {"--insecure"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, "not checked (--insecure)"));
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pulled"});
}

TEST_F(FileRemote, APushLeavesAHeadOfAnotherKeyAlone)
{
    share();
    const std::string before = read_file(head_file());
    Keys others;
    std::swap(keys.secret, others.secret);
    second.run(6);
    const ToolResult result = push(second);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_untrusted_head)")) << result.err;
    EXPECT_EQ(read_file(head_file()), before);
}

// What a stranger has put there is overwritten on demand alone, and by a serial that nobody has
// seen.
TEST_F(FileRemote, ReplaceOverwritesWhatNoTrustedKeyHasSigned)
{
    share();
    for (int i = 0; i < 3; i++) {
        first.run(5 + i);
        ASSERT_EQ(push(first, {"--recipes"}).exit_status, 0);
    }
    EXPECT_EQ(pull(second).exit_status, 0);
    const std::string recipes = std::filesystem::path(head_file()).parent_path() / "recipes";
    int pipelines = 8;
    for (const std::string &text : {std::string("nonsense"), read_file(recipes)}) {
        write_file(head_file(), text);
        Machine third;
        third.run(pipelines++);
        EXPECT_TRUE(contains(push(third).err, "(remote_bad_head)"));
        EXPECT_EQ(read_file(head_file()), text);
        const ToolResult result = push(third, {"--replace"});
        EXPECT_EQ(result.exit_status, 0) << result.err;
        EXPECT_TRUE(contains(result.err, "is replaced: ")) << result.err;
        EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"});
        // Who has seen serial 4 takes it.
        EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});
    }
    // Longer than any head.
    write_file(head_file(), std::string(100000, 'x'));
    EXPECT_EQ(push(second).exit_status, 1);
    ASSERT_EQ(push(second, {"--replace"}).exit_status, 0);
    EXPECT_EQ(head_json()["parts"].size(), 1u);
    // Recipes of another key.
    Keys others;
    std::swap(keys.secret, others.secret);
    second.run(2);
    ASSERT_EQ(push(second, {"--recipes", "--replace"}).exit_status, 0);
    std::swap(keys.secret, others.secret);
    EXPECT_EQ(push(first, {"--recipes"}).exit_status, 1);
    const ToolResult result = push(first, {"--recipes", "--replace"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), (Rows{"demo blob pushed", "demo recipes pushed"}));
    // A head that is trusted is not replaced but added to.
    const auto serial = head_json()["serial"].get<uint64_t>();
    first.run(12);
    ASSERT_EQ(push(first, {"--replace"}).exit_status, 0);
    EXPECT_EQ(head_json()["serial"], serial + 1);
}

TEST_F(FileRemote, SecretsAreGuarded)
{
    std::filesystem::create_directories(first.root);
    ToolResult result = first.tool({"push", "--remote", place->url, "--dir", first.root});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "--secret-key")) << result.err;
    std::filesystem::permissions(keys.secret, std::filesystem::perms(0644));
    result = push(first);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "(remote_key_exposed)")) << result.err;
    std::filesystem::permissions(keys.secret, std::filesystem::perms(0600));
    write_file(keys.secret, read_file(keys.open));
    EXPECT_TRUE(contains(push(first).err, "(remote_bad_key)"));
    keys.secret = keys.open; // which everybody may read
    EXPECT_TRUE(contains(push(first).err, "(remote_bad_key)"));

    place->url = "https://user:hunter2@example.org/x";
    result = pull(second);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "(remote_url_password)")) << result.err;
    EXPECT_FALSE(contains(result.err, "hunter2")) << result.err;
    for (const char *url : {"gopher://x/y",      "/a/b",
                            "file://host/x",     "http://",
                            "http://a b/",       "http://h:port/",
                            "s3:///x",           "s3://b:9000/x",
                            "s3://me@b",         "file:///a?b=c/d",
                            "file:///a?",        "https://h/a?sig=abc",
                            "redis://h/0?tls=1", "unix:/a?b=c",
                            "s3://b?regoin=eu",  "s3://b?region=eu&",
                            "s3://b?region",     "s3://b?endpoint=http://h%zz",
                            "s3://b?endpoint=",  "s3://b?region=&endpoint=http://h"}) {
        place->url = url;
        result = pull(second);
        EXPECT_EQ(result.exit_status, 2) << url;
        EXPECT_TRUE(contains(result.err, "(remote_bad_url): write file:///DIR"))
            << url << result.err;
    }
}

// What nobody has signed may say any serial: of what is signed none is older for that.
TEST_F(FileRemote, WhatIsNotSignedMakesNoHeadAnOldOne)
{
    share();
    const std::string head = read_file(head_file());
    json forged = head_json();
    std::string text = head;
    for (int line = 0; line < 4; line++) {
        text = text.substr(text.find('\n') + 1);
    }
    const std::string serial = "\"serial\":" + std::to_string(forged["serial"].get<uint64_t>());
    text.replace(text.find(serial), serial.size(), "\"serial\":9223372036854775807");
    write_file(head_file(), text);
    EXPECT_EQ(rows_of(pull(second, {"--insecure", "--app", "demo"}).out), Rows{"demo blob pulled"});
    write_file(head_file(), head);
    const ToolResult result = pull(second, {"--app", "demo"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob unchanged"});
}

} // namespace
