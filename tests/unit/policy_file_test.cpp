// The user's policy file: what is read out of it, what is refused and where.
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "child.h"
#include "scratch.h"

extern "C" {
#include "driver/policy_file.h"
#include "driver/policy_load.h"
}

namespace {

class File {
  public:
    explicit File(const std::string &text)
    {
        // Not terminated, and on the heap: a parser that reads on is found by the sanitizer.
        std::vector<char> bytes(text.begin(), text.end());
        reason_ = policy_file_parse(bytes.data(), bytes.size(), &file_, &error_);
    }
    ~File()
    {
        policy_file_free(&file_);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    bool is_good() const
    {
        return reason_ == REASON_ok;
    }
    size_t count() const
    {
        return file_.count;
    }
    const policy_rule &rule(size_t i = 0) const
    {
        static const policy_rule none = {};
        EXPECT_LT(i, file_.count) << error();
        return i < file_.count ? file_.rules[i] : none;
    }
    std::string error() const
    {
        EXPECT_TRUE(is_good() || reason_ == REASON_bad_policy_file);
        return is_good() ? "" : std::to_string(error_.line) + ": " + error_.text;
    }

  private:
    policy_file file_ = {};
    policy_file_error error_ = {};
    enum reason reason_;
};

TEST(PolicyFileParse, ReadsEveryKey)
{
    File file("[whole.rule_1-a]\n"
              "vendor = 0x10DE\n"
              "device = 4711\n"
              "device-name = GeForce * #2 = ?\n"
              "driver = NVIDIA_PROPRIETARY\n"
              "driver-name = NVIDIA\n"
              "version-from = 470\n"
              "version-below = 470.62.02\n"
              "api-below = 1.3\n"
              "inject = no\n"
              "persist = yes\n"
              "serve = no\n"
              "deduplicate = yes\n"
              "serialize = yes\n"
              "single-cache = no\n"
              "max-blob = 64M\n"
              "source = a test\n");
    ASSERT_TRUE(file.is_good()) << file.error();
    ASSERT_EQ(file.count(), 1u);
    const policy_rule &rule = file.rule();
    EXPECT_STREQ(rule.id, "whole.rule_1-a");
    EXPECT_EQ(rule.line, 1u);
    EXPECT_EQ(rule.vendor_id, 0x10deu);
    EXPECT_EQ(rule.device_id, 4711u);
    EXPECT_STREQ(rule.device_name, "GeForce * #2 = ?");
    EXPECT_EQ(rule.driver_id, static_cast<uint32_t>(VK_DRIVER_ID_NVIDIA_PROPRIETARY));
    EXPECT_STREQ(rule.driver_name, "NVIDIA");
    EXPECT_EQ(rule.version_from, POLICY_NVIDIA_VERSION(470, 0, 0, 0));
    EXPECT_EQ(rule.version_below, POLICY_NVIDIA_VERSION(470, 62, 2, 0));
    EXPECT_EQ(rule.api_below, VK_API_VERSION_1_3);
    EXPECT_EQ(rule.actions, unsigned(POLICY_NO_INJECT | POLICY_NO_SERVE | POLICY_SERIALIZE));
    EXPECT_EQ(rule.lifted,
              unsigned(POLICY_NO_PERSIST | POLICY_NO_DEDUPLICATE | POLICY_SINGLE_CACHE));
    EXPECT_EQ(rule.max_blob, uint64_t(64) << 20);
    EXPECT_STREQ(rule.source, "a test");
}

TEST(PolicyFileParse, EveryActionInBothDirections)
{
    const struct {
        const char *key;
        unsigned action;
        const char *asking;
        const char *lifting;
    } actions[] = {
        {"inject", POLICY_NO_INJECT, "no", "yes"},
        {"persist", POLICY_NO_PERSIST, "no", "yes"},
        {"serve", POLICY_NO_SERVE, "no", "yes"},
        {"deduplicate", POLICY_NO_DEDUPLICATE, "no", "yes"},
        {"serialize", POLICY_SERIALIZE, "yes", "no"},
        {"single-cache", POLICY_SINGLE_CACHE, "yes", "no"},
    };
    for (const auto &[key, action, asking, lifting] : actions) {
        File asks(std::string("[r]\n") + key + "=" + asking);
        EXPECT_EQ(asks.rule().actions, action) << key;
        EXPECT_EQ(asks.rule().lifted, 0u) << key;
        File lifts(std::string("[r]\n") + key + "=" + lifting);
        EXPECT_EQ(lifts.rule().actions, 0u) << key;
        EXPECT_EQ(lifts.rule().lifted, action) << key;
    }
}

TEST(PolicyFileParse, BlanksCommentsAndLineEnds)
{
    File file("# comment\r\n"
              "\r\n"
              "   \t# indented\n"
              "\t[first]  \r\n"
              "\tpersist\t=\tno\t\r\n"
              "\n"
              "[second]\n"
              "persist=no");
    ASSERT_TRUE(file.is_good()) << file.error();
    ASSERT_EQ(file.count(), 2u);
    EXPECT_STREQ(file.rule(0).id, "first");
    EXPECT_STREQ(file.rule(1).id, "second");
}

TEST(PolicyFileParse, NothingIsNoRules)
{
    for (const char *text : {"", "\n", "# only\n# comments", "\n\n\n"}) {
        File file(text);
        EXPECT_TRUE(file.is_good()) << file.error();
        EXPECT_EQ(file.count(), 0u);
    }
    policy_file file = {};
    policy_file_error error;
    EXPECT_EQ(policy_file_parse(nullptr, 0, &file, &error), REASON_ok);
    policy_file_free(&file);
}

TEST(PolicyFileParse, VersionsAreReadOnceTheDriverIsKnown)
{
    EXPECT_EQ(
        File("[r]\nversion-from=470\ndriver=nvidia_proprietary\npersist=no").rule().version_from,
        POLICY_NVIDIA_VERSION(470, 0, 0, 0));
    EXPECT_EQ(File("[r]\nversion-from=22.3\nvendor=0x1002\npersist=no").rule().version_from,
              VK_MAKE_API_VERSION(0, 22, 3, 0));
    // What one rule says of its driver says nothing of the next one's.
    EXPECT_EQ(File("[a]\nvendor=0x10de\npersist=no\n[b]\nversion-from=1\npersist=no").error(),
              "5: a version needs a vendor or driver beside it: each writes them differently");
}

TEST(PolicyFileParse, RefusesWithTheLine)
{
    const std::string long_name(64, 'n');
    const struct {
        std::string text;
        std::string error; // its beginning
    } cases[] = {
        {"persist = no", "1: 'persist' before the first '[name]'"},
        {"\n\nnonsense", "3: expected '[name]' or 'key = value'"},
        {"[r]\npersits = no", "2: unknown key 'persits'"},
        {"[r]\nPersist = no", "2: unknown key 'Persist'"},
        {"[r]\n= no", "2: unknown key ''"},
        {"[r]\npersist = maybe", "2: persist = 'maybe': expected yes or no"},
        {"[r]\npersist = No", "2: persist = 'No': expected yes or no"},
        {"[r]\npersist =", "2: persist = '': expected yes or no"},
        {"[r]\npersist = no # why", "2: persist = 'no # why': expected yes or no"},
        {"[r]\npersist = no\npersist = no", "3: a second 'persist' in rule 'r'"},
        {"[r]\ndevice-name =", "2: device-name = '': expected a pattern"},
        {"[r]\nvendor = nvidia", "2: vendor = 'nvidia': expected a number"},
        {"[r]\nvendor = 0", "2: vendor = '0': expected a number"},
        {"[r]\nvendor = 0x", "2: vendor = '0x': expected a number"},
        {"[r]\nvendor = -1", "2: vendor = '-1': expected a number"},
        {"[r]\nvendor = 4294967296", "2: vendor = '4294967296': expected a number"},
        {"[r]\nvendor = 0x100000000", "2: vendor = '0x100000000': expected a number"},
        {"[r]\ndevice = 12z", "2: device = '12z': expected a number"},
        {"[r]\ndriver = radv", "2: driver = 'radv': expected a VkDriverId, by name or number"},
        {"[r]\napi-below = 1.x", "2: api-below = '1.x': expected a version of Vulkan"},
        {"[r]\napi-below = 0", "2: api-below = '0': expected a version of Vulkan"},
        {"[r]\nmax-blob = 64m", "2: max-blob = '64m': expected a size such as 65536, 512M or 2G"},
        {"[r]\nmax-blob = 0", "2: max-blob = '0': expected a size"},
        {"[r]\nsource = " + std::string(128, 's'), "2: source = 'sss"},
        {"[r]\nvendor=0x10de\nversion-from=470.300\npersist=no",
         "3: '470.300' is no version of this driver"},
        {"[r]\nvendor=0x10de\nversion-below=0\npersist=no", "3: '0' is no version of this driver"},
        {"[r]\nvendor=1\npersist=no\nversion-from=2\nversion-below=1.9\n[s]\nserve=no",
         "5: no version is below '1.9' and from '2' on"},
        {"[r]\nvendor=1\nversion-from=2\nversion-below=2\npersist=no",
         "4: no version is below '2' and from '2' on"},
        {"\n[r]\nvendor = 1\n", "2: rule 'r' says nothing"},
        {"\n[r]\n[s]\npersist=no", "2: rule 'r' says nothing"},
        {"[r]\npersist=no\n[s]\npersist=no\n[r]\npersist=no", "5: a second rule 'r'"},
        {"[default]\npersist=no", "1: a second rule 'default'"},
        {"[]\npersist=no", "1: '': a rule's name is 1 to 63 letters"},
        {"[two words]\npersist=no", "1: 'two words': a rule's name is"},
        {"[" + long_name + "]\npersist=no", "1: 'nnn"},
        {"[r\npersist=no", "1: ']' is missing at the end of the line"},
        {"[r] # comment\npersist=no", "1: ']' is missing at the end of the line"},
        {std::string("[r]\npersist=no\n\0\n", 17), "3: a control character"},
        {"[r]\npersist=\x1bno", "2: a control character"},
        {"[r]\npersist=no\x7f", "2: a control character"},
    };
    for (const auto &[text, error] : cases) {
        File file(text);
        EXPECT_FALSE(file.is_good()) << text;
        EXPECT_EQ(file.error().substr(0, error.size()), error) << text;
    }
    EXPECT_TRUE(File("[" + long_name.substr(1) + "]\npersist=no").is_good());
    EXPECT_TRUE(File("[r]\npersist=no\nsource = " + std::string(127, 's')).is_good());
}

TEST(PolicyFileParse, IsBounded)
{
    std::string most = "";
    for (int i = 0; i < POLICY_FILE_MAX_RULES; i++) {
        most += "[r" + std::to_string(i) + "]\npersist=no\n";
    }
    EXPECT_EQ(File(most).count(), size_t(POLICY_FILE_MAX_RULES));
    EXPECT_EQ(File(most + "[r]\npersist=no").error(), "513: more than 256 rules");

    EXPECT_TRUE(File(std::string(POLICY_FILE_MAX_SIZE, '\n')).is_good());
    EXPECT_EQ(File(std::string(POLICY_FILE_MAX_SIZE + 1, '\n')).error(),
              "0: larger than 65536 bytes");
    // An error quotes a part of what is endless.
    EXPECT_LT(File(std::string(60000, 'x') + "=").error().size(), 170u);
}

/* From settings to decision. */

struct Settings {
    explicit Settings(const std::string &path)
    {
        config.policy_path = const_cast<char *>(path.c_str());
    }
    struct config config = {};
};

driver_identity nvidia()
{
    driver_identity identity = {};
    identity.vendor_id = 0x10de;
    identity.driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    identity.driver_version = POLICY_NVIDIA_VERSION(470, 57, 2, 0);
    identity.api_version = VK_API_VERSION_1_2;
    identity.pointer_size = 8;
    return identity;
}

// `times` decisions in a process of its own.
void decide(const std::string &path, const std::string &expected_rule,
            const std::vector<std::string> &expected_log, int times = 1)
{
    ChildResult result = run_in_child([&] {
        Settings settings(path);
        const driver_identity identity = nvidia();
        struct policy policy;
        for (int i = 0; i < times; i++) {
            policy_of_settings(&settings.config, &identity, &policy);
        }
        EXPECT_EQ(std::string(policy.rule), expected_rule);
    });
    EXPECT_EQ(result.lines(), expected_log);
}

void write(const std::string &path, const std::string &text)
{
    std::ofstream(path, std::ios::binary) << text;
}

const char table_rule[] = "nvidia-470-before-470.62.02";

TEST(PolicyLoad, TheFileDecides)
{
    Scratch scratch;
    write(scratch.path("policy"), "[mine]\nvendor = 0x10de\nsingle-cache = no\n");
    decide(scratch.path("policy"), "mine", {});
    // As files of a volume are.
    std::filesystem::create_symlink("policy", scratch.path("link"));
    decide(scratch.path("link"), "mine", {});
}

TEST(PolicyLoad, WithoutAFileTheTableDecides)
{
    struct config config = {};
    const driver_identity identity = nvidia();
    struct policy policy;
    policy_of_settings(&config, &identity, &policy);
    EXPECT_STREQ(policy.rule, table_rule);
    config.policy_none = true;
    policy_of_settings(&config, &identity, &policy);
    EXPECT_STREQ(policy.rule, "default");
}

TEST(PolicyLoad, ADamagedFileIsToldOnceWithItsLine)
{
    Scratch scratch;
    const std::string path = scratch.path("policy");
    write(path, "[mine]\nsingle-cache = no\n\npersits = yes\n");
    decide(path, table_rule,
           {"warmpipe: warn: policy file '" + path +
            "', line 4: unknown key 'persits'; used is the built-in table (bad_policy_file)"},
           3);
}

TEST(PolicyLoad, AFileThatCannotBeReadIsTold)
{
    Scratch scratch;
    const std::string none = scratch.path("none");
    decide(none, table_rule,
           {"warmpipe: warn: policy file '" + none +
            "': cannot be read: No such file or "
            "directory; used is the built-in table (bad_policy_file)"});
    const std::string folder = scratch.path("folder");
    std::filesystem::create_directory(folder);
    decide(folder, table_rule,
           {"warmpipe: warn: policy file '" + folder +
            "': cannot be read: not a regular file; "
            "used is the built-in table (bad_policy_file)"});
    // Nobody will ever write to it: opening or reading it must not wait.
    const std::string fifo = scratch.path("fifo");
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    decide(fifo, table_rule,
           {"warmpipe: warn: policy file '" + fifo +
            "': cannot be read: not a regular file; "
            "used is the built-in table (bad_policy_file)"});
    decide("/dev/zero", table_rule,
           {"warmpipe: warn: policy file '/dev/zero': cannot be read: not a regular file; "
            "used is the built-in table (bad_policy_file)"});
    const std::string huge = scratch.path("huge");
    write(huge, std::string(POLICY_FILE_MAX_SIZE + 1, '#'));
    decide(huge, table_rule,
           {"warmpipe: warn: policy file '" + huge +
            "': larger than 65536 bytes; used is the "
            "built-in table (bad_policy_file)"});
}

/* docs/POLICY.md */

std::vector<std::string> document()
{
    std::vector<std::string> lines;
    std::ifstream file(WARMPIPE_SOURCE_DIR "/docs/POLICY.md");
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    EXPECT_FALSE(lines.empty());
    return lines;
}

// What stands in the first block of indented lines behind this heading.
std::string block_behind(const std::string &heading)
{
    std::string text;
    bool behind = false;
    for (const std::string &line : document()) {
        const bool indented = line.compare(0, 4, "    ") == 0;
        if (line == heading) {
            behind = true;
        } else if (behind && (indented || (line.empty() && !text.empty()))) {
            text += (indented ? line.substr(4) : "") + "\n";
        } else if (!text.empty()) {
            break;
        }
    }
    EXPECT_FALSE(text.empty()) << heading;
    return text;
}

TEST(PolicyDocument, ListsEveryKey)
{
    std::vector<std::string> expected = {"| key | value | meaning |", "|---|---|---|"};
#define POLICY_KEY(id, name, values, meaning)                                                      \
    expected.push_back(std::string("| `" name "` | ") + (values) + " | " + (meaning) + " |");
#include "driver/policy_keys.def"
#undef POLICY_KEY
    std::string expected_text;
    std::vector<std::string> found;
    for (const std::string &line : document()) {
        if (line == expected[0] || (!found.empty() && found.size() < expected.size())) {
            found.push_back(line);
        }
    }
    for (const std::string &line : expected) {
        expected_text += line + "\n";
    }
    EXPECT_EQ(found, expected) << "docs/POLICY.md should have this table:\n" << expected_text;
}

TEST(PolicyDocument, TheExampleIsGood)
{
    File file(block_behind("## By example"));
    EXPECT_TRUE(file.is_good()) << file.error();
    EXPECT_GE(file.count(), 3u);
}

TEST(PolicyDocument, ListsTheBuiltInTable)
{
    File file(block_behind("## The built-in table"));
    ASSERT_TRUE(file.is_good()) << file.error();
    ASSERT_EQ(file.count(), policy_table_size);
    for (size_t i = 0; i < policy_table_size; i++) {
        const policy_rule &told = file.rule(i);
        const policy_rule &rule = policy_table[i];
        EXPECT_STREQ(told.id, rule.id);
        EXPECT_STREQ(told.source, rule.source) << rule.id;
        EXPECT_EQ(told.vendor_id, rule.vendor_id) << rule.id;
        EXPECT_EQ(told.device_id, rule.device_id) << rule.id;
        EXPECT_EQ(told.driver_id, rule.driver_id) << rule.id;
        EXPECT_STREQ(told.driver_name, rule.driver_name) << rule.id;
        EXPECT_STREQ(told.device_name, rule.device_name) << rule.id;
        EXPECT_EQ(told.api_below, rule.api_below) << rule.id;
        EXPECT_EQ(told.version_from, rule.version_from) << rule.id;
        EXPECT_EQ(told.version_below, rule.version_below) << rule.id;
        EXPECT_EQ(told.actions, rule.actions) << rule.id;
        EXPECT_EQ(told.lifted, rule.lifted) << rule.id;
        EXPECT_EQ(told.max_blob, rule.max_blob) << rule.id;
    }
}

} // namespace
