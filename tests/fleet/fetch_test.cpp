// SPDX-License-Identifier: Apache-2.0
// Parts of one pull come side by side.
#ifdef WARMPIPE_HAVE_CURL
#include <chrono>
#include <condition_variable>

#include "contents.h"
#include "fleet.h"
#include "scripted_servers.h"

namespace {

// Serves a folder, and answers for an object only once another was asked for as well; behind the
// first so many it waits for that a moment.
class PairServer {
  public:
    explicit PairServer(std::string folder, int first = 2)
        : folder_(std::move(folder)), first_(first)
    {
        fd_ = listen_somewhere(&port_);
        acceptor_ = std::thread([this] {
            for (int fd; (fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
                connections_.emplace_back([this, fd] {
                    serve(fd);
                    close(fd);
                });
            }
        });
    }

    ~PairServer()
    {
        shutdown(fd_, SHUT_RDWR);
        acceptor_.join();
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            objects_ = 2;
        }
        changed_.notify_all();
        for (std::thread &connection : connections_) {
            connection.join();
        }
        close(fd_);
    }

    std::string url() const
    {
        return "http://localhost:" + std::to_string(port_);
    }

    // Those behind the first that were asked for beside another.
    int paired()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        return paired_;
    }

  private:
    void serve(int fd)
    {
        char buffer[4096];
        const ssize_t size = read(fd, buffer, sizeof buffer);
        const std::string request(buffer, size > 0 ? static_cast<size_t>(size) : 0);
        if (request.substr(0, 4) != "GET ") {
            return;
        }
        const std::string path = request.substr(4, request.find(' ', 4) - 4);
        if (contains(path, "/v1/obj/")) {
            std::unique_lock<std::mutex> lock(mutex_);
            const bool is_late = objects_++ >= first_;
            waiting_++;
            changed_.notify_all();
            changed_.wait(lock, [this] { return objects_ >= 2; });
            paired_ += is_late && changed_.wait_for(lock, std::chrono::milliseconds(100),
                                                    [this] { return waiting_ >= 2; });
            waiting_--;
        }
        const std::string file = folder_ + path;
        const std::string answer = std::filesystem::is_regular_file(file)
                                       ? http_answer("200 OK", read_file(file))
                                       : http_answer("404 Not Found");
        send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    }

    std::string folder_;
    int fd_;
    int port_ = 0;
    const int first_;
    int objects_ = 0;
    int waiting_ = 0;
    int paired_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::thread> connections_;
    std::thread acceptor_;
};

class Fetch : public testing::Test {
  protected:
    Keys keys;
    Machine second;

    // Machines that knew nothing of each other have pushed a part each.
    void share(const std::string &url, const std::vector<std::string> &counts)
    {
        for (const std::string &count : counts) {
            Machine machine;
            const ToolResult result =
                machine.tool({"run", "--dir", machine.root, "--app", "demo", "--", PIPELINES_CLIENT,
                              "--graphics", count, "--compute", "0"});
            EXPECT_EQ(result.exit_status, 0) << result.err;
            EXPECT_EQ(machine
                          .tool({"push", "--remote", url, "--secret-key", keys.secret, "--dir",
                                 machine.root, "--app", "demo"})
                          .exit_status,
                      0);
        }
    }

    json pull(const std::string &url)
    {
        const ToolResult result = second.tool({"pull", "--json", "--remote", url, "--public-key",
                                               keys.open, "--app", "demo", "--dir", second.root});
        EXPECT_EQ(result.exit_status, 0) << result.err;
        return json::parse(result.out);
    }
};

TEST_F(Fetch, PartsAreAskedForAtOnce)
{
    const std::unique_ptr<Place> place = file_place();
    share(place->url, {"4", "6"});
    const PairServer server(place->data);
    const json answer = pull(server.url());
    EXPECT_EQ(answer["requests"], 3u) << answer;
    EXPECT_EQ(second.caches().size(), 2u);
}

// However many there are.
TEST_F(Fetch, SoAreTheLastOfMany)
{
    constexpr int first = 16;
    constexpr int count = 24;
    const std::unique_ptr<Place> place = file_place();
    for (int i = 0; i < count; i++) {
        Machine machine;
        const Folder folder(machine, "demo", sample_identity());
        folder.write(noise(30000, i)); // too much for the head
        ASSERT_EQ(machine
                      .tool({"push", "--remote", place->url, "--secret-key", keys.secret, "--dir",
                             machine.root})
                      .exit_status,
                  0);
    }
    const Folder wanted(second, "demo", sample_identity());
    PairServer server(place->data, first);
    EXPECT_EQ(pull(server.url())["requests"], 1u + count);
    EXPECT_EQ(second.caches().size(), size_t(count));
    EXPECT_GT(server.paired(), 0);
}

#ifdef WARMPIPE_HAVE_HIREDIS
// More parts than there are connections.
TEST_F(Fetch, AllPartsComeAndNoneTwice)
{
    const std::unique_ptr<Place> place = redis_place();
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    share(place->url, {"3", "4", "5", "6", "7", "8"});
    const json answer = pull(place->url);
    EXPECT_EQ(answer["requests"], 7u) << answer;
    EXPECT_EQ(second.caches().size(), 6u);
}

// A server that has enough of connections refuses all but the first: the parts come over that one.
TEST_F(Fetch, OneConnectionWillDo)
{
    const std::unique_ptr<Place> place = redis_place({"--maxclients", "1"});
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    share(place->url, {"3", "4", "5", "6", "7", "8"});
    pull(place->url);
    EXPECT_EQ(second.caches().size(), 6u);
}
#endif

} // namespace
#endif
