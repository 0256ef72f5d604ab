// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a simulated fleet, and what must be whole at its end.
#include "simulate.h"

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
