#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/log.h"
#include "base/result.h"

/* Executables that replay what other programs recorded. */
static const char *const replayers[] = {"fossilize-replay", "fossilize_replay"};

/* False, and an empty path, where it cannot be told. */
static bool find_executable(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

void host_executable_name(char ret_name[NAME_MAX + 1])
{
    char path[4096];
    find_executable(path, sizeof path);
    const char *slash = strrchr(path, '/');
    snprintf(ret_name, NAME_MAX + 1, "%.*s", NAME_MAX, slash ? slash + 1 : path);
}

bool host_is_replayer(void)
{
    char name[NAME_MAX + 1];
    host_executable_name(name);
    for (size_t i = 0; i < sizeof replayers / sizeof replayers[0]; ++i) {
        if (strcmp(name, replayers[i]) == 0) {
            log_info("off: %s (%s)", reason_text(REASON_replayer), reason_id(REASON_replayer));
            return true;
        }
    }
    return false;
}

bool host_is_off_limits(void)
{
    /* With an explicit manifest the loader does not look at this variable, so the layer does, by
     * the loader's rule that any value counts, even an empty one. */
    if (getenv("WARMPIPE_DISABLE")) {
        return true;
    }
    if (getauxval(AT_SECURE)) {
        log_info("off: the program runs with elevated privileges (elevated_privileges)");
        return true;
    }
    return false;
}

void host_app_name(const char *app_setting, const VkApplicationInfo *application,
                   char ret_name[PATHS_APP_SIZE])
{
    char executable[4096];
    bool known = find_executable(executable, sizeof executable);
    struct paths_program program = {
        .app_setting = app_setting,
        .executable = known ? executable : NULL,
        .appdir = secure_getenv("APPDIR"),
        .snap = secure_getenv("SNAP"),
        .application_name = application ? application->pApplicationName : NULL,
        .engine_name = application ? application->pEngineName : NULL,
    };
    paths_app_name(&program, ret_name);
}
