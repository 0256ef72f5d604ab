#include "recipe_folder.h"

#include <string.h>
#include <unistd.h>

#include "file.h"
#include "names.h"
#include "unique.h"

enum recipe_name recipe_folder_classify(const char *name, char ret_identity[DIGEST_HEX_SIZE])
{
    const size_t digits = DIGEST_HEX_SIZE - 1;
    if (names_is_temporary(name)) {
        return RECIPE_NAME_TEMPORARY;
    }
    if (strcmp(name, RECIPE_LOCK_NAME) == 0) {
        return RECIPE_NAME_LOCK;
    }
    if (names_is_hex(name, UNIQUE_HEX_SIZE - 1) &&
        strcmp(name + UNIQUE_HEX_SIZE - 1, RECIPE_SUFFIX) == 0) {
        return RECIPE_NAME_SEGMENT;
    }
    if (!names_is_hex(name, digits)) {
        return RECIPE_NAME_FOREIGN;
    }
    const char *rest = name + digits;
    const enum recipe_name kind = strcmp(rest, RECIPE_CRASHED_SUFFIX) == 0 ? RECIPE_NAME_CRASHED
                                  : names_is_random(rest, RECIPE_REPLAYING_SUFFIX)
                                      ? RECIPE_NAME_REPLAYING
                                      : RECIPE_NAME_FOREIGN;
    if (kind != RECIPE_NAME_FOREIGN) {
        memcpy(ret_identity, name, digits);
        ret_identity[digits] = '\0';
    }
    return kind;
}

const char *recipe_folder_next_segment(DIR *listing)
{
    char identity[DIGEST_HEX_SIZE];
    const char *name;
    do {
        name = listing_next(listing);
    } while (name && recipe_folder_classify(name, identity) != RECIPE_NAME_SEGMENT);
    return name;
}

void recipe_folder_sweep(int folder_fd)
{
    DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    while (listing && (name = listing_next(listing))) {
        if (names_is_temporary(name)) {
            file_sweep_temporary(folder_fd, name);
        }
    }
    if (listing) {
        closedir(listing);
    }
}

enum reason recipe_folder_open_in(int app_fd, bool create, int *ret_fd)
{
    return file_open_subdirectory(app_fd, RECIPE_FOLDER, create, ret_fd);
}

enum reason recipe_folder_open(const char *root, const char *app, bool create, int *ret_fd)
{
    int app_fd;
    enum reason reason = file_open_directory(root, app, create, &app_fd);
    if (reason == REASON_ok) {
        reason = recipe_folder_open_in(app_fd, create, ret_fd);
        close(app_fd);
    }
    return reason;
}
