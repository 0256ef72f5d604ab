// SPDX-License-Identifier: Apache-2.0
/* Whether a driver may see a recipe: what Vulkan has a program promise, and a driver trusts. Forms
 * and code whose digests are right may still come from a hostile file, and a driver that gets them
 * may crash. Everything that can be checked without a driver is, before it sees any of it: stages,
 * entry points, specialization constants, the code's interface against the layouts, push constant
 * ranges, sizes. It is less than full validation: what passes may still crash (recipes.h counts).
 *
 * Belongs to one thread. No I/O, no call of Vulkan. */
#ifndef WARMPIPE_REPLAY_REPLAY_CHECK_H
#define WARMPIPE_REPLAY_REPLAY_CHECK_H

#include "common/replay/replay.h"

struct replay_check;

/* *source is copied; its bytes must live as long. NULL: out of memory. */
struct replay_check *replay_check_new(const struct replay_source *source);

/* NULL is a no-op. */
void replay_check_delete(struct replay_check *check);

/* REPLAY_COMPILED: it may be replayed. Else why not: missing, invalid, no_memory, or one of
 * REPLAY_BAD_*. What was found of the objects that it refers to is kept for the next pipelines. */
enum replay_outcome replay_check_pipeline(struct replay_check *check, struct digest pipeline);

#endif
