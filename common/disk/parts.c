#include "parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

void parts_name(const char identity[DIGEST_HEX_SIZE], uint64_t number,
                char ret_name[PARTS_NAME_SIZE])
{
    char digits[UNIQUE_HEX_SIZE];
    unique_format(number, digits);
    snprintf(ret_name, PARTS_NAME_SIZE, "%s.%s%s", identity, digits, PARTS_SUFFIX);
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    size_t suffix_length = strlen(suffix);
    return length >= suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static bool is_part(const char *name, const char *identity)
{
    return strlen(name) == PARTS_NAME_SIZE - 1 &&
           memcmp(name, identity, DIGEST_HEX_SIZE - 1) == 0 && ends_in(name, PARTS_SUFFIX);
}

bool parts_list(int directory_fd, const char identity[DIGEST_HEX_SIZE], struct parts *ret_parts)
{
    int listing_fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = listing_fd < 0 ? NULL : fdopendir(listing_fd);
    if (!listing) {
        if (listing_fd >= 0) {
            close(listing_fd);
        }
        return false;
    }
    ret_parts->count = 0;
    for (struct dirent *entry = readdir(listing); entry; entry = readdir(listing)) {
        const char *name = entry->d_name;
        if (ends_in(name, FILE_TEMPORARY_SUFFIX)) {
            file_sweep_temporary(directory_fd, name);
        } else if (is_part(name, identity) && ret_parts->count < PARTS_MAX) {
            memcpy(ret_parts->names[ret_parts->count++], name, PARTS_NAME_SIZE);
        }
    }
    closedir(listing);
    return true;
}
