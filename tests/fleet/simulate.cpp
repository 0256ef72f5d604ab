// SPDX-License-Identifier: Apache-2.0
// A fleet after a driver's rollout: hosts are state machines in simulated time, what they move goes
// through real processes of the tool and a real server.
//
//     fleet_simulate --engine file|apache|redis|s3 [--hosts 10000] [--programs 50] [--kinds 20]
//                    [--minutes 100] [--lease] [--calm] [--rclone]
//
// --minutes: the time in which all hosts arrive. --calm: nothing goes wrong.
//
// States of a host, and the function for each arrow:
//
//     1 off         has the new driver, and nothing for it
//     2 compiling   pulled, and what it needs was not all there          start, arrive
//     3 waiting     another compiles the same, and it waits (--lease)     start, arrive
//     4 done        has all; sent what it compiled                        finish
//
//     3 → 1         the other has sent it, or its time is over            finish, run
//     1 → 1         what it pulled has killed its program twice: it is
//                   put away and named at the remote as blocked           die
//
// One line of JSON; exit status 1 if a head or an object is lost or wrong at the end.
#include <queue>

#include "contents.h"

namespace {

constexpr double compile_s = 20;
constexpr double growth_s = 1;
constexpr double wait_s = 60;
constexpr size_t base_units = 20;
constexpr double killed = 0.05;     // of transfers
constexpr double share_grown = 0.1; // of hosts, that use more than the others
constexpr size_t max_threads = 4;
constexpr uint64_t poison = 999'999; // a unit that kills the driver
constexpr double patience_s = 0.3;   // of a host, with a server that says nothing

struct Options {
    std::string engine = "file";
    size_t hosts = 10000;
    uint64_t programs = 50;
    uint64_t kinds = 20;
    double minutes = 100;
    bool lease = false;
    bool calm = false;
    bool rclone = false;
};

struct Host {
    uint64_t kind = 0;
    uint64_t program = 0;
    std::set<uint64_t> needs;
    std::unique_ptr<Machine> machine;
    bool waited = false;
    bool is_busy = false; /* compiles */

    std::string app() const
    {
        return "program" + std::to_string(program);
    }

    driver_identity identity() const
    {
        driver_identity identity = sample_identity();
        identity.device_id = static_cast<uint32_t>(1000 + kind);
        return identity;
    }

    std::string key() const
    {
        return app() + "/" + hex_of(identity());
    }
};

struct Event {
    double at;
    size_t host;
    bool is_end; // of compiling

    bool operator<(const Event &other) const
    {
        return at > other.at || (at == other.at && host > other.host);
    }
};

// One program on one kind of device.
struct Set {
    uint64_t compiles = 0;   // of the whole
    uint64_t alone = 0;      // of those, after a pull that went well
    std::set<uint64_t> sent; // units of all pushes that went well
    std::vector<size_t> waiting;
    bool is_leased = false;
    std::set<uint64_t> plain; // units of the file that whole folders are copied with
    double first_end = 0;     // of a compile of the whole
    uint64_t early = 0;       // hosts that came before, the first included
};

struct Figures {
    uint64_t starts = 0, warm = 0, cold = 0, grown = 0, waited = 0;
    uint64_t pulls = 0, pushes = 0, killed = 0, slow = 0, refused = 0, wrong_keys = 0,
             unreachable = 0, unsent = 0, poisoned = 0, hosts_died = 0;
    uint64_t requests = 0, received = 0, sent = 0;
    uint64_t plain_bytes = 0, plain_files = 0, plain_cold = 0;
};

class Fleet {
  public:
    Fleet(const Options &options, Place &place)
        : options_(options), place_(place), hosts_(options.hosts)
    {
        std::vector<double> weights;
        for (uint64_t i = 0; i < options.programs; i++) {
            weights.push_back(1.0 / static_cast<double>(i + 1)); // Zipf's law
        }
        std::discrete_distribution<uint64_t> program(weights.begin(), weights.end());
        std::uniform_real_distribution<double> minute(0, options.minutes * 60);
        for (size_t i = 0; i < hosts_.size(); i++) {
            Host &host = hosts_[i];
            host.kind = random_() % options.kinds;
            host.program = program(random_);
            for (uint64_t unit = 0; unit < base_units; unit++) {
                host.needs.insert(1 + host.program * 1000 + unit);
            }
            if (chance(share_grown)) {
                host.needs.insert(1 + host.program * 1000 + 100 + random_() % 10);
            }
            events_.push({minute(random_), i, false});
        }
    }

    ~Fleet()
    {
        close(silent_fd_);
    }

    bool run();

  private:
    bool chance(double share)
    {
        return std::uniform_real_distribution<double>(0, 1)(random_) < share;
    }

    std::vector<std::string> words(const std::string &verb, const Host &host,
                                   const std::string &url) const
    {
        std::vector<std::string> all = {verb,       "--json", "--app", host.app(),
                                        "--remote", url,      "--dir", host.machine->root};
        const std::string key = verb == "push" ? "--secret-key" : "--public-key";
        all.insert(all.end(), {key, verb == "push" ? keys_.secret : keys_.open});
        return all;
    }

    // Where a host finds the remote at a moment.
    std::string url_at(double at) const
    {
        return is_outage(at) ? gone_ : is_slow(at) ? silent_ : place_.url;
    }

    // From 40 to 42 minutes nothing answers, and for a while after 60 nothing is ever said.
    bool is_outage(double at) const
    {
        return !options_.calm && at > 40 * 60 && at < 42 * 60;
    }

    bool is_slow(double at) const
    {
        return !options_.calm && at > 60 * 60 && at < 60 * 60 + 20;
    }

    // Runs the tool; a few are killed in the middle.
    ToolResult transfer(const Host &host, std::vector<std::string> all, double kill_after_s) const
    {
        if (kill_after_s <= 0) {
            return host.machine->tool(std::move(all));
        }
        all.insert(all.begin(),
                   {"/usr/bin/timeout", "-s", "KILL", std::to_string(kill_after_s), WARMPIPE_TOOL});
        return run_program(all, host.machine->environment());
    }

    void count(const ToolResult &result)
    {
        figures_.killed += result.exit_status == 137;
        figures_.unreachable += contains(result.err, "(remote_unreachable)");
        figures_.refused += contains(result.err, "(remote_untrusted_head)") ||
                            contains(result.err, "(remote_bad_head)");
        if (!result.out.empty() && json::accept(result.out)) {
            const json answer = json::parse(result.out);
            figures_.requests += answer["requests"].get<uint64_t>();
            figures_.received += answer["received"].get<uint64_t>();
            figures_.sent += answer["sent"].get<uint64_t>();
        }
    }

    double kill_after(double at)
    {
        if (is_slow(at)) {
            figures_.slow++;
            return patience_s;
        }
        return !options_.calm && chance(killed)
                   ? std::uniform_real_distribution<double>(0.001, 0.03)(random_)
                   : 0;
    }

    bool is_due(const Event &event);
    void start(const std::vector<Event> &events);
    void arrive(const Event &event, const ToolResult &result);
    void die(const Event &event);
    void finish(const std::vector<Event> &events);
    void wake(Set &set, double at);
    void disturb(double at);
    void spoil(const std::string &key);
    void send_poison(double at);
    bool check();
    json rclone();
    size_t plain_bytes() const;

    const Options &options_;
    Place &place_;
    Keys keys_;
    Keys wrong_keys_;
    std::mt19937_64 random_{15};
    std::vector<Host> hosts_;
    std::priority_queue<Event> events_;
    std::map<std::string, Set> sets_;
    Figures figures_;
    double disturbed_ = 0;
    bool is_disturbed_ = false;
    double next_poison_ = 25 * 60;
    const std::string gone_ = "http://localhost:" + std::to_string(free_port());
    int silent_port_ = 0;
    const int silent_fd_ = listen_somewhere(&silent_port_); // takes connections, says nothing
    const std::string silent_ = "http://localhost:" + std::to_string(silent_port_);
};

// They are of different sets, so their pulls may run at once.
void Fleet::start(const std::vector<Event> &events)
{
    std::vector<ToolResult> results(events.size());
    std::vector<std::thread> threads;
    for (const Event &event : events) {
        Host &host = hosts_[event.host];
        Set &set = sets_[host.key()];
        if (!host.machine) {
            host.machine = std::make_unique<Machine>();
            figures_.starts++;
            if (figures_.starts % 1000 == 0) {
                fprintf(stderr, "%zu hosts have come\n", static_cast<size_t>(figures_.starts));
            }
            for (const auto &[key, other] : sets_) {
                figures_.plain_bytes += other.plain.size() * Folder::unit_size;
                figures_.plain_files += !other.plain.empty();
            }
            figures_.plain_cold += set.plain.empty();
            set.early += set.first_end == 0 || event.at < set.first_end;
        }
        const Folder folder(*host.machine, host.app(), host.identity());
    }
    for (size_t i = 0; i < events.size(); i++) {
        const double after = kill_after(events[i].at);
        threads.emplace_back([&, i, after] {
            const Host &host = hosts_[events[i].host];
            results[i] = transfer(host, words("pull", host, url_at(events[i].at)), after);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (size_t i = 0; i < events.size(); i++) {
        arrive(events[i], results[i]);
    }
}

void Fleet::arrive(const Event &event, const ToolResult &result)
{
    Host &host = hosts_[event.host];
    Set &set = sets_[host.key()];
    const Folder folder(*host.machine, host.app(), host.identity());
    count(result);
    figures_.pulls++;
    const std::set<uint64_t> has = folder.units();
    const bool is_cold = has.empty();
    if (has.count(poison)) {
        die(event);
        return;
    }
    if (std::includes(has.begin(), has.end(), host.needs.begin(), host.needs.end())) {
        figures_.warm++;
        host.machine.reset();
        return;
    }
    if (is_cold && options_.lease && set.is_leased && !host.waited) {
        figures_.waited++;
        host.waited = true;
        set.waiting.push_back(event.host);
        events_.push({event.at + wait_s, event.host, false});
        return;
    }
    const double end = event.at + (is_cold ? compile_s : growth_s);
    set.first_end = set.first_end == 0 && is_cold ? end : set.first_end;
    set.is_leased = set.is_leased || is_cold;
    set.compiles += is_cold;
    set.alone += is_cold && result.exit_status == 0;
    figures_.cold += is_cold;
    figures_.grown += !is_cold;
    std::set<uint64_t> all = has;
    all.insert(host.needs.begin(), host.needs.end());
    folder.write_units(all);
    host.is_busy = true;
    events_.push({end, event.host, true});
}

// As the layer does: at the second death of one blob it is put away, and who can push says so.
void Fleet::die(const Event &event)
{
    Host &host = hosts_[event.host];
    const Folder folder(*host.machine, host.app(), host.identity());
    figures_.hosts_died++;
    folder.put_away();
    const ToolResult result = host.machine->tool(words("push", host, url_at(event.at)));
    count(result);
    figures_.pushes++;
    host.waited = false;
    events_.push({event.at + 2 * growth_s, event.host, false});
}

void Fleet::wake(Set &set, double at)
{
    for (const size_t host : set.waiting) {
        events_.push({at, host, false});
    }
    set.waiting.clear();
    set.is_leased = false;
}

// Those that end at about the same time push at once.
void Fleet::finish(const std::vector<Event> &events)
{
    std::vector<ToolResult> results(events.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < events.size(); i++) {
        const double after = kill_after(events[i].at);
        threads.emplace_back([&, i, after] {
            const Host &host = hosts_[events[i].host];
            results[i] = transfer(host, words("push", host, url_at(events[i].at)), after);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (size_t i = 0; i < events.size(); i++) {
        Host &host = hosts_[events[i].host];
        Set &set = sets_[host.key()];
        const std::set<uint64_t> units = Folder(*host.machine, host.app(), host.identity()).units();
        count(results[i]);
        figures_.pushes++;
        if (results[i].exit_status == 0) {
            set.sent.insert(units.begin(), units.end());
        } else {
            figures_.unsent++;
        }
        set.plain = units; // the last one wins
        host.machine.reset();
        wake(set, events[i].at);
    }
}

// Every half hour somebody pushes with another key, and overwrites a head with nonsense. Five
// minutes later a person who has read the messages removes what lies there of that program.
void Fleet::disturb(double at)
{
    constexpr double period = 1800;
    const std::string app = "program1";
    Host host;
    host.program = 1;
    host.kind = random_() % options_.kinds;
    if (options_.calm || at < disturbed_ + (is_disturbed_ ? 300 : period)) {
        return;
    }
    host.machine = std::make_unique<Machine>();
    if (is_disturbed_) {
        host.machine->tool({"remote", "rm", "--app", app, "--remote", place_.url});
        for (auto &[key, set] : sets_) {
            if (key.rfind(app + "/", 0) == 0) {
                set.sent.clear();
            }
        }
        disturbed_ = at;
        is_disturbed_ = false;
        return;
    }
    if (sets_[host.key()].sent.empty()) {
        return;
    }
    const Folder folder(*host.machine, host.app(), host.identity());
    folder.write_units({7});
    std::vector<std::string> all = words("push", host, place_.url);
    all.back() = wrong_keys_.secret;
    const ToolResult result = host.machine->tool(all);
    figures_.wrong_keys += contains(result.err, "(remote_untrusted_head)");
    spoil(host.key());
    is_disturbed_ = true;
    disturbed_ = at;
}

void Fleet::spoil(const std::string &key)
{
    const std::string path = "v1/head/" + key;
    if (options_.engine != "redis") {
        write_file(place_.data + "/" + path, "nonsense");
        return;
    }
    const int fd = connect_to(place_.server->port());
    const std::string command = "SET {warmpipe}:" + path + " nonsense\r\n";
    char answer[16];
    EXPECT_EQ(write(fd, command.data(), command.size()), static_cast<ssize_t>(command.size()));
    EXPECT_GT(read(fd, answer, sizeof answer), 0);
    close(fd);
}

// A writer with a right key, whose cache kills the driver.
void Fleet::send_poison(double at)
{
    constexpr double period = 1800;
    Host host;
    host.kind = random_() % options_.kinds;
    if (options_.calm || at < next_poison_ || sets_[host.key()].sent.empty()) {
        return;
    }
    next_poison_ += period;
    host.machine = std::make_unique<Machine>();
    const Folder folder(*host.machine, host.app(), host.identity());
    std::set<uint64_t> units = {poison};
    for (uint64_t unit = 0; unit < 2 * base_units; unit++) {
        units.insert(1 + host.program * 1000 + 500 + unit); // larger than all others
    }
    folder.write_units(units);
    const ToolResult result = host.machine->tool(words("push", host, place_.url));
    figures_.poisoned += result.exit_status == 0;
}

size_t Fleet::plain_bytes() const
{
    size_t bytes = 0;
    for (const auto &[key, set] : sets_) {
        bytes += set.plain.size() * Folder::unit_size;
    }
    return bytes;
}

// A fresh machine of each kind takes all that was ever sent.
bool Fleet::check()
{
    bool whole = true;
    for (const auto &[key, set] : sets_) {
        if (set.sent.empty()) {
            continue;
        }
        for (const Host &found : hosts_) {
            if (found.key() == key) {
                Host host;
                host.kind = found.kind;
                host.program = found.program;
                host.machine = std::make_unique<Machine>();
                const Folder folder(*host.machine, host.app(), host.identity());
                const ToolResult result = host.machine->tool(words("pull", host, place_.url));
                const std::set<uint64_t> has = folder.units();
                if (!std::includes(has.begin(), has.end(), set.sent.begin(), set.sent.end())) {
                    fprintf(stderr, "%s: %zu of %zu units are left\n%s", key.c_str(), has.size(),
                            set.sent.size(), result.err.c_str());
                    whole = false;
                }
                break;
            }
        }
    }
    return whole;
}

// What copying the whole folder costs, once: rclone from a server of Apache's.
json Fleet::rclone()
{
    const std::unique_ptr<Place> other = apache_place("LogFormat \"%m %B\" moved\nCustomLog " +
                                                      place_.folder.path + "/moved moved\n");
    if (!other || !is_installed("/usr/bin/rclone")) {
        return nullptr;
    }
    for (const auto &[key, set] : sets_) {
        if (!set.plain.empty()) {
            std::filesystem::create_directories(other->data + "/" + key);
            write_file(other->data + "/" + key + "/cache",
                       noise(set.plain.size() * Folder::unit_size, 1));
        }
    }
    TemporaryFolder copy;
    run_program({"/usr/bin/rclone", "copy", "--config", "/dev/null", ":webdav:", copy.path,
                 "--webdav-url", other->url});
    other->server.reset();
    uint64_t requests = 0;
    uint64_t bytes = 0;
    for (const std::string &line : lines_of(read_file(place_.folder.path + "/moved"))) {
        requests++;
        bytes += std::stoull(line.substr(line.find(' ') + 1));
    }
    return {{"requests", requests}, {"bytes", bytes}, {"bytes_of_files", plain_bytes()}};
}

// A host that has waited comes twice, when the other has pushed and when its time is over; the
// first of both counts.
bool Fleet::is_due(const Event &event)
{
    const Host &host = hosts_[event.host];
    std::vector<size_t> &waiting = sets_[host.key()].waiting;
    const auto found = std::find(waiting.begin(), waiting.end(), event.host);
    if (found != waiting.end()) {
        waiting.erase(found);
    }
    return !host.waited || (host.machine && !host.is_busy);
}

bool Fleet::run()
{
    while (!events_.empty()) {
        const bool is_end = events_.top().is_end;
        const double at = events_.top().at;
        std::set<std::string> keys;
        std::vector<Event> events;
        while (!events_.empty() && events_.top().is_end == is_end && events.size() < max_threads &&
               (is_end || keys.insert(hosts_[events_.top().host].key()).second)) {
            const Event event = events_.top();
            events_.pop();
            if (is_end || is_due(event)) {
                events.push_back(event);
            }
        }
        if (is_end) {
            finish(events);
        } else {
            start(events);
            disturb(at);
            send_poison(at);
        }
    }
    uint64_t most = 0;
    uint64_t alone = 0;
    uint64_t keys = 0;
    uint64_t early = 0;
    for (const auto &[key, set] : sets_) {
        early = std::max(early, set.early);
        most = std::max(most, set.alone);
        alone += set.alone;
        keys += set.compiles > 0;
    }
    const bool whole = check();
    json answer = {{"engine", options_.engine},
                   {"hosts", options_.hosts},
                   {"lease", options_.lease},
                   {"starts", figures_.starts},
                   {"warm", figures_.warm},
                   {"compiled_all", figures_.cold},
                   {"compiled_some", figures_.grown},
                   {"sets", keys},
                   {"compiled_all_after_a_good_pull", alone},
                   {"most_of_a_set", most},
                   {"most_that_came_in_the_first_compile", early},
                   {"waits", figures_.waited},
                   {"pulls", figures_.pulls},
                   {"pushes", figures_.pushes},
                   {"killed", figures_.killed},
                   {"slow", figures_.slow},
                   {"unreachable", figures_.unreachable},
                   {"refused", figures_.refused},
                   {"wrong_keys_refused", figures_.wrong_keys},
                   {"poisoned", figures_.poisoned},
                   {"hosts_that_died", figures_.hosts_died},
                   {"not_sent", figures_.unsent},
                   {"requests", figures_.requests},
                   {"received", figures_.received},
                   {"sent", figures_.sent},
                   {"folder_compiled_all", figures_.plain_cold},
                   {"folder_received", figures_.plain_bytes},
                   {"folder_requests", figures_.plain_files},
                   {"nothing_compiled_all", figures_.starts},
                   {"whole_at_the_end", whole}};
    if (options_.rclone) {
        answer["rclone_once"] = rclone();
    }
    printf("%s\n", answer.dump().c_str());
    return whole;
}

} // namespace

int main(int argc, char **argv)
{
    Options options;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        if (word == "--lease" || word == "--calm" || word == "--rclone") {
            options.lease |= word == "--lease";
            options.calm |= word == "--calm";
            options.rclone |= word == "--rclone";
            continue;
        }
        i++;
        if (word == "--engine") {
            options.engine = value;
        } else if (word == "--hosts") {
            options.hosts = std::stoul(value);
        } else if (word == "--programs") {
            options.programs = std::stoul(value);
        } else if (word == "--kinds") {
            options.kinds = std::stoul(value);
        } else if (word == "--minutes") {
            options.minutes = std::stod(value);
        }
    }
    testing::InitGoogleTest();
    const std::unique_ptr<Place> place = place_of(options.engine);
    if (!place) {
        fprintf(stderr, "%s is not installed\n", options.engine.c_str());
        return 77;
    }
    return Fleet(options, *place).run() ? 0 : 1;
}
