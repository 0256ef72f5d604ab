// SPDX-License-Identifier: Apache-2.0
// What stands in the place of the store's file and is not loaded, and what is not written there.
#include <fstream>
#include <functional>

#include <sys/resource.h>
#include <sys/stat.h>

#include "faults.h"
#include "store_fixture.h"

namespace {

TEST_F(StoreTest, WritesNoBlobThatItWouldNotLoad)
{
    save("one");
    Store store(root());
    driver_identity other = sample_identity();
    other.device_id++;
    for (const std::string &blob : {std::string(), std::string("junk"), make_blob("x", other)}) {
        store_foreign foreign;
        ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
        EXPECT_EQ(store_commit(store.get(), blob.data(), blob.size()), STATUS_bad_blob_header);
        EXPECT_EQ(store_commit_unmerged(store.get(), blob.data(), blob.size()),
                  STATUS_bad_blob_header);
    }
    EXPECT_EQ(load(), "one");
    save("two");
}

// What stands in the file's place, why it is refused; the next save replaces each.
struct Damage {
    const char *name;
    std::string id;
    std::function<void(const std::string &path, const std::string &content)> apply;
};

const Damage damages[] = {
    {"empty", "truncated", [](auto &path, auto &) { write_file(path, ""); }},
    {"cut", "truncated",
     [](auto &path, auto &content) { write_file(path, content.substr(0, content.size() - 1)); }},
    {"longer", "trailing_bytes",
     [](auto &path, auto &content) { write_file(path, content + '\0'); }},
    {"blob", "bad_section_digest",
     [](auto &path, auto content) {
         content.back() ^= 1;
         write_file(path, content);
     }},
    {"header", "bad_header_digest",
     [](auto &path, auto content) {
         content[100] ^= 1;
         write_file(path, content);
     }},
    {"something else", "bad_magic", [](auto &path, auto &) { write_file(path, "something else"); }},
    {"another driver's", "other_driver",
     [](auto &path, auto &) {
         driver_identity other = sample_identity();
         other.driver_id++;
         write_file(path, make_file(make_blob("x", other), other));
     }},
    {"directory", "not_a_file",
     [](auto &path, auto &) { std::filesystem::create_directory(path); }},
    {"full directory", "not_a_file",
     [](auto &path, auto &content) {
         std::filesystem::create_directory(path);
         write_file(path + "/file", content);
     }},
    {"fifo", "not_a_file", [](auto &path, auto &) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }},
    {"link", "symlink",
     [](auto &path, auto &content) {
         write_file(path + ".elsewhere", content);
         std::filesystem::create_symlink(path + ".elsewhere", path);
     }},
    {"open to others", "file_mode",
     [](auto &path, auto &content) {
         write_file(path, content);
         chmod(path.c_str(), 0666);
     }},
    {"too large", "too_large",
     [](auto &path, auto &content) {
         write_file(path, content);
         ASSERT_EQ(truncate(path.c_str(), 1 << 30), 0);
     }},
};

TEST_F(StoreTest, RefusesADamagedFileAndReplacesItByTheNextSave)
{
    for (const Damage &damage : damages) {
        SCOPED_TRACE(damage.name);
        save("old");
        const std::string content = file_content();
        std::filesystem::remove(file());
        damage.apply(file(), content);
        {
            Store store(root());
            EXPECT_EQ(store.load(), "<" + damage.id + ">");
            store_foreign foreign;
            ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
            EXPECT_EQ(foreign.count, 0u);
            store_abort(store.get());
            ASSERT_EQ(store.commit("new"), STATUS_ok);
        }
        EXPECT_EQ(load(), "new");
        std::filesystem::remove(file());
    }
}

TEST_F(StoreTest, ReplacesADamagedFileWithoutAMergeToo)
{
    for (const Damage &damage : damages) {
        SCOPED_TRACE(damage.name);
        save("old");
        const std::string content = file_content();
        std::filesystem::remove(file());
        damage.apply(file(), content);
        Store store(root());
        EXPECT_EQ(store.load(), "<" + damage.id + ">");
        ASSERT_EQ(store.commit_unmerged("new"), STATUS_ok);
        EXPECT_FALSE(store_has_part(store.get()));
        EXPECT_EQ(load(), "new");
        std::filesystem::remove(file());
    }
}

TEST_F(StoreTest, RefusesAForeignOwnersFileAndReplacesIt)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    save("old");
    ASSERT_EQ(chown(file().c_str(), 65534, 65534), 0);
    EXPECT_EQ(load(), "<file_owner>");
    save("new");
    EXPECT_EQ(load(), "new");
}

TEST_F(StoreTest, RefusesAFolderThatOthersCanWrite)
{
    save("old");
    chmod(folder().c_str(), 0777);
    Store store(root());
    EXPECT_EQ(store.load(), "<directory_mode>");
    EXPECT_EQ(store.commit("x"), STATUS_directory_mode);
    EXPECT_EQ(store.commit_unmerged("x"), STATUS_directory_mode);
    chmod(folder().c_str(), 0700);
    EXPECT_EQ(load(), "old");
}

// As in a container of little memory: a kernel ends who reads it all the same, in each start.
TEST_F(StoreTest, DoesNotReadWhatMemoryCannotHold)
{
    store_options options = {};
    options.max_blob = 64 << 20;
    const std::string words(8 << 20, 'w');
    ASSERT_EQ(Store(root(), options).commit(words), STATUS_ok);
    const auto files = names_in(folder());
    faults.meminfo = scratch.path("meminfo");
    write_file(faults.meminfo, "MemTotal: 65536 kB\nMemAvailable: 16384 kB\n");
    for (int start = 0; start < 2; start++) {
        Store store(root(), options);
        EXPECT_TRUE(store.load() == "<out_of_memory>"); // 32 MiB, which nobody reads
        EXPECT_EQ(store.commit("one"), STATUS_out_of_memory);
        EXPECT_EQ(store.commit_unmerged("two"), STATUS_out_of_memory);
    }
    EXPECT_EQ(names_in(folder()), files) << "no part for each start";
    write_file(faults.meminfo, "MemTotal: 65536 kB\nMemAvailable: 17000 kB\n");
    EXPECT_TRUE(Store(root(), options).load() == words);
}

rlim_t data_bytes()
{
    std::ifstream status("/proc/self/status");
    rlim_t kib = 0;
    for (std::string word; status >> word && word != "VmData:";) {
    }
    status >> kib;
    return kib * 1024;
}

// The same by a limit of the process's own, or where it has no addresses left (32 bits).
TEST_F(StoreTest, SavesNoPartBesideWhatTheProcessMayNotHold)
{
    store_options options = {};
    options.max_blob = 64 << 20;
    const std::string words(32 << 20, 'w');
    ASSERT_EQ(Store(root(), options).commit(words), STATUS_ok);
    const auto files = names_in(folder());
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
    const rlimit little = {data_bytes() + (16 << 20), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_DATA, &little), 0);
    rlimit set;
    ASSERT_EQ(getrlimit(RLIMIT_DATA, &set), 0);
    if (set.rlim_cur != little.rlim_cur) {
        GTEST_SKIP() << "qemu-user limits no memory";
    }
    {
        Store store(root(), options);
        EXPECT_TRUE(store.load() == "<out_of_memory>"); // 32 MiB, which nobody reads
        EXPECT_EQ(store.commit("one"), STATUS_out_of_memory);
        EXPECT_EQ(store.commit_unmerged("two"), STATUS_out_of_memory);
    }
    ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
    EXPECT_EQ(names_in(folder()), files);
    EXPECT_TRUE(Store(root(), options).load() == words);
}

} // namespace
