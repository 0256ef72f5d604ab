/* How far a run has come, on standard error: a bar on a terminal, else a line now and then. */
#ifndef WARMPIPE_TOOLS_WARM_PROGRESS_H
#define WARMPIPE_TOOLS_WARM_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct warm_progress {
    const char *app;
    const char *device;
    size_t total;
    bool terminal;
    bool shown; /* a bar stands on the terminal */
    uint64_t begin_ns;
    uint64_t next_ns; /* nothing is written before */
};

/* Strings are borrowed. */
void warm_progress_begin(struct warm_progress *progress, const char *app, const char *device,
                         size_t total);

/* As often as one likes. */
void warm_progress_show(struct warm_progress *progress, size_t done);

/* Takes the bar away, so that something else can be written. */
void warm_progress_clear(struct warm_progress *progress);

#endif
