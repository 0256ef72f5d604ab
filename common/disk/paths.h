/* The name of a program's folder. */
#ifndef WARMPIPE_DISK_PATHS_H
#define WARMPIPE_DISK_PATHS_H

#include <stddef.h>

/* Longest folder name and its terminating zero. */
#define PATHS_APP_SIZE 200

/* What a folder's name is made from; every string may be NULL. */
struct paths_program {
    const char *app_setting; /* WARMPIPE_APP */
    const char *executable;  /* absolute path, as /proc/self/exe tells */
    const char *appdir;      /* $APPDIR, $SNAP: mount points that change with every start */
    const char *snap;
    const char *application_name; /* VkApplicationInfo */
    const char *engine_name;
};

/* A WARMPIPE_APP of [A-Za-z0-9_-], 1 to 128 characters, is kept as it is, any other becomes
 * "hash_<32 hex digits>". Without one: the executable's base name (every byte outside [A-Za-z0-9_-]
 * becomes '_', at most 64 of them; "unknown" if there is none), '-', and 8 hex digits of a digest
 * over its path and the VkApplicationInfo names. Left out of the path is what changes with each
 * mount or release: appdir and snap, hash and version of a store path
 * (/nix/store/<hash>-<name>-<version>, /gnu/store likewise), and " (deleted)" at the end. The same
 * name on every machine and in every locale; never empty, never "." or "..", no slash. Thread-safe.
 */
void paths_app_name(const struct paths_program *program, char ret_name[PATHS_APP_SIZE]);

#endif
