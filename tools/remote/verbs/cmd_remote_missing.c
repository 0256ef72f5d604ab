// SPDX-License-Identifier: Apache-2.0
/* pull, push, sync and remote in a build without libsodium or libzstd: each says so. */
#include <limits.h>

#include "tools/cli/output.h"
#include "tools/cli/verb.h"

static const struct option_spec options[] = {{NULL, 0, NULL, NULL}};

static int missing_verb_main(const struct arguments *arguments)
{
    (void)arguments;
    output_message("this warmpipe was built without libsodium or libzstd: it has no remotes");
    return EXIT_USAGE;
}

#define MISSING_VERB(verb_name, what)                                                              \
    const struct verb verb_##verb_name = {                                                         \
        .name = #verb_name,                                                                        \
        .summary = what,                                                                           \
        .description = "Not in this build: it lacks libsodium or libzstd.",                        \
        .options = options,                                                                        \
        .max_operands = INT_MAX,                                                                   \
        .run = missing_verb_main,                                                                  \
    }

MISSING_VERB(pull, "not in this build");
MISSING_VERB(push, "not in this build");
MISSING_VERB(sync, "not in this build");
MISSING_VERB(remote, "not in this build");
