// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/base/json.h"
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

// Valid in JSON as they are; but a terminal that shows the document would obey them.
TEST_F(Json, EscapesWhatSteersATerminal)
{
    const std::string steering = "\x7f\u009b\u2028\u202e\u2066";
    json_put_string(&out, nullptr, steering.c_str());
    EXPECT_EQ(text(), "\"\\u007f\\u009b\\u2028\\u202e\\u2066\"");
    EXPECT_EQ(json::parse(text()).get<std::string>(), steering);
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

// The bytes alone, without a zero after them: what reads beyond is found by AddressSanitizer.
class Input {
  public:
    explicit Input(const std::string &text) : bytes_(text.begin(), text.end())
    {
        reader = json_reader_over(bytes_.data(), bytes_.size());
    }
    json_reader reader;

  private:
    std::vector<char> bytes_;
};

std::string string_of(json_text text)
{
    return text.size ? std::string(text.data, text.size) : std::string();
}

bool accepts(const std::string &text)
{
    Input input(text);
    json_read_any(&input.reader);
    json_read_end(&input.reader);
    return !input.reader.failed;
}

bool number_fails(const std::string &text)
{
    Input input(text);
    json_read_number(&input.reader);
    json_read_end(&input.reader);
    return input.reader.failed;
}

TEST(JsonReader, ReadsMembersOfEveryKindInPlace)
{
    Input input(R"( { "number" : 18446744073709551615 , "zero":0, "text": "a\"\u00e4b",
                      "list":[1,[],{"x":[]} ,"]"], "inner":{"a":{},"b":7} } )");
    json_text key;
    std::vector<std::string> keys;
    json_read_open(&input.reader, '{');
    while (json_read_member(&input.reader, &key)) {
        keys.push_back(string_of(key));
        if (json_text_is(key, "number")) {
            EXPECT_EQ(json_read_number(&input.reader), UINT64_MAX);
        } else if (json_text_is(key, "zero")) {
            EXPECT_EQ(json_read_number(&input.reader), 0u);
        } else if (json_text_is(key, "text")) {
            EXPECT_EQ(string_of(json_read_string(&input.reader)), R"(a\"\u00e4b)");
        } else if (json_text_is(key, "list")) {
            EXPECT_EQ(string_of(json_read_any(&input.reader)), R"([1,[],{"x":[]} ,"]"])");
        } else {
            json_read_open(&input.reader, '{');
            ASSERT_TRUE(json_read_member(&input.reader, &key));
            EXPECT_EQ(string_of(json_read_any(&input.reader)), "{}");
            ASSERT_TRUE(json_read_member(&input.reader, &key));
            EXPECT_TRUE(json_text_is(key, "b"));
            EXPECT_EQ(json_read_number(&input.reader), 7u);
            EXPECT_FALSE(json_read_member(&input.reader, &key));
        }
    }
    json_read_end(&input.reader);
    EXPECT_FALSE(input.reader.failed);
    EXPECT_EQ(keys, (std::vector<std::string>{"number", "zero", "text", "list", "inner"}));
}

TEST(JsonReader, ReadsElementsOneByOne)
{
    Input input("[1, 2 ,3]");
    std::vector<uint64_t> numbers;
    json_read_open(&input.reader, '[');
    while (json_read_element(&input.reader)) {
        numbers.push_back(json_read_number(&input.reader));
    }
    json_read_end(&input.reader);
    EXPECT_FALSE(input.reader.failed);
    EXPECT_EQ(numbers, (std::vector<uint64_t>{1, 2, 3}));
}

TEST(JsonReader, ComparesTextsWhole)
{
    const json_text word = {"wordier", 4};
    EXPECT_TRUE(json_text_is(word, "word"));
    EXPECT_FALSE(json_text_is(word, "wor"));
    EXPECT_FALSE(json_text_is(word, "words"));
    EXPECT_TRUE(json_text_is(json_text{}, ""));
    EXPECT_FALSE(json_text_is(json_text{}, "x"));
}

TEST(JsonReader, NumbersAreWholeAndFit)
{
    EXPECT_FALSE(number_fails("0"));
    EXPECT_FALSE(number_fails("18446744073709551615"));
    for (const char *text : {"18446744073709551616", "99999999999999999999", "-1", "-0", "1.0",
                             "1e2", "01", "", "\"1\"", "null", "+1", "1 2"}) {
        EXPECT_TRUE(number_fails(text)) << text;
    }
}

TEST(JsonReader, NestsToItsLimitAndNoFurther)
{
    EXPECT_TRUE(accepts(std::string(32, '[') + std::string(32, ']')));
    EXPECT_FALSE(accepts(std::string(33, '[') + std::string(33, ']')));
    EXPECT_FALSE(accepts(std::string(1 << 20, '[')));
    std::string objects;
    for (int i = 0; i < 33; i++) {
        objects += "{\"a\":";
    }
    EXPECT_FALSE(accepts(objects + "1" + std::string(33, '}')));
}

TEST(JsonReader, AfterAFailureNothingIsGiven)
{
    Input input(R"({"a":?,"b":1})");
    json_text key = {};
    json_read_open(&input.reader, '{');
    ASSERT_TRUE(json_read_member(&input.reader, &key));
    EXPECT_EQ(json_read_any(&input.reader).size, 0u);
    EXPECT_TRUE(input.reader.failed);
    EXPECT_FALSE(json_read_member(&input.reader, &key));
    EXPECT_FALSE(json_read_element(&input.reader));
    EXPECT_EQ(json_read_number(&input.reader), 0u);
    EXPECT_EQ(json_read_string(&input.reader).data, nullptr);
    EXPECT_TRUE(json_text_is(key, "a"));
}

TEST(JsonReader, AMemberWhoseValueWasNotReadIsAnErrorNotALoop)
{
    Input input(R"({"a":1,"b":2})");
    json_text key;
    json_read_open(&input.reader, '{');
    ASSERT_TRUE(json_read_member(&input.reader, &key));
    EXPECT_FALSE(json_read_member(&input.reader, &key));
    EXPECT_TRUE(input.reader.failed);
}

TEST(JsonReader, NothingIsNoDocument)
{
    json_reader reader = json_reader_over(nullptr, 0);
    json_read_open(&reader, '{');
    EXPECT_TRUE(reader.failed);
}

// Whatever is done to a text, this reader and another one judge it alike. (Escaped surrogates are
// left out: pairs of them are not checked here.)
TEST(JsonReader, JudgesAsAnotherReaderDoes)
{
    const std::vector<std::string> seeds = {
        R"({"format":1,"app_caches":"not_read"})",
        R"( [true , false,null, -1.5e+1, 0.25, 1E2, {"a":[{}, []]}, "\n\/\u12aB" ] )",
        "{\"\u00e4\u20ac\U0001f525\":\"\\\"\"}",
        "[\"\xed\x9f\xbf\", \"\xee\x80\x80\", \"\xf4\x8f\xbf\xbf\"]",
    };
    // No digit that could make an exponent too large for the other one's numbers.
    const std::string alphabet = "{}[]\",:\\u012.eE+-tfn \x1f\x7f\x80\xc3\xed\xf4";
    std::mt19937 random(1);
    auto below = [&random](size_t count) { return random() % count; };
    size_t accepted = 0;
    for (int i = 0; i < 60000; i++) {
        std::string text = seeds[below(seeds.size())];
        for (size_t edits = below(3); edits > 0 && !text.empty(); edits--) {
            const size_t at = below(text.size());
            switch (below(4)) {
            case 0:
                text[at] = alphabet[below(alphabet.size())];
                break;
            case 1:
                text.insert(at, 1, alphabet[below(alphabet.size())]);
                break;
            case 2:
                text.erase(at, 1 + below(3));
                break;
            default:
                text.resize(at);
            }
        }
        const bool expected = nlohmann::json::accept(text);
        ASSERT_EQ(accepts(text), expected)
            << nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
        accepted += expected;
    }
    EXPECT_GT(accepted, 1000u);
}

} // namespace
