/* The policy as the settings have it: the file that WARMPIPE_POLICY names is read here. */
#ifndef WARMPIPE_DRIVER_POLICY_LOAD_H
#define WARMPIPE_DRIVER_POLICY_LOAD_H

#include "base/config.h"
#include "policy.h"
#include "policy_file.h"

/* Reads and parses the file at `path`. The user has named it: links are followed and nobody asks
 * whose it is (a volume of a container shows its files as links); but it must be a regular file, so
 * that nothing is waited for. Results are those of policy_file_parse; a file that cannot be read is
 * bad_policy_file with line 0. Thread-safe. */
enum reason policy_load(const char *path, struct policy_file *ret_file,
                        struct policy_file_error *ret_error);

/* Decides for one device by the settings (policy_path, policy_none). Where the file is no good, one
 * log line of this process says why, and the built-in table decides alone. Thread-safe. */
void policy_of_settings(const struct config *config, const struct driver_identity *identity,
                        struct policy *ret_policy);

#endif
