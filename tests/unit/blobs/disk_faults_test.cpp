// SPDX-License-Identifier: Apache-2.0
// A disk that fails: every system call of a save and of a load, one after the other, with every
// error that disks, quotas and sandboxes know.
#include <cerrno>

#include <sys/resource.h>

#include "child.h"
#include "disk_fixture.h"
#include "faults.h"
#include "holder.h"
#include "scratch.h"
#include "store_fixture.h"

extern "C" {
#include "common/blobs/store_state.h"
#include "common/files/names.h"
}

namespace {

// The disk, the quota, a sandbox, too many files, a file system without locks.
const int errors[] = {EIO, EDQUOT, EPERM, EMFILE, ENOLCK};

// What a new process would find.
std::string content_of(const std::string &root)
{
    return Store(root).load();
}

std::vector<std::string> temporary_files(const std::string &root)
{
    return names_in(root + "/app", ".tmp");
}

template <typename Save> void expect_old_or_new_whole(Save save)
{
    int saves = 0;
    for (int error : errors) {
        for (bool all_from : {false, true}) {
            for (int call = 0;; call++) {
                Scratch scratch;
                const std::string root = scratch.path("root");
                ASSERT_EQ(Store(root).commit("old"), STATUS_ok);
                Store store(root);
                ASSERT_EQ(store.load(), "old");
                store_survived(store.get());
                enum status reason = STATUS_ok;
                {
                    Arm arm(call, error, all_from);
                    reason = save(store, "new");
                }
                const std::string found = content_of(root);
                const bool in_part = reason == STATUS_ok && store_has_part(store.get());
                EXPECT_EQ(found, reason == STATUS_ok && !in_part ? "new old" : "old")
                    << "call " << call << ", " << strerror(error);
                EXPECT_TRUE(temporary_files(root).empty())
                    << "call " << call << ", " << strerror(error);
                // The next save finds everything as it has to be.
                Store next(root);
                next.load();
                ASSERT_EQ(next.commit("next"), STATUS_ok);
                EXPECT_EQ(content_of(root), reason == STATUS_ok ? "new next old" : "next old");
                saves++;
                if (faults.calls <= call) {
                    EXPECT_EQ(reason, STATUS_ok);
                    break;
                }
            }
        }
    }
    EXPECT_GT(saves, 100);
}

TEST(DiskFaults, LeaveTheOldFileOrTheNewOneOfACommit)
{
    expect_old_or_new_whole(
        [](Store &store, const std::string &words) { return store.commit(words); });
}

TEST(DiskFaults, LeaveTheOldFileOrTheNewOneOfAnUnmergedCommit)
{
    expect_old_or_new_whole(
        [](Store &store, const std::string &words) { return store.commit_unmerged(words); });
}

// A name that reaches the disk before its data, or not at all, is lost in a power cut. Where there
// was no file, there is nothing to lose, and the process may end before a slow disk answers.
TEST(DiskFaults, TheFileIsSyncedThenNamedThenTheFolderIsSyncedButTheFirstIsNamedAtOnce)
{
    Scratch scratch;
    Store store(scratch.path("root"));
    const auto done_by_commit = [&](const std::string &words) {
        Arm arm(-1, 0);
        EXPECT_EQ(store.commit(words), STATUS_ok);
        return faults.done;
    };
    EXPECT_EQ(done_by_commit("words"),
              (std::vector<std::string>{"renameat", "fsync file", "fsync folder"}));
    EXPECT_EQ(done_by_commit("words and more"),
              (std::vector<std::string>{"fsync file", "renameat", "fsync folder"}));
}

// A start that finds a file cut short looks for no part.
TEST(DiskFaults, AFirstFileBesideAPartIsSyncedThenNamed)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(Store(root).commit("old"), STATUS_ok);
    Store beside(root);
    ASSERT_EQ(Store(root).commit("file"), STATUS_ok); // which `beside` has not seen
    ASSERT_EQ(beside.commit_unmerged("part"), STATUS_ok);
    const std::string folder = root + "/app/";
    ASSERT_TRUE(std::filesystem::remove(folder + names_in(root + "/app", ".wpcache").at(0)));
    Store store(root);
    ASSERT_EQ(store.load(), "part");
    Arm arm(-1, 0);
    ASSERT_EQ(store.commit("part and more"), STATUS_ok);
    EXPECT_EQ(faults.done.at(0), "fsync file");
}

// What was read of parts is in no file yet.
TEST(DiskFaults, PartsStayWhereTheWriteFails)
{
    for (const char *name : {"write", "fsync", "renameat"}) {
        Scratch scratch;
        const std::string root = scratch.path("root");
        ASSERT_EQ(Store(root).commit("old"), STATUS_ok);
        Store beside(root);
        ASSERT_EQ(Store(root).commit("file"), STATUS_ok); // which `beside` has not seen
        ASSERT_EQ(beside.commit_unmerged("part"), STATUS_ok);
        ASSERT_TRUE(store_has_part(beside.get()));
        Store store(root);
        ASSERT_EQ(store.load(), "file old");
        {
            Arm arm(0, ENOSPC, true, name);
            EXPECT_EQ(store.commit("new"), STATUS_disk_full) << name;
        }
        EXPECT_EQ(names_in(root + "/app", ".part").size(), 1u) << name;
        ASSERT_EQ(Store(root).commit("next"), STATUS_ok);
        EXPECT_EQ(content_of(root), "file next old part") << name;
    }
}

// A part that cannot be read at this moment can be whole, and read by the next save.
TEST(DiskFaults, PartsThatCannotBeReadJustNowStay)
{
    for (int call = 0;; call++) {
        Scratch scratch;
        const std::string root = scratch.path("root");
        ASSERT_EQ(Store(root).commit("old"), STATUS_ok);
        Store beside(root);
        ASSERT_EQ(Store(root).commit("file"), STATUS_ok);
        ASSERT_EQ(beside.commit_unmerged("part"), STATUS_ok);
        Store store(root);
        ASSERT_EQ(store.load(), "file old");
        {
            Arm arm(call, EIO, true, "read");
            store.commit("new");
        }
        if (faults.calls <= call) {
            break;
        }
        ASSERT_EQ(Store(root).commit("next"), STATUS_ok);
        EXPECT_NE(content_of(root).find("part"), std::string::npos) << "read " << call;
    }
}

// Each call of this name fails once, in a save by a process that has loaded nothing: what was saved
// before is still there.
void expect_the_file_stays(const char *name, int error)
{
    for (bool merged : {true, false}) {
        for (int call = 0, reached = 1; reached; call++) {
            Scratch scratch;
            const std::string root = scratch.path("root");
            ASSERT_EQ(Store(root).commit("old"), STATUS_ok);
            Store store(root);
            {
                Arm arm(call, error, false, name);
                if (!merged || store.commit("new") != STATUS_ok) {
                    store.commit_unmerged("new");
                }
                reached = faults.calls > call;
            }
            ASSERT_EQ(Store(root).commit("next"), STATUS_ok);
            EXPECT_NE(content_of(root).find("old"), std::string::npos)
                << name << " " << call << " merged " << merged << ": " << strerror(error);
        }
    }
}

// A program that has no descriptor left at this moment finds no file, and must not take that for
// one that nothing can be made of.
TEST(DiskFaults, TheFileStaysWhereDescriptorsRunOut)
{
    expect_the_file_stays("openat", EMFILE);
}

// Nor one that could not be read at this moment: a server that has not answered in time, say.
TEST(DiskFaults, TheFileStaysWhereItCannotBeReadJustNow)
{
    for (const int error : {EIO, ESTALE, EACCES, ETIMEDOUT}) {
        for (const char *name : {"read", "openat", "fstat"}) {
            expect_the_file_stays(name, error);
        }
    }
}

// A sector that is bad for good costs one start its cache, and no other.
TEST(DiskFaults, AFileWithABadSectorIsReplaced)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    const std::string large(20000, 'x');
    ASSERT_EQ(Store(root).commit(large), STATUS_ok);
    {
        Store store(root);
        faults.readable = 4096;
        EXPECT_EQ(store.load(), "<io_error>");
        EXPECT_EQ(store.commit("new"), STATUS_ok);
        faults.readable = SIZE_MAX;
    }
    EXPECT_EQ(content_of(root), "new");
    EXPECT_TRUE(names_in(root + "/app", ".part").empty());
}

// The same with the kernel's own limit: with each number of descriptors that are left.
TEST(DiskFaults, TheFileStaysWhereAProgramHasFewDescriptors)
{
    for (rlim_t most = 4; most < 24; most++) {
        Scratch scratch;
        const std::string root = scratch.path("root");
        ASSERT_EQ(Store(root).commit("old"), STATUS_ok);
        ASSERT_EQ(content_of(root), "old"); // which makes the folder of markers
        run_in_child([&] {
            const rlimit limit = {most, most};
            Store store(root);
            ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
            store.commit("new");
        });
        EXPECT_NE(content_of(root).find("old"), std::string::npos) << most << " descriptors";
    }
}

TEST(DiskFaults, InterruptedCallsAreMadeAgain)
{
    for (const char *name : {"openat", "open", "flock", "fsync", "read", "write"}) {
        Scratch scratch;
        ASSERT_EQ(Store(scratch.path("root")).commit("old"), STATUS_ok);
        for (int call = 0; call < 32; call++) {
            Store store(scratch.path("root"));
            Arm arm(call, EINTR, false, name);
            ASSERT_EQ(store.load().substr(0, 3), "old") << name << " " << call;
            ASSERT_EQ(store.commit("old w" + std::to_string(call)), STATUS_ok)
                << name << " " << call;
            ASSERT_FALSE(store_has_part(store.get()));
        }
    }
}

TEST(DiskFaults, ShortReadsAndWritesAreGoneOnWith)
{
    Scratch scratch;
    const std::string words(3000, 'x');
    for (size_t most : {1, 7, 959, 960, 961}) {
        faults = {};
        faults.most = most;
        Store store(scratch.path("root"));
        EXPECT_EQ(store.commit(words), STATUS_ok);
        EXPECT_EQ(content_of(scratch.path("root")), words);
    }
    faults = {};
}

TEST(DiskFaults, LoadWhatCanBeReadOrSayWhyNot)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(Store(root).commit("words"), STATUS_ok);
    for (int error : errors) {
        for (int call = 0;; call++) {
            Store store(root);
            std::string found;
            {
                Arm arm(call, error);
                found = store.load();
            }
            EXPECT_TRUE(found == "words" || found[0] == '<') << found;
            if (faults.calls <= call) {
                EXPECT_EQ(found, "words");
                break;
            }
            // No fault here is a death.
            store_survived(store.get());
            EXPECT_EQ(content_of(root), "words");
        }
    }
    EXPECT_TRUE(names_in(root + "/app/" + names_in(root + "/app", ".loading").at(0)).empty());
}

TEST(DiskFaults, LoadWithoutAMarkerWhereNoneCanBeSet)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(Store(root).commit("words"), STATUS_ok);
    for (const char *name : {"mkdirat", "flock"}) {
        Store store(root);
        Arm arm(0, name == std::string("flock") ? EOPNOTSUPP : EROFS, true, name);
        EXPECT_EQ(store.load(), "words") << name;
        EXPECT_GT(faults.calls, 0) << name;
        if (name != std::string("mkdirat")) {
            EXPECT_TRUE(
                names_in(root + "/app/" + names_in(root + "/app", ".loading").at(0)).empty());
        }
    }
}

TEST(DiskFaults, NamedByTheirErrors)
{
    const std::pair<int, enum status> reasons[] = {
        {EIO, STATUS_io_error},         {ENOSPC, STATUS_disk_full}, {EDQUOT, STATUS_disk_full},
        {EROFS, STATUS_read_only_disk}, {EFBIG, STATUS_disk_full},  {EACCES, STATUS_unreadable},
        {ENOMEM, STATUS_out_of_memory}, {EPERM, STATUS_unreadable},
    };
    for (const auto &[error, reason] : reasons) {
        for (const char *name : {"write", "fsync", "renameat"}) {
            Scratch scratch;
            Store store(scratch.path("root"));
            Arm arm(0, error, false, name);
            EXPECT_EQ(store.commit("x"), reason) << name << ": " << strerror(error);
            EXPECT_TRUE(names_in(scratch.path("root") + "/app", ".wpcache").empty()) << name;
        }
    }
}

// Without a page a plain record stands until the first creation has returned.
TEST(DiskFaults, MarkersWithoutAPageStandWhileTheBlobIsLoaded)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(Store(root).commit("words"), STATUS_ok);
    const auto load = [&](Store &store) {
        rlimit before;
        getrlimit(RLIMIT_FSIZE, &before);
        const rlimit smaller_than_a_page = {sizeof(crash_page) - 1, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &smaller_than_a_page);
        const std::string found = store.load();
        setrlimit(RLIMIT_FSIZE, &before);
        return found;
    };
    {
        Store store(root);
        EXPECT_EQ(load(store), "words");
        EXPECT_TRUE(store_has_record(store.get()));
        EXPECT_EQ(store.begin_call(1).slot, nullptr);
        EXPECT_EQ(content_of(root), "words") << "it lives";
        store_return(store.get());
        EXPECT_FALSE(store_has_record(store.get()));
    }
    {
        Store store(root);
        EXPECT_EQ(load(store), "words");
        Arm arm(0, EPERM, true, "unlinkat");
        store_return(store.get());
        EXPECT_GT(faults.calls, 0);
    }
    EXPECT_EQ(content_of(root), "words") << "nor does one that cannot be removed";
    for (int deaths = 0; deaths < 2; deaths++) {
        Holder([&] { load(*new Store(root)); }).end();
        EXPECT_EQ(content_of(root), deaths == 0 ? "<suspect>" : "<quarantined>");
    }
}

// The worker has read the blob, and may not call the driver: a thread of the program reads it too.
TEST(DiskFaults, AMarkerKnowsNothingOfTheOneBefore)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(Store(root).commit("words"), STATUS_ok);
    run_in_child([&] {
        Store store(root);
        rlimit before;
        getrlimit(RLIMIT_FSIZE, &before);
        const rlimit smaller_than_a_page = {sizeof(crash_page) - 1, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &smaller_than_a_page);
        EXPECT_EQ(store.load(), "words");
        setrlimit(RLIMIT_FSIZE, &before);
        store_survived(store.get());
        EXPECT_EQ(store.load(), "words");
        EXPECT_FALSE(marker_is_plain(&store.get()->loading.markers[0]));
        store_return(store.get());
        store.call(4711); // a page whose file is emptied ends the program
    });
}

// A program may take away what its own files could be read by.
TEST(DiskFaults, MarkersAreFoundWhateverTheUmask)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become somebody else";
    }
    Scratch scratch;
    chmod(scratch.path("").c_str(), 0777);
    run_in_child([&] {
        ASSERT_EQ(seteuid(65534), 0); // who is not allowed everything
        const std::string root = scratch.path("root");
        ASSERT_EQ(Store(root).commit("words"), STATUS_ok);
        Holder([&] {
            umask(0777);
            auto *store = new Store(root);
            store->load();
            store->begin_call(CRASH_KEY_LOAD);
        }).end();
        EXPECT_EQ(content_of(root), "<suspect>");
    });
}

// Some file systems know no modes.
TEST(DiskFaults, SavesWhereModesCannotBeChanged)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    Arm arm(0, EPERM, true, "fchmod");
    EXPECT_EQ(Store(root).commit("words"), STATUS_ok);
    EXPECT_EQ(content_of(root), "words");
}

// A sandbox may forbid to remove the marker: the process has survived all the same.
TEST(DiskFaults, MarkersThatCannotBeRemovedSayNothing)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(Store(root).commit("words"), STATUS_ok);
    {
        Store store(root);
        ASSERT_EQ(store.load(), "words");
        Arm arm(0, EPERM, true, "unlinkat");
        store_survived(store.get());
        EXPECT_GT(faults.calls, 0);
    }
    EXPECT_EQ(names_in(root + "/app/" + names_in(root + "/app", ".loading").at(0)).size(), 1u);
    EXPECT_EQ(content_of(root), "words");
    EXPECT_EQ(names_in(root + "/app/" + names_in(root + "/app", ".loading").at(0)).size(), 0u);
}

// And it has lived where another has died.
TEST(DiskFaults, MarkersThatCannotBeRemovedSayWhatTheirProcessHasPassed)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(Store(root).commit("words"), STATUS_ok);
    for (int i = 0; i < 2; i++) {
        Holder([&] {
            auto *store = new Store(root);
            EXPECT_EQ(store->load(), "words");
            store->begin_call(4711);
        }).end();
        EXPECT_EQ(content_of(root), "<suspect>");
        Store store(root);
        EXPECT_EQ(store.load(), "words");
        store.call(4711);
        Arm arm(0, EPERM, true, "unlinkat");
        store_survived(store.get());
        EXPECT_GT(faults.calls, 0);
    }
}

// Between the verdict and the lock another process may have saved.
TEST(DiskFaults, TheFileThatTookACondemnedOnesPlaceIsLeftAlone)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    Store survivor(root);
    ASSERT_EQ(survivor.commit("old"), STATUS_ok);
    for (int deaths = 0; deaths < 2; deaths++) {
        Holder([&] {
            auto *store = new Store(root);
            store->load();
            store->begin_call(CRASH_KEY_LOAD);
        }).end();
        if (deaths == 0) {
            ASSERT_EQ(content_of(root), "<suspect>");
        }
    }
    faults = {};
    faults.before_lock = [&] { EXPECT_EQ(survivor.commit("new"), STATUS_ok); };
    EXPECT_EQ(content_of(root), "<suspect>");
    EXPECT_FALSE(faults.before_lock);
    EXPECT_FALSE(std::filesystem::exists(root + "/app/quarantine"));
    EXPECT_EQ(content_of(root), "new old");
}

// Somebody looks at a marker at the moment in which its process, alive and well, removes it.
TEST(DiskFaults, AProcessThatRemovesItsMarkerIsNotTakenForDead)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(Store(root).commit("one"), STATUS_ok);
    Store loading(root);
    EXPECT_EQ(loading.load(), "one");
    faults = {};
    faults.before_shared_lock = [&] { store_survived(loading.get()); };
    EXPECT_EQ(content_of(root), "one");
    EXPECT_FALSE(faults.before_shared_lock) << "nobody has looked at the marker";
}

// FUSE goes on counting a link of a file that is open; here it has another name.
TEST(DiskFaults, NorWhereTheRemovedFileStillHasALink)
{
    Scratch scratch;
    const std::string root = scratch.path("root");
    ASSERT_EQ(Store(root).commit("one"), STATUS_ok);
    Store loading(root);
    EXPECT_EQ(loading.load(), "one");
    loading.begin_call(4711);
    faults = {};
    faults.before_shared_lock = [&] {
        const std::string folder = root + "/app/" + names_in(root + "/app", ".loading").at(0);
        const std::string marker = folder + "/" + names_in(folder).at(0);
        ASSERT_EQ(link(marker.c_str(), scratch.path("link").c_str()), 0);
        const int page = open(marker.c_str(), O_RDWR | O_CLOEXEC);
        const uint32_t living = 0;
        store_survived(loading.get());
        ASSERT_EQ(pwrite(page, &living, sizeof living, offsetof(crash_page, ended)),
                  ssize_t(sizeof living));
        close(page);
    };
    EXPECT_EQ(content_of(root), "one");
}

TEST(DiskFaults, SavesGoOnWhereThereAreNoLocks)
{
    // The last two: AppArmor without `k`, a filter of system calls.
    for (int error : {ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL, EACCES, EPERM}) {
        SCOPED_TRACE(error);
        Scratch scratch;
        const std::string root = scratch.path("root");
        Arm arm(0, error, true, "flock");
        EXPECT_EQ(Store(root).commit("one"), STATUS_ok);
        Store store(root);
        EXPECT_EQ(store.load(), "one");
        EXPECT_EQ(store.commit_unmerged("one two"), STATUS_ok);
        EXPECT_FALSE(store_has_part(store.get()));
        EXPECT_EQ(content_of(root), "one two");
    }
}

TEST(DiskFaults, NumbersAreDrawnWithoutTheKernelToo)
{
    Arm arm(0, ENOSYS, true, "getrandom");
    std::set<uint64_t> numbers;
    for (int i = 0; i < 1000; i++) {
        numbers.insert(unique_draw());
    }
    EXPECT_EQ(faults.calls, 1000);
    EXPECT_EQ(numbers.size(), 1000u);
    EXPECT_EQ(numbers.count(0), 0u);
}

} // namespace
