/* The names of the files that a program's folder holds: docs/FORMAT.md. What is called otherwise is
 * not ours, and nothing of ours ever removes it. */
#ifndef WARMPIPE_DISK_NAMES_H
#define WARMPIPE_DISK_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/digest.h"

#define LOCK_SUFFIX    ".lock"
#define LOADING_SUFFIX ".loading"

enum name_kind {
    NAME_FOREIGN,
    NAME_CACHE,    /* <identity>.wpcache */
    NAME_PART,     /* <identity>.<random>.part */
    NAME_LOCK,     /* <identity>.lock */
    NAME_LOADING,  /* <identity>.loading, a folder */
    NAME_TEMPORARY /* <name>.<random>.tmp, whatever the name is */
};

/* What a file is, by its name. ret_identity is written for the kinds that have one. Thread-safe. */
enum name_kind names_classify(const char *name, char ret_identity[DIGEST_HEX_SIZE]);

/* What names are made of. Thread-safe. */

/* Whether `length` digits stand at the start, as digest_format and unique_format write them. */
bool names_is_hex(const char *text, size_t length);

/* Whether `text` is a dot, a random number and `suffix`. */
bool names_is_random(const char *text, const char *suffix);

/* Whether it is <name>.<random>.tmp. */
bool names_is_temporary(const char *name);

/* Whether it is what quarantine_move calls a file there: <identity>.wpcache or <identity>.part.
 * Thread-safe. */
bool names_is_quarantined(const char *name);

/* Whether a folder's name is one that paths_app_name makes. Thread-safe. */
bool names_is_app(const char *name);

#endif
