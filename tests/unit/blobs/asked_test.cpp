// SPDX-License-Identifier: Apache-2.0
// How a process asks for the blob of its device, and whoever has started it answers.
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>

#include "disk_fixture.h"
#include "faults.h"
#include "scratch.h"

extern "C" {
#include "common/blobs/asked.h"
#include "common/files/file.h"
}

namespace {

constexpr char identity[] = "0123456789abcdef0123456789abcdef";

class Asked : public testing::Test {
  protected:
    Asked()
    {
        fd = open(folder.path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }

    ~Asked() override
    {
        close(fd);
    }

    // Somebody answers, under the token that is returned.
    std::string serve(file_owned *ret_server) const
    {
        char token[UNIQUE_HEX_SIZE];
        EXPECT_TRUE(asked_serve(fd, ret_server));
        unique_format(ret_server->number, token);
        return token;
    }

    std::vector<std::string> names() const
    {
        return names_in(folder.path(""));
    }

    Scratch folder;
    int fd = -1;
};

TEST_F(Asked, IsOpenUntilItIsAnswered)
{
    file_owned server;
    const std::string token = serve(&server);
    EXPECT_FALSE(asked_is_open(fd, identity, token.c_str()));
    EXPECT_TRUE(asked_begin(fd, identity, token.c_str()));
    EXPECT_TRUE(asked_begin(fd, identity, token.c_str())) << "two processes of one device";
    EXPECT_TRUE(asked_is_open(fd, identity, token.c_str()));
    EXPECT_FALSE(asked_has_file(fd, identity));
    write_file(folder.path(std::string(identity) + ".wpcache"), "");
    EXPECT_TRUE(asked_has_file(fd, identity));
    asked_remove(fd, identity, token.c_str());
    EXPECT_FALSE(asked_is_open(fd, identity, token.c_str()));
    file_unlock(server.fd);
}

TEST_F(Asked, OfWhomNobodyAnswersIsSwept)
{
    file_owned server;
    file_owned other;
    const std::string token = serve(&server);
    const std::string other_token = serve(&other);
    EXPECT_TRUE(asked_begin(fd, identity, token.c_str()));
    EXPECT_TRUE(asked_begin(fd, identity, other_token.c_str()));
    EXPECT_FALSE(asked_is_served(fd, "0000000000000000"));
    write_file(folder.path("victim"), "");
    asked_sweep(fd);
    EXPECT_EQ(names().size(), 5u) << "both live";
    file_unlock(server.fd); // as if it had died
    EXPECT_FALSE(asked_is_served(fd, token.c_str()));
    EXPECT_TRUE(asked_is_served(fd, other_token.c_str()));
    asked_sweep(fd);
    EXPECT_FALSE(asked_is_open(fd, identity, token.c_str()));
    EXPECT_TRUE(asked_is_open(fd, identity, other_token.c_str()));
    EXPECT_EQ(names().size(), 3u);
    EXPECT_TRUE(std::filesystem::exists(folder.path("victim")));
    file_unlock(other.fd);
}

// Who pauses is not taken for dead: it answers again, under the same token.
TEST_F(Asked, WhoPausesIsNotSwept)
{
    file_owned server;
    const std::string token = serve(&server);
    asked_pause(&server);
    EXPECT_FALSE(asked_is_served(fd, token.c_str()));
    asked_sweep(fd);
    asked_resume(&server);
    EXPECT_TRUE(asked_is_served(fd, token.c_str()));
    EXPECT_EQ(names().size(), 1u);
    file_unlock(server.fd);
}

// There a lock is not changed: the server would wait for itself.
TEST_F(Asked, WhoPausesOnSmbAnswersOn)
{
    file_owned server;
    faults.one_lock = true;
    const std::string token = serve(&server);
    asked_pause(&server);
    asked_resume(&server);
    EXPECT_EQ(faults.lock_waits, 0);
    faults = {};
    EXPECT_TRUE(asked_is_served(fd, token.c_str()));
    file_unlock(server.fd);
}

// Who looks whether it answers holds the lock for a moment.
TEST_F(Asked, WhoIsLookedAtWhileItResumesAnswersAgain)
{
    file_owned server;
    const std::string token = serve(&server);
    asked_pause(&server);
    {
        Arm arm(0, EWOULDBLOCK, false, "flock");
        asked_resume(&server);
        EXPECT_EQ(faults.calls, 2);
    }
    EXPECT_TRUE(asked_is_served(fd, token.c_str()));
    file_unlock(server.fd);
}

// No link is followed, and what is no file of ours is no question.
TEST_F(Asked, IsAFile)
{
    const std::string token = "0011223344556677";
    const std::string name = folder.path(std::string(identity) + "." + token + ".asked");
    write_file(folder.path("victim"), "stays");
    std::filesystem::create_symlink("victim", name);
    EXPECT_FALSE(asked_begin(fd, identity, token.c_str()));
    EXPECT_EQ(folder.read("victim"), "stays");
    std::filesystem::remove(name);
    ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
    EXPECT_FALSE(asked_begin(fd, identity, token.c_str()));
    {
        const int reader = open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        EXPECT_FALSE(asked_begin(fd, identity, token.c_str()));
        close(reader);
    }
    const Arm arm(0, EMFILE, true, "openat");
    EXPECT_FALSE(asked_begin(fd, identity, token.c_str()));
    EXPECT_FALSE(asked_is_served(fd, token.c_str()));
}

TEST_F(Asked, ATokenStandsBehindTheIdentity)
{
    char token[UNIQUE_HEX_SIZE];
    char of[DIGEST_HEX_SIZE];
    const std::string name = std::string(identity) + ".0011223344556677.asked";
    EXPECT_EQ(names_classify(name.c_str(), of), NAME_ASKED);
    asked_token(name.c_str(), token);
    EXPECT_STREQ(token, "0011223344556677");
}

} // namespace
