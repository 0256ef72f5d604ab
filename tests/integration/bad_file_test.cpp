// SPDX-License-Identifier: Apache-2.0
// A cache file that is not as it was saved, in every way: a cold start, one line that says why, no
// byte of it for the driver (which would notice), and the next good save in its place.
#include "harness.hpp"
#include "program.hpp"

#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

extern "C" {
#include "common/blobs/envelope.h"
}

namespace fs = std::filesystem;

namespace {

constexpr unsigned pipelines = 6;
constexpr size_t header_size = ENVELOPE_HEADER_SIZE;

class BadFileTest : public LayerTest {
  protected:
    static void program()
    {
        Program().create_compute(0, pipelines);
    }

    void SetUp() override
    {
        run(program);
        file_ = cache_file();
        good_ = read_bytes(file_);
        ASSERT_GT(good_.size(), header_size);
    }

    const fs::path &file() const
    {
        return file_;
    }
    const std::vector<uint8_t> &good() const
    {
        return good_;
    }

    void expect_rejected(const std::string &reason, const std::string &what = "")
    {
        const Outcome bad = run(program);
        const std::vector<std::string> log = bad.log();
        EXPECT_EQ(bad.hits(), 0u) << what;
        EXPECT_EQ(bad.stats_of()["cache"]["state"], "rejected") << what;
        EXPECT_EQ(bad.stats_of()["cache"]["reason"], reason) << what;
        EXPECT_EQ(bad.stats_of()["cache"]["loaded_bytes"], 0) << what;
        ASSERT_EQ(log.size(), 1u) << what << bad.errors;
        EXPECT_NE(log[0].find("(" + reason + ")"), std::string::npos) << what << log[0];
    }

    void expect_replaced(const std::string &what = "")
    {
        const Outcome warm = run(program);
        EXPECT_EQ(warm.hits(), pipelines) << what << warm.errors;
        EXPECT_EQ(warm.log(), std::vector<std::string>()) << what;
    }

  private:
    fs::path file_;
    std::vector<uint8_t> good_;
};

std::string reason_of_byte(size_t position)
{
    if (position < 8) {
        return "bad_magic";
    }
    if (position < 12) {
        return "bad_format_version";
    }
    if (position >= 16 && position < 20) {
        return "bad_endianness";
    }
    if (position >= 20 && position < 24) {
        return "bad_pointer_size";
    }
    return position < header_size ? "bad_header_digest" : "bad_section_digest";
}

// Every byte of the first fields, one in sixteen of the rest of the header, one in forty of the
// blob.
TEST_F(BadFileTest, AnyByteChanged)
{
    for (size_t position = 0; position < good().size(); position += position < 40            ? 1
                                                                    : position < header_size ? 16
                                                                                             : 40) {
        std::vector<uint8_t> bytes = good();
        bytes[position] = static_cast<uint8_t>(bytes[position] ^ (1u << position % 8));
        write_bytes(file(), bytes);
        expect_rejected(reason_of_byte(position), "byte " + std::to_string(position) + ": ");
    }
    expect_replaced();
}

TEST_F(BadFileTest, CutAnywhere)
{
    for (size_t size :
         {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{23}, size_t{24}, header_size - 1,
          header_size, header_size + 1, header_size + 32, good().size() - 1}) {
        std::vector<uint8_t> bytes = good();
        bytes.resize(size);
        write_bytes(file(), bytes);
        expect_rejected("truncated", "cut at " + std::to_string(size) + ": ");
        expect_replaced("cut at " + std::to_string(size) + ": ");
    }
}

TEST_F(BadFileTest, BytesAppended)
{
    for (size_t more : {1, 16, 4096}) {
        std::vector<uint8_t> bytes = good();
        bytes.resize(bytes.size() + more);
        write_bytes(file(), bytes);
        expect_rejected("trailing_bytes");
        expect_replaced();
    }
}

TEST_F(BadFileTest, SomethingElse)
{
    std::vector<uint8_t> bytes = {good().begin() + header_size, good().end()};
    write_bytes(file(), bytes); // the driver's data without its envelope
    expect_rejected("bad_magic");
    expect_replaced();
}

// Files that check out in themselves, but are another driver's.
struct Identity {
    const char *name;
    const char *reason;
    void (*change)(struct driver_identity &identity);
};

void PrintTo(const Identity &identity, std::ostream *stream)
{
    *stream << identity.name;
}

const Identity identities[] = {
    {"vendor", "other_vendor", [](driver_identity &identity) { identity.vendor_id ^= 1; }},
    {"device", "other_device", [](driver_identity &identity) { identity.device_id ^= 1; }},
    {"driver_id", "other_driver", [](driver_identity &identity) { identity.driver_id ^= 1; }},
    {"driver_name", "other_driver",
     [](driver_identity &identity) { identity.driver_name[0] ^= 1; }},
    {"driver_version", "other_driver_version",
     [](driver_identity &identity) { ++identity.driver_version; }},
    {"api_version", "other_api_version", [](driver_identity &identity) { ++identity.api_version; }},
    {"uuid", "other_cache_uuid",
     [](driver_identity &identity) { identity.pipeline_cache_uuid[15] ^= 1; }},
    {"pointer_size", "bad_pointer_size",
     [](driver_identity &identity) { identity.pointer_size ^= 12; }},
};

class ForeignFileTest : public BadFileTest, public ::testing::WithParamInterface<Identity> {
  protected:
    // The same blob under another header.
    void write_enveloped(const driver_identity &identity, const std::vector<uint8_t> &blob)
    {
        struct envelope envelope = {};
        envelope.identity = identity;
        envelope.generation = 1;
        envelope.blob = blob.data();
        envelope.blob_size = blob.size();
        struct bytes header = {};
        ASSERT_TRUE(envelope_encode_header(&envelope, &header));
        std::vector<uint8_t> bytes(header.data, header.data + header.size);
        bytes_free(&header);
        bytes.insert(bytes.end(), blob.begin(), blob.end());
        write_bytes(file(), bytes);
    }

    driver_identity identity_of_file() const
    {
        struct envelope envelope = {};
        EXPECT_EQ(envelope_validate(good().data(), good().size(), nullptr, &envelope), STATUS_ok);
        return envelope.identity;
    }

    std::vector<uint8_t> blob() const
    {
        return {good().begin() + header_size, good().end()};
    }
};

TEST_P(ForeignFileTest, IsRejected)
{
    driver_identity identity = identity_of_file();
    GetParam().change(identity);
    write_enveloped(identity, blob());
    expect_rejected(GetParam().reason);
    expect_replaced();
}

INSTANTIATE_TEST_SUITE_P(Of, ForeignFileTest, ::testing::ValuesIn(identities),
                         [](const auto &identity) { return std::string(identity.param.name); });

using ForeignBlobTest = ForeignFileTest;

// The envelope is right, but the driver's own header in it is not this device's.
TEST_P(ForeignBlobTest, IsRejected)
{
    for (size_t byte : {0, 4, 8, 12, 16, 31}) {
        std::vector<uint8_t> other = blob();
        other[byte] ^= 1;
        write_enveloped(identity_of_file(), other);
        expect_rejected("bad_blob_header", "byte " + std::to_string(byte) + ": ");
    }
    std::vector<uint8_t> part = blob();
    part.resize(20);
    write_enveloped(identity_of_file(), part);
    expect_rejected("bad_blob_header");
    expect_replaced();
}

INSTANTIATE_TEST_SUITE_P(Of, ForeignBlobTest, ::testing::Values(identities[0]),
                         [](const auto &) { return std::string("header"); });

TEST_F(BadFileTest, RightFileOfAnotherDriverUnderThisName)
{
    environment["WPTEST_ICD_DRIVER_VERSION"] = "2";
    run(program);
    std::vector<fs::path> files = cache_files();
    ASSERT_EQ(files.size(), 2u);
    const fs::path other = files[0] == file() ? files[1] : files[0];
    environment.erase("WPTEST_ICD_DRIVER_VERSION");
    fs::copy_file(other, file(), fs::copy_options::overwrite_existing);
    expect_rejected("other_driver_version");
    expect_replaced();
}

TEST_F(BadFileTest, Directory)
{
    fs::remove(file());
    fs::create_directory(file());
    std::ofstream(file() / "inside") << "kept";
    expect_rejected("not_a_file");
    expect_replaced();
}

TEST_F(BadFileTest, Fifo)
{
    fs::remove(file());
    ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
    expect_rejected("not_a_file");
    expect_replaced();
}

TEST_F(BadFileTest, SymbolicLink)
{
    const fs::path elsewhere = folder() / "elsewhere";
    fs::rename(file(), elsewhere);
    fs::create_symlink(elsewhere, file());
    expect_rejected("symlink");
    expect_replaced();
    EXPECT_EQ(read_bytes(elsewhere), good()) << "written through the link";
    EXPECT_FALSE(fs::is_symlink(file()));
}

TEST_F(BadFileTest, WritableByOthers)
{
    for (mode_t mode : {0620, 0602, 0666}) {
        ASSERT_EQ(chmod(file().c_str(), mode), 0);
        expect_rejected("file_mode");
        expect_replaced();
    }
}

TEST_F(BadFileTest, ForeignOwner)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    ASSERT_EQ(chown(file().c_str(), 12345, 12345), 0);
    expect_rejected("file_owner");
    expect_replaced();
}

TEST_F(BadFileTest, Unreadable)
{
    if (!become_unprivileged()) {
        GTEST_SKIP() << "the build tree is not open to other users";
    }
    ASSERT_EQ(chmod(file().c_str(), 0), 0);
    expect_rejected("unreadable");
    expect_replaced();
}

TEST_F(BadFileTest, TooLarge)
{
    ASSERT_EQ(truncate(file().c_str(), off_t{1} << 40), 0);
    const Outcome bad = run(program);
    EXPECT_EQ(bad.stats_of()["cache"]["state"], "rejected");
    EXPECT_EQ(bad.log().size(), 1u);
    EXPECT_EQ(bad.hits(), 0u);
    expect_replaced();
}

// The driver does not take data that checks out: it is tried empty, and saved anew.
TEST_F(BadFileTest, RefusedByTheDriver)
{
    environment["WPTEST_ICD_CACHE_CREATE"] = "fail_data";
    expect_rejected("driver_refused");
    environment.erase("WPTEST_ICD_CACHE_CREATE");
    expect_replaced();
}

} // namespace
