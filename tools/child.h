/* Work that may crash, or hang, in a process of its own. */
#ifndef WARMPIPE_TOOLS_CHILD_H
#define WARMPIPE_TOOLS_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* How a child ended. */
struct child_end {
    bool answered; /* *ret_answer is filled */
    int signal;    /* that killed it; SIGALRM: it took longer than `seconds`; 0: none */
};

/* Forks; the child, silent on standard error, calls `work`, which fills `answer`, `size` bytes of
 * the child's own memory, zeroed, that come back through a pipe; size at most PIPE_BUF. To be
 * called while there is one thread. A child that cannot be made has not answered. */
struct child_end child_run(void (*work)(void *answer, const void *task), const void *task,
                           unsigned seconds, void *ret_answer, size_t size);

#endif
