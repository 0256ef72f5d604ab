// SPDX-License-Identifier: Apache-2.0
/* `warmpipe remote keygen`: a pair of keys. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "tools/cli/verb.h"
#include "tools/remote/verbs/remote_actions.h"

/* Makes a file that is not there. False after a message. */
static bool remote_write_key(const char *path, mode_t mode, const struct bytes *text)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    bool written = fd >= 0 && io_write(fd, text->data, text->size, IO_HERE) && fsync(fd) == 0;
    if (!written) {
        output_message("remote: cannot write '%s': %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return written;
}

int remote_keygen(const char *folder, bool json)
{
    char public_path[URL_SIZE];
    char secret_path[URL_SIZE];
    char id[17];
    if (!folder || strlen(folder) + 16 > sizeof public_path) {
        output_message("remote: keygen needs --out DIR");
        return EXIT_USAGE;
    }
    if (!minisign_prepare()) {
        output_message("remote: no random numbers");
        return EXIT_USAGE;
    }
    snprintf(public_path, sizeof public_path, "%s/warmpipe.pub", folder);
    snprintf(secret_path, sizeof secret_path, "%s/warmpipe.key", folder);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        output_message("remote: cannot make '%s': %s", folder, strerror(errno));
        return EXIT_USAGE;
    }
    struct minisign_secret_key secret;
    struct bytes secret_text = {0};
    struct bytes public_text = {0};
    minisign_generate(&secret);
    const struct minisign_public_key public_key = minisign_public_of(&secret);
    minisign_put_secret(&secret_text, &secret);
    minisign_put_public(&public_text, &public_key);
    minisign_format_id(public_key.id, id);
    const bool written = !secret_text.failed && !public_text.failed &&
                         remote_write_key(secret_path, 0600, &secret_text) &&
                         remote_write_key(public_path, 0644, &public_text);
    minisign_wipe(&secret, sizeof secret);
    minisign_wipe(secret_text.data, secret_text.size);
    bytes_free(&secret_text);
    bytes_free(&public_text);
    if (!written) {
        return EXIT_USAGE;
    }
    struct output output;
    output_begin(&output, json);
    output_text(&output, "public_key", public_path);
    output_text(&output, "secret_key", secret_path);
    output_text(&output, "id", id);
    return output_end(&output, EXIT_CLEAN);
}
