/* Processes of `warmpipe warm`, each with a socket to the one that started it: it holds its end
 * open as long as it lives, so that its end is seen without a signal, and either may tell the
 * other. */
#ifndef WARMPIPE_TOOLS_WARM_PROCESS_H
#define WARMPIPE_TOOLS_WARM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As fork; *ret_fd is this process's end. -1 after a message. */
pid_t warm_process_start(int *ret_fd);

/* Until it has ended. Gives its status, as waitpid does. */
int warm_process_wait(pid_t pid);

/* All bytes, or false: the other end is closed. */
bool warm_process_write(int fd, const void *data, size_t size);
bool warm_process_read(int fd, void *data, size_t size);

#endif
