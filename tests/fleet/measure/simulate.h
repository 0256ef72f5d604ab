// SPDX-License-Identifier: Apache-2.0
// The fleet of fleet_simulate: its hosts, what is counted, and what goes wrong.
#ifndef WARMPIPE_TESTS_FLEET_SIMULATE_H
#define WARMPIPE_TESTS_FLEET_SIMULATE_H

#include <queue>

#include "contents.h"

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

#endif
