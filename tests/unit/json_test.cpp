#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

extern "C" {
#include "base/json.h"
}

namespace {

using nlohmann::json;

class Json : public ::testing::Test {
  protected:
    void TearDown() override
    {
        bytes_free(&out);
    }

    std::string text() const
    {
        return std::string(reinterpret_cast<const char *>(out.data), out.size);
    }

    struct bytes out = {};
};

TEST_F(Json, PutsCommasWhereTheyBelong)
{
    json_put_open(&out, nullptr, '{');
    json_put_open(&out, "empty", '[');
    json_put_close(&out, ']');
    json_put_number(&out, "one", 1);
    json_put_open(&out, "list", '[');
    json_put_number(&out, nullptr, 2);
    json_put_string(&out, nullptr, "three");
    json_put_flag(&out, nullptr, true);
    json_put_open(&out, nullptr, '{');
    json_put_close(&out, '}');
    json_put_open(&out, nullptr, '{');
    json_put_string(&out, "four", "");
    json_put_flag(&out, "five", false);
    json_put_close(&out, '}');
    json_put_close(&out, ']');
    json_put_close(&out, '}');
    EXPECT_EQ(text(),
              R"({"empty":[],"one":1,"list":[2,"three",true,{},{"four":"","five":false}]})");
}

TEST_F(Json, StartsAfreshOnANewLine)
{
    json_put_open(&out, nullptr, '{');
    json_put_close(&out, '}');
    bytes_put_u8(&out, '\n');
    json_put_open(&out, nullptr, '{');
    json_put_close(&out, '}');
    EXPECT_EQ(text(), "{}\n{}");
}

TEST_F(Json, AStringThatEndsLikeABracketStillGetsItsComma)
{
    json_put_open(&out, nullptr, '[');
    json_put_string(&out, nullptr, "{");
    json_put_string(&out, nullptr, "[");
    json_put_string(&out, nullptr, "\n");
    json_put_string(&out, nullptr, nullptr);
    json_put_close(&out, ']');
    EXPECT_EQ(json::parse(text()), json::array({"{", "[", "\n", ""}));
}

TEST_F(Json, EscapesEveryCharacterThatNeedsIt)
{
    std::string every;
    for (int c = 1; c < 0x80; c++) {
        every.push_back(static_cast<char>(c));
    }
    every += "\u00e4\u20ac\U0001f525";
    json_put_string(&out, nullptr, every.c_str());
    EXPECT_EQ(json::parse(text()).get<std::string>(), every);
}

TEST_F(Json, ReplacesWhatIsNotUtf8)
{
    json_put_string(&out, nullptr,
                    "a\xff"
                    "b\xc3");
    EXPECT_EQ(json::parse(text()).get<std::string>(), "a\ufffdb\ufffd");
}

TEST_F(Json, WritesTheLargestNumber)
{
    json_put_number(&out, nullptr, UINT64_MAX);
    EXPECT_EQ(text(), "18446744073709551615");
}

} // namespace
