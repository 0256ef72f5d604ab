// SPDX-License-Identifier: Apache-2.0
// Runs the tool as a shell does, in an environment of the test's own making.
#ifndef WARMPIPE_TESTS_CLI_TOOL_H
#define WARMPIPE_TESTS_CLI_TOOL_H

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>

#include "disk_fixture.h"
#include "paths.h"
#include "scratch.h"

using Environment = std::map<std::string, std::string>;

struct ToolResult {
    int exit_status = -1; // 128 + number for a signal, as in a shell
    std::string out;
    std::string err;
};

struct TemporaryFolder {
    Scratch scratch;
    std::string path = std::filesystem::canonical(scratch.path(".")).string();
};

inline std::string read_file(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

inline std::vector<std::string> lines_of(const std::string &text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

inline bool contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

// Runs `words`; out and err go through files, so that neither can fill up.
inline ToolResult run_program(std::vector<std::string> words, Environment environment = {},
                              const std::string &directory = ".")
{
    TemporaryFolder folder;
    std::string out = folder.path + "/out";
    std::string err = folder.path + "/err";
    environment.emplace("PATH", "/usr/bin:/bin");
    // Else each process of the thread sanitizer sleeps for a second at its end.
    if (const char *options = std::getenv("TSAN_OPTIONS")) {
        environment.emplace("TSAN_OPTIONS", options);
    }
    std::vector<std::string> settings;
    for (const auto &[name, value] : environment) {
        settings.push_back(name + "=" + value);
    }
    auto pointers = [](std::vector<std::string> &texts) {
        std::vector<char *> result;
        for (std::string &text : texts) {
            result.push_back(text.data());
        }
        result.push_back(nullptr);
        return result;
    };
    std::vector<char *> argv = pointers(words);
    std::vector<char *> envp = pointers(settings);

    ToolResult result;
    pid_t child = fork();
    if (child == 0) {
        bool ready = chdir(directory.c_str()) == 0 &&
                     dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO) >= 0 &&
                     dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO) >= 0;
        if (ready) {
            execve(argv[0], argv.data(), envp.data());
        }
        _exit(99);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    result.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    result.out = read_file(out);
    result.err = read_file(err);
    return result;
}

inline ToolResult run_tool(std::vector<std::string> arguments, Environment environment = {},
                           const std::string &directory = ".")
{
    arguments.insert(arguments.begin(), WARMPIPE_TOOL);
    return run_program(arguments, std::move(environment), directory);
}

// The same by a user who owns nothing, for root alone: `copy` is made of the tool, if it is not
// there, where that user can read it.
inline ToolResult run_tool_as_another(const std::string &copy, std::vector<std::string> arguments,
                                      Environment environment = {})
{
    if (!std::filesystem::exists(copy)) {
        std::filesystem::copy_file(WARMPIPE_TOOL, copy);
    }
    arguments.insert(arguments.begin(), {"/usr/bin/setpriv", "--reuid=54321", "--regid=54321",
                                         "--clear-groups", copy});
    return run_program(arguments, std::move(environment));
}

// A shell's pipeline; "$tool" is the tool.
inline ToolResult run_shell(const std::string &script, const std::string &directory = ".")
{
    return run_program({"/bin/bash", "-c", script}, {{"tool", WARMPIPE_TOOL}}, directory);
}

inline std::string hex_of(const driver_identity &identity)
{
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&identity), hex);
    return hex;
}

// A whole cache file of this driver.
inline std::string cache_file(const driver_identity &identity = sample_identity(),
                              const std::string &blob = "")
{
    return make_file(blob.empty() ? make_blob("payload", identity) : blob, identity);
}

inline std::string flipped(std::string file, size_t at)
{
    file.at(at) = static_cast<char>(file.at(at) ^ 0x01);
    return file;
}

#endif
