// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tool.h"

namespace {

using nlohmann::ordered_json;

class Inspect : public ::testing::Test {
  protected:
    // Writes a file under the name that its identity gives.
    std::string put(const std::string &content, const std::string &suffix = ".wpcache")
    {
        std::string path = folder.path + "/" + hex_of(sample_identity()) + suffix;
        write_file(path, content);
        return path;
    }

    TemporaryFolder folder;
};

ordered_json parse(const ToolResult &result)
{
    EXPECT_EQ(result.err, "");
    return ordered_json::parse(result.out);
}

TEST_F(Inspect, ShowsEveryField)
{
    std::string content = cache_file();
    std::string path = put(content);
    ToolResult result = run_tool({"inspect", "--json", path});
    EXPECT_EQ(result.exit_status, 0);
    ordered_json document = parse(result);
    EXPECT_EQ(document["path"], path);
    EXPECT_EQ(document["size"], content.size());
    EXPECT_EQ(document["verdict"], "ok");
    EXPECT_EQ(document["reason"], "ok");

    ordered_json header = document["header"];
    EXPECT_EQ(header["magic"], "895750430d0a1a0a");
    EXPECT_EQ(header["format_version"], 1);
    EXPECT_EQ(header["header_size"], ENVELOPE_HEADER_SIZE);
    EXPECT_EQ(header["byte_order"], "little");
    EXPECT_EQ(header["pointer_size"], 8);
    EXPECT_EQ(header["generation"], "0x123456789abcdef");
    EXPECT_EQ(header["saved_at"], "2023-11-14T22:13:20Z");

    ordered_json identity = document["identity"];
    EXPECT_EQ(identity["digest"], hex_of(sample_identity()));
    EXPECT_EQ(identity["vendor_id"], "0x1002");
    EXPECT_EQ(identity["device_id"], "0x7310");
    EXPECT_EQ(identity["device_name"], "Sample device");
    EXPECT_EQ(identity["api_version"], "1.3.0");
    EXPECT_EQ(identity["driver_id"], 3);
    EXPECT_EQ(identity["driver_id_name"], "MESA_RADV");
    EXPECT_EQ(identity["driver_name"], "sample");
    EXPECT_EQ(identity["driver_info"], "Sample 1.2.3");
    EXPECT_EQ(identity["driver_version"], "22.3.6");
    EXPECT_EQ(identity["driver_version_raw"], "0x5803006");
    EXPECT_EQ(identity["conformance"], "1.3.0.0");
    EXPECT_EQ(identity["cache_uuid"], "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");

    std::string blob = make_blob("payload");
    char digest[DIGEST_HEX_SIZE];
    digest_format(digest_of(blob.data(), blob.size()), digest);
    ordered_json sections = document["sections"];
    EXPECT_EQ(sections["count"], 1);
    EXPECT_EQ(sections["blob"]["type"], 1);
    EXPECT_EQ(sections["blob"]["offset"], ENVELOPE_HEADER_SIZE);
    EXPECT_EQ(sections["blob"]["size"], blob.size());
    EXPECT_EQ(sections["blob"]["digest"], digest);
    EXPECT_FALSE(document.contains("driver_header"));
}

TEST_F(Inspect, VerboseShowsTheDriversOwnHeader)
{
    for (const char *option : {"-v", "--verbose"}) {
        ordered_json header =
            parse(run_tool({"inspect", option, "--json", put(cache_file())}))["driver_header"];
        EXPECT_EQ(header["header_size"], 32);
        EXPECT_EQ(header["header_version"], 1);
        EXPECT_EQ(header["vendor_id"], "0x1002");
        EXPECT_EQ(header["device_id"], "0x7310");
        EXPECT_EQ(header["cache_uuid"], "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
    }
}

TEST_F(Inspect, DecodesDriverVersionsAsTheirVendorsDo)
{
    struct Case {
        uint32_t vendor, driver, version;
        const char *text;
    };
    for (const Case &c : {
             Case{0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY, 470u << 22 | 63 << 14 | 1 << 6 | 2,
                  "470.63.1.2"},
             Case{0x10de, 0, 1023u << 22 | 255 << 14 | 255 << 6 | 63, "1023.255.255.63"},
             Case{0x10de, 24, 24 << 22 | 1 << 12 | 7, "24.1.7"}, // NVK
             Case{0x8086, VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS, 100 << 14 | 9126, "100.9126"},
             Case{0x8086, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 22 << 22 | 3 << 12 | 6, "22.3.6"},
             Case{0x1002, VK_DRIVER_ID_AMD_PROPRIETARY, 2 << 22 | 226, "2.0.226"},
         }) {
        driver_identity identity = sample_identity();
        identity.vendor_id = c.vendor;
        identity.driver_id = c.driver;
        identity.driver_version = c.version;
        ordered_json document = parse(run_tool({"inspect", "--json", put(cache_file(identity))}));
        EXPECT_EQ(document["identity"]["driver_version"], c.text);
    }
}

TEST_F(Inspect, NamesAnUnknownDriverAndTheVulkanVariant)
{
    driver_identity identity = sample_identity();
    identity.driver_id = 0xffffffff;
    identity.api_version = VK_MAKE_API_VERSION(1, 1, 0, 14);
    ordered_json document = parse(run_tool({"inspect", "--json", put(cache_file(identity))}));
    EXPECT_EQ(document["identity"]["driver_id_name"], "unknown");
    EXPECT_EQ(document["identity"]["api_version"], "1:1.0.14");
}

std::string in_iec_units(uint64_t bytes)
{
    char text[32];
    if (bytes < 1024) {
        snprintf(text, sizeof text, "%u B", static_cast<unsigned>(bytes));
    } else {
        snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
    }
    return text;
}

// The lines that the text must have for this document, spaces squeezed.
void expected_lines(const ordered_json &object, std::vector<std::vector<std::string>> &lines)
{
    for (const auto &[key, value] : object.items()) {
        std::string label = key;
        std::replace(label.begin(), label.end(), '_', ' ');
        if (value.is_object()) {
            lines.push_back({label});
            expected_lines(value, lines);
        } else if (value.is_number()) {
            lines.push_back({label + " " + value.dump(), label + " " + in_iec_units(value)});
        } else {
            lines.push_back({label + " " + value.get<std::string>()});
        }
    }
}

std::string squeezed(const std::string &line)
{
    std::istringstream words(line);
    std::string result;
    for (std::string word; words >> word;) {
        result += (result.empty() ? "" : " ") + word;
    }
    return result;
}

TEST_F(Inspect, TextAndJsonTellTheSame)
{
    const std::string whole = cache_file(sample_identity(), make_blob(std::string(2000, 'x')));
    for (const std::string &content : {whole, flipped(whole, 100), whole.substr(0, 500),
                                       whole.substr(0, 1023), whole.substr(0, 1024)}) {
        std::string path = put(content);
        ToolResult text = run_tool({"inspect", "-v", path});
        ToolResult document = run_tool({"inspect", "-v", "--json", path});
        EXPECT_EQ(text.exit_status, document.exit_status);
        std::vector<std::vector<std::string>> expected;
        expected_lines(parse(document), expected);
        std::vector<std::string> lines = lines_of(text.out);
        ASSERT_EQ(lines.size(), expected.size()) << text.out << document.out;
        for (size_t i = 0; i < lines.size(); i++) {
            bool equal = std::count(expected[i].begin(), expected[i].end(), squeezed(lines[i])) > 0;
            EXPECT_TRUE(equal) << lines[i] << " / " << expected[i][0];
        }
    }
}

TEST_F(Inspect, NamesTheReasonOfEachDamage)
{
    const std::string whole = cache_file();
    std::string other_header = make_blob("payload");
    other_header[8] = 0x77; // vendorID
    struct Case {
        const char *reason;
        std::string content;
    };
    for (const Case &c : {
             Case{"bad_magic", flipped(whole, 0)},
             Case{"bad_format_version", flipped(whole, 8)},
             Case{"bad_endianness", flipped(whole, 16)},
             Case{"bad_header_digest", flipped(whole, 24)},
             Case{"bad_header_digest", flipped(whole, ENVELOPE_HEADER_SIZE - 1)},
             Case{"bad_section_digest", flipped(whole, ENVELOPE_HEADER_SIZE + 1)},
             Case{"bad_section_digest", flipped(whole, whole.size() - 1)},
             Case{"truncated", whole.substr(0, whole.size() - 1)},
             Case{"truncated", ""},
             Case{"trailing_bytes", whole + "x"},
             Case{"bad_blob_header", cache_file(sample_identity(), other_header)},
         }) {
        ToolResult result = run_tool({"inspect", "--json", put(c.content)});
        EXPECT_EQ(result.exit_status, 1) << c.reason;
        ordered_json document = parse(result);
        EXPECT_EQ(document["verdict"], "damaged");
        EXPECT_EQ(document["reason"], c.reason);
        EXPECT_NE(document["explanation"], "");
        EXPECT_EQ(document["size"], c.content.size());
    }
}

TEST_F(Inspect, ShowsTheFieldsOfADamagedFileAsTheyAre)
{
    std::string content = cache_file();
    content[24 + 8 + 8] = 0x55; // the lowest byte of vendorID
    ordered_json document = parse(run_tool({"inspect", "--json", put(content)}));
    EXPECT_EQ(document["reason"], "bad_header_digest");
    EXPECT_EQ(document["identity"]["vendor_id"], "0x1055");
    EXPECT_EQ(document["identity"]["driver_name"], "sample");

    ordered_json cut = parse(run_tool({"inspect", "--json", put(cache_file().substr(0, 24))}));
    EXPECT_EQ(cut["header"]["pointer_size"], 8);
    EXPECT_FALSE(cut.contains("identity"));

    ordered_json shorter = parse(run_tool({"inspect", "--json", put(cache_file().substr(0, 23))}));
    EXPECT_FALSE(shorter.contains("header"));
}

TEST_F(Inspect, CutAnywhereIsDamagedAndNeverWorse)
{
    const std::string whole = cache_file();
    for (size_t size = 0; size < whole.size(); size += 13) {
        ToolResult result = run_tool({"inspect", "-v", put(whole.substr(0, size))});
        ASSERT_EQ(result.exit_status, 1) << size;
        ASSERT_EQ(result.err, "");
    }
}

TEST_F(Inspect, WhatStandsInAFileCannotSteerATerminal)
{
    driver_identity identity = sample_identity();
    const std::string hostile = "\x1b[31m\a\n\"\\\x7f\u009b\u202e\xff name";
    hostile.copy(identity.device_name, sizeof(identity.device_name) - 1);
    std::memset(identity.device_name + hostile.size(), 0,
                sizeof(identity.device_name) - hostile.size());
    std::string path = put(cache_file(identity));

    ToolResult text = run_tool({"inspect", path});
    EXPECT_EQ(text.exit_status, 0);
    EXPECT_TRUE(contains(text.out,
                         "device name         "
                         "\\x1b[31m\\x07\\x0a\"\\\\x7f\\xc2\\x9b\\xe2\\x80\\xae\\xff name\n"))
        << text.out;

    const ToolResult json_text = run_tool({"inspect", "--json", path});
    ordered_json document = parse(json_text);
    EXPECT_EQ(document["identity"]["device_name"], "\x1b[31m\a\n\"\\\x7f\u009b\u202e\ufffd name");
    EXPECT_EQ(json_text.out.find("\u009b"), std::string::npos);
    EXPECT_EQ(json_text.out.find("\u202e"), std::string::npos);
}

TEST_F(Inspect, ReadsPartsAndCopiesUnderAnyName)
{
    EXPECT_EQ(run_tool({"inspect", put(cache_file(), ".0123456789abcdef.part")}).exit_status, 0);
    std::string copy = folder.path + "/copy";
    write_file(copy, cache_file());
    EXPECT_EQ(run_tool({"inspect", copy}).exit_status, 0);
    write_file(copy, flipped(cache_file(), 500));
    EXPECT_EQ(run_tool({"inspect", copy}).exit_status, 1);
}

TEST_F(Inspect, RefusesWhatIsNotOurs)
{
    std::string other = folder.path + "/other";
    for (const std::string &content :
         {std::string(), std::string("text"), std::string(5000, 'x')}) {
        write_file(other, content);
        ToolResult result = run_tool({"inspect", other});
        EXPECT_EQ(result.exit_status, 2);
        EXPECT_EQ(result.out, "");
        EXPECT_TRUE(contains(result.err, "'" + other + "' is neither a cache file nor a recipe"));
        EXPECT_TRUE(contains(result.err, "(bad_magic)"));
    }
    for (const std::string &path :
         {folder.path, folder.path + "/missing", std::string("/dev/null")}) {
        ToolResult result = run_tool({"inspect", path});
        EXPECT_EQ(result.exit_status, 2);
        EXPECT_EQ(result.out, "");
        EXPECT_TRUE(contains(result.err, "cannot read '" + path + "'")) << result.err;
    }
}

TEST_F(Inspect, ACacheFileHasNeitherCodeNorPipelines)
{
    for (const char *option : {"--spirv", "--pipeline"}) {
        const ToolResult result = run_tool({"inspect", option, "00", put(cache_file())});
        EXPECT_EQ(result.exit_status, 2);
        EXPECT_EQ(result.out, "");
        EXPECT_TRUE(contains(result.err, "need a recipe file")) << result.err;
    }
}

TEST_F(Inspect, DoesNotWaitForAPipe)
{
    std::string path = folder.path + "/fifo.wpcache";
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    ToolResult result = run_tool({"inspect", path});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "not a regular file")) << result.err;
}

} // namespace
