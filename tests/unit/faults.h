// SPDX-License-Identifier: Apache-2.0
// A disk that fails, and memory that runs out. The system calls are the test executable's own
// functions, found before those of the C library; what the product allocates goes through functions
// that the linker puts in the way (--wrap).
#ifndef WARMPIPE_TESTS_UNIT_FAULTS_H
#define WARMPIPE_TESTS_UNIT_FAULTS_H

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

struct Faults {
    bool armed = false;
    int calls = 0;         // made since it was armed
    int failing = -1;      // index of the call that fails
    bool all_from = false; // and all after it
    int error = 0;
    const char *only = nullptr;        // counts calls of this name alone
    std::string gone;                  // is listed, and openat does not find it
    int gone_calls = 0;                // how often it was asked for
    std::string meminfo;               // of this file, as /proc/meminfo, if it has a name
    std::string mounts;                // of this file, as /proc/self/mountinfo, if it has a name
    unsigned system = 0;               // the kind of every file system (statfs), unless 0
    std::string unlisted;              // the first listing that would have it has not
    time_t listing_s = 0;              // how long that one takes
    time_t passed_s = 0;               // since then the clock is ahead
    size_t most = SIZE_MAX;            // bytes that one read or write does
    size_t readable = SIZE_MAX;        // a read of more fails: a sector behind the header is bad
    std::function<void()> before_lock; // runs once, when next an exclusive lock is asked for
    std::function<void()> before_shared_lock;
    std::function<void()> before_open;      // runs once, when next a file is opened
    std::function<void(int fd)> after_open; // runs once, when next one was
    std::function<void()> after_mkdir;      // runs once, when next a folder was made
    bool one_lock = false; // a descriptor's own lock is in the way of another, as on SMB
    std::vector<int> locked;
    int lock_waits = 0; // for ever, for one's own
    std::vector<std::string>
        done; // what reached the disk, while it is armed: of fsync and renameat
};
extern Faults faults;

// False: no file gets a second name, as on FAT.
extern bool has_hard_links;

// Calls fail from here to the end of the block.
class Arm {
  public:
    Arm(int failing, int error, bool all_from = false, const char *only = nullptr)
    {
        faults = {};
        faults.failing = failing;
        faults.error = error;
        faults.all_from = all_from;
        faults.only = only;
        faults.armed = true;
    }
    ~Arm()
    {
        faults.armed = false;
    }
    Arm(const Arm &) = delete;
    Arm &operator=(const Arm &) = delete;
};

// One allocation of the product's fails, the one of this index from here on, of this thread.
class Starve {
  public:
    explicit Starve(int failing);
    ~Starve();
    Starve(const Starve &) = delete;
    Starve &operator=(const Starve &) = delete;

    // Whether that allocation has been asked for.
    bool has_failed() const;
};

#endif
