// SPDX-License-Identifier: Apache-2.0
/* Whether a replay for a target, by `warm` or ahead of a program, has come to its end:
 * common/blobs/unfinished.h. One thread. */
#ifndef WARMPIPE_TOOLS_WARM_WARM_UNFINISHED_H
#define WARMPIPE_TOOLS_WARM_WARM_UNFINISHED_H

#include <stdbool.h>

#include "tools/warm/warm_shared.h"

/* Whether one has begun and not come to its end. */
bool warm_unfinished_is(const struct warm_target *target);

/* Before a replay. Whether the file was made for that. */
bool warm_unfinished_begin(const struct warm_target *target);

/* After its end. made: as warm_unfinished_begin has told. */
void warm_unfinished_end(const struct warm_target *target, bool made);

#endif
