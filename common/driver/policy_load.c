#include "policy_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"

static int open_file(const char *path)
{
    int fd;
    do {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

static enum reason fail(struct policy_file_error *ret_error, const char *problem)
{
    ret_error->line = 0;
    snprintf(ret_error->text, sizeof ret_error->text, "cannot be read: %s", problem);
    return REASON_bad_policy_file;
}

enum reason policy_load(const char *path, struct policy_file *ret_file,
                        struct policy_file_error *ret_error)
{
    /* One byte more than may be: then the parser finds the file too large. */
    const size_t capacity = POLICY_FILE_MAX_SIZE + 1;
    struct stat status;
    enum reason reason;
    int fd = open_file(path);
    if (fd < 0) {
        return fail(ret_error, strerror(errno));
    }
    char *data = malloc(capacity);
    ssize_t size = 0;
    if (!data) {
        reason = REASON_out_of_memory;
    } else if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
        reason = fail(ret_error, "not a regular file");
    } else if ((size = io_read(fd, data, capacity, IO_HERE)) < 0) {
        reason = fail(ret_error, strerror(errno));
    } else {
        reason = policy_file_parse(data, (size_t)size, ret_file, ret_error);
    }
    free(data);
    close(fd);
    return reason;
}

static void tell_once(const char *path, const struct policy_file_error *error)
{
    static atomic_bool told;
    if (atomic_exchange(&told, true)) {
        return;
    }
    char where[24] = "";
    if (error->line != 0) {
        snprintf(where, sizeof where, ", line %u", error->line);
    }
    log_warn("policy file '%.1024s'%s: %s; used is the built-in table (%s)", path, where,
             error->text, reason_id(REASON_bad_policy_file));
}

void policy_of_settings(const struct config *config, const struct driver_identity *identity,
                        struct policy *ret_policy)
{
    struct policy_file file = {0};
    struct policy_file_error error;
    if (config->policy_path &&
        policy_load(config->policy_path, &file, &error) == REASON_bad_policy_file) {
        tell_once(config->policy_path, &error);
    }
    policy_decide(identity, !config->policy_none, &file, ret_policy);
    policy_file_free(&file);
}
