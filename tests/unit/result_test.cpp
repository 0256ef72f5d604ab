#include <cerrno>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "base/result.h"
}

namespace {

TEST(Reason, OkIsZeroAndNameless)
{
    EXPECT_EQ(REASON_ok, 0);
    EXPECT_STREQ(reason_id(REASON_ok), "");
    EXPECT_STREQ(reason_text(REASON_ok), "");
}

TEST(Reason, EveryOtherHasAnIdOfItsOwnAndASentence)
{
    const std::regex id_form("[a-z][a-z0-9_]*");
    std::set<std::string> ids;
    for (int i = 1; i < REASON_COUNT; i++) {
        const std::string id = reason_id(static_cast<enum reason>(i));
        const std::string text = reason_text(static_cast<enum reason>(i));
        EXPECT_TRUE(std::regex_match(id, id_form)) << id;
        EXPECT_TRUE(ids.insert(id).second) << id;
        ASSERT_FALSE(text.empty()) << id;
        EXPECT_NE(text.back(), '.') << id;
    }
}

TEST(Reason, IdsAreTheirNames)
{
    EXPECT_STREQ(reason_id(REASON_no_file), "no_file");
    EXPECT_STREQ(reason_id(REASON_bad_header_digest), "bad_header_digest");
    EXPECT_STREQ(reason_id(REASON_out_of_memory), "out_of_memory");
    EXPECT_STREQ(reason_text(REASON_bad_magic), "not a warmpipe cache file");
}

TEST(Reason, FromErrno)
{
    EXPECT_EQ(reason_from_errno(ENOENT), REASON_no_file);
    EXPECT_EQ(reason_from_errno(ENOSPC), REASON_disk_full);
    EXPECT_EQ(reason_from_errno(EDQUOT), REASON_disk_full);
    EXPECT_EQ(reason_from_errno(EROFS), REASON_read_only_disk);
    EXPECT_EQ(reason_from_errno(EACCES), REASON_unreadable);
    EXPECT_EQ(reason_from_errno(EPERM), REASON_unreadable);
    EXPECT_EQ(reason_from_errno(ELOOP), REASON_symlink);
    EXPECT_EQ(reason_from_errno(ENOMEM), REASON_out_of_memory);
    EXPECT_EQ(reason_from_errno(EIO), REASON_io_error);
    EXPECT_EQ(reason_from_errno(EISDIR), REASON_io_error);
}

} // namespace
