// SPDX-License-Identifier: Apache-2.0
// What holds for the tool as a whole, and for every verb alike.
#include <algorithm>
#include <regex>

#include "paths.h"
#include "tool.h"
#include "tools/cli/verb.h"

namespace {

#define VERB_NAME(name) #name,
const std::vector<std::string> verbs = {VERBS(VERB_NAME)};
#undef VERB_NAME

void expect_usage_error(const ToolResult &result)
{
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.out, "");
    ASSERT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_EQ(result.err.rfind("warmpipe: ", 0), 0u) << result.err;
}

TEST(General, WithoutAVerbShowsTheUsageAsAnError)
{
    ToolResult result = run_tool({});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, "usage: warmpipe VERB"));
}

TEST(General, HelpListsEveryVerb)
{
    for (const char *option : {"--help", "-h"}) {
        ToolResult result = run_tool({option});
        EXPECT_EQ(result.exit_status, 0);
        EXPECT_EQ(result.err, "");
        for (const std::string &verb : verbs) {
            EXPECT_TRUE(contains(result.out, "\n  " + verb + " ")) << verb;
        }
    }
}

TEST(General, TellsItsVersion)
{
    ToolResult result = run_tool({"--version"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.out, "warmpipe " WARMPIPE_VERSION "\n");
}

TEST(General, HelpIsAVerbToo)
{
    EXPECT_EQ(run_tool({"help"}).out, run_tool({"--help"}).out);
    EXPECT_EQ(run_tool({"help", "run"}).out, run_tool({"run", "--help"}).out);
    expect_usage_error(run_tool({"help", "rnu"}));
    EXPECT_EQ(run_tool({"-V"}).out, run_tool({"--version"}).out);
}

TEST(General, EveryHelpFitsOneScreen)
{
    std::vector<std::vector<std::string>> pages = {{"--help"}};
    for (const std::string &verb : verbs) {
        pages.push_back({verb, "--help"});
    }
    for (const auto &page : pages) {
        ToolResult result = run_tool(page);
        EXPECT_EQ(result.exit_status, 0);
        EXPECT_EQ(result.err, "");
        std::vector<std::string> lines = lines_of(result.out);
        EXPECT_GT(lines.size(), 5u);
        // The list of verbs alone has grown beyond a screen of old.
        EXPECT_LE(lines.size(), page[0] == "--help" ? 30u : 24u) << page[0];
        for (const std::string &line : lines) {
            EXPECT_LE(line.size(), 80u) << line;
        }
    }
}

// The page is made from the parser's own table: what it names is taken, with an argument or
// without.
TEST(General, TheParserTakesEveryOptionOfTheHelp)
{
    const std::regex form("^  (-\\w|  ) --([\\w-]+)( [A-Z]+)? ");
    for (const std::string &verb : verbs) {
        size_t found = 0;
        for (const std::string &line : lines_of(run_tool({verb, "--help"}).out)) {
            std::smatch match;
            if (!std::regex_search(line, match, form)) {
                continue;
            }
            found++;
            bool takes_value = match[3].matched;
            std::vector<std::string> words = {verb, "--" + match[2].str()};
            if (takes_value) {
                words.push_back("value");
            }
            words.push_back("--help");
            EXPECT_EQ(run_tool(words).exit_status, 0) << line;
            if (takes_value) {
                for (std::vector<std::string> rest :
                     {std::vector<std::string>{words[1]}, {words[1] + "=", "operand"}}) {
                    rest.insert(rest.begin(), verb);
                    ToolResult result = run_tool(rest);
                    expect_usage_error(result);
                    EXPECT_TRUE(contains(result.err, "needs a value")) << result.err;
                }
                EXPECT_EQ(run_tool({verb, words[1] + "=value", "--help"}).exit_status, 0);
            } else if (match[2] != "help") {
                ToolResult result = run_tool({verb, words[1] + "=value", "operand"});
                expect_usage_error(result);
                EXPECT_TRUE(contains(result.err, "takes no value")) << result.err;
            }
            if (match[1] != "  ") {
                words[1] = match[1].str();
                EXPECT_EQ(run_tool(words).exit_status, 0) << line;
            }
        }
        EXPECT_GE(found, 2u) << verb;
    }
}

TEST(General, EveryVerbTakesVerbose)
{
    for (const std::string &verb : verbs) {
        for (const char *option : {"-v", "--verbose"}) {
            EXPECT_EQ(run_tool({verb, option, "--help"}).exit_status, 0) << verb;
        }
        ToolResult result = run_tool({verb, "--verbose=1"});
        expect_usage_error(result);
        EXPECT_TRUE(contains(result.err, "takes no value")) << result.err;
    }
}

TEST(General, SuggestsTheNearestVerb)
{
    const std::map<std::string, std::string> typed = {
        {"verfy", "verify"}, {"evrify", "verify"}, {"inspct", "inspect"},
        {"runn", "run"},     {"urn", "run"},       {"VERIFY", "verify"},
    };
    for (const auto &[word, verb] : typed) {
        ToolResult result = run_tool({word, "x"});
        expect_usage_error(result);
        EXPECT_TRUE(contains(result.err, "'" + word + "'; did you mean '" + verb + "'?"))
            << result.err;
    }
    for (const char *word : {"compile", "x"}) { // far from all of them
        ToolResult result = run_tool({word});
        expect_usage_error(result);
        EXPECT_TRUE(contains(result.err, "see 'warmpipe --help'")) << result.err;
    }
    expect_usage_error(run_tool({std::string(5000, 'x')}));
    expect_usage_error(run_tool({""}));
}

TEST(General, SuggestsTheNearestOption)
{
    struct Case {
        std::vector<std::string> words;
        std::string nearest;
    };
    for (const Case &c : {
             Case{{"--versoin"}, "--version"},
             Case{{"--hlep"}, "--help"},
             Case{{"verify", "--jsno", "x"}, "--json"},
             Case{{"inspect", "x", "--jason"}, "--json"},
             Case{{"inspect", "--verbos", "x"}, "--verbose"},
             Case{{"run", "--dri", "d", "true"}, "--dir"},
             Case{{"run", "--ap=x", "true"}, "--app"},
         }) {
        ToolResult result = run_tool(c.words);
        expect_usage_error(result);
        EXPECT_TRUE(contains(result.err, "did you mean '" + c.nearest + "'?")) << result.err;
    }
}

TEST(General, AnOptionFarFromAllIsNotGuessed)
{
    for (const char *option : {"-x", "--unheard-of"}) {
        ToolResult result = run_tool({"run", option, "true"});
        expect_usage_error(result);
        EXPECT_TRUE(contains(result.err, "see 'warmpipe run --help'")) << result.err;
    }
}

TEST(General, CountsOperands)
{
    expect_usage_error(run_tool({"run"}));
    expect_usage_error(run_tool({"run", "--"}));
    expect_usage_error(run_tool({"run", "--dir", "d"}));
    expect_usage_error(run_tool({"inspect"}));
    expect_usage_error(run_tool({"inspect", "a", "b"}));
    expect_usage_error(run_tool({"verify"}));
}

TEST(General, TwoDashesEndTheOptions)
{
    TemporaryFolder folder;
    write_file(folder.path + "/--json", "");
    ToolResult result = run_tool({"inspect", "--", "--json"}, {}, folder.path);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, "'--json' is neither a cache file nor a recipe file"))
        << result.err;
}

// Nor does a value that looks like an option end them, or ask for a document.
TEST(General, ValuesAreNoOptions)
{
    EXPECT_TRUE(
        contains(run_tool({"inspect", "--spirv", "--", "--json", "none"}).out, "\"error\""));
    EXPECT_TRUE(contains(run_tool({"inspect", "--spirv=1", "--json", "none"}).out, "\"error\""));
    EXPECT_TRUE(contains(run_tool({"inspect", "--bogus", "--json"}).out, "\"error\""));
    EXPECT_EQ(run_tool({"inspect", "--spirv", "--json", "none"}).out, "");
    EXPECT_EQ(run_tool({"inspect", "--spirv", "--json"}).out, "");
}

TEST(General, AClosedPipeChangesNothingButTheOutput)
{
    TemporaryFolder folder;
    // More output than a pipe holds.
    const std::string name = hex_of(sample_identity());
    for (int i = 0; i < 1500; i++) {
        std::string number = std::to_string(i);
        std::string digits(16 - number.size(), '0');
        write_file(folder.path + "/" + name + "." + digits + number + ".part", cache_file());
    }
    const std::string report = "; echo ${PIPESTATUS[0]}";
    ToolResult result = run_shell("$tool verify . | head -1" + report, folder.path);
    std::vector<std::string> lines = lines_of(result.out);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].rfind("ok", 0), 0u);
    EXPECT_EQ(lines[1], "0");
    EXPECT_EQ(result.err, "");

    result = run_shell("$tool verify --json . | head -c 1" + report, folder.path);
    EXPECT_EQ(result.out, "{0\n");
    EXPECT_EQ(result.err, "");

    // What is found behind the point where the reader left still counts.
    write_file(folder.path + "/zzz.wpcache", "damaged");
    result = run_shell("$tool verify . | head -1" + report, folder.path);
    EXPECT_EQ(lines_of(result.out).back(), "1");
    EXPECT_EQ(result.err, "");
}

// A script that asked for JSON gets some, also of what could not be done.
TEST(General, FailuresAreJsonToo)
{
    TemporaryFolder folder;
    write_file(folder.path + "/text", "no cache");
    for (const std::vector<std::string> &words : std::vector<std::vector<std::string>>{
             {"list", "--json", "--dir", "/nowhere"},
             {"stats", "--json", "--dir", "/nowhere"},
             {"inspect", "--json", "text"},
             {"import", "--json", "--dir", ".", "--app", "a", "text"},
             {"merge", "--json", "out", "/nowhere"},
             {"list", "--json", "--unknown"},
             {"verify", "--json"},
             {"verify", "--json", "/nowhere"}, // beside the files that it has found
             {"list", "--json", "too many"}}) {
        const ToolResult result = run_tool(words, {}, folder.path);
        EXPECT_EQ(result.exit_status, 2) << words[0];
        const nlohmann::json told = nlohmann::json::parse(result.out);
        EXPECT_EQ("warmpipe: " + std::string(told["error"]) + "\n", result.err) << words[0];
    }
    EXPECT_EQ(run_tool({"list", "--dir", "/nowhere"}).out, "");
    size_t tried = 0;
    for (const std::string &verb : verbs) {
        if (contains(run_tool({verb, "--help"}).out, "--json")) {
            const ToolResult result = run_tool({verb, "--json", "--unheard-of"});
            EXPECT_EQ(result.exit_status, 2) << verb;
            const nlohmann::json told = nlohmann::json::parse(result.out, nullptr, false);
            ASSERT_TRUE(told.is_object()) << verb << ": " << result.out;
            EXPECT_EQ("warmpipe: " + std::string(told["error"]) + "\n", result.err);
            tried++;
        }
    }
    EXPECT_GE(tried, 15u);
}

TEST(General, AFullDiskIsAnError)
{
    TemporaryFolder folder;
    write_file(folder.path + "/" + hex_of(sample_identity()) + ".wpcache", cache_file());
    for (const char *words :
         {"verify .", "verify --json .", "inspect *", "--help", "--version", "run --help"}) {
        ToolResult result = run_shell(std::string("$tool ") + words + " > /dev/full", folder.path);
        EXPECT_EQ(result.exit_status, 2) << words;
        EXPECT_TRUE(contains(result.err, "cannot write to standard output")) << result.err;
    }
}

// Reading and writing fail, and a program that is run gets it closed.
TEST(General, AClosedStreamStaysClosed)
{
    TemporaryFolder folder;
    write_file(folder.path + "/" + hex_of(sample_identity()) + ".wpcache", cache_file());
    const std::string test = "[ ! -e /proc/$$/fd/0 ] && [ ! -e /proc/$$/fd/1 ]";
    const std::string run = "$tool run --quiet -- /bin/sh -c '" + test + "' <&- >&-";
    EXPECT_EQ(run_shell(run).exit_status, 0);
    const ToolResult written = run_shell("$tool verify . >&-", folder.path);
    EXPECT_EQ(written.exit_status, 2);
    EXPECT_TRUE(contains(written.err, "cannot write to standard output")) << written.err;
    const ToolResult read = run_shell("$tool import --app app --dir . - <&-", folder.path);
    EXPECT_EQ(read.exit_status, 2);
    EXPECT_TRUE(contains(read.err, "(unreadable)") || contains(read.err, "(io_error)")) << read.err;
    EXPECT_EQ(run_shell("$tool verify . 2>&-", folder.path).exit_status, 0);
}

} // namespace
