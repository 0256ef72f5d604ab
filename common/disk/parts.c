#include "parts.h"

#include <stdio.h>
#include <string.h>

#include "file.h"
#include "listing.h"
#include "names.h"

void parts_name(const char identity[DIGEST_HEX_SIZE], uint64_t number,
                char ret_name[PARTS_NAME_SIZE])
{
    char digits[UNIQUE_HEX_SIZE];
    unique_format(number, digits);
    snprintf(ret_name, PARTS_NAME_SIZE, "%s.%s%s", identity, digits, PARTS_SUFFIX);
}

bool parts_list(int directory_fd, const char identity[DIGEST_HEX_SIZE], struct parts *ret_parts)
{
    DIR *listing = listing_open(directory_fd, ".");
    if (!listing) {
        return false;
    }
    ret_parts->count = 0;
    const char *name;
    while ((name = listing_next(listing))) {
        char of[DIGEST_HEX_SIZE];
        enum name_kind kind = names_classify(name, of);
        if (kind == NAME_TEMPORARY) {
            file_sweep_temporary(directory_fd, name);
        } else if (kind == NAME_PART && strcmp(of, identity) == 0 && ret_parts->count < PARTS_MAX) {
            memcpy(ret_parts->names[ret_parts->count++], name, PARTS_NAME_SIZE);
        }
    }
    closedir(listing);
    return true;
}
