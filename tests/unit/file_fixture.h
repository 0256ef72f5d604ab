// SPDX-License-Identifier: Apache-2.0
// A folder on a real disk, and what its files are asked for.
#ifndef WARMPIPE_TESTS_UNIT_FILE_FIXTURE_H
#define WARMPIPE_TESTS_UNIT_FILE_FIXTURE_H

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"

extern "C" {
#include "common/files/file.h"
}

inline mode_t mode_of(const std::string &path)
{
    struct stat status = {};
    EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
}

class Umask {
  public:
    explicit Umask(mode_t mask) : old_(umask(mask))
    {
    }
    ~Umask()
    {
        umask(old_);
    }

  private:
    mode_t old_;
};

class Fd {
  public:
    Fd() = default;
    Fd(const Fd &) = delete;
    Fd &operator=(const Fd &) = delete;
    ~Fd()
    {
        if (fd >= 0) {
            close(fd);
        }
    }
    int fd = -1;
};

// A folder with a descriptor, and what is read from it.
class Folder {
  public:
    Folder()
    {
        EXPECT_EQ(file_open_directory(scratch.path("root").c_str(), "app", true, &fd.fd),
                  STATUS_ok);
    }

    std::string path(const std::string &name = "") const
    {
        return scratch.path("root/app/" + name);
    }

    enum status read(const std::string &name, std::string *ret_content = nullptr,
                     uint64_t limit = 1 << 20) const
    {
        uint8_t *data = nullptr;
        size_t size = 0;
        enum status reason = file_read(fd.fd, name.c_str(), limit, &data, &size);
        EXPECT_EQ(reason == STATUS_ok, data != nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
        if (ret_content && data) {
            *ret_content = std::string(reinterpret_cast<char *>(data), size);
        }
        free(data);
        return reason;
    }

    std::string content(const std::string &name) const
    {
        std::string content = "<nothing>";
        read(name, &content);
        return content;
    }

    enum status replace(const std::string &name, std::vector<std::string> parts) const
    {
        std::vector<iovec> vector;
        for (std::string &part : parts) {
            vector.push_back({part.data(), part.size()});
        }
        return file_replace(fd.fd, name.c_str(), vector.data(), static_cast<int>(vector.size()));
    }

    Scratch scratch;
    Fd fd;
};

#endif
