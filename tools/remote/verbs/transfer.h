// SPDX-License-Identifier: Apache-2.0
/* What pull, push and sync have in common: options, and what becomes of them. */
#ifndef WARMPIPE_TOOLS_REMOTE_VERBS_TRANSFER_H
#define WARMPIPE_TOOLS_REMOTE_VERBS_TRANSFER_H

#include "tools/cli/verb.h"
#include "tools/remote/remote.h"

/* What all three verbs take; each one's own options follow. */
enum { OPTION_REMOTE, OPTION_PUBLIC_KEY, OPTION_APP, OPTION_DIR, OPTION_JSON, OPTION_OWN };

#define COMMON_OPTIONS                                                                             \
    [OPTION_REMOTE] = {"remote", 0, "URL", "which remote; default: WARMPIPE_REMOTE"},              \
    [OPTION_PUBLIC_KEY] = {"public-key", 0, "FILE", "trust this key, and no other"},               \
    [OPTION_APP] = {"app", 0, "NAME", "this program; may be given again"},                         \
    [OPTION_DIR] = VERB_DIR_OPTION, [OPTION_JSON] = VERB_JSON_OPTION

/* What push and sync take. */
#define WRITER_OPTIONS                                                                             \
    [WRITER_SECRET_KEY] = {"secret-key", 0, "FILE", "push, and sign with this key"},               \
    [WRITER_SINGLE] = {"single-writer", 0, NULL, "no other machine writes there"},                 \
    [WRITER_RECIPES] = {"recipes", 0, NULL, "push also what the programs asked for"}

/* What pull and sync take, from the place `first` on. */
#define READER_OPTIONS(first)                                                                      \
    [(first) + READER_MIN_SERIAL] = {"min-serial", 0, "N", "refuse heads with a lower serial"},    \
               [(first) + READER_MAX_AGE] = {"max-age", 0, "TIME", "refuse heads made longer ago"}

enum { READER_MIN_SERIAL, READER_MAX_AGE, READER_COUNT };
enum { WRITER_SECRET_KEY = OPTION_OWN, WRITER_SINGLE, WRITER_RECIPES, WRITER_END };

/* What COMMON_OPTIONS say. */
struct remote_options transfer_options(const char *verb, const struct arguments *arguments);

#endif
