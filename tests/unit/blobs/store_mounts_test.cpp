// SPDX-License-Identifier: Apache-2.0
// Disks that are full or read-only, as the kernel makes them: mounts of the test's own, in a mount
// namespace of its own.
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "disk_fixture.h"
#include "mounts.h"
#include "scratch.h"
#include "store_fixture.h"

extern "C" {
#include "common/blobs/marker.h"
#include "common/blobs/trial.h"
#include "common/quota/quota.h"
}

namespace {

class StoreMounts : public StoreTest {
  protected:
    // Runs the body in a process for which `root()` is a file system of this size.
    template <typename Body> void on_a_disk_of(const char *size, Body body)
    {
        if (!run_on_disk(root(), size, body)) {
            GTEST_SKIP() << "may not mount here";
        }
    }

    std::vector<std::string> names(const std::string &suffix) const
    {
        return names_in(root() + "/app", suffix);
    }
};

TEST_F(StoreMounts, AFullDiskKeepsTheOldFile)
{
    on_a_disk_of("size=128k", [&] {
        ASSERT_EQ(Store(root()).commit("old"), STATUS_ok);
        Store store(root());
        ASSERT_EQ(store.load(), "old");
        EXPECT_EQ(store.commit(std::string(200000, 'x')), STATUS_disk_full);
        EXPECT_EQ(store.commit_unmerged(""), STATUS_disk_full);
        EXPECT_TRUE(names(".tmp").empty());
        EXPECT_TRUE(names(".part").empty());
        EXPECT_EQ(Store(root()).load(), "old");
        ASSERT_EQ(Store(root()).commit("new"), STATUS_ok);
    });
}

TEST_F(StoreMounts, ADiskWithoutInodesLoadsWithoutAMarker)
{
    on_a_disk_of("nr_inodes=4", [&] { // the root, the folder, the lock, the file
        ASSERT_EQ(mkdir((root() + "/app").c_str(), 0700), 0);
        Store store(root());
        EXPECT_EQ(store.commit("old"), STATUS_ok);
        EXPECT_EQ(store.commit("new"), STATUS_disk_full) << "no room for a temporary file";
        EXPECT_EQ(Store(root()).load(), "old");
    });
}

// What was pulled is marked as that before it is written.
TEST_F(StoreMounts, ADiskWithoutInodesIsFullForWhatWasPulledAsWell)
{
    on_a_disk_of("nr_inodes=4", [&] { // the root, the folder, the lock, the folder of marks
        const std::string payload(TRIAL_PAYLOAD_DIGITS, '1');
        for (const char *left : {"", "x"}) { // the folder is there, or cannot be made
            store_options options = {};
            options.pulled = payload.c_str();
            ASSERT_TRUE(mkdir((root() + "/app").c_str(), 0700) == 0 || errno == EEXIST);
            if (*left) {
                std::filesystem::remove_all(root() + "/app");
                ASSERT_EQ(mkdir((root() + "/app").c_str(), 0700), 0);
                write_file(root() + "/x", "");
            }
            EXPECT_EQ(Store(root(), options).commit_unmerged("new"), STATUS_disk_full) << left;
        }
    });
}

TEST_F(StoreMounts, AReadOnlyDiskLoadsAndSaysWhyItDoesNotSave)
{
    on_a_disk_of("", [&] {
        ASSERT_EQ(Store(root()).commit("old"), STATUS_ok);
        make_read_only(root());
        Store store(root());
        EXPECT_EQ(store.load(), "old");
        EXPECT_EQ(store.commit("new"), STATUS_read_only_disk);
        EXPECT_EQ(store.commit_unmerged("new"), STATUS_read_only_disk);
        EXPECT_TRUE(names(".loading").empty());
        store_options other = {};
        other.app = "other";
        EXPECT_EQ(Store(root(), other).load(), "<no_file>");
        EXPECT_EQ(Store(root(), other).commit("new"), STATUS_read_only_disk);
    });
}

TEST_F(StoreMounts, ADiskThatBecomesReadOnlyWhileLoadingIsNoDeath)
{
    on_a_disk_of("", [&] {
        ASSERT_EQ(Store(root()).commit("old"), STATUS_ok);
        {
            Store store(root());
            EXPECT_EQ(store.load(), "old");
            const std::string folder = root() + "/app/" + names(".loading").at(0);
            // A bind mount over the folder: the marker can no longer be removed through its path.
            ASSERT_EQ(mount("warmpipe", folder.c_str(), "tmpfs", MS_RDONLY, ""), 0);
            store_survived(store.get());
            ASSERT_EQ(umount(folder.c_str()), 0);
        }
        EXPECT_EQ(Store(root()).load(), "old");
    });
}

// As Btrfs, also below an overlay: a store into a mapped file may find the disk full there, and end
// the program. So the page is elsewhere, in memory of this machine or container.
class StoreElsewhere : public testing::Test {
  protected:
    // Not in memory, where the tests' folders are: what is mounted there would hide it.
    StoreElsewhere()
    {
        EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    }
    ~StoreElsewhere() override
    {
        std::filesystem::remove_all(folder_);
    }

    std::string root() const
    {
        return folder_ + "/root";
    }

    const std::string &folder() const
    {
        return folder_;
    }

    template <typename Body> void on_a_disk_without_pages(Body body)
    {
        const bool mounted = run_on_disk(root(), "nr_inodes=0", [&] {
            replace_memory();
            ASSERT_EQ(Store(root()).commit("words"), STATUS_ok);
            body();
            EXPECT_EQ(pages(), 0U) << "nothing is left behind";
        });
        if (!mounted) {
            GTEST_SKIP() << "may not mount here";
        }
    }

    // That of another container: what there was is not found.
    static void replace_memory()
    {
        ASSERT_EQ(mount("warmpipe", "/dev/shm", "tmpfs", 0, ""), 0);
    }

    static size_t pages()
    {
        return names_in("/dev/shm").size();
    }

    std::vector<std::string> markers() const
    {
        const std::string app = root() + "/app";
        return names_in(app + "/" + names_in(app, ".loading").at(0));
    }

    // Killed in a call, or outside, before a creation has returned or after.
    void die(bool returned, bool inside) const
    {
        Holder([&] {
            auto *store = new Store(root());
            EXPECT_EQ(store->load(), "words");
            EXPECT_TRUE(store_has_record(store->get()));
            if (returned) {
                store_return(store->get());
                EXPECT_FALSE(store_has_record(store->get()));
            }
            if (inside) {
                store->begin_call(4711);
            }
            EXPECT_EQ(pages(), 1U);
        }).end();
    }

  private:
    std::string folder_ = testing::TempDir() + "warmpipe-elsewhere-XXXXXX";
};

TEST_F(StoreElsewhere, ADeathInACallIsOneLateAsWell)
{
    on_a_disk_without_pages([&] {
        die(true, true);
        EXPECT_EQ(Store(root()).load(), "<suspect>");
        die(true, true);
        EXPECT_EQ(Store(root()).load(), "<quarantined>");
    });
}

TEST_F(StoreElsewhere, ADeathOutsideOfCallsIsNone)
{
    on_a_disk_without_pages([&] {
        for (const bool returned : {false, true}) {
            for (int i = 0; i < 3; i++) {
                die(returned, false);
            }
        }
        EXPECT_EQ(Store(root()).load(), "words");
        EXPECT_TRUE(markers().empty());
    });
}

TEST_F(StoreElsewhere, InAnotherContainerADeathBeforeTheFirstCreationCounts)
{
    on_a_disk_without_pages([&] {
        for (const char *verdict : {"<suspect>", "<quarantined>"}) {
            die(false, true);
            replace_memory();
            EXPECT_EQ(Store(root()).load(), verdict);
        }
    });
}

TEST_F(StoreElsewhere, InAnotherContainerALaterDeathIsNotKnown)
{
    on_a_disk_without_pages([&] {
        for (int i = 0; i < 3; i++) {
            die(true, true);
            replace_memory();
        }
        EXPECT_EQ(Store(root()).load(), "words");
        EXPECT_TRUE(markers().empty());
    });
}

TEST_F(StoreElsewhere, AMarkerThatCannotBeRemovedSaysNothing)
{
    on_a_disk_without_pages([&] {
        for (const bool returned : {false, true}) {
            Store store(root());
            EXPECT_EQ(store.load(), "words");
            if (returned) {
                store_return(store.get());
            }
            const std::string app = root() + "/app";
            const std::string folder = app + "/" + names_in(app, ".loading").at(0);
            ASSERT_EQ(mount("warmpipe", folder.c_str(), "tmpfs", MS_RDONLY, ""), 0);
            store_survived(store.get());
            store.close();
            ASSERT_EQ(umount(folder.c_str()), 0);
            EXPECT_EQ(markers().size(), 1U);
            EXPECT_EQ(Store(root()).load(), "words");
        }
    });
}

// A disk of the machine's own, on which something happens after a call: a store into a file that is
// mapped from there would be a SIGBUS.
class StoreOnDisk : public StoreElsewhere {
  protected:
    // `make` makes a file system of the file $1 of so many MiB.
    template <typename Event> void lives_through(const char *size, const char *make, Event event)
    {
        constexpr int not_here = 77;
        std::filesystem::create_directory(root());
        const std::string image = folder() + "/image";
        const std::string makes = std::string("exec 2>/dev/null; truncate -s ") + size + "M " +
                                  image + " && " + make + " " + image;
        const std::string mounts = "mount -o loop " + image + " " + root() + " 2>/dev/null";
        if (std::filesystem::read_symlink("/proc/self/ns/pid") != "pid:[4026531836]") {
            GTEST_SKIP() << "not in a container";
        }
        if (system(makes.c_str()) != 0) {
            GTEST_SKIP() << "cannot run " << make;
        }
        fflush(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            if (unshare(CLONE_NEWNS) != 0 ||
                mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                system(mounts.c_str()) != 0) {
                _exit(not_here);
            }
            replace_memory();
            EXPECT_EQ(Store(root()).commit("words"), STATUS_ok);
            Store store(root());
            EXPECT_EQ(store.load(), "words");
            EXPECT_EQ(pages(), 1U);
            store.call(4711);
            sync();
            event();
            store.call(4712);
            _exit(HasFailure() ? 1 : 0);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == not_here) {
            GTEST_SKIP() << "may not mount here";
        }
        EXPECT_EQ(status, 0);
    }

    static void control(const std::string &path, unsigned long request, void *argument)
    {
        const int fd = open(path.c_str(), O_RDONLY);
        EXPECT_EQ(ioctl(fd, request, argument), 0) << path;
        close(fd);
    }
};

TEST_F(StoreOnDisk, AnXfsThatHasShutDownKillsNobody)
{
    lives_through("400", "mkfs.xfs -q", [&] {
        uint32_t how = 0;
        control(root(), _IOR('X', 125, uint32_t), &how); // XFS_IOC_GOINGDOWN
    });
}

TEST_F(StoreOnDisk, AFolderThatIsMadeImmutableKillsNobody)
{
    lives_through("16", "mkfs.ext4 -q", [&] {
        for (const auto &entry : std::filesystem::recursive_directory_iterator(root() + "/app")) {
            int flags = FS_IMMUTABLE_FL;
            control(entry.path(), FS_IOC_SETFLAGS, &flags);
        }
    });
}

TEST_F(StoreOnDisk, WhatCannotBeRemovedTakesNoRoom)
{
    lives_through("16", "mkfs.ext4 -q", [&] {
        int flags = FS_APPEND_FL;
        control(root() + "/app", FS_IOC_SETFLAGS, &flags);
        EXPECT_NE(Store(root()).commit(std::string(100000, 'x')), STATUS_ok);
        for (const std::string &name : names_in(root() + "/app", ".tmp")) {
            EXPECT_EQ(std::filesystem::file_size(root() + "/app/" + name), 0U);
        }
        EXPECT_EQ(names_in(root() + "/app", ".tmp").size(), 1U);
    });
}

// Where `/dev/shm` ends with the process, as it does with a container, a sandbox, or a service of
// systemd that has a user of its own while it runs.
class StoreOnDiskOf : public StoreOnDisk, public testing::WithParamInterface<const char *> {};

TEST_P(StoreOnDiskOf, ThePageIsBesideTheCache)
{
    constexpr int not_here = 77, nobody_else = 78;
    const bool is_service = std::string("Service") == GetParam();
    const bool is_sandbox =
        std::string("Sandbox") == GetParam(); // of bubblewrap, with a /dev of its own
    struct statfs system = {};
    std::filesystem::create_directory(root());
    statfs(root().c_str(), &system);
    if (system.f_type != EXT4_SUPER_MAGIC) {
        GTEST_SKIP() << "no ext4";
    }
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS | (is_service || is_sandbox ? 0 : CLONE_NEWPID)) != 0 ||
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
            _exit(not_here);
        }
        if (is_sandbox) {
            ASSERT_EQ(mount("warmpipe", "/dev", "tmpfs", 0, ""), 0);
            ASSERT_EQ(mkdir("/dev/shm", 01777), 0);
        } else {
            replace_memory();
        }
        const pid_t first = fork();
        if (first == 0) {
            if (is_service && (chown(folder().c_str(), 61184, 0) != 0 ||
                               chown(root().c_str(), 61184, 0) != 0 || setuid(61184) != 0)) {
                _exit(nobody_else);
            }
            EXPECT_EQ(Store(root()).commit("words"), STATUS_ok);
            Store store(root());
            EXPECT_EQ(store.load(), "words");
            EXPECT_EQ(pages(), 0U);
            _exit(HasFailure() ? 1 : 0);
        }
        int status = 0;
        waitpid(first, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == not_here) {
        GTEST_SKIP() << "no namespaces here";
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == nobody_else) {
        GTEST_SKIP() << "may not become another user here";
    }
    EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, StoreOnDiskOf, testing::Values("Container", "Sandbox", "Service"),
                         [](const auto &each) { return std::string(each.param); });

TEST_F(StoreElsewhere, PagesThatNobodyCameForGoAfterAMonth)
{
    on_a_disk_without_pages([&] {
        const auto page = [](const char *name, time_t age_s) {
            const std::string path = std::string("/dev/shm/") + name;
            std::ofstream(path) << "page";
            const timespec time = {::time(nullptr) - age_s, 0};
            const timespec times[] = {time, time};
            EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
            return path;
        };
        const time_t day_s = 24 * 60 * 60;
        page("warmpipe-0123456789abcdef", 31 * day_s);
        const std::vector<std::string> others = {page("warmpipe-fedcba9876543210", 29 * day_s),
                                                 page("warmpipe-notes", 31 * day_s),
                                                 page("other-0123456789abcdef", 31 * day_s)};
        ASSERT_EQ(Store(root()).commit("words"), STATUS_ok);
        const std::string path = root();
        quota_limits limits = {};
        limits.root = path.c_str();
        limits.app = "app";
        limits.max_size = limits.max_total = UINT64_MAX;
        quota_outcome outcome;
        quota_enforce(&limits, 0, &outcome);
        EXPECT_EQ(pages(), others.size());
        for (const std::string &other : others) {
            EXPECT_EQ(unlink(other.c_str()), 0) << other;
        }
    });
}

// The page cannot be copied into the marker; if it were lost, every other start would die.
TEST_F(StoreElsewhere, WhereItCannotBeKeptTheDeathStaysKnown)
{
    on_a_disk_without_pages([&] {
        die(true, true);
        rlimit before;
        getrlimit(RLIMIT_FSIZE, &before);
        const rlimit smaller_than_a_page = {sizeof(crash_page) - 1, before.rlim_max};
        for (int i = 0; i < 3; i++) {
            setrlimit(RLIMIT_FSIZE, &smaller_than_a_page); // as a full disk
            EXPECT_EQ(Store(root()).load(), "<suspect>");
            setrlimit(RLIMIT_FSIZE, &before);
        }
        EXPECT_EQ(Store(root()).load(), "<suspect>");
        EXPECT_EQ(pages(), 0U);
        die(true, true);
        EXPECT_EQ(Store(root()).load(), "<quarantined>");
    });
}

TEST_F(StoreElsewhere, NothingIsKeptOfAProcessThatDidNotDieOfIt)
{
    on_a_disk_without_pages([&] {
        die(true, false);
        const rlimit smaller_than_a_page = {sizeof(crash_page) - 1, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &smaller_than_a_page); // as a full disk
        EXPECT_EQ(Store(root()).load(), "words");
        EXPECT_TRUE(markers().empty());
    });
}

// Two look at one marker: the other makes it the strike, with a count, before this one has copied.
TEST_F(StoreElsewhere, ACopyKeepsTheCountOfDeaths)
{
    on_a_disk_without_pages([&] {
        die(true, true);
        const std::string app = root() + "/app";
        const std::string name = names_in(app, ".loading").at(0);
        const std::string path = app + "/" + name + "/" + markers().at(0);
        const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
        const int directory_fd = open(app.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ASSERT_EQ(pwrite(fd, "\3", 1, MARKER_RECORD_SIZE), 1);
        marker_folder folder;
        marker_folder_open(directory_fd, name.c_str(), &folder);
        EXPECT_EQ(folder.dead_count, 1U);
        marker_folder_close(&folder);
        uint8_t content[sizeof(crash_page) + 1] = {};
        marker_record record;
        ASSERT_EQ(pread(fd, content, sizeof(content), 0), ssize_t(sizeof(crash_page)));
        ASSERT_TRUE(marker_record_parse(content, sizeof(crash_page), &record));
        EXPECT_EQ(record.deaths, 3U);
        EXPECT_TRUE(record.finding.died);
        close(fd);
        close(directory_fd);
    });
}

// Locks of one machine: another one that loads the same cache would be taken for dead, whenever
// both do so at once.
TEST_F(StoreElsewhere, WhoLivesOnAnotherMachineIsNotTakenForDead)
{
    std::filesystem::create_directory(root());
    on_two_machines(root(), [&](const std::string &one, const std::string &two) {
        replace_memory();
        ASSERT_EQ(Store(one).commit("words"), STATUS_ok);
        Store first(one);
        EXPECT_EQ(first.load(), "words");
        EXPECT_TRUE(store_has_record(first.get()));
        replace_memory();
        const std::string folder = two + "/app/" + names_in(two + "/app", ".loading").at(0);
        for (int i = 0; i < 3; i++) {
            EXPECT_EQ(Store(two).load(), "words");
            EXPECT_EQ(names_in(folder).size(), 1U) << "that of the first stays";
        }
        // Of one that died: nothing that is of no use is done to it for five minutes.
        const std::string marker = folder + "/" + names_in(folder).at(0);
        const timespec long_ago[] = {{time(nullptr) - 301, 0}, {time(nullptr) - 301, 0}};
        ASSERT_EQ(utimensat(AT_FDCWD, marker.c_str(), long_ago, 0), 0);
        EXPECT_EQ(Store(two).load(), "<suspect>");
    });
}

// The page tells that it is of this machine, whose locks tell that it is dead.
TEST_F(StoreElsewhere, WhoDiedOnThisMachineIsKnownAtOnce)
{
    std::filesystem::create_directory(root());
    on_two_machines(root(), [&](const std::string &one, const std::string &) {
        replace_memory();
        ASSERT_EQ(Store(one).commit("words"), STATUS_ok);
        for (const char *verdict : {"<suspect>", "<quarantined>"}) {
            Holder([&] {
                auto *store = new Store(one);
                EXPECT_EQ(store->load(), "words");
                store->begin_call(4711);
            }).end();
            EXPECT_EQ(Store(one).load(), verdict);
        }
    });
}

TEST_F(StoreElsewhere, AProcessThatLivesKeepsItsPage)
{
    on_a_disk_without_pages([&] {
        Store store(root());
        EXPECT_EQ(store.load(), "words");
        store_return(store.get());
        const crash_call call = store.begin_call(4711);
        EXPECT_EQ(Store(root()).load(), "words");
        EXPECT_EQ(pages(), 1U);
        crash_guard_lower(store_guard(store.get()), &call);
    });
}

// A program may take away what its own files could be read by.
TEST_F(StoreElsewhere, APageIsFoundWhateverTheUmask)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become somebody else";
    }
    on_a_disk_without_pages([&] {
        std::filesystem::permissions(std::filesystem::path(root()).parent_path(),
                                     std::filesystem::perms(0755));
        ASSERT_EQ(seteuid(12345), 0); // who is not allowed everything
        const std::string own = root() + "/own";
        ASSERT_EQ(Store(own).commit("words"), STATUS_ok);
        Holder([&] {
            umask(0777);
            auto *store = new Store(own);
            EXPECT_EQ(store->load(), "words");
            store_return(store->get());
            store->begin_call(4711);
        }).end();
        EXPECT_EQ(Store(own).load(), "<suspect>");
        ASSERT_EQ(seteuid(0), 0);
    });
}

TEST_F(StoreElsewhere, APageThatIsNotOursSaysNothing)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    on_a_disk_without_pages([&] {
        die(true, true);
        const std::string page = "/dev/shm/" + names_in("/dev/shm").at(0);
        ASSERT_EQ(chown(page.c_str(), 65534, 65534), 0);
        EXPECT_EQ(Store(root()).load(), "words");
        EXPECT_EQ(pages(), 1U) << "nor is it removed";
        unlink(page.c_str());
        die(true, true);
        const std::string other = "/dev/shm/" + names_in("/dev/shm").at(0);
        ASSERT_EQ(rename(other.c_str(), "/dev/shm/moved"), 0);
        ASSERT_EQ(symlink("/dev/shm/moved", other.c_str()), 0);
        EXPECT_EQ(Store(root()).load(), "words") << "no link is followed";
        unlink(other.c_str());
        unlink("/dev/shm/moved");
    });
}

TEST_F(StoreElsewhere, BelowAnOverlayAsWell)
{
    on_a_disk_without_pages([&] {
        const std::string options = "lowerdir=" + root() + "/lower,upperdir=" + root() +
                                    "/upper,workdir=" + root() + "/work";
        for (const char *name : {"/lower", "/upper", "/work", "/all"}) {
            ASSERT_EQ(mkdir((root() + name).c_str(), 0700), 0);
        }
        const std::string all = root() + "/all";
        if (mount("warmpipe", all.c_str(), "overlay", 0, options.c_str()) == 0) {
            ASSERT_EQ(Store(all).commit("old"), STATUS_ok);
            Store store(all);
            EXPECT_EQ(store.load(), "old");
            EXPECT_EQ(pages(), 1U);
        }
    });
}

} // namespace
