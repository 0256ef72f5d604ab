/* Numbers that no other process draws too: generations, names of temporary files, markers. */
#ifndef WARMPIPE_DISK_UNIQUE_H
#define WARMPIPE_DISK_UNIQUE_H

#include <stdint.h>

/* 64 random bits, never 0. Never blocks and never fails (where the kernel gives no random bytes,
 * say in a sandbox, clock, address and a counter are mixed instead). Thread-safe. */
uint64_t unique_draw(void);

/* Hex digits of a drawn number and the terminating zero. */
#define UNIQUE_HEX_SIZE 17

/* 16 lower-case hex digits. */
void unique_format(uint64_t number, char ret_hex[UNIQUE_HEX_SIZE]);

#endif
