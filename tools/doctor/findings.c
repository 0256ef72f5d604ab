// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void doctor_tell(struct doctor *doctor, enum verdict verdict, const char *check, const char *advice,
                 const char *format, ...)
{
    static const char *const words[] = {
        [VERDICT_OK] = "ok",
        [VERDICT_NOTE] = "note",
        [VERDICT_PROBLEM] = "problem",
    };
    AUTO_FREE char *finding = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&finding, format, arguments);
    va_end(arguments);
    finding = length < 0 ? NULL : finding;
    output_open(&doctor->output, NULL, OUTPUT_ROW);
    output_text(&doctor->output, "check", check);
    output_text(&doctor->output, "verdict", words[verdict]);
    output_text(&doctor->output, "finding", finding ? finding : format);
    if (advice) {
        output_remark(&doctor->output, "advice", advice);
    }
    output_close(&doctor->output);
    doctor->told[verdict]++;
    progress_add("thing");
}

static void doctor_child_main(void (*work)(void *answer, const void *task), const void *task,
                              unsigned seconds, int fd, size_t size)
{
    const struct rlimit no_core = {0};
    setrlimit(RLIMIT_CORE, &no_core);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDERR_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    signal(SIGPIPE, SIG_DFL);
    alarm(seconds);
    void *answer = calloc(1, size);
    if (answer) {
        work(answer, task);
    }
    bool written = answer && io_write(fd, answer, size, IO_HERE);
    /* Skips the exit handlers of drivers and layers: the answer has been written. */
    _exit(written ? 0 : 1);
}

struct child_end doctor_try(void (*work)(void *answer, const void *task), const void *task,
                            unsigned seconds, void *ret_answer, size_t size)
{
    struct child_end end = {0};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return end;
    }
    pid_t child = fork();
    if (child == 0) {
        doctor_child_main(work, task, seconds, ends[1], size);
    }
    close(ends[1]);
    AUTO_FREE void *answer = malloc(size);
    if (child > 0 && answer) {
        end.answered = io_read(ends[0], answer, size, IO_HERE) == (ssize_t)size;
    }
    close(ends[0]);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    end.signal = child > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (end.answered) {
        memcpy(ret_answer, answer, size);
    }
    return end;
}

bool doctor_child_died(struct doctor *doctor, const char *check, struct child_end end,
                       const char *doing)
{
    if (end.answered) {
        return false;
    }
    doctor_tell(doctor, VERDICT_PROBLEM, check, "update the driver, or report it to its vendor",
                "a process that %s %s", doing, end.signal == SIGALRM ? "hangs" : "dies");
    return true;
}
