#include "told.h"

#include <stdatomic.h>

bool told_first(enum reason reason)
{
    static atomic_bool told[REASON_COUNT];
    return !atomic_exchange(&told[reason], true);
}
