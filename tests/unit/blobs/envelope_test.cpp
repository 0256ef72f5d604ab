// SPDX-License-Identifier: Apache-2.0
// The envelope: what is right gets through, and nothing else does.
#include <functional>

#include "disk_fixture.h"

namespace {

// Where docs/FORMAT.md puts the fields.
constexpr size_t at_format_version = 8;
constexpr size_t at_header_size = 12;
constexpr size_t at_endian_marker = 16;
constexpr size_t at_pointer_size = 20;
constexpr size_t at_generation = 24;
constexpr size_t at_saved_at = 32;
constexpr size_t at_identity = 40;
constexpr size_t at_section_count = 852;
constexpr size_t at_section_type = 856;
constexpr size_t at_section_reserved = 860;
constexpr size_t at_section_offset = 864;
constexpr size_t at_section_size = 872;
constexpr size_t at_section_digest = 880;
constexpr size_t at_padding = 896;
constexpr size_t at_header_digest = 944;

enum status validate(const std::string &file, const driver_identity *expected,
                     envelope *ret_envelope = nullptr)
{
    // In memory of exactly this size, so that a sanitizer sees a read beyond it.
    std::vector<char> memory(file.begin(), file.end());
    envelope envelope = {};
    enum status reason = envelope_validate(memory.data(), memory.size(), expected, &envelope);
    if (ret_envelope) {
        *ret_envelope = envelope;
    }
    return reason;
}

TEST(Envelope, GivesBackWhatWasWrapped)
{
    const driver_identity identity = sample_identity();
    const std::string blob = make_blob("payload");
    const std::string file = make_file(blob);
    ASSERT_EQ(file.size(), ENVELOPE_HEADER_SIZE + blob.size());

    envelope found = {};
    ASSERT_EQ(envelope_validate(file.data(), file.size(), &identity, &found), STATUS_ok);
    EXPECT_EQ(identity_compare(&found.identity, &identity), STATUS_ok);
    EXPECT_EQ(found.generation, 0x0123456789abcdefu);
    EXPECT_EQ(found.saved_at, 1700000000u);
    EXPECT_EQ(reinterpret_cast<const char *>(found.blob), file.data() + ENVELOPE_HEADER_SIZE);
    EXPECT_EQ(found.blob_size, blob.size());
    EXPECT_TRUE(digest_equal(found.blob_digest, digest_of(blob.data(), blob.size())));
}

TEST(Envelope, IsAppendedToWhatTheBufferHolds)
{
    const std::string blob = make_blob("payload");
    envelope envelope = {};
    envelope.identity = sample_identity();
    envelope.generation = 1;
    envelope.blob = reinterpret_cast<const uint8_t *>(blob.data());
    envelope.blob_size = blob.size();
    struct bytes header = {};
    bytes_put(&header, "before", 6);
    ASSERT_TRUE(envelope_encode_header(&envelope, &header));
    ASSERT_EQ(header.size, 6u + ENVELOPE_HEADER_SIZE);
    std::string file(reinterpret_cast<char *>(header.data) + 6, ENVELOPE_HEADER_SIZE);
    bytes_free(&header);
    EXPECT_EQ(validate(file + blob, &envelope.identity), STATUS_ok);
}

TEST(Envelope, PutsTheBlobAtAMultipleOf64)
{
    EXPECT_EQ(ENVELOPE_HEADER_SIZE % 64, 0);
}

TEST(Envelope, TakesAnyIdentityWhereNoneIsExpected)
{
    driver_identity other = sample_identity();
    other.vendor_id = 0x8086;
    other.pointer_size = 4;
    EXPECT_EQ(validate(make_file(make_blob("x", other), other), nullptr), STATUS_ok);
}

// What a changed byte is called, by the field that it lies in.
enum status reason_of_change(size_t offset, size_t blob_offset)
{
    if (offset < at_format_version) {
        return STATUS_bad_magic;
    }
    if (offset < at_header_size) {
        return STATUS_bad_format_version;
    }
    if (offset >= at_endian_marker && offset < at_pointer_size) {
        return STATUS_bad_endianness;
    }
    if (offset >= at_pointer_size && offset < at_generation) {
        return STATUS_bad_pointer_size;
    }
    return offset < blob_offset ? STATUS_bad_header_digest : STATUS_bad_section_digest;
}

TEST(Envelope, RefusesEveryChangedByte)
{
    const driver_identity identity = sample_identity();
    const std::string file = make_file(make_blob(std::string(100, 'p')));
    for (size_t i = 0; i < file.size(); i++) {
        for (uint8_t flip : {0x01, 0x80, 0xff}) {
            std::string changed = file;
            changed[i] = static_cast<char>(changed[i] ^ flip);
            ASSERT_EQ(validate(changed, &identity), reason_of_change(i, ENVELOPE_HEADER_SIZE))
                << "byte " << i;
            ASSERT_NE(validate(changed, nullptr), STATUS_ok) << "byte " << i;
        }
    }
}

TEST(Envelope, RefusesEveryCut)
{
    const driver_identity identity = sample_identity();
    const std::string file = make_file(make_blob(std::string(100, 'p')));
    for (size_t size = 0; size < file.size(); size++) {
        ASSERT_EQ(validate(file.substr(0, size), &identity), STATUS_truncated) << size;
    }
}

TEST(Envelope, RefusesAppendedBytes)
{
    const driver_identity identity = sample_identity();
    const std::string file = make_file(make_blob("p"));
    for (size_t more : {1, 2, 63, 64, 960, 4096}) {
        EXPECT_EQ(validate(file + std::string(more, '\0'), &identity), STATUS_trailing_bytes);
    }
    EXPECT_EQ(validate(file + file, &identity), STATUS_trailing_bytes);
}

TEST(Envelope, RefusesInsertedAndRemovedBytes)
{
    const driver_identity identity = sample_identity();
    const std::string file = make_file(make_blob("payload"));
    for (size_t i = 0; i < file.size(); i++) {
        std::string longer = file;
        longer.insert(i, 1, '\x5a');
        ASSERT_NE(validate(longer, &identity), STATUS_ok) << i;
        std::string shorter = file;
        shorter.erase(i, 1);
        ASSERT_NE(validate(shorter, &identity), STATUS_ok) << i;
    }
}

TEST(Envelope, RefusesWhatIsSomethingElse)
{
    const driver_identity identity = sample_identity();
    EXPECT_EQ(validate("", &identity), STATUS_truncated);
    EXPECT_EQ(validate("not a cache", &identity), STATUS_bad_magic);
    EXPECT_EQ(validate(std::string(4096, '\0'), &identity), STATUS_bad_magic);
    EXPECT_EQ(validate(make_blob("a bare blob"), &identity), STATUS_bad_magic);
}

struct Tampering {
    const char *name;
    size_t offset;
    std::string bytes;
    enum status reason;
};

// Changes by somebody who makes the header's digest right again.
TEST(Envelope, RefusesEveryFieldThatIsNotAsTheFormatSays)
{
    const driver_identity identity = sample_identity();
    const std::string blob = make_blob("payload");
    const std::string size = std::string(1, static_cast<char>(blob.size())) + std::string(7, '\0');
    const Tampering tamperings[] = {
        {"format version", at_format_version, "\x02", STATUS_bad_format_version},
        {"header size", at_header_size, std::string("\x00\x04", 2), STATUS_bad_section_table},
        {"endian marker", at_endian_marker, "\x01\x02\x03\x04", STATUS_bad_endianness},
        {"pointer size", at_pointer_size, "\x04", STATUS_bad_pointer_size},
        {"generation 0", at_generation, std::string(8, '\0'), STATUS_bad_section_table},
        {"no section", at_section_count, std::string(1, '\0'), STATUS_bad_section_table},
        {"two sections", at_section_count, "\x02", STATUS_bad_section_table},
        {"many sections", at_section_count, "\xff\xff\xff\xff", STATUS_bad_section_table},
        {"unknown section", at_section_type, "\x02", STATUS_bad_section_table},
        {"reserved", at_section_reserved, "\x01", STATUS_bad_section_table},
        {"offset into the header", at_section_offset, std::string(2, '\0'),
         STATUS_bad_section_table},
        {"offset beyond", at_section_offset, "\xff\xff\xff\xff\xff\xff\xff\xff",
         STATUS_bad_section_table},
        {"size beyond", at_section_size, "\xff\xff\xff\xff\xff\xff\xff\xff", STATUS_truncated},
        {"size that wraps", at_section_size, std::string("\x00\xfc\xff\xff\xff\xff\xff\xff", 8),
         STATUS_truncated},
        {"size 0", at_section_size, std::string(8, '\0'), STATUS_trailing_bytes},
        {"digest", at_section_digest, std::string(16, '\x11'), STATUS_bad_section_digest},
        {"padding", at_padding + 47, "\x01", STATUS_bad_section_table},
    };
    for (const Tampering &tampering : tamperings) {
        std::string file = make_file(blob);
        file.replace(tampering.offset, tampering.bytes.size(), tampering.bytes);
        sign_header(file);
        EXPECT_EQ(validate(file, &identity), tampering.reason) << tampering.name;
        EXPECT_NE(validate(file, nullptr), STATUS_ok) << tampering.name;
    }
    std::string untouched = make_file(blob);
    sign_header(untouched);
    EXPECT_EQ(validate(untouched, &identity), STATUS_ok) << "sign_header itself";
}

TEST(Envelope, RefusesTextBehindAStringsEnd)
{
    const driver_identity identity = sample_identity();
    // One byte in the middle of what is left of each name, and the last one.
    for (const size_t at : {44 + 200, 44 + 255, 44 + 256 + 200, 44 + 512 + 200, 44 + 512 + 255}) {
        std::string file = make_file(make_blob("payload"));
        file[at_identity + at] = 'x';
        sign_header(file);
        EXPECT_EQ(validate(file, nullptr), STATUS_bad_section_table) << at;
        EXPECT_EQ(validate(file, &identity), STATUS_bad_section_table) << at;
    }
}

TEST(Envelope, NamesWhatDiffersInTheIdentity)
{
    const std::pair<enum status, std::function<void(driver_identity &)>> changes[] = {
        {STATUS_bad_pointer_size, [](driver_identity &i) { i.pointer_size = 4; }},
        {STATUS_other_vendor, [](driver_identity &i) { i.vendor_id++; }},
        {STATUS_other_device, [](driver_identity &i) { i.device_id++; }},
        {STATUS_other_driver, [](driver_identity &i) { i.driver_id++; }},
        {STATUS_other_driver_version, [](driver_identity &i) { i.driver_version++; }},
        {STATUS_other_api_version, [](driver_identity &i) { i.api_version++; }},
        {STATUS_other_cache_uuid, [](driver_identity &i) { i.pipeline_cache_uuid[0]++; }},
    };
    const driver_identity identity = sample_identity();
    for (const auto &[reason, change] : changes) {
        driver_identity other = identity;
        change(other);
        std::string file = make_file(make_blob("payload", other), other);
        EXPECT_EQ(validate(file, &identity), reason);
        // The other driver is what the user has to know, not that the file is damaged besides.
        file.back() ^= 1;
        EXPECT_EQ(validate(file, &identity), reason);
        file.pop_back();
        EXPECT_EQ(validate(file, &identity), reason);
    }
}

TEST(Envelope, NamesOtherMachinesBeforeTheDigest)
{
    const driver_identity identity = sample_identity();
    std::string file = make_file(make_blob("payload"));
    file.replace(at_endian_marker, 4, "\x01\x02\x03\x04");
    EXPECT_EQ(validate(file, &identity), STATUS_bad_endianness);
    EXPECT_EQ(validate(file, nullptr), STATUS_bad_endianness);

    file = make_file(make_blob("payload"));
    file[at_pointer_size] = 4;
    EXPECT_EQ(validate(file, &identity), STATUS_bad_pointer_size);
}

TEST(Envelope, RefusesAForeignBlobInARightEnvelope)
{
    const driver_identity identity = sample_identity();
    driver_identity other = identity;
    other.device_id++;
    EXPECT_EQ(validate(make_file(make_blob("payload", other)), &identity), STATUS_bad_blob_header);
    EXPECT_EQ(validate(make_file(make_blob("payload", other)), nullptr), STATUS_bad_blob_header);
    EXPECT_EQ(validate(make_file(make_blob("").substr(0, 31)), &identity), STATUS_bad_blob_header);
    EXPECT_EQ(validate(make_file(""), &identity), STATUS_bad_blob_header);
}

TEST(Envelope, LeavesTheResultAloneWhereItRefuses)
{
    std::string file = make_file(make_blob("payload"));
    file.back() ^= 1;
    envelope found = {};
    found.generation = 42;
    EXPECT_EQ(envelope_validate(file.data(), file.size(), nullptr, &found),
              STATUS_bad_section_digest);
    EXPECT_EQ(found.generation, 42u);
    EXPECT_EQ(found.blob, nullptr);
}

TEST(EnvelopeHeader, IsEnoughToKnowTheGeneration)
{
    const driver_identity identity = sample_identity();
    const std::string file = make_file(make_blob("payload"));
    const std::string header = file.substr(0, ENVELOPE_HEADER_SIZE);
    envelope found = {};
    ASSERT_EQ(
        envelope_validate_header(header.data(), header.size(), file.size(), &identity, &found),
        STATUS_ok);
    EXPECT_EQ(found.generation, 0x0123456789abcdefu);
    EXPECT_EQ(found.blob_size, file.size() - header.size());
    EXPECT_EQ(found.blob, nullptr);
}

TEST(EnvelopeHeader, KnowsTheFilesSize)
{
    const std::string file = make_file(make_blob("payload"));
    const std::string header = file.substr(0, ENVELOPE_HEADER_SIZE);
    envelope found = {};
    for (uint64_t size : {file.size() - 1, header.size(), size_t{0}}) {
        EXPECT_NE(envelope_validate_header(header.data(), header.size(), size, nullptr, &found),
                  STATUS_ok);
    }
    EXPECT_EQ(
        envelope_validate_header(header.data(), header.size(), file.size() + 1, nullptr, &found),
        STATUS_trailing_bytes);
    EXPECT_EQ(
        envelope_validate_header(header.data(), header.size() - 1, file.size(), nullptr, &found),
        STATUS_truncated);
}

TEST(EnvelopePeek, TellsWhatADamagedHeaderSays)
{
    std::string file = make_file(make_blob("payload"));
    file[at_saved_at] ^= 1;
    file.resize(ENVELOPE_HEADER_SIZE);
    envelope found = {};
    ASSERT_EQ(validate(file, nullptr), STATUS_bad_header_digest);
    ASSERT_TRUE(envelope_peek(file.data(), file.size(), &found));
    EXPECT_STREQ(found.identity.device_name, "Sample device");
    EXPECT_EQ(found.blob_size, make_blob("payload").size());
    EXPECT_EQ(found.blob, nullptr);
}

TEST(EnvelopePeek, TellsOfOtherMachines)
{
    std::string file = make_file(make_blob("payload"));
    file.replace(at_endian_marker, 4, "\x01\x02\x03\x04");
    envelope found = {};
    EXPECT_TRUE(envelope_peek(file.data(), file.size(), &found));
}

TEST(EnvelopePeek, RefusesOtherFormatsAndTooFewBytes)
{
    const std::string file = make_file(make_blob("payload"));
    envelope found = {};
    EXPECT_FALSE(envelope_peek(file.data(), ENVELOPE_HEADER_SIZE - 1, &found));
    EXPECT_FALSE(envelope_peek(file.data(), 0, &found));
    EXPECT_FALSE(envelope_peek(std::string(4096, 'x').data(), 4096, &found));
    std::string newer = file;
    newer[at_format_version] = 2;
    EXPECT_FALSE(envelope_peek(newer.data(), newer.size(), &found));
}

static_assert(at_header_digest == ENVELOPE_HEADER_SIZE - 16, "the digest ends the header");

} // namespace
