// SPDX-License-Identifier: Apache-2.0
// Servers on free ports that answer what a test says, for what no real server does on demand. They
// end with the test.
#ifndef WARMPIPE_TESTS_FLEET_SCRIPTED_SERVERS_H
#define WARMPIPE_TESTS_FLEET_SCRIPTED_SERVERS_H

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "sockets.h"

// A server of no protocol: for each piece of a request that comes it sends what the test says;
// "hang up" at its end ends the connection. One connection at a time.
class RawServer {
  public:
    using Script = std::function<std::string(const std::string &request)>;

    // `path`: of a socket of the file system; "": a port.
    explicit RawServer(Script script, const std::string &path = "") : script_(std::move(script))
    {
        fd_ = path.empty() ? listen_somewhere(&port_) : listen_at(path);
        thread_ = std::thread([this] {
            for (int fd; (fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
                serve(fd);
                close(fd);
            }
        });
    }

    RawServer(const RawServer &) = delete;
    RawServer &operator=(const RawServer &) = delete;

    ~RawServer()
    {
        shutdown(fd_, SHUT_RDWR);
        thread_.join();
        close(fd_);
    }

    int port() const
    {
        return port_;
    }

    int requests() const
    {
        return requests_;
    }

  private:
    void serve(int fd)
    {
        char buffer[65536];
        for (ssize_t size; (size = read(fd, buffer, sizeof buffer)) > 0;) {
            requests_++;
            const std::string answer = script_(std::string(buffer, static_cast<size_t>(size)));
            const size_t end = answer.rfind("hang up");
            send(fd, answer.data(), std::min(end, answer.size()), MSG_NOSIGNAL);
            if (end != std::string::npos) {
                return;
            }
        }
    }

    Script script_;
    int fd_;
    int port_ = 0;
    std::atomic<int> requests_ = 0;
    std::thread thread_;
};

// A server that answers whatever the test says, one request a connection. The answer to a request
// is all bytes that are sent; then the connection ends.
class ScriptedServer {
  public:
    using Script = std::function<std::string(const std::string &request)>;

    explicit ScriptedServer(Script script) : script_(std::move(script))
    {
        fd_ = listen_somewhere(&port_);
        thread_ = std::thread([this] { serve(); });
    }

    ScriptedServer(const ScriptedServer &) = delete;
    ScriptedServer &operator=(const ScriptedServer &) = delete;

    ~ScriptedServer()
    {
        shutdown(fd_, SHUT_RDWR);
        thread_.join();
        close(fd_);
    }

    std::string url() const
    {
        return "http://localhost:" + std::to_string(port_);
    }

    int requests() const
    {
        return requests_;
    }

    // What the script reads or writes is the test's while it holds this.
    std::unique_lock<std::mutex> between_requests()
    {
        return std::unique_lock<std::mutex>(mutex_);
    }

  private:
    void serve()
    {
        for (int connection; (connection = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
            std::string request;
            char buffer[4096];
            ssize_t size = 0;
            while (request.find("\r\n\r\n") == std::string::npos &&
                   (size = read(connection, buffer, sizeof buffer)) > 0) {
                request.append(buffer, static_cast<size_t>(size));
            }
            const size_t head = request.find("\r\n\r\n");
            const size_t length = request.find("Content-Length: ");
            const size_t whole =
                length < head ? head + 4 + std::stoul(request.substr(length + 16, 20)) : 0;
            while (request.size() < whole && (size = read(connection, buffer, sizeof buffer)) > 0) {
                request.append(buffer, static_cast<size_t>(size));
            }
            requests_++;
            std::string answer;
            {
                const auto lock = between_requests();
                answer = script_(request);
            }
            send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
            shutdown(connection, SHUT_WR);
            while (read(connection, buffer, sizeof buffer) > 0) {
            }
            close(connection);
        }
    }

    Script script_;
    std::mutex mutex_;
    int fd_;
    int port_ = 0;
    std::atomic<int> requests_ = 0;
    std::thread thread_;
};

inline std::string http_answer(const std::string &status, const std::string &body = "",
                               const std::string &headers = "")
{
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n" + headers + "\r\n" + body;
}

// GET, PUT, DELETE and PROPFIND of a folder.
inline std::string serve_folder(const std::string &folder, const std::string &request)
{
    const size_t start = request.find(' ') + 1;
    const std::string method = request.substr(0, start - 1);
    const std::string path = request.substr(start, request.find(" HTTP") - start);
    const std::string file = folder + path;
    if (method == "PUT") {
        write_file(file, request.substr(request.find("\r\n\r\n") + 4));
        return http_answer("201 Created");
    }
    if (!std::filesystem::exists(file)) {
        return http_answer("404 Not Found");
    }
    if (method == "DELETE") {
        std::filesystem::remove(file);
        return http_answer("204 No Content");
    }
    if (method != "PROPFIND") {
        return http_answer("200 OK", read_file(file));
    }
    std::string listing = "<D:multistatus><D:href>" + path + "</D:href>";
    for (const auto &entry : std::filesystem::directory_iterator(file)) {
        listing += "<D:href>" + path + entry.path().filename().string() +
                   (entry.is_directory() ? "/" : "") + "</D:href>";
    }
    return http_answer("207 Multi-Status", listing + "</D:multistatus>");
}

#endif
