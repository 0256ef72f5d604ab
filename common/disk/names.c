#include "names.h"

#include <stddef.h>
#include <string.h>

#include "envelope.h"
#include "file.h"
#include "parts.h"
#include "paths.h"

bool names_is_hex(const char *text, size_t length)
{
    return strspn(text, "0123456789abcdef") >= length;
}

bool names_is_random(const char *text, const char *suffix)
{
    return text[0] == '.' && names_is_hex(text + 1, UNIQUE_HEX_SIZE - 1) &&
           strcmp(text + UNIQUE_HEX_SIZE, suffix) == 0;
}

bool names_is_temporary(const char *name)
{
    const size_t length = UNIQUE_HEX_SIZE + sizeof(FILE_TEMPORARY_SUFFIX) - 1;
    const size_t whole = strlen(name);
    return whole > length && names_is_random(name + whole - length, FILE_TEMPORARY_SUFFIX);
}

enum name_kind names_classify(const char *name, char ret_identity[DIGEST_HEX_SIZE])
{
    const size_t digits = DIGEST_HEX_SIZE - 1;
    if (names_is_temporary(name)) {
        return NAME_TEMPORARY;
    }
    if (!names_is_hex(name, digits)) {
        return NAME_FOREIGN;
    }
    const char *rest = name + digits;
    enum name_kind kind = strcmp(rest, ENVELOPE_SUFFIX) == 0    ? NAME_CACHE
                          : strcmp(rest, LOCK_SUFFIX) == 0      ? NAME_LOCK
                          : strcmp(rest, LOADING_SUFFIX) == 0   ? NAME_LOADING
                          : names_is_random(rest, PARTS_SUFFIX) ? NAME_PART
                                                                : NAME_FOREIGN;
    if (kind != NAME_FOREIGN) {
        memcpy(ret_identity, name, digits);
        ret_identity[digits] = '\0';
    }
    return kind;
}

bool names_is_quarantined(const char *name)
{
    const size_t digits = DIGEST_HEX_SIZE - 1;
    return names_is_hex(name, digits) && (strcmp(name + digits, ENVELOPE_SUFFIX) == 0 ||
                                          strcmp(name + digits, PARTS_SUFFIX) == 0);
}

bool names_is_app(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_-");
    return length > 0 && length < PATHS_APP_SIZE && !name[length];
}
