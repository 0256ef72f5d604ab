// SPDX-License-Identifier: Apache-2.0
// The commands of docs/FLEET.md as they stand there, each in a root of its own that has what the
// page says is mounted. Kubernetes, Docker, Slurm and the runners of CI are played by the shell;
// what stands for S3 and a web server is the shared folder.
#include <csignal>
#include <regex>

#include "fleet.h"

namespace {

// usage: CONTAINER ROOT NAME=FOLDER... -- WORD...: each folder is mounted at /NAME.
constexpr const char *container_script = R"script(
set -e
root=$1; shift
mkdir -p "$root"
for entry in /*; do
    if [ -L "$entry" ]; then cp -P "$entry" "$root"
    elif [ -d "$entry" ]; then mkdir -p "$root$entry"; mount --rbind "$entry" "$root$entry"; fi
done
while [ "$1" != -- ]; do
    mkdir -p "$root/${1%%=*}"; mount --bind "${1#*=}" "$root/${1%%=*}"; shift
done
shift
exec chroot "$root" /bin/sh -c 'cd /app; exec "$@"' sh "$@"
)script";

// What takes the words that Docker takes, as far as the page has them.
constexpr const char *docker_script = R"script(#!/bin/sh
set -e
[ "$1 $2 $3 $4" = "run --rm --gpus all" ]; shift 4
mounts=
while :; do
    case $1 in
    -v) from=${2%%:*}; to=${2#*:}; to=${to%:ro}
        case $from in /*) ;; *) from=$VOLUMES/$from; mkdir -p "$from" ;; esac
        mounts="$mounts ${to#/}=$from"; shift 2 ;;
    -e) export "$2"; shift 2 ;;
    *) break ;;
    esac
done
shift # the image
exec unshare -rm /bin/sh -c "$CONTAINER" sh "$(mktemp -d)" $mounts app="$APP" share="$SHARE" -- "$@"
)script";

// Four tasks, each on a node of its own.
constexpr const char *srun_script = R"script(#!/bin/sh
for task in 1 2 3 4; do
    TMPDIR=$(mktemp -d) "$@" 2> "$OUT/task$task" &
done
wait
)script";

class Page : public testing::Test {
  protected:
    Keys keys;
    TemporaryFolder folder;
    Machine machine;
    const std::string text = read_file(std::string(WARMPIPE_SOURCE_DIR) + "/docs/FLEET.md");
    const std::string bin = folder.path + "/bin";
    const std::string app = folder.path + "/app"; // where programs are started
    const std::string share = folder.path + "/share";
    Environment environment;

    void SetUp() override
    {
        if (run_program({"/usr/bin/unshare", "-rm", "/bin/true"}).exit_status != 0) {
            GTEST_SKIP() << "no namespaces";
        }
        for (const std::string &name : {bin, app, share, folder.path + "/volumes", app + "/ci"}) {
            std::filesystem::create_directories(name);
        }
        put_program(bin + "/warmpipe", "#!/bin/sh\nexec " WARMPIPE_TOOL " \"$@\"\n");
        put_program(bin + "/docker", docker_script);
        put_program(bin + "/srun", srun_script);
        for (const char *name : {"service", "tests", "solver"}) {
            put_program(app + "/" + name,
                        "#!/bin/sh\nexec " PIPELINES_CLIENT " --graphics 0 --compute 4\n");
        }
        std::filesystem::copy_file(keys.open, app + "/ci/warmpipe.pub");
        environment = machine.environment();
        environment["PATH"] = bin + ":/usr/sbin:/usr/bin:/sbin:/bin";
        environment["VOLUMES"] = folder.path + "/volumes";
        environment["CONTAINER"] = container_script;
        environment["APP"] = app;
        environment["SHARE"] = share;
        environment["OUT"] = folder.path;
        environment["REMOTE"] = "file://" + share;
    }

    static void put_program(const std::string &path, const std::string &content)
    {
        write_file(path, content);
        std::filesystem::permissions(path, std::filesystem::perms(0755));
    }

    // The commands below a heading: the lines that are indented, without their indent.
    std::string snippet(const std::string &heading) const
    {
        std::string found;
        bool is_below = false;
        for (const std::string &line : lines_of(text)) {
            is_below = line[0] == '#' ? line == heading : is_below;
            if (is_below && line.rfind("    ", 0) == 0) {
                found += line.substr(4) + "\n";
            }
        }
        EXPECT_FALSE(found.empty()) << heading;
        return found;
    }

    static std::string replaced(std::string in, const std::string &from, const std::string &to)
    {
        EXPECT_TRUE(contains(in, from)) << from;
        for (size_t at; (at = in.find(from)) != std::string::npos;) {
            in.replace(at, from.size(), to);
        }
        return in;
    }

    ToolResult shell(const std::string &script)
    {
        return run_program({"/bin/bash", "-ec", script}, environment, app);
    }

    // The words of the n-th `command: [...]`, in a container of a pod.
    ToolResult pod(const std::string &yaml, size_t n, const std::string &volume, bool has_driver)
    {
        const std::regex command("command: \\[([^\\]]*)\\]");
        auto at = std::sregex_iterator(yaml.begin(), yaml.end(), command);
        std::advance(at, n);
        const std::string list = std::regex_replace((*at)[1].str(), std::regex("[\",\n]"), " ");
        Environment own = environment;
        if (!has_driver) {
            own["VK_DRIVER_FILES"] = own["VK_ICD_FILENAMES"] = "/none.json";
        }
        return run_program(
            {"/bin/bash", "-ec",
             "unshare -rm /bin/sh -c \"$CONTAINER\" sh $(mktemp -d) cache=" + volume +
                 " keys=" + keys.folder.path + "/keys share=" + share + " app=\"$APP\" -- " + list},
            own);
    }
};

TEST_F(Page, Kubernetes)
{
    const std::string yaml = replaced(snippet("### Kubernetes"), "s3://caches/service",
                                      "file:///share"); // which the page names instead
    TemporaryFolder first;
    TemporaryFolder second;
    ToolResult result = pod(yaml, 0, first.path, true);
    EXPECT_EQ(result.exit_status, 0) << "an empty remote: " << result.err;
    ToolResult sidecar;
    std::thread runs([&] { sidecar = pod(yaml, 2, first.path, false); });
    result = pod(yaml, 1, first.path, true);
    EXPECT_TRUE(contains(result.err, " 0 hits, 4 misses")) << result.err;
    while (!std::filesystem::exists(share + "/v1/head/service")) {
        usleep(10000);
    }
    const ToolResult found = run_shell("pgrep -f -- '[s]ync --remote file:///share.*--dir /cache'");
    for (const std::string &line : lines_of(found.out)) {
        const std::string environ = read_file("/proc/" + line + "/environ");
        if (contains(environ, folder.path)) {
            kill(std::stoi(line), SIGTERM);
        }
    }
    runs.join();
    EXPECT_EQ(sidecar.exit_status, 0) << sidecar.err;
    // The next pod.
    result = pod(yaml, 0, second.path, true);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    result = pod(yaml, 1, second.path, true);
    EXPECT_TRUE(contains(result.err, " 4 hits, 0 misses")) << result.err;
}

TEST_F(Page, Docker)
{
    machine.run(4,
                {"--app", "service", "--remote", "file://" + share, "--secret-key", keys.secret});
    std::filesystem::copy(keys.folder.path + "/keys", app + "/keys");
    const std::string script =
        replaced(snippet("### Docker"), "https://caches.example/service", "file:///share");
    const ToolResult result = shell(script);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, " 4 hits, 0 misses")) << result.err;
    EXPECT_TRUE(std::filesystem::exists(folder.path + "/volumes/warmpipe/service"));
}

// Each job starts with an empty home.
TEST_F(Page, ContinuousIntegration)
{
    const std::string yaml = snippet("### CI");
    const std::string github = yaml.substr(0, yaml.find("tests:\n"));
    const std::string gitlab = yaml.substr(yaml.find("tests:\n"));
    auto step = [&](const std::string &from, const std::string &to) {
        const size_t begin = github.find(from) + from.size();
        return github.substr(begin, github.find(to, begin) - begin);
    };
    const std::string reads = step("- run: ", "if:");
    const std::string writes = step("- run: |", "if:");
    // The lines of `script:` go to one shell.
    std::string script =
        std::regex_replace(gitlab.substr(gitlab.find("- ")), std::regex("\n *- "), "\nNEXT");
    script = std::regex_replace(script.substr(2), std::regex("\n +"), " ");
    script = replaced(script, "NEXT", "");
    auto job = [&](const std::string &commands) {
        const Machine fresh;
        environment["HOME"] = fresh.folder.path;
        const ToolResult result = shell(commands);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        return result.err;
    };
    EXPECT_TRUE(contains(job(reads), " 0 hits, 4 misses"));
    EXPECT_FALSE(std::filesystem::exists(share + "/v1"));
    environment["KEY"] = read_file(keys.secret);
    EXPECT_TRUE(contains(job(writes), " 0 hits, 4 misses"));
    EXPECT_TRUE(contains(job(writes), " 4 hits, 0 misses"));
    EXPECT_TRUE(contains(job(reads), " 4 hits, 0 misses"));
    EXPECT_TRUE(contains(job(script), " 4 hits, 0 misses"));
    std::filesystem::remove_all(share + "/v1");
    EXPECT_TRUE(contains(job(script), " 0 hits, 4 misses"));
    EXPECT_FALSE(std::filesystem::exists(share + "/v1"));
    std::filesystem::permissions(keys.secret, std::filesystem::perms(0644)); // as GitLab has it
    environment["WARMPIPE_KEY"] = keys.secret;
    EXPECT_TRUE(contains(job(script), " 0 hits, 4 misses"));
    EXPECT_TRUE(contains(job(script), " 4 hits, 0 misses"));
}

#ifdef WARMPIPE_HAVE_CURL
// Debian's own server, as its package has set it up, in a network and folders of its own.
constexpr const char *apache_script = R"script(
set -e
export TMPDIR=$OUT
for name in /etc/apache2 /var/lib/apache2; do
    copy=$(mktemp -d); cp -a "$name/." "$copy"; mount --bind "$copy" "$name"
done
for name in /srv /run /var/log/apache2; do mount -t tmpfs none "$name"; done
mkdir /run/lock
ip link set lo up; ip address add 10.0.0.5/32 dev lo
/bin/bash -e -c "$SNIPPET"
for host in a b; do
    export HOME=$(mktemp -d)
    warmpipe run --remote http://10.0.0.5/warmpipe/of/all --secret-key "$KEY" --app service -- ./service
done
ls /srv/warmpipe/of/all/v1
cat /var/log/apache2/error.log >&2
)script";

TEST_F(Page, Apache)
{
    if (!is_installed("/usr/sbin/a2enmod") || !is_installed("/usr/sbin/ip")) {
        GTEST_SKIP() << "apache2 or ip is not installed";
    }
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder to another user";
    }
    environment["SNIPPET"] = snippet("## Where");
    environment["KEY"] = keys.secret;
    environment["SCRIPT"] = apache_script;
    const ToolResult result =
        shell("exec unshare -mn --pid --fork --kill-child --mount-proc /bin/bash -c \"$SCRIPT\"");
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, " 0 hits, 4 misses")) << result.err;
    EXPECT_TRUE(contains(result.err, " 4 hits, 0 misses")) << result.err;
    EXPECT_TRUE(contains(result.out, "head\n")) << result.out;
}
#endif

#ifdef WARMPIPE_HAVE_HIREDIS
// A network of its own has the address that the page has.
TEST_F(Page, ALanWithRedis)
{
    if (!is_installed("/usr/bin/redis-server") || !is_installed("/usr/sbin/ip")) {
        GTEST_SKIP() << "redis-server or ip is not installed";
    }
    const std::vector<std::string> lines = lines_of(snippet("### A LAN with Redis"));
    std::string run = replaced(lines.at(1), "FILE", keys.secret);
    run = replaced(replaced(run, "NAME", "service"), "PROGRAM", "./service");
    environment["PASSWORD"] = "hunter2";
    environment["SCRIPT"] = "ip link set lo up; ip address add 10.0.0.5/32 dev lo\ncd \"$OUT\"\n" +
                            lines.at(0) +
                            " > redis.log & server=$!\ncd app\n"
                            "export REDISCLI_AUTH=$PASSWORD\n"
                            "until redis-cli -h 10.0.0.5 ping | grep -q PONG; do sleep 0.02; done\n"
                            "unset REDISCLI_AUTH\n"
                            "for host in a b; do export HOME=$(mktemp -d)\n" +
                            run + " 2>> ../runs\ndone\nkill $server; wait $server";
    const ToolResult result = shell("unshare -rn /bin/bash -c \"$SCRIPT\"");
    const std::string runs = read_file(folder.path + "/runs");
    EXPECT_TRUE(contains(runs, " 0 hits, 4 misses")) << runs << result.err;
    EXPECT_TRUE(contains(runs, " 4 hits, 0 misses")) << runs << result.err;
}
#endif

TEST_F(Page, Slurm)
{
    std::filesystem::copy_file(keys.secret, machine.folder.path + "/warmpipe.key");
    std::filesystem::permissions(machine.folder.path + "/warmpipe.key",
                                 std::filesystem::perms(0600));
    const std::string script =
        replaced(snippet("### Slurm"), "file:///project/warmpipe", "file://" + share);
    const ToolResult result = shell(script);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    int cold = 0;
    for (int task = 1; task <= 4; task++) {
        const std::string err = read_file(folder.path + "/task" + std::to_string(task));
        cold += contains(err, " 0 hits, 4 misses");
        EXPECT_TRUE(contains(err, " 4 hits, 0 misses") || contains(err, " 0 hits, 4 misses"))
            << err;
    }
    EXPECT_EQ(cold, 1);
    EXPECT_FALSE(std::filesystem::exists("/warmpipe")) << "TMPDIR is each task's own";
}

} // namespace
