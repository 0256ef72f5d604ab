/* What the log has been told of files: a directory that cannot be used, a disk that is full, stays
 * so, and one line of it is enough. */
#ifndef WARMPIPE_LAYER_TOLD_H
#define WARMPIPE_LAYER_TOLD_H

#include <stdbool.h>

#include "base/result.h"

/* Whether this process has not told this reason yet; from now on it has. Thread-safe. */
bool told_first(enum reason reason);

#endif
