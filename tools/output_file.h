/* What a verb writes into a file that its user names. */
#ifndef WARMPIPE_TOOLS_OUTPUT_FILE_H
#define WARMPIPE_TOOLS_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/uio.h>

/* Whether that is standard output: "-", or what it stands for. Then nothing else belongs there. */
bool output_file_is_standard(const char *path);

/* Replaces a file by the concatenation of the parts, whole or not at all, and leaves it the mode
 * that it had; a link keeps its place, and what is no file (a pipe, a terminal, standard output) is
 * written to. A reader that closes its pipe early is no error. False after a message that begins
 * with the verb's name. */
bool output_file_write(const char *verb, const char *path, const struct iovec *parts, int count);

#endif
