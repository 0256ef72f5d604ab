// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "common/base/status.h"
}

namespace {

TEST(Reason, OkIsZeroAndNameless)
{
    EXPECT_EQ(STATUS_ok, 0);
    EXPECT_STREQ(status_id(STATUS_ok), "");
    EXPECT_STREQ(status_text(STATUS_ok), "");
}

TEST(Reason, EveryOtherHasAnIdOfItsOwnAndASentence)
{
    const std::regex id_form("[a-z][a-z0-9_]*");
    std::set<std::string> ids;
    for (int i = 1; i < STATUS_COUNT; i++) {
        const std::string id = status_id(static_cast<enum status>(i));
        const std::string text = status_text(static_cast<enum status>(i));
        EXPECT_TRUE(std::regex_match(id, id_form)) << id;
        EXPECT_TRUE(ids.insert(id).second) << id;
        ASSERT_FALSE(text.empty()) << id;
        EXPECT_NE(text.back(), '.') << id;
    }
}

TEST(Reason, IdsAreTheirNames)
{
    EXPECT_STREQ(status_id(STATUS_no_file), "no_file");
    EXPECT_STREQ(status_id(STATUS_bad_header_digest), "bad_header_digest");
    EXPECT_STREQ(status_id(STATUS_out_of_memory), "out_of_memory");
    EXPECT_STREQ(status_text(STATUS_bad_magic),
                 "not a warmpipe file, or its first bytes are damaged");
}

TEST(Reason, FromErrno)
{
    EXPECT_EQ(status_from_errno(ENOENT), STATUS_no_file);
    EXPECT_EQ(status_from_errno(ENOSPC), STATUS_disk_full);
    EXPECT_EQ(status_from_errno(EDQUOT), STATUS_disk_full);
    EXPECT_EQ(status_from_errno(EROFS), STATUS_read_only_disk);
    EXPECT_EQ(status_from_errno(EACCES), STATUS_unreadable);
    EXPECT_EQ(status_from_errno(EPERM), STATUS_unreadable);
    EXPECT_EQ(status_from_errno(ELOOP), STATUS_symlink);
    EXPECT_EQ(status_from_errno(ENOMEM), STATUS_out_of_memory);
    EXPECT_EQ(status_from_errno(EMFILE), STATUS_out_of_memory);
    EXPECT_EQ(status_from_errno(ENFILE), STATUS_out_of_memory);
    EXPECT_EQ(status_from_errno(EIO), STATUS_io_error);
    EXPECT_EQ(status_from_errno(EISDIR), STATUS_not_a_file);
    EXPECT_EQ(status_from_errno(ENXIO), STATUS_not_a_file);
}

} // namespace
