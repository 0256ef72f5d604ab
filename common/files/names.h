// SPDX-License-Identifier: Apache-2.0
/* The names of folders and files on disk: docs/FORMAT.md. A file with any other name is not ours,
 * and nothing of ours ever removes it. Every function is thread-safe. */
#ifndef WARMPIPE_FILES_NAMES_H
#define WARMPIPE_FILES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"

/* Numbers that no other process draws: generations, names of temporary files, markers. */

/* 64 random bits, never 0. Never blocks and never fails: where the kernel gives no random bytes
 * (a sandbox, for example), clock, address and a counter are mixed instead. */
uint64_t unique_draw(void);

/* Hex digits of a drawn number and the terminating zero. */
#define UNIQUE_HEX_SIZE 17

/* 16 lower-case hex digits. */
void unique_format(uint64_t number, char ret_hex[UNIQUE_HEX_SIZE]);

/* Bytes for the longest name of our files, its terminating zero included. */
#define NAMES_SIZE 96

/* These digits and then `suffix`. */
void unique_name(uint64_t number, const char *suffix, char ret_name[NAMES_SIZE]);

/* A program's folder. */

/* The longest folder name and its terminating zero. */
#define NAMES_APP_SIZE 200

/* What a folder's name is made from; every string may be NULL. */
struct names_program {
    const char *app_setting; /* WARMPIPE_APP */
    const char *executable;  /* absolute path, from /proc/self/exe */
    const char *appdir;      /* $APPDIR, $SNAP: mount points that change with every start */
    const char *snap;
    const char *application_name; /* VkApplicationInfo */
    const char *engine_name;
};

/* A WARMPIPE_APP of [A-Za-z0-9_-], 1 to 128 characters, is kept as it is, any other becomes
 * "hash_<32 hex digits>". Without one: the executable's base name (every byte outside [A-Za-z0-9_-]
 * becomes '_', at most 64 of them; "unknown" if there is none), '-', and 8 hex digits of a digest
 * over its path and the VkApplicationInfo names. The parts of the path that change with each mount
 * or release are left out: appdir and snap, hash and version of a store path
 * (/nix/store/<hash>-<name>-<version>, /gnu/store likewise), and " (deleted)" at the end. The same
 * name on every machine and in every locale; never empty, never "." or "..", no slash. */
void names_app_folder(const struct names_program *program, char ret_name[NAMES_APP_SIZE]);

/* Whether a folder's name is one that names_app_folder can make. */
bool names_is_app(const char *name);

/* Files in a program's folder. */

#define CACHE_SUFFIX        ".wpcache"
#define PART_SUFFIX         ".part"
#define LOCK_SUFFIX         ".lock"
#define LOADING_SUFFIX      ".loading"
#define WANTED_SUFFIX       ".wanted"
#define ASKED_SUFFIX        ".asked"
#define ASKED_SERVED_PREFIX "asked"
#define TEMPORARY_SUFFIX    ".tmp"
#define PROGRAM_FILE_NAME   "program.json"
#define QUARANTINE_FOLDER   "quarantine"

enum name_kind {
    NAME_FOREIGN,
    NAME_CACHE,    /* <identity>.wpcache */
    NAME_PART,     /* <identity>.<random>.part */
    NAME_LOCK,     /* <identity>.lock */
    NAME_LOADING,  /* <identity>.loading, a folder */
    NAME_WANTED,   /* <identity>.wanted, see blobs/identity_files.h */
    NAME_ASKED,    /* <identity>.<random>.asked, empty */
    NAME_TEMPORARY /* <name>.<random>.tmp, of a cache, a part or program.json; or
                      asked.<random>.tmp */
};

/* What a file is, by its name. ret_identity is written for the kinds that have one. */
enum name_kind names_classify(const char *name, char ret_identity[DIGEST_HEX_SIZE]);

/* Whether quarantine_move gives a file this name: <identity>.wpcache or <identity>.part. */
bool names_is_quarantined(const char *name);

/* Whether `text` begins with `length` lower-case hex digits. */
bool names_is_hex(const char *text, size_t length);

/* Whether `text` is a dot, a random number and `suffix`. */
bool names_is_random(const char *text, const char *suffix);

/* Whether it is <name>.<random>.tmp; ret_of is then <name>, which may be anything. */
bool names_is_temporary(const char *name, char ret_of[NAMES_SIZE]);

#endif
