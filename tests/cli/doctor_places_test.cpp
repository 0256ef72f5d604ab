// SPDX-License-Identifier: Apache-2.0
// What doctor tells of where caches lie, ours and the driver's own, and of what a program opens.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "child.h"
#include "doctor_fixture.h"

namespace {

// `warmpipe run --dir` keeps the driver's own cache beside ours.
TEST_F(Doctor, ADriversCacheThatRunKeepsElsewhereIsNoProblem)
{
    std::filesystem::create_directories(folder.path + "/root/driver");
    auto found = findings({{"WPTEST_ICD_DRIVER_ID", mesa},
                           {"container", "podman"},
                           {"MESA_SHADER_CACHE_DIR", "/dev/shm"}},
                          1);
    expect(found, "driver_disk_cache",
           "note: the driver's own cache in /dev/shm is lost with this container");
}

// As before a volume is mounted.
TEST_F(Doctor, ALinkThatLeadsNowhereIsAProblem)
{
    const std::string link = folder.path + "/link";
    std::filesystem::create_symlink("not/mounted", link);
    for (const std::string &root : {link, link + "/below/it"}) {
        auto found = findings({{"WARMPIPE_DIR", root}}, 1);
        expect(found, "directory",
               "problem: " + root + " cannot be created: a link on the way leads nowhere");
    }
}

// As with a storage driver that copies (vfs), whose volumes are of the disk that the root is of;
// and the root of a system's container stays.
TEST_F(Doctor, AVolumeOfTheSameDiskIsNotLostWithItsContainer)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can mount";
    }
    if (run_program({"/usr/bin/unshare", "-m", "true"}).exit_status != 0) {
        GTEST_SKIP() << "no namespaces here";
    }
    run_in_child([&] {
        ASSERT_EQ(unshare(CLONE_NEWNS), 0);
        ASSERT_EQ(mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        char home[] = "/var/tmp/warmpipe-XXXXXX"; // of the root's disk, mostly
        const std::string disk = mkdtemp(home);
        const std::string cache = disk + "/cache";
        std::filesystem::create_directories(disk + "/volume");
        std::filesystem::create_directories(cache);
        const auto is_lost = [&](const std::string &container) {
            return contains(run_tool({"doctor"}, environment({{"container", container},
                                                              {"WARMPIPE_DIR", cache}}))
                                .out,
                            cache + " is lost with this container");
        };
        struct stat of_disk, of_root;
        const bool is_one = stat(disk.c_str(), &of_disk) == 0 && stat("/", &of_root) == 0 &&
                            of_disk.st_dev == of_root.st_dev;
        EXPECT_EQ(is_lost("podman"), is_one);
        EXPECT_FALSE(is_lost("lxc"));
        EXPECT_FALSE(is_lost("systemd-nspawn"));
        EXPECT_EQ(mount((disk + "/volume").c_str(), cache.c_str(), nullptr, MS_BIND, nullptr), 0);
        EXPECT_FALSE(is_lost("podman"));
        umount(cache.c_str());
        std::filesystem::remove_all(disk);
    });
}

// An engine makes a volume for each container where the image asks for one and `run` names none.
TEST_F(Doctor, AVolumeWithoutANameIsLostWithItsContainer)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can mount";
    }
    if (run_program({"/usr/bin/unshare", "-m", "true"}).exit_status != 0) {
        GTEST_SKIP() << "no namespaces here";
    }
    const std::string disk = folder.path + "/disk", cache = folder.path + "/the root";
    std::filesystem::create_directories(disk);
    std::filesystem::create_directories(cache);
    std::filesystem::create_directory_symlink(cache, folder.path + "/link");
    run_in_child([&] {
        ASSERT_EQ(unshare(CLONE_NEWNS), 0);
        ASSERT_EQ(mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        // An overlay, for a tmpfs is always lost.
        ASSERT_EQ(mount("disk", disk.c_str(), "tmpfs", 0, nullptr), 0);
        for (const char *layer : {"/lower", "/upper", "/work"}) {
            std::filesystem::create_directories(disk + layer);
        }
        const std::string layers =
            "lowerdir=" + disk + "/lower,upperdir=" + disk + "/upper,workdir=" + disk + "/work";
        if (mount("disk", disk.c_str(), "overlay", 0, layers.c_str()) != 0) {
            return; // no overlays here
        }
        for (const std::string &name : {std::string("warm"), std::string(64, 'a')}) {
            const std::string volume = disk + "/volumes/" + name + "/_data";
            std::filesystem::create_directories(volume);
            ASSERT_EQ(mount(volume.c_str(), cache.c_str(), nullptr, MS_BIND, nullptr), 0);
            for (const std::string &directory : {cache, folder.path + "/link"}) {
                const std::string below = directory + "/below";
                const ToolResult result = run_tool(
                    {"doctor"}, environment({{"container", "podman"}, {"WARMPIPE_DIR", below}}));
                EXPECT_EQ(contains(result.out, below + " is lost with this container"),
                          name != "warm")
                    << result.out;
            }
        }
    });
}

// The user of an image who is not in the group that may open the GPU.
TEST_F(Doctor, AGpuThatThisUserMayNotOpenIsTold)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can have a /dev of its own";
    }
    if (run_program({"/usr/bin/unshare", "-m", "true"}).exit_status != 0) {
        GTEST_SKIP() << "no namespaces here";
    }
    chmod(folder.path.c_str(), 0755);
    std::filesystem::create_directories(folder.path + "/dev");
    const std::string dev = folder.path + "/dev";
    run_in_child([&] {
        ASSERT_EQ(unshare(CLONE_NEWNS), 0);
        ASSERT_EQ(mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        ASSERT_EQ(mount("dev", dev.c_str(), "tmpfs", 0, "mode=0755"), 0);
        std::filesystem::create_directories(dev + "/dri");
        std::filesystem::create_directories(dev + "/shm"); // where the test's folder may lie
        ASSERT_EQ(mount("/dev/shm", (dev + "/shm").c_str(), nullptr, MS_BIND, nullptr), 0);
        const std::string node = dev + "/dri/renderD128";
        ASSERT_EQ(mknod(node.c_str(), S_IFCHR | 0660, makedev(1, 3)), 0);
        ASSERT_EQ(chown(node.c_str(), 0, 54321), 0);
        ASSERT_EQ(mount(dev.c_str(), "/dev", nullptr, MS_MOVE, nullptr), 0);
        const char *told =
            "/dev/dri/renderD128 may not be opened by this user: it belongs to group 54321";
        EXPECT_FALSE(contains(run_tool({"doctor"}, environment()).out, told)) << "root may";
        const ToolResult result =
            run_tool_as_another(folder.path + "/warmpipe", {"doctor"}, environment());
        EXPECT_TRUE(contains(result.out, told)) << result.out;
    });
}

// The root may be written and a program's folder not: nothing new is kept in it.
TEST_F(Doctor, AProgramsFolderThatCannotBeWrittenIsAProblem)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    const std::string app = folder.path + "/root/app";
    std::filesystem::create_directories(app + "/recipes");
    run_shell("chmod 755 " + folder.path + "; chown -R 54321:54321 " + folder.path + "/root");
    const auto told = [&](Environment more = {}) {
        const std::string tool = folder.path + "/warmpipe";
        return run_tool_as_another(tool, {"doctor"}, environment(std::move(more))).out;
    };
    EXPECT_FALSE(contains(told(), "cannot be written")) << told();
    for (const std::string &path : {app, app + "/recipes"}) {
        chmod(path.c_str(), 0500);
        EXPECT_TRUE(contains(told(), "'" + path + "' cannot be written")) << told();
        EXPECT_FALSE(contains(told({{"WARMPIPE_READONLY", "1"}}), "cannot be written"));
        chmod(path.c_str(), 0700);
    }
}

// A user without an entry in /etc/passwd, as containers have.
TEST_F(Doctor, MesaWithoutAHomeIsAProblem)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    chmod(folder.path.c_str(), 0755);
    const std::filesystem::path driver = TEST_ICD_MANIFEST; // in a folder that others may not enter
    for (const char *name : {"warmpipe_test_icd.json", "libwarmpipe_test_icd.so"}) {
        std::filesystem::copy_file(driver.parent_path() / name, folder.path + "/" + name);
    }
    const std::string manifest = folder.path + "/warmpipe_test_icd.json";
    const ToolResult result = run_tool_as_another(folder.path + "/warmpipe", {"doctor"},
                                                  environment({{"WPTEST_ICD_DRIVER_ID", mesa},
                                                               {"HOME", ""},
                                                               {"VK_DRIVER_FILES", manifest},
                                                               {"VK_ICD_FILENAMES", manifest}}));
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.out, "HOME is not set: the driver has no place for its own cache"))
        << result.out;
    EXPECT_TRUE(contains(result.out, "set HOME, or MESA_SHADER_CACHE_DIR"));
}

// As ncnn does where VK_DRIVER_FILES is set.
TEST_F(Doctor, AProgramThatOpensTheDriverItselfIsAProblem)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a plain program cannot load a library that needs a sanitizer's runtime";
#endif
    // OpenGL comes with NVIDIA's Vulkan driver, so that one alone proves nothing.
    for (const auto &[name, verdict, loader] :
         std::vector<std::array<std::string, 3>>{{"libvulkan_test.so", "problem", ""},
                                                 {"libvulkan_test.so", "problem", "libvulkan.so.1"},
                                                 {"libGLX_nvidia.so.0", "note", ""}}) {
        const std::string driver = folder.path + "/" + name;
        std::filesystem::copy_file(TEST_ICD_LIBRARY, driver,
                                   std::filesystem::copy_options::overwrite_existing);
        const std::string preload = driver + ":" + loader;
        int to[2];
        int from[2];
        ASSERT_EQ(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
        const pid_t child = fork();
        if (child == 0) {
            dup2(to[0], STDIN_FILENO);
            dup2(from[1], STDOUT_FILENO);
            setenv("WARMPIPE_ENABLE", "1", 1);
            setenv("LD_PRELOAD", preload.c_str(), 1);
            execl("/bin/cat", "cat", nullptr);
            _exit(1);
        }
        char answer = 'x';
        ASSERT_EQ(write(to[1], &answer, 1), 1);
        ASSERT_EQ(read(from[0], &answer, 1), 1) << "the program runs";
        bypassing = "process " + std::to_string(child) + " has loaded " + name +
                    (loader.empty() ? " without" : " and the loader without");
        const bool is_problem = verdict == "problem";
        const std::string advice =
            loader.empty() ? " the layer; no layer reaches a program that opens the driver itself"
                           : " the layer; start it with 'warmpipe run -- PROGRAM'";
        expect(findings({}, is_problem ? 1 : healthy), "program",
               verdict + ": " + bypassing + advice);
        for (int fd : {to[0], to[1], from[0], from[1]}) {
            close(fd);
        }
        waitpid(child, nullptr, 0);
    }
}

TEST_F(Doctor, ADriversCacheThatIsFineIsTold)
{
    auto found = findings({{"WPTEST_ICD_DRIVER_ID", mesa}}, healthy);
    expect(found, "driver_disk_cache",
           in_container ? "problem: the driver's own cache in " + folder.path
                        : "ok: the driver's own, in " + folder.path + "/.cache: 0 B of");
}

TEST_F(Doctor, EachOfMesasDriversIsKnown)
{
    // RADV, ANV, lavapipe, Turnip, V3DV, PanVK, NVK, Honeykrisp
    for (const char *driver : {"3", "6", "13", "18", "19", "20", "24", "26"}) {
        SCOPED_TRACE(driver);
        const Environment variables = {{"WPTEST_ICD_DRIVER_ID", driver},
                                       {"MESA_SHADER_CACHE_DISABLE", "true"}};
        expect(findings(variables, 1), "driver_disk_cache", "problem: MESA_SHADER_CACHE_DISABLE");
    }
}

} // namespace
