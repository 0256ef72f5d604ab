/* Figures as the page writes them. */
#ifndef WARMPIPE_TOOLS_REPORT_WORDS_H
#define WARMPIPE_TOOLS_REPORT_WORDS_H

#include <stdint.h>

struct report_words {
    char text[48];
};

/* "812 ms", "1.24 s": three digits. */
struct report_words report_duration(uint64_t nanoseconds);

/* "1.5 MiB". */
struct report_words report_size(uint64_t bytes);

/* "12,345". */
struct report_words report_count(uint64_t number);

/* "98.4 %"; "–" of nothing. */
struct report_words report_percent(uint64_t part, uint64_t whole);

#endif
