#include "utf8.h"

#include <stdbool.h>

static bool between(unsigned char byte, unsigned char low, unsigned char high)
{
    return byte >= low && byte <= high;
}

/* Unicode, table 3-7 "Well-Formed UTF-8 Byte Sequences": only the second byte has narrower ranges.
 */
size_t utf8_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;

    if (at[0] < 0x80) {
        return 1;
    }
    if (between(at[0], 0xc2, 0xdf)) {
        length = 2;
    } else if (between(at[0], 0xe0, 0xef)) {
        length = 3;
        low = at[0] == 0xe0 ? 0xa0 : low;
        high = at[0] == 0xed ? 0x9f : high;
    } else if (between(at[0], 0xf0, 0xf4)) {
        length = 4;
        low = at[0] == 0xf0 ? 0x90 : low;
        high = at[0] == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    if (!between(at[1], low, high)) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if (!between(at[i], 0x80, 0xbf)) {
            return 0;
        }
    }
    return length;
}
