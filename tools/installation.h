/* What `warmpipe install` puts where: the library in a folder of its own, and both manifests, each
 * naming it by a relative path. That path marks a manifest as one of ours: a package's has
 * another. */
#ifndef WARMPIPE_TOOLS_INSTALLATION_H
#define WARMPIPE_TOOLS_INSTALLATION_H

#include <stdbool.h>

struct installation {
    char *data;               /* the XDG data directory with the manifests */
    char *folder;             /* of the library */
    const char *library_path; /* as the manifests name the library */
};

/* $XDG_DATA_HOME, else ~/.local/share, and a folder in it; below `prefix`, share/ and
 * lib/warmpipe/. False after a message. Freed with installation_free. */
bool installation_of_user(const char *verb, struct installation *ret_installation);
bool installation_of_system(const char *verb, const char *prefix,
                            struct installation *ret_installation);
void installation_free(struct installation *installation);

/* What became of a file: "installed", "removed", "not there". */
typedef void (*installation_tell_fn)(void *user, const char *path, const char *state);

/* Installs from beside this very program, replacing what an earlier one has put there, each file
 * whole. always: without WARMPIPE_ENABLE. False after a message; then what was put is as it is. */
bool installation_put(const char *verb, const struct installation *installation, bool always,
                      installation_tell_fn tell, void *user);

/* Removes the same. What is not there is told so. False after a message. */
bool installation_remove(const char *verb, const struct installation *installation,
                         installation_tell_fn tell, void *user);

#endif
