// SPDX-License-Identifier: Apache-2.0
/* Preloaded: another machine makes the folder MADE_MEANWHILE as soon as somebody has found that it
 * is not there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int make_meanwhile(const char *path, int found)
{
    const char *folder = getenv("MADE_MEANWHILE");
    if (found != 0 && folder && strcmp(path, folder) == 0) {
        mkdir(folder, 0777);
    }
    return found;
}

__attribute__((visibility("default"))) int access(const char *path, int mode)
{
    return make_meanwhile(path, (int)syscall(SYS_faccessat, AT_FDCWD, path, mode));
}

__attribute__((visibility("default"))) int lstat(const char *path, struct stat *status)
{
    return make_meanwhile(path, fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW));
}
