// SPDX-License-Identifier: Apache-2.0
// What a remote costs, in requests and bytes, by real processes of the tool and a real server:
//
//     fleet_table file|apache|nginx|redis|s3
//
// JSON; exit status 1 if something is lost. Only of what 64 machines do at once the time is told.
#include <algorithm>
#include <chrono>

#include "contents.h"

namespace {

struct Client : Machine {
    Client()
    {
        more = {{"AWS_ACCESS_KEY_ID", "S3RVER"}, {"AWS_SECRET_ACCESS_KEY", "S3RVER"}};
    }
};

class Table {
  public:
    Table(const std::string &engine, Place &place) : place_(place)
    {
        single_writer_ = !place.swaps_at_all;
        answer_["engine"] = engine;
    }

    bool fill();

  private:
    json tool(const Machine &machine, const std::string &app, const std::string &verb) const
    {
        std::vector<std::string> words = {verb,       "--json",   "--app", app,
                                          "--remote", place_.url, "--dir", machine.root};
        if (verb == "push") {
            words.insert(words.end(), {"--secret-key", keys_.secret});
        } else {
            words.insert(words.end(), {"--public-key", keys_.open});
        }
        if (verb == "push" && single_writer_) {
            words.push_back("--single-writer");
        }
        const ToolResult result = machine.tool(words);
        if (result.exit_status != 0) {
            fprintf(stderr, "%s", result.err.c_str());
        }
        return json::parse(result.out);
    }

    void row(const std::string &name, const json &result)
    {
        answer_[name] = {{"requests", result["requests"]},
                         {"received", result["received"]},
                         {"sent", result["sent"]}};
    }

    // A machine that has nothing.
    json fresh(const std::string &app) const
    {
        Client machine;
        const Folder folder(machine, app, sample_identity());
        return tool(machine, app, "pull");
    }

    json at_once(const std::string &row, const std::vector<std::unique_ptr<Machine>> &machines,
                 const std::string &verb);
    void starts();
    void growth();
    bool pushers();

    Place &place_;
    Keys keys_;
    bool single_writer_;
    json answer_;
};

void Table::starts()
{
    row("nothing_there", fresh("none"));
    Client writer;
    const Folder small(writer, "small", sample_identity());
    small.write(noise(10'000, 1));
    row("push_10_kB", tool(writer, "small", "push"));
    row("start_10_kB", fresh("small"));

    const Folder large(writer, "large", sample_identity());
    large.write(noise(1'000'000, 1));
    row("push_1_MB", tool(writer, "large", "push"));
    row("push_unchanged", tool(writer, "large", "push"));
    row("start_1_MB", fresh("large"));

    Client reader;
    const Folder folder(reader, "large", sample_identity());
    tool(reader, "large", "pull");
    row("start_unchanged", tool(reader, "large", "pull"));

    for (unsigned part = 2; part <= 4; part++) {
        Client other;
        const Folder more(other, "large", sample_identity());
        more.write(noise(1'000'000, part));
        tool(other, "large", "push");
    }
    row("start_4_parts_of_1_MB", fresh("large"));
}

void Table::growth()
{
    const std::string old = noise(20'000'000, 1);
    Client writer;
    Client reader;
    const Folder here(writer, "grown", sample_identity());
    const Folder there(reader, "grown", sample_identity());
    here.write(old);
    const json whole = tool(writer, "grown", "push");
    row("push_20_MB", whole);
    tool(reader, "grown", "pull");
    here.write(old.substr(0, 9'000'000) + noise(1'000'000, 2) + old.substr(9'000'000));
    row("push_20_MB_grown_by_5_percent", tool(writer, "grown", "push"));
    const json grown = tool(reader, "grown", "pull");
    row("pull_20_MB_grown_by_5_percent", grown);
    row("start_20_MB_grown_by_5_percent", fresh("grown"));
    answer_["grown_received_percent"] =
        100.0 * grown["received"].get<double>() / whole["sent"].get<double>();
}

// Each calls the tool at the same time; what each did, and how long all took.
json Table::at_once(const std::string &row, const std::vector<std::unique_ptr<Machine>> &machines,
                    const std::string &verb)
{
    const size_t count = machines.size();
    std::vector<std::thread> threads;
    std::vector<uint64_t> requests(count), tries(count);
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < count; i++) {
        threads.emplace_back([&, i] {
            const json answer = tool(*machines[i], "many", verb);
            requests[i] = answer["requests"].get<uint64_t>();
            tries[i] = answer["conflicts"].get<uint64_t>() + 1;
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    std::sort(requests.begin(), requests.end());
    std::sort(tries.begin(), tries.end());
    answer_[row] = {{"count", count},
                    {"seconds", time.count()},
                    {"requests_median", requests[count / 2]},
                    {"requests_most", requests[count - 1]},
                    {"tries_median", tries[count / 2]},
                    {"tries_most", tries[count - 1]}};
    return answer_[row];
}

bool Table::pushers()
{
    constexpr size_t count = 64;
    std::vector<std::unique_ptr<Machine>> machines;
    for (size_t i = 0; i < count; i++) {
        machines.push_back(std::make_unique<Client>());
        Folder(*machines[i], "many", sample_identity()).write_units({i + 1});
    }
    if (single_writer_) {
        tool(*machines[0], "many", "push");
    } else {
        at_once("pushers_at_once", machines, "push");
        // What was overwritten by a server that checks and writes in two steps comes with the
        // next push.
        for (size_t i = 0; !place_.swaps_in_one_step && i < count; i++) {
            tool(*machines[i], "many", "push");
        }
    }
    std::set<uint64_t> units;
    Client reader;
    const Folder folder(reader, "many", sample_identity());
    for (uint64_t more = 1; more > 0;) { // as many parts at once as a save merges
        const size_t before = units.size();
        tool(reader, "many", "pull");
        units.merge(folder.units());
        more = units.size() - before;
    }
    answer_["units_left"] = units.size();
    for (std::unique_ptr<Machine> &machine : machines) {
        machine = std::make_unique<Client>();
        const Folder wanted(*machine, "many", sample_identity());
    }
    at_once("readers_at_once", machines, "pull");
    return units.size() == (single_writer_ ? 1 : count);
}

bool Table::fill()
{
    starts();
    growth();
    const bool whole = pushers();
    printf("%s\n", answer_.dump(1).c_str());
    return whole;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string engine = argc > 1 ? argv[1] : "file";
    testing::InitGoogleTest();
    const std::unique_ptr<Place> place = place_of(engine);
    if (!place) {
        fprintf(stderr, "%s is not installed\n", engine.c_str());
        return 77;
    }
    return Table(engine, *place).fill() ? 0 : 1;
}
