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
#include "simulate.h"

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
