// SPDX-License-Identifier: Apache-2.0
// A writer with a right key whose cache kills the driver, on the tests' own: what it costs each
// machine, and that none loses what it had. The test's driver believes what it is given
// (WPTEST_ICD_TRUST), dies when the damaged pipeline is asked for, and merges and saves the damage.
#include <csignal>

#include "fleet.h"

namespace {

constexpr int all = 12; // pipelines of the program

struct Host {
    const char *name;
    int own;         // pipelines that it had compiled itself
    bool can_push;   // it has the secret key
    bool by_program; // pulls and starts by themselves: nobody judges but the layer
};

const Host hosts[] = {
    {"fresh_reader", 0, false, false},    {"fresh_writer", 0, true, false},
    {"reader", 4, false, false},          {"writer", 4, true, false},
    {"beside_pull", 4, false, true},      {"fresh_beside_pull", 0, false, true},
    {"reader_of_much", 14, false, false},
};

class Poison : public testing::Test {
  protected:
    Keys keys;
    std::unique_ptr<Place> place = file_place();

    static void trust(Machine &machine)
    {
        machine.more["WPTEST_ICD_TRUST"] = "1";
        machine.more["WPTEST_ICD_RECORD_BYTES"] = std::to_string(record_bytes);
        machine.more["WARMPIPE_PREWARM"] = "off";
    }

    // The pipelines of a cache file's records.
    static std::vector<std::string> records_of(const Machine &machine)
    {
        const std::string blob = blob_of(read_file(machine.root + "/demo/" + machine.caches()[0]));
        std::vector<std::string> found;
        for (size_t at = records_at; at + record_bytes <= blob.size(); at += record_bytes) {
            found.push_back(blob.substr(at, sizeof(uint64_t)));
        }
        return found;
    }

    static std::string blob_of(const std::string &file)
    {
        const envelope envelope = envelope_of(file);
        return {reinterpret_cast<const char *>(envelope.blob), envelope.blob_size};
    }

    static envelope envelope_of(const std::string &file)
    {
        envelope envelope = {};
        EXPECT_EQ(envelope_validate(reinterpret_cast<const uint8_t *>(file.data()), file.size(),
                                    nullptr, &envelope),
                  STATUS_ok);
        return envelope;
    }

    void push(const Machine &machine)
    {
        const ToolResult result =
            machine.tool({"push", "--remote", place->url, "--secret-key", keys.secret, "--app",
                          "demo", "--dir", machine.root});
        ASSERT_EQ(result.exit_status, 0) << result.err;
    }

    // Sends a cache of all pipelines whose record of that number kills.
    void send(unsigned record)
    {
        Machine writer;
        trust(writer);
        writer.run(all);
        const std::string path = writer.root + "/demo/" + writer.caches().at(0);
        const std::string file = read_file(path);
        std::string blob = blob_of(file);
        blob.at(records_at + record * record_bytes + 20) ^= 1;
        write_file(path, make_file(blob, envelope_of(file).identity));
        push(writer);
    }

    ToolResult start(const Machine &machine, const Host &host, int pipelines)
    {
        std::vector<std::string> words = {"run", "--dir", machine.root, "--app", "demo"};
        if (host.by_program) {
            machine.pull(place->url, keys.open);
        } else {
            words.insert(words.end(), {"--remote", place->url, "--remote-wait", "20s",
                                       host.can_push ? "--secret-key" : "--public-key",
                                       host.can_push ? keys.secret : keys.open});
        }
        words.insert(words.end(), {"--", PIPELINES_CLIENT, "--graphics", "0", "--compute",
                                   std::to_string(pipelines)});
        return machine.tool(words);
    }

    static void compile(const Machine &machine, int graphics, int compute)
    {
        const ToolResult result = machine.tool(
            {"run", "--dir", machine.root, "--app", "demo", "--", PIPELINES_CLIENT, "--graphics",
             std::to_string(graphics), "--compute", std::to_string(compute)});
        EXPECT_EQ(result.exit_status, 0) << result.err;
    }

    // Starts until four in a row have lived; how many died.
    unsigned deaths(const Machine &machine, const Host &host, int pipelines)
    {
        unsigned dead = 0;
        for (unsigned lived = 0; lived < 4 && dead < 10;) {
            const ToolResult result = start(machine, host, pipelines);
            const bool lives = result.exit_status == 0;
            EXPECT_TRUE(lives || result.exit_status == 128 + SIGABRT) << result.err;
            dead += lives ? 0 : 1;
            lived = lives ? lived + 1 : 0;
        }
        return dead;
    }

    static constexpr size_t record_bytes = 20000;
    static constexpr size_t records_at = 48;
};

class EachHost : public Poison, public testing::WithParamInterface<Host> {};

// The first record, one of the middle, the last: met by the program early or late.
TEST_P(EachHost, LosesTwoStartsAtMostAndNothingThatItHad)
{
    const Host &host = GetParam();
    for (const unsigned record : {0U, 5U, 11U}) {
        place = file_place();
        send(record);
        Machine machine;
        trust(machine);
        if (host.own > 0) {
            machine.run(host.own);
        }
        const unsigned dead = deaths(machine, host, all);
        EXPECT_LE(dead, 2u) << "record " << record;
        // What is pulled beside a program may come too late for its last save.
        EXPECT_TRUE(dead > 0 || host.own > 0) << "record " << record;
        const int had = host.own > all ? host.own : all;
        const std::string last = machine.run(had);
        EXPECT_TRUE(contains(last, " " + std::to_string(had) + " hits, 0 misses"))
            << "record " << record << ": " << last;
    }
}

INSTANTIATE_TEST_SUITE_P(Poison, EachHost, testing::ValuesIn(hosts),
                         [](const auto &of) { return std::string(of.param.name); });

class Resent : public Poison, public testing::WithParamInterface<bool> {};

// Machines that have the damage in their caches, and never ask for that pipeline, prove them and
// send them on, each in other bytes: whoever has died of two such takes no third.
TEST_P(Resent, CostsAMachineTwoDeathsAtMost)
{
    const bool can_push = GetParam();
    constexpr int few = 4;
    Machine some;
    trust(some);
    some.run(few);
    const std::vector<std::string> harmless = records_of(some);
    Machine every;
    trust(every);
    every.run(all);
    const std::vector<std::string> records = records_of(every);
    unsigned record = 0;
    while (std::count(harmless.begin(), harmless.end(), records.at(record)) > 0) {
        record++;
    }
    send(record);

    constexpr int count = 4;
    Machine senders[count];
    for (int i = 0; i < count; i++) {
        trust(senders[i]);
        senders[i].run(few);
        ASSERT_EQ(senders[i].pull(place->url, keys.open).exit_status, 0);
        // Something of its own, with which the rest is merged: these bytes nobody has seen.
        compile(senders[i], i + 1, few);
        compile(senders[i], i + 1, few); // lives with it
    }
    const Host host = {"one_of_many", few, can_push, false};
    Machine machine;
    trust(machine);
    machine.run(few);
    unsigned dead = 0;
    for (int i = 0; i < count; i++) {
        push(senders[i]);
        machine.pull(place->url, keys.open);
        dead += deaths(machine, host, all + i); // it saves, and merges, what is new
    }
    EXPECT_GT(dead, 0u);
    EXPECT_LE(dead, 2u);
    const int had = all + count - 1;
    EXPECT_TRUE(contains(machine.run(had), " " + std::to_string(had) + " hits, 0 misses"));
}

INSTANTIATE_TEST_SUITE_P(Poison, Resent, testing::Bool(), [](const auto &of) {
    return std::string(of.param ? "who_sends_too" : "who_only_reads");
});

} // namespace
