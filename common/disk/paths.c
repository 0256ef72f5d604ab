#include "paths.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "codec/digest.h"

#define SETTING_MAX   128
#define BASE_NAME_MAX 64

/* Not isalnum: a folder's name must not depend on the locale. */
static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_name_character(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static void name_from_setting(const char *setting, char ret_name[PATHS_APP_SIZE])
{
    size_t length = strlen(setting);
    bool kept = length >= 1 && length <= SETTING_MAX;
    for (size_t i = 0; kept && i < length; i++) {
        kept = is_name_character(setting[i]);
    }
    if (kept) {
        memcpy(ret_name, setting, length + 1);
        return;
    }
    char hex[DIGEST_HEX_SIZE];
    digest_format(digest_of(setting, length), hex);
    snprintf(ret_name, PATHS_APP_SIZE, "hash_%s", hex);
}

/* A part of the executable's path. */
struct span {
    const char *start;
    size_t length;
};

static bool starts_with(struct span path, const char *prefix, size_t length)
{
    return path.length >= length && memcmp(path.start, prefix, length) == 0;
}

static struct span without_front(struct span path, size_t length)
{
    return (struct span){path.start + length, path.length - length};
}

/* /proc/self/exe of a program whose file was replaced while it ran. */
static struct span without_deleted_mark(struct span path)
{
    static const char mark[] = " (deleted)";
    size_t length = sizeof mark - 1;
    if (path.length > length && memcmp(path.start + path.length - length, mark, length) == 0) {
        path.length -= length;
    }
    return path;
}

/* Whole components only: /tmp/.mount_A is no prefix of /tmp/.mount_AB/usr/bin/x. */
static struct span without_mount(struct span path, const char *mount)
{
    size_t length = mount ? strlen(mount) : 0;
    while (length > 0 && mount[length - 1] == '/') {
        length--;
    }
    if (length > 0 && path.length > length && starts_with(path, mount, length) &&
        path.start[length] == '/') {
        return without_front(path, length);
    }
    return path;
}

/* Takes a store's part off the path, /nix/store/<hash>-<name>-<version>, and gives the name in it:
 * by Nix's rule (parseDrvName) a version starts at the first dash that no letter follows. An empty
 * name where the path leads into no store. */
static struct span take_store_package(struct span *path)
{
    static const char *const stores[] = {"/nix/store/", "/gnu/store/"};
    struct span package = {"", 0};
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        if (starts_with(*path, stores[i], strlen(stores[i]))) {
            package = without_front(*path, strlen(stores[i]));
        }
    }
    const char *slash = memchr(package.start, '/', package.length);
    const char *dash = slash ? memchr(package.start, '-', (size_t)(slash - package.start)) : NULL;
    if (!dash) {
        return (struct span){"", 0};
    }
    *path = (struct span){slash, (size_t)(path->start + path->length - slash)};
    package.start = dash + 1;
    package.length = 0;
    for (const char *at = package.start; at < slash; at++) {
        if (at[0] == '-' && !is_letter(at[1])) {
            break;
        }
        package.length++;
    }
    return package;
}

static struct span base_name(struct span path)
{
    const char *slash = memrchr(path.start, '/', path.length);
    return slash ? without_front(path, (size_t)(slash + 1 - path.start)) : path;
}

/* Each text is digested by itself first, so that no two lists of texts run into one. */
static struct digest digest_of_program(const struct paths_program *program, struct span path)
{
    const char *application = program->application_name;
    const char *engine = program->engine_name;
    path = without_mount(path, program->appdir);
    path = without_mount(path, program->snap);
    struct span package = take_store_package(&path);
    struct span texts[] = {
        package,
        path,
        {application, application ? strlen(application) : 0},
        {engine, engine ? strlen(engine) : 0},
    };
    const size_t count = sizeof texts / sizeof *texts;
    char hex[sizeof texts / sizeof *texts * (DIGEST_HEX_SIZE - 1) + 1];
    for (size_t i = 0; i < count; i++) {
        digest_format(digest_of(texts[i].start, texts[i].length), hex + i * (DIGEST_HEX_SIZE - 1));
    }
    return digest_of(hex, sizeof hex - 1);
}

static void name_from_program(const struct paths_program *program, char ret_name[PATHS_APP_SIZE])
{
    const char *executable = program->executable ? program->executable : "";
    struct span path = without_deleted_mark((struct span){executable, strlen(executable)});
    struct span base = base_name(path);
    if (base.length == 0) {
        base = (struct span){"unknown", strlen("unknown")};
    }
    if (base.length > BASE_NAME_MAX) {
        base.length = BASE_NAME_MAX;
    }
    for (size_t i = 0; i < base.length; i++) {
        ret_name[i] = is_name_character(base.start[i]) ? base.start[i] : '_';
    }
    char hex[DIGEST_HEX_SIZE];
    digest_format(digest_of_program(program, path), hex);
    snprintf(ret_name + base.length, PATHS_APP_SIZE - base.length, "-%.8s", hex);
}

void paths_app_name(const struct paths_program *program, char ret_name[PATHS_APP_SIZE])
{
    if (program->app_setting) {
        name_from_setting(program->app_setting, ret_name);
    } else {
        name_from_program(program, ret_name);
    }
}
