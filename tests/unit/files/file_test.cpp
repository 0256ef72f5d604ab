// SPDX-License-Identifier: Apache-2.0
// Files and folders as a cache wants them, on a real disk.
#include <regex>
#include <thread>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "child.h"
#include "disk_fixture.h"
#include "faults.h"
#include "file_fixture.h"
#include "holder.h"
#include "mounts.h"
#include "scratch.h"

extern "C" {
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
#include "common/files/names.h"
}

namespace {

constexpr uid_t nobody = 65534;

enum status open_folder(const std::string &root, const std::string &name, bool create)
{
    Fd fd;
    enum status reason = file_open_directory(root.c_str(), name.c_str(), create, &fd.fd);
    EXPECT_EQ(reason == STATUS_ok, fd.fd >= 0);
    return reason;
}

// A program may have closed its standard streams: what it prints must not stand in a file of ours.
TEST(FileStreams, ThatAreClosedAreNeverTaken)
{
    Scratch scratch;
    const std::string root = scratch.path(".");
    run_in_child([&] {
        const int folder = open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int lock = -1;
        int program = -1;
        struct file_owned owned;
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        EXPECT_EQ(file_lock(folder, "lock", 0, &lock), STATUS_ok);
        EXPECT_TRUE(file_create_owned(folder, nullptr, ".new", &owned));
        EXPECT_EQ(file_open_directory(root.c_str(), "program", true, &program), STATUS_ok);
        for (const int fd : {lock, owned.fd, program}) {
            EXPECT_GT(fd, STDERR_FILENO);
            EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
        }
        EXPECT_EQ(write(STDOUT_FILENO, "text", 4), -1);
        EXPECT_EQ(fcntl(STDIN_FILENO, F_GETFD), -1);
    });
}

// Nothing is wrong with the folder.
TEST(FileDirectory, IsNotBlamedWhereDescriptorsRunOut)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(open_folder(root, "app", true), STATUS_ok);
    for (const int error : {EMFILE, ENFILE}) {
        Arm arm(0, error, true, "openat");
        EXPECT_EQ(open_folder(root, "app", true), STATUS_out_of_memory);
    }
}

TEST(FileDirectory, MakesNothingUnlessAsked)
{
    Scratch scratch;
    EXPECT_EQ(open_folder(scratch.path("a/b"), "app", false), STATUS_no_file);
    EXPECT_FALSE(std::filesystem::exists(scratch.path("a")));
}

TEST(FileDirectory, MakesRootAndItsParentsForTheOwnerAlone)
{
    for (mode_t mask : {0000, 0022, 0077, 0177, 0777}) {
        Umask umask(mask);
        Scratch scratch;
        chmod(scratch.path("").c_str(), 0700);
        ASSERT_EQ(open_folder(scratch.path("a/b"), "app", true), STATUS_ok) << mask;
        for (const char *made : {"a", "a/b", "a/b/app"}) {
            EXPECT_EQ(mode_of(scratch.path(made)), 0700u) << made << ", umask " << mask;
        }
        EXPECT_EQ(open_folder(scratch.path("a/b"), "app", false), STATUS_ok);
        EXPECT_EQ(open_folder(scratch.path("a/b"), "app", true), STATUS_ok);
    }
}

TEST(FileDirectory, LeavesParentsAsTheyAre)
{
    Scratch scratch;
    std::filesystem::create_directory(scratch.path("open to all"));
    chmod(scratch.path("open to all").c_str(), 0777);
    EXPECT_EQ(open_folder(scratch.path("open to all"), "app", true), STATUS_ok);
    EXPECT_EQ(mode_of(scratch.path("open to all")), 0777u);
}

TEST(FileDirectory, RefusesOneThatOthersCanWrite)
{
    Scratch scratch;
    ASSERT_EQ(open_folder(scratch.path("root"), "app", true), STATUS_ok);
    for (mode_t mode : {0770, 0707, 0720, 0702}) {
        chmod(scratch.path("root/app").c_str(), mode);
        EXPECT_EQ(open_folder(scratch.path("root"), "app", true), STATUS_directory_mode) << mode;
    }
    chmod(scratch.path("root/app").c_str(), 0755);
    EXPECT_EQ(open_folder(scratch.path("root"), "app", false), STATUS_ok);
}

TEST(FileDirectory, RefusesAForeignOwner)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a directory away";
    }
    Scratch scratch;
    ASSERT_EQ(open_folder(scratch.path("root"), "app", true), STATUS_ok);
    ASSERT_EQ(chown(scratch.path("root/app").c_str(), nobody, nobody), 0);
    EXPECT_EQ(open_folder(scratch.path("root"), "app", false), STATUS_directory_owner);
    EXPECT_EQ(open_folder(scratch.path("root"), "app", true), STATUS_directory_owner);
}

// A user that changes with every start of a container finds the folder closed.
TEST(FileDirectory, SaysOfAForeignOwnersThatItIs)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become somebody else";
    }
    Scratch scratch;
    ASSERT_EQ(open_folder(scratch.path(""), "app", true), STATUS_ok);
    ASSERT_EQ(open_folder(scratch.path(""), "roots", true), STATUS_ok);
    ASSERT_EQ(chown(scratch.path("app").c_str(), 12345, 12345), 0);
    chmod(scratch.path("").c_str(), 0755);
    run_in_child([&] {
        ASSERT_EQ(seteuid(nobody), 0);
        for (bool create : {false, true}) {
            EXPECT_EQ(open_folder(scratch.path(""), "app", create), STATUS_directory_owner);
            EXPECT_EQ(open_folder(scratch.path(""), "roots", create), STATUS_directory_unusable);
        }
    });
}

TEST(FileDirectory, TakesRootsFromEverybody)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become somebody else";
    }
    Scratch scratch;
    std::filesystem::create_directory(scratch.path("app"));
    chmod(scratch.path("").c_str(), 0755);
    chmod(scratch.path("app").c_str(), 0755);
    run_in_child([&] {
        ASSERT_EQ(seteuid(nobody), 0);
        EXPECT_EQ(open_folder(scratch.path(""), "app", false), STATUS_ok);
    });
}

TEST(FileDirectory, DoesNotFollowALinkInItsPlace)
{
    Scratch scratch;
    std::filesystem::create_directory(scratch.path("elsewhere"));
    std::filesystem::create_symlink("elsewhere", scratch.path("app"));
    std::filesystem::create_symlink("nowhere", scratch.path("dangling"));
    for (bool create : {false, true}) {
        EXPECT_EQ(open_folder(scratch.path(""), "app", create), STATUS_symlink);
        EXPECT_EQ(open_folder(scratch.path(""), "dangling", create), STATUS_symlink);
    }
    // The root itself may be one: people move their caches to another disk.
    std::filesystem::create_symlink("elsewhere", scratch.path("root"));
    EXPECT_EQ(open_folder(scratch.path("root"), "app", true), STATUS_ok);
    EXPECT_TRUE(std::filesystem::is_directory(scratch.path("elsewhere/app")));
}

// The root may be a volume where everybody can put a link in place of what was made just now.
TEST(FileDirectory, ChangesNothingThroughALinkThatTakesItsPlace)
{
    Scratch scratch;
    std::filesystem::create_directory(scratch.path("root"));
    std::filesystem::create_directory(scratch.path("other"));
    chmod(scratch.path("other").c_str(), 0755);
    faults.after_mkdir = [&] {
        std::filesystem::rename(scratch.path("root/app"), scratch.path("root/away"));
        std::filesystem::create_symlink(scratch.path("other"), scratch.path("root/app"));
    };
    EXPECT_EQ(open_folder(scratch.path("root"), "app", true), STATUS_symlink);
    EXPECT_FALSE(faults.after_mkdir);
    EXPECT_EQ(mode_of(scratch.path("other")), 0755u);
}

TEST(FileDirectory, SaysWhereNoneCanBe)
{
    Scratch scratch;
    write_file(scratch.path("file"), "");
    for (bool create : {false, true}) {
        EXPECT_EQ(open_folder(scratch.path("file"), "app", create), STATUS_directory_unusable);
        EXPECT_EQ(open_folder(scratch.path(""), "file", create), STATUS_directory_unusable);
    }
    EXPECT_EQ(open_folder("/proc/warmpipe", "app", true), STATUS_directory_unusable);
    EXPECT_EQ(open_folder("/dev/null/warmpipe", "app", true), STATUS_directory_unusable);
}

TEST(FileDirectory, SaysWhereItMayNotBe)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become somebody else";
    }
    Scratch scratch;
    chmod(scratch.path("").c_str(), 0755);
    run_in_child([&] {
        ASSERT_EQ(seteuid(nobody), 0);
        EXPECT_EQ(open_folder(scratch.path("a"), "app", true), STATUS_directory_unusable);
        EXPECT_EQ(open_folder(scratch.path(""), "app", true), STATUS_directory_unusable);
    });
}

TEST(FileRead, GivesTheWholeFile)
{
    Folder folder;
    std::string large(3 << 20, '\0');
    for (size_t i = 0; i < large.size(); i++) {
        large[i] = static_cast<char>(i * 7 + (i >> 8));
    }
    for (const std::string &content : {std::string(), std::string("x"), large}) {
        write_file(folder.path("file"), content);
        std::string found = "?";
        EXPECT_EQ(folder.read("file", &found, large.size()), STATUS_ok);
        EXPECT_EQ(found, content);
    }
}

TEST(FileRead, KeepsToTheLimit)
{
    Folder folder;
    write_file(folder.path("file"), "12345");
    EXPECT_EQ(folder.read("file", nullptr, 5), STATUS_ok);
    EXPECT_EQ(folder.read("file", nullptr, 4), STATUS_too_large);
    EXPECT_EQ(folder.read("file", nullptr, UINT64_MAX), STATUS_ok);
    // Sparse: larger than any memory.
    ASSERT_EQ(truncate(folder.path("file").c_str(), off_t{1} << 42), 0);
    EXPECT_EQ(folder.read("file"), STATUS_too_large);
}

TEST(FileRead, RefusesWhatIsNoFile)
{
    Folder folder;
    EXPECT_EQ(folder.read("missing"), STATUS_no_file);
    std::filesystem::create_directory(folder.path("directory"));
    EXPECT_EQ(folder.read("directory"), STATUS_not_a_file);
    // Nobody will ever write into it: an open that waits would wait for good.
    ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
    EXPECT_EQ(folder.read("fifo"), STATUS_not_a_file);
    write_file(folder.path("file"), "x");
    std::filesystem::create_symlink("file", folder.path("link"));
    EXPECT_EQ(folder.read("link"), STATUS_symlink);
    std::filesystem::create_symlink("nowhere", folder.path("dangling"));
    EXPECT_EQ(folder.read("dangling"), STATUS_symlink);

    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    ASSERT_LT(folder.path("socket").size(), sizeof(address.sun_path));
    std::strcpy(address.sun_path, folder.path("socket").c_str());
    Fd socket_fd;
    socket_fd.fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(socket_fd.fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
    EXPECT_EQ(folder.read("socket"), STATUS_not_a_file);
}

TEST(FileRead, RefusesWhatOthersCanWrite)
{
    Folder folder;
    write_file(folder.path("file"), "x");
    for (mode_t mode : {0620, 0602, 0666}) {
        chmod(folder.path("file").c_str(), mode);
        EXPECT_EQ(folder.read("file"), STATUS_file_mode) << mode;
    }
    chmod(folder.path("file").c_str(), 0444);
    EXPECT_EQ(folder.read("file"), STATUS_ok);
}

TEST(FileRead, RefusesAForeignOwner)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    Folder folder;
    write_file(folder.path("file"), "x");
    ASSERT_EQ(chown(folder.path("file").c_str(), nobody, nobody), 0);
    EXPECT_EQ(folder.read("file"), STATUS_file_owner);
}

TEST(FileRead, SaysWhatItMayNotRead)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become somebody else";
    }
    Folder folder;
    write_file(folder.path("file"), "x");
    chmod(folder.path("file").c_str(), 0600);
    run_in_child([&] {
        ASSERT_EQ(seteuid(nobody), 0);
        EXPECT_EQ(folder.read("file"), STATUS_unreadable);
    });
}

TEST(FileReadHead, GivesNoMoreThanThereIs)
{
    Folder folder;
    write_file(folder.path("file"), "12345");
    char head[8] = {};
    size_t read = 0;
    uint64_t size = 0;
    ASSERT_EQ(file_read_head(folder.fd.fd, "file", head, 3, &read, &size), STATUS_ok);
    EXPECT_EQ(std::string(head, read), "123");
    EXPECT_EQ(size, 5u);
    ASSERT_EQ(file_read_head(folder.fd.fd, "file", head, 8, &read, &size), STATUS_ok);
    EXPECT_EQ(std::string(head, read), "12345");
    EXPECT_EQ(file_read_head(folder.fd.fd, "missing", head, 8, &read, &size), STATUS_no_file);
}

TEST(FileReplace, PutsThePartsInPlaceOfTheFile)
{
    Folder folder;
    ASSERT_EQ(folder.replace("file", {"one"}), STATUS_ok);
    EXPECT_EQ(folder.content("file"), "one");
    ASSERT_EQ(folder.replace("file", {"", "t", "", "wo", ""}), STATUS_ok);
    EXPECT_EQ(folder.content("file"), "two");
    ASSERT_EQ(folder.replace("file", {}), STATUS_ok);
    EXPECT_EQ(folder.content("file"), "");
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"file"});
}

TEST(FileReplace, WritesALargeFileWhole)
{
    Folder folder;
    std::string large((17 << 20) + 1, '\0');
    for (size_t i = 0; i < large.size(); i++) {
        large[i] = static_cast<char>(i * 7 + (i >> 20));
    }
    ASSERT_EQ(folder.replace("file", {"head", large}), STATUS_ok);
    EXPECT_TRUE(folder.scratch.read("root/app/file") == "head" + large);
}

TEST(FileReplace, IsTheOwnersAloneWhateverTheUmask)
{
    Folder folder;
    for (mode_t mask : {0000, 0022, 0177, 0777}) {
        Umask umask(mask);
        ASSERT_EQ(folder.replace("file", {"x"}), STATUS_ok);
        EXPECT_EQ(mode_of(folder.path("file")), 0600u) << mask;
    }
}

TEST(FileReplace, DoesNotWriteIntoTheOldFile)
{
    Folder folder;
    write_file(folder.path("other"), "kept");
    std::filesystem::create_symlink("other", folder.path("link"));
    std::filesystem::create_hard_link(folder.path("other"), folder.path("hard"));
    EXPECT_EQ(folder.replace("link", {"new"}), STATUS_ok);
    EXPECT_EQ(folder.replace("hard", {"new"}), STATUS_ok);
    EXPECT_EQ(folder.content("other"), "kept");
    EXPECT_EQ(folder.content("link"), "new");
    EXPECT_EQ(folder.content("hard"), "new");
}

TEST(FileReplace, LeavesNothingBehindWhereItCannot)
{
    Folder folder;
    std::filesystem::create_directory(folder.path("directory"));
    EXPECT_EQ(folder.replace("directory", {"x"}), STATUS_not_a_file);
    EXPECT_EQ(folder.replace(std::string(255, 'n'), {"x"}), STATUS_ok);
    EXPECT_NE(folder.replace(std::string(256, 'n'), {"x"}), STATUS_ok);
    EXPECT_EQ(names_in(folder.path()),
              (std::vector<std::string>{"directory", std::string(255, 'n')}));
    std::filesystem::remove_all(folder.path());
    EXPECT_EQ(folder.replace("file", {"x"}), STATUS_directory_unusable);
}

// A write beyond RLIMIT_FSIZE does not fail: it kills.
TEST(FileReplace, IsNotKilledByASizeLimit)
{
    Folder folder;
    ASSERT_EQ(folder.replace("file", {"old"}), STATUS_ok);
    run_in_child([&] {
        rlimit limit = {1000, 1000};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        EXPECT_EQ(folder.replace("file", {std::string(600, 'x'), std::string(401, 'x')}),
                  STATUS_disk_full);
        EXPECT_EQ(folder.replace("limit", {std::string(600, 'x'), std::string(400, 'x')}),
                  STATUS_ok);
    });
    EXPECT_EQ(folder.content("file"), "old");
    EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"file", "limit"}));
}

TEST(FileSweep, RemovesTheTemporaryFilesOfTheDeadAlone)
{
    Folder folder;
    std::string name;
    {
        Holder holder([&] {
            file_owned file = {};
            ASSERT_TRUE(file_create_owned(folder.fd.fd, "file", TEMPORARY_SUFFIX, &file));
            EXPECT_TRUE(file.locked);
        });
        ASSERT_EQ(names_in(folder.path()).size(), 1u);
        name = names_in(folder.path()).front();
        EXPECT_TRUE(std::regex_match(name, std::regex("file[.][0-9a-f]{16}[.]tmp"))) << name;
        file_sweep_temporary(folder.fd.fd, name.c_str());
        EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{name});
    }
    file_sweep_temporary(folder.fd.fd, name.c_str());
    EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(FileSweep, LeavesThoseOfAnotherMachineFiveMinutes)
{
    Scratch scratch;
    on_two_machines(scratch.path("disk"), [](const auto &one, const auto &two) {
        Fd fds[2];
        fds[0].fd = open(one.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fds[1].fd = open(two.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        file_owned file = {};
        ASSERT_TRUE(file_create_owned(fds[0].fd, "file", TEMPORARY_SUFFIX, &file));
        for (const time_t age : {time_t(0), time_t(290), time_t(-290)}) {
            const timespec then[] = {{time(nullptr) - age, 0}, {time(nullptr) - age, 0}};
            ASSERT_EQ(futimens(file.fd, then), 0);
            file_sweep_temporary(fds[1].fd, file.name);
            EXPECT_EQ(names_in(one).size(), 1u) << age;
        }
        const timespec then[] = {{time(nullptr) - 301, 0}, {time(nullptr) - 301, 0}};
        ASSERT_EQ(futimens(file.fd, then), 0);
        file_sweep_temporary(fds[1].fd, file.name);
        // FUSE renames one that is open, for a moment.
        EXPECT_TRUE(names_in(one, TEMPORARY_SUFFIX).empty());
        close(file.fd);
    });
}

TEST(FileSweep, KnowsWhereTheLocksOfAnotherMachineAreNotSeen)
{
    constexpr auto name = "file.0123456789abcdef.tmp"; // whose upper half is no machine's
    Folder folder;
    // FUSE, 9p, vboxsf, hostfs, BeeGFS
    for (const unsigned system :
         {0x65735546u, 0x01021997u, 0x786f4256u, 0x00c0ffeeu, 0x19830326u}) {
        std::ofstream{folder.path() + "/" + name};
        faults.system = system;
        file_sweep_temporary(folder.fd.fd, name);
        EXPECT_EQ(names_in(folder.path()).size(), 1u) << system;
    }
    // ext4, tmpfs, NFS, SMB
    for (const unsigned system : {0xef53u, 0x01021994u, 0x6969u, 0xfe534d42u}) {
        std::ofstream{folder.path() + "/" + name};
        faults.system = system;
        file_sweep_temporary(folder.fd.fd, name);
        EXPECT_TRUE(names_in(folder.path()).empty()) << system;
    }
}

// There a shared lock does not become an exclusive one.
TEST(FileSweep, RemovesThoseOfTheDeadOnSmbToo)
{
    constexpr auto name = "file.0123456789abcdef.tmp";
    Folder folder;
    std::ofstream{folder.path() + "/" + name};
    faults.one_lock = true;
    file_sweep_temporary(folder.fd.fd, name);
    faults = {};
    EXPECT_TRUE(names_in(folder.path()).empty());
}

// By the options of the mount: NFS, SMB, Lustre.
TEST(FileSweep, KnowsMountsThatWereToldToLockAlone)
{
    constexpr auto name = "file.0123456789abcdef.tmp"; // whose upper half is no machine's
    Folder folder;
    Scratch scratch;
    struct stat status;
    ASSERT_EQ(fstat(folder.fd.fd, &status), 0);
    const std::string number =
        std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
    const auto is_left = [&](const std::string &device, const std::string &options) {
        write_file(scratch.path("mounts"),
                   "22 1 0:5 / /proc rw - proc proc rw,nobrl\n" + std::string("23 1 ") + device +
                       " / /disk rw,relatime shared:1 - kind host:/disk " + options + "\n");
        faults.mounts = scratch.path("mounts");
        std::ofstream{folder.path() + "/" + name};
        file_sweep_temporary(folder.fd.fd, name);
        return !names_in(folder.path()).empty();
    };
    for (const char *alone :
         {"rw,vers=3,nolock,local_lock=all,addr=::1", "rw,vers=3,local_lock=flock",
          "rw,vers=3.1.1,mapposix,nobrl,soft", "rw,localflock,lruresize"}) {
        EXPECT_TRUE(is_left(number, alone)) << alone;
        EXPECT_FALSE(is_left("0:4095", alone)) << alone;
    }
    for (const char *common : {"rw,vers=4.2,local_lock=none", "rw,vers=3,local_lock=posix",
                               "rw,vers=3.1.1,mapposix,soft", "rw,flock"}) {
        EXPECT_FALSE(is_left(number, common)) << common;
    }
}

// On SMB flock(2) says of a lock that another holds: EACCES.
TEST(FileLock, IsWaitedForOnSmbToo)
{
    Folder folder;
    int fd = -1;
    for (const int error : {EWOULDBLOCK, EACCES}) {
        Arm arm(0, error, false, "flock");
        ASSERT_EQ(file_lock(folder.fd.fd, "lock", 10000, &fd), STATUS_ok);
        EXPECT_EQ(faults.calls, error == EACCES ? 3 : 2) << "there, it also lets go";
        close(fd);
    }
}

// Who looks whether a new file is abandoned holds its lock, and is about to remove it.
TEST(FileOwned, IsAnotherWhereTheNewOneIsLookedAtOnSmbToo)
{
    for (const int error : {EWOULDBLOCK, EACCES}) {
        Folder folder;
        struct file_owned file;
        Arm arm(0, error, false, "flock");
        ASSERT_TRUE(file_create_owned(folder.fd.fd, nullptr, "", &file));
        EXPECT_EQ(faults.calls, error == EACCES ? 3 : 2);
        EXPECT_TRUE(file.locked) << error;
        close(file.fd);
    }
}

// AppArmor without `k`, SELinux without `lock`, a filter of system calls.
TEST(FileLock, IsNotWaitedForWhereLocksAreForbidden)
{
    for (const int error : {EACCES, EPERM}) {
        Folder folder;
        struct file_owned file;
        int fd = -1;
        Arm arm(0, error, true, "flock");
        ASSERT_EQ(file_lock(folder.fd.fd, "lock", 10000, &fd), STATUS_ok);
        close(fd);
        ASSERT_TRUE(file_create_owned(folder.fd.fd, nullptr, "", &file));
        EXPECT_FALSE(file.locked);
        EXPECT_EQ(file_open_abandoned(folder.fd.fd, file.name), -1) << "nobody can tell";
        close(file.fd);
    }
}

TEST(FileTouch, IsTheOwnersAloneWhateverTheUmask)
{
    Folder folder;
    Umask umask(0777);
    file_touch(folder.fd.fd, "file");
    EXPECT_EQ(mode_of(folder.path("file")), 0600u);
    const std::string identity(32, '1');
    unfinished_set(folder.fd.fd, identity.c_str(), true);
    EXPECT_EQ(mode_of(folder.path(identity + ".wanted")), 0600u);
}

// NFS: another machine has replaced the one that was opened (ESTALE).
TEST(FileRead, ReadsTheOneThatIsThereNow)
{
    Folder folder;
    ASSERT_EQ(folder.replace("file", {"new"}), STATUS_ok);
    uint8_t *data = nullptr;
    size_t size = 0;
    {
        Arm arm(0, ESTALE, false, "read");
        ASSERT_EQ(file_read(folder.fd.fd, "file", 100, &data, &size), STATUS_ok);
        EXPECT_EQ(std::string(reinterpret_cast<char *>(data), size), "new");
        free(data);
    }
    for (const int error : {ESTALE, EIO}) {
        Arm arm(0, error, true, "read");
        EXPECT_EQ(file_read(folder.fd.fd, "file", 100, &data, &size), STATUS_io_error);
        EXPECT_EQ(faults.calls, error == ESTALE ? 2 : 1);
    }
}

// Whatever it was to become: the name of a part has a number of its own.
TEST(FileSweep, RemovesThoseOfThisOneAtOnceOnFuseToo)
{
    Scratch scratch;
    on_two_machines(scratch.path("disk"), [](const auto &one, const auto &) {
        Fd folder;
        folder.fd = open(one.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (const char *of : {"program.json", "identity.0123456789abcdef.part"}) {
            file_owned file = {};
            ASSERT_TRUE(file_create_owned(folder.fd, of, TEMPORARY_SUFFIX, &file));
            close(file.fd);
            file_sweep_temporary(folder.fd, file.name);
            EXPECT_TRUE(names_in(one, TEMPORARY_SUFFIX).empty()) << of;
        }
    });
}

} // namespace
