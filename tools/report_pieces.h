/* The page of tools/report/, cut where the program fills it in; written by codegen/report.py. */
#ifndef WARMPIPE_TOOLS_REPORT_PIECES_H
#define WARMPIPE_TOOLS_REPORT_PIECES_H

#include <stddef.h>

struct report_piece {
    const unsigned char *data;
    size_t size;
};

/* In between come the title, the body and the timelines. */
#define REPORT_PIECES 4
extern const struct report_piece report_pieces[REPORT_PIECES];

#endif
