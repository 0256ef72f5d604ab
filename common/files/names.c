// SPDX-License-Identifier: Apache-2.0
#include "common/files/names.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common/base/text.h"

#define SETTING_MAX   128
#define BASE_NAME_MAX 64

/* Beside letters and digits, of a folder's name. */
#define NAME_SIGNS "_-"

#define IDENTITY_DIGITS (DIGEST_HEX_SIZE - 1)

static uint64_t names_mixed_number(void)
{
    static _Atomic uint64_t counter;
    struct {
        struct timespec now;
        uint64_t count;
        uint64_t process;
        uint64_t address;
    } sources = {
        .count = atomic_fetch_add(&counter, 1),
        .process = (uint64_t)getpid(),
        .address = (uint64_t)(uintptr_t)&sources,
    };
    clock_gettime(CLOCK_REALTIME, &sources.now);
    return digest_of(&sources, sizeof sources).low;
}

uint64_t unique_draw(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number) {
        number = names_mixed_number();
    }
    return number ? number : 1;
}

void unique_format(uint64_t number, char ret_hex[UNIQUE_HEX_SIZE])
{
    snprintf(ret_hex, UNIQUE_HEX_SIZE, "%016" PRIx64, number);
}

void unique_name(uint64_t number, const char *suffix, char ret_name[NAMES_SIZE])
{
    snprintf(ret_name, NAMES_SIZE, "%016" PRIx64 "%s", number, suffix);
}

/* A program's folder. */

static void name_from_setting(const char *setting, char ret_name[NAMES_APP_SIZE])
{
    const size_t length = strlen(setting);
    if (length >= 1 && length <= SETTING_MAX && text_name_length(setting, NAME_SIGNS) == length) {
        memcpy(ret_name, setting, length + 1);
        return;
    }
    char hex[DIGEST_HEX_SIZE];
    digest_format(digest_of(setting, length), hex);
    snprintf(ret_name, NAMES_APP_SIZE, "hash_%s", hex);
}

/* A part of the executable's path. */
struct span {
    const char *start;
    size_t length;
};

static bool names_starts_with(struct span path, const char *prefix, size_t length)
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
    if (length > 0 && path.length > length && names_starts_with(path, mount, length) &&
        path.start[length] == '/') {
        return without_front(path, length);
    }
    return path;
}

/* Removes the store's part from the path, /nix/store/<hash>-<name>-<version>, and returns the name
 * in it: by Nix's rule (parseDrvName) the version starts at the first dash that no letter follows.
 * Returns an empty name if the path is not in a store. */
static struct span names_take_store_package(struct span *path)
{
    static const char *const stores[] = {"/nix/store/", "/gnu/store/"};
    struct span package = {"", 0};
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        if (names_starts_with(*path, stores[i], strlen(stores[i]))) {
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
        if (at[0] == '-' && !text_is_letter(at[1])) {
            break;
        }
        package.length++;
    }
    return package;
}

static struct span names_base(struct span path)
{
    const char *slash = memrchr(path.start, '/', path.length);
    return slash ? without_front(path, (size_t)(slash + 1 - path.start)) : path;
}

/* Each text is digested by itself first, so that no two lists of texts run into one. */
static struct digest names_digest_of_program(const struct names_program *program, struct span path)
{
    const char *application = program->application_name;
    const char *engine = program->engine_name;
    path = without_mount(path, program->appdir);
    path = without_mount(path, program->snap);
    struct span package = names_take_store_package(&path);
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

static void name_from_program(const struct names_program *program, char ret_name[NAMES_APP_SIZE])
{
    const char *executable = program->executable ? program->executable : "";
    struct span path = without_deleted_mark((struct span){executable, strlen(executable)});
    struct span base = names_base(path);
    if (base.length == 0) {
        base = (struct span){"unknown", strlen("unknown")};
    }
    if (base.length > BASE_NAME_MAX) {
        base.length = BASE_NAME_MAX;
    }
    for (size_t i = 0; i < base.length; i++) {
        ret_name[i] = text_is_of_name(base.start[i], NAME_SIGNS) ? base.start[i] : '_';
    }
    char hex[DIGEST_HEX_SIZE];
    digest_format(names_digest_of_program(program, path), hex);
    snprintf(ret_name + base.length, NAMES_APP_SIZE - base.length, "-%.8s", hex);
}

void names_app_folder(const struct names_program *program, char ret_name[NAMES_APP_SIZE])
{
    if (program->app_setting) {
        name_from_setting(program->app_setting, ret_name);
    } else {
        name_from_program(program, ret_name);
    }
}

bool names_is_app(const char *name)
{
    const size_t length = text_name_length(name, NAME_SIGNS);
    return length > 0 && length < NAMES_APP_SIZE && !name[length];
}

/* Files in a program's folder. */

bool names_is_hex(const char *text, size_t length)
{
    return strspn(text, "0123456789abcdef") >= length;
}

bool names_is_random(const char *text, const char *suffix)
{
    return text[0] == '.' && names_is_hex(text + 1, UNIQUE_HEX_SIZE - 1) &&
           strcmp(text + UNIQUE_HEX_SIZE, suffix) == 0;
}

bool names_is_temporary(const char *name, char ret_of[NAMES_SIZE])
{
    const size_t end = UNIQUE_HEX_SIZE + sizeof TEMPORARY_SUFFIX - 1;
    const size_t whole = strlen(name);
    if (whole <= end || whole - end >= NAMES_SIZE ||
        !names_is_random(name + whole - end, TEMPORARY_SUFFIX)) {
        return false;
    }
    memcpy(ret_of, name, whole - end);
    ret_of[whole - end] = '\0';
    return true;
}

enum name_kind names_classify(const char *name, char ret_identity[DIGEST_HEX_SIZE])
{
    char of[NAMES_SIZE];
    if (names_is_temporary(name, of)) {
        char identity[DIGEST_HEX_SIZE];
        const bool ours =
            strcmp(of, PROGRAM_FILE_NAME) == 0 || strcmp(of, ASKED_SERVED_PREFIX) == 0 ||
            names_classify(of, identity) == NAME_CACHE || names_classify(of, identity) == NAME_PART;
        return ours ? NAME_TEMPORARY : NAME_FOREIGN;
    }
    if (!names_is_hex(name, IDENTITY_DIGITS)) {
        return NAME_FOREIGN;
    }
    const char *rest = name + IDENTITY_DIGITS;
    enum name_kind kind = strcmp(rest, CACHE_SUFFIX) == 0       ? NAME_CACHE
                          : strcmp(rest, LOCK_SUFFIX) == 0      ? NAME_LOCK
                          : strcmp(rest, LOADING_SUFFIX) == 0   ? NAME_LOADING
                          : strcmp(rest, WANTED_SUFFIX) == 0    ? NAME_WANTED
                          : names_is_random(rest, ASKED_SUFFIX) ? NAME_ASKED
                          : names_is_random(rest, PART_SUFFIX)  ? NAME_PART
                                                                : NAME_FOREIGN;
    if (kind != NAME_FOREIGN) {
        memcpy(ret_identity, name, IDENTITY_DIGITS);
        ret_identity[IDENTITY_DIGITS] = '\0';
    }
    return kind;
}

bool names_is_quarantined(const char *name)
{
    return names_is_hex(name, IDENTITY_DIGITS) &&
           (strcmp(name + IDENTITY_DIGITS, CACHE_SUFFIX) == 0 ||
            strcmp(name + IDENTITY_DIGITS, PART_SUFFIX) == 0);
}
