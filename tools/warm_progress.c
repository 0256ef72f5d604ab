#include "warm_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "output.h"

#define BAR_WIDTH         24
#define TERMINAL_INTERVAL (100 * CLOCK_MS)
#define LINE_INTERVAL     (10 * CLOCK_S)

void warm_progress_begin(struct warm_progress *progress, const char *app, const char *device,
                         size_t total)
{
    uint64_t now = clock_now_ns();
    *progress = (struct warm_progress){
        .app = app,
        .device = device,
        .total = total,
        .terminal = isatty(STDERR_FILENO),
        .begin_ns = now,
    };
    progress->next_ns = now + (progress->terminal ? TERMINAL_INTERVAL : LINE_INTERVAL);
}

/* "812/s, 0:05 left"; "" while there is nothing to tell it from. */
static void put_rate(const struct warm_progress *progress, size_t done, char *text, size_t size)
{
    uint64_t elapsed = clock_now_ns() - progress->begin_ns;
    text[0] = '\0';
    if (done == 0 || elapsed == 0) {
        return;
    }
    uint64_t rate = done * CLOCK_S / elapsed;
    uint64_t left = (uint64_t)(progress->total - done) * (elapsed / done) / CLOCK_S;
    snprintf(text, size, ", %" PRIu64 "/s, %" PRIu64 ":%02" PRIu64 " left", rate, left / 60,
             left % 60);
}

static void put_bar(const struct warm_progress *progress, size_t done, char bar[BAR_WIDTH + 1])
{
    size_t filled = progress->total > 0 ? done * BAR_WIDTH / progress->total : BAR_WIDTH;
    for (size_t i = 0; i < BAR_WIDTH; i++) {
        bar[i] = i < filled ? '#' : '.';
    }
    bar[BAR_WIDTH] = '\0';
}

void warm_progress_show(struct warm_progress *progress, size_t done)
{
    char rate[64];
    uint64_t now = clock_now_ns();
    if (now < progress->next_ns) {
        return;
    }
    put_rate(progress, done, rate, sizeof rate);
    if (progress->terminal) {
        char bar[BAR_WIDTH + 1];
        put_bar(progress, done, bar);
        fprintf(stderr, "\r\033[K[%s] %zu of %zu%s", bar, done, progress->total, rate);
        fflush(stderr);
        progress->shown = true;
    } else {
        output_message("warm: %s on %s: %zu of %zu%s", progress->app, progress->device, done,
                       progress->total, rate);
    }
    progress->next_ns = now + (progress->terminal ? TERMINAL_INTERVAL : LINE_INTERVAL);
}

void warm_progress_clear(struct warm_progress *progress)
{
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress->shown = false;
    }
}
