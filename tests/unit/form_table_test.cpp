#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "form_table.h"
}

namespace {

class FormTable : public testing::Test {
  protected:
    FormTable()
    {
        form_table_init(&table);
    }
    ~FormTable() override
    {
        form_table_release(&table);
    }

    void keep(uint64_t low, const std::string &form)
    {
        form_table_keep(&table, {low, 7}, form.data(), form.size());
    }
    std::string find(uint64_t low)
    {
        size_t size = 0;
        const void *form = form_table_find(&table, {low, 7}, &size);
        return form ? std::string(static_cast<const char *>(form), size) : "none";
    }

    struct form_table table;
};

TEST_F(FormTable, KeepsCopies)
{
    std::string form = "first";
    keep(1, form);
    form[0] = 'x';
    keep(2, "second");
    EXPECT_EQ(find(1), "first");
    EXPECT_EQ(find(2), "second");
    EXPECT_EQ(find(3), "none");
}

TEST_F(FormTable, TheWholeDigestDecides)
{
    keep(1, "first");
    size_t size = 0;
    EXPECT_EQ(form_table_find(&table, {1, 8}, &size), nullptr);
}

TEST_F(FormTable, EachOnce)
{
    keep(1, "first");
    const size_t held = table.bytes;
    keep(1, "first");
    EXPECT_EQ(table.bytes, held);
}

TEST_F(FormTable, DoesNotGrowWithoutEnd)
{
    const std::string form(1 << 20, 'x');
    for (uint64_t i = 0; i < 100; ++i) {
        keep(i, form);
    }
    EXPECT_LE(table.bytes, 8u << 20);
    EXPECT_EQ(find(0), form);
    EXPECT_EQ(find(99), "none");
}

} // namespace
