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

__attribute__((visibility("default"))) int access(const char *path, int mode)
{
    const char *folder = getenv("MADE_MEANWHILE");
    const int found = (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
    if (found != 0 && folder && strcmp(path, folder) == 0) {
        mkdir(folder, 0777);
    }
    return found;
}

__attribute__((visibility("default"))) int lstat(const char *path, struct stat *status)
{
    const char *folder = getenv("MADE_MEANWHILE");
    const int found = fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
    if (found != 0 && folder && strcmp(path, folder) == 0) {
        mkdir(folder, 0777);
    }
    return found;
}
