// SPDX-License-Identifier: Apache-2.0
// Sockets of loopback and of the file system.
#ifndef WARMPIPE_TESTS_FLEET_SOCKETS_H
#define WARMPIPE_TESTS_FLEET_SOCKETS_H

#include <cstdio>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// A socket that listens on a free port of loopback.
inline int listen_somewhere(int *ret_port)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd, reinterpret_cast<struct sockaddr *>(&address), size), 0);
    EXPECT_EQ(listen(fd, 16), 0);
    EXPECT_EQ(getsockname(fd, reinterpret_cast<struct sockaddr *>(&address), &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

// The same of a socket of the file system.
inline int listen_at(const std::string &path)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
    EXPECT_EQ(bind(fd, reinterpret_cast<struct sockaddr *>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd, 16), 0);
    return fd;
}

inline int free_port()
{
    int port;
    close(listen_somewhere(&port));
    return port;
}

// A connection to a port of loopback; -1: nobody takes it.
inline int connect_to(int port)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, reinterpret_cast<struct sockaddr *>(&address), sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

inline bool answers(int port)
{
    const int fd = connect_to(port);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

#endif
