// SPDX-License-Identifier: Apache-2.0
// Real servers on free ports of loopback, each in a folder of its own. They end with the test.
#ifndef WARMPIPE_TESTS_FLEET_SERVERS_H
#define WARMPIPE_TESTS_FLEET_SERVERS_H

#include <memory>
#include <string>
#include <vector>

#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "sockets.h"
#include "tool.h"

inline bool is_installed(const std::string &program)
{
    return access(program.c_str(), X_OK) == 0;
}

// A server process: started, waited for, and killed with its children.
class Server {
  public:
    Server(std::vector<std::string> words, int port, const std::string &log) : port_(port)
    {
        const pid_t test = getpid();
        process_ = fork();
        if (process_ == 0) {
            setpgid(0, 0);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            dup2(out, STDOUT_FILENO);
            dup2(out, STDERR_FILENO);
            std::vector<char *> argv;
            for (std::string &word : words) {
                argv.push_back(word.data());
            }
            argv.push_back(nullptr);
            if (getppid() == test) {
                execv(argv[0], argv.data());
            }
            _exit(99);
        }
        setpgid(process_, process_);
        bool runs = true;
        while (runs && !answers(port)) {
            usleep(5000);
            runs = waitpid(process_, nullptr, WNOHANG) == 0;
        }
        EXPECT_TRUE(runs) << words[0] << " ended: " << read_file(log);
        process_ = runs ? process_ : 0;
    }

    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    ~Server()
    {
        stop();
    }

    void stop()
    {
        if (process_ > 0) {
            kill(-process_, SIGKILL);
            waitpid(process_, nullptr, 0);
        }
        process_ = 0;
    }

    int port() const
    {
        return port_;
    }

  private:
    pid_t process_ = 0;
    int port_;
};

// What all engines of the tests have: a place, and a URL for it.
struct Place {
    TemporaryFolder folder;
    std::unique_ptr<Server> server;
    std::string url;
    bool lists = true;
    bool swaps_in_one_step = true;
    bool swaps_at_all = true;
    std::string log = folder.path + "/log";
    std::string data = folder.path + "/data";

    // The folder that a server writes, which may not be run as root.
    void open_to(const char *user)
    {
        std::filesystem::create_directories(data);
        std::filesystem::permissions(folder.path, std::filesystem::perms(0755));
        const struct passwd *entry = getpwnam(user);
        if (geteuid() == 0 && entry) {
            EXPECT_EQ(chown(data.c_str(), entry->pw_uid, entry->pw_gid), 0);
            EXPECT_EQ(chown(folder.path.c_str(), entry->pw_uid, entry->pw_gid), 0);
        }
    }
};

inline std::unique_ptr<Place> file_place()
{
    auto place = std::make_unique<Place>();
    place->url = "file://" + place->data;
    return place;
}

inline const char *const apache_program = "/usr/sbin/apache2";
inline const char *const nginx_program = "/usr/sbin/nginx";

// `more` stands in the server's configuration.
inline std::unique_ptr<Place> apache_place(const std::string &more = "",
                                           const std::string &scheme = "http",
                                           const std::string &modules = "")
{
    if (!is_installed(apache_program)) {
        return nullptr;
    }
    auto place = std::make_unique<Place>();
    const int port = free_port();
    place->open_to("www-data");
    std::string text = "ServerRoot " + place->folder.path + "\nServerName localhost\nPidFile " +
                       place->folder.path +
                       "/pid\nErrorLog /dev/stderr\nListen 127.0.0.1:" + std::to_string(port) +
                       "\n";
    for (const std::string name : {"mpm_event", "authz_core", "dav", "dav_fs"}) {
        text += "LoadModule " + name + "_module /usr/lib/apache2/modules/mod_" + name + ".so\n";
    }
    text += modules;
    if (geteuid() == 0) {
        text += "User www-data\nGroup www-data\n";
    }
    text += "DocumentRoot " + place->data + "\nDavLockDB " + place->folder.path +
            "/locks\n<Directory " + place->data + ">\nDav On\nRequire all granted\n</Directory>\n" +
            "StartServers 1\n" + more;
    write_file(place->folder.path + "/apache.conf", text);
    place->server =
        std::make_unique<Server>(std::vector<std::string>{apache_program, "-DFOREGROUND", "-f",
                                                          place->folder.path + "/apache.conf"},
                                 port, place->log);
    place->url = scheme + "://localhost:" + std::to_string(port);
    place->swaps_in_one_step = false;
    return place;
}

inline std::unique_ptr<Place> nginx_place()
{
    if (!is_installed(nginx_program)) {
        return nullptr;
    }
    auto place = std::make_unique<Place>();
    const std::string folder = place->folder.path;
    const int port = free_port();
    std::filesystem::create_directories(place->data);
    write_file(folder + "/nginx.conf",
               std::string(geteuid() == 0 ? "user root;\n" : "") +
                   "daemon off;\nworker_processes 1;\npid " + folder +
                   "/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"
                   "client_body_temp_path " +
                   folder + "/body;\nproxy_temp_path " + folder + "/proxy;\nfastcgi_temp_path " +
                   folder + "/fastcgi;\nuwsgi_temp_path " + folder + "/uwsgi;\nscgi_temp_path " +
                   folder + "/scgi;\nserver {\nlisten 127.0.0.1:" + std::to_string(port) +
                   ";\nroot " + place->data +
                   ";\nclient_max_body_size 0;\ndav_methods PUT DELETE MKCOL;\n"
                   "create_full_put_path on;\n}\n}\n");
    place->server = std::make_unique<Server>(std::vector<std::string>{nginx_program, "-c",
                                                                      folder + "/nginx.conf", "-p",
                                                                      folder, "-e", "stderr"},
                                             port, place->log);
    place->url = "http://localhost:" + std::to_string(port);
    place->lists = false;
    place->swaps_at_all = false;
    return place;
}

// `more` are further words of the command line.
inline std::unique_ptr<Place> redis_place(std::vector<std::string> more = {})
{
    const std::string program = "/usr/bin/redis-server";
    if (!is_installed(program)) {
        return nullptr;
    }
    auto place = std::make_unique<Place>();
    const int port = free_port();
    std::vector<std::string> words = {program,
                                      "--port",
                                      std::to_string(port),
                                      "--bind",
                                      "127.0.0.1",
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--dir",
                                      place->folder.path,
                                      "--unixsocket",
                                      place->folder.path + "/socket"};
    words.insert(words.end(), more.begin(), more.end());
    place->server = std::make_unique<Server>(words, port, place->log);
    place->url = "redis://localhost:" + std::to_string(port);
    return place;
}

// Three of them that share the keys. `more` are further words of each one's command line.
struct RedisCluster {
    std::vector<std::unique_ptr<Place>> nodes;
    bool is_made = false;

    explicit RedisCluster(const std::vector<std::string> &more = {})
    {
        std::vector<std::string> words = {"/usr/bin/redis-cli", "--cluster", "create"};
        for (int i = 0; i < 3; i++) {
            std::vector<std::string> own = {"--cluster-enabled", "yes", "--cluster-port",
                                            std::to_string(free_port())};
            own.insert(own.end(), more.begin(), more.end());
            nodes.push_back(redis_place(own));
            if (!nodes.back() || !is_installed(words[0])) {
                return;
            }
            words.push_back("127.0.0.1:" + std::to_string(nodes.back()->server->port()));
        }
        words.push_back("--cluster-yes");
        const Environment environment = {{"REDISCLI_AUTH", more.size() == 2 ? more[1] : ""}};
        const ToolResult result = run_program(words, environment);
        EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
        is_made = result.exit_status == 0;
        // Each node finds out by itself that the others are there.
        for (const auto &node : nodes) {
            while (is_made &&
                   !contains(run_program({words[0], "-p", std::to_string(node->server->port()),
                                          "cluster", "info"},
                                         environment)
                                 .out,
                             "cluster_state:ok")) {
                usleep(10000);
            }
        }
    }
};

// s3rver of npm, wherever S3RVER or the path say that it is.
inline std::string s3rver_program()
{
    const char *given = getenv("S3RVER");
    for (const std::string path :
         {given ? given : "", "/usr/local/bin/s3rver", "/usr/bin/s3rver"}) {
        if (is_installed(path)) {
            return path;
        }
    }
    return "";
}

inline std::unique_ptr<Place> s3_place()
{
    const std::string program = s3rver_program();
    if (program.empty()) {
        return nullptr;
    }
    auto place = std::make_unique<Place>();
    const int port = free_port();
    std::filesystem::create_directories(place->data);
    place->server = std::make_unique<Server>(
        std::vector<std::string>{"/usr/bin/env", "node", program, "-d", place->data, "-a",
                                 "127.0.0.1", "-p", std::to_string(port), "--configure-bucket",
                                 "bucket"},
        port, place->log);
    place->url = "s3://bucket/some/prefix?region=eu-north-1&endpoint=http://127.0.0.1:" +
                 std::to_string(port);
    place->swaps_at_all = false;
    return place;
}

// NULL: it is not installed.
inline std::unique_ptr<Place> place_of(const std::string &engine)
{
    return engine == "apache"  ? apache_place()
           : engine == "nginx" ? nginx_place()
           : engine == "redis" ? redis_place()
           : engine == "s3"    ? s3_place()
                               : file_place();
}

#endif
