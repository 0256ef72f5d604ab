// SPDX-License-Identifier: Apache-2.0
#ifndef WARMPIPE_TESTS_UNIT_LAYER_SCHEDULE_LOOKS_H
#define WARMPIPE_TESTS_UNIT_LAYER_SCHEDULE_LOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct schedule_look {
    uint64_t took_ns;
    bool has_read; /* and has not only asked for the size */
};

/* What a new schedule takes a look to cost after these. Written in C: its atomic integers of 64
 * bits lie elsewhere in a struct than those of C++ where such an integer is aligned to less than
 * its size (i386). */
uint64_t schedule_cost_after(const struct schedule_look *looks, size_t count);

/* What counts as spent in creations when so many, which have run beside each other for took_ns,
 * have returned. *ret_cores: how many cores the schedule knows of. */
uint64_t schedule_busy_after(unsigned creations, uint64_t took_ns, unsigned *ret_cores);

/* How crowded the machine seems to a process that has spent so long in creations, for ran_ns of
 * which it has run, and that as many times. */
uint64_t schedule_crowd_after(uint64_t took_ns, uint64_t ran_ns, unsigned times);

/* A program that has compiled for a minute, and saved after the first second. */
struct schedule_saved {
    uint64_t spent_ns; /* in creations since */
    uint64_t first_ns; /* so long ago was the first of them */
    uint64_t cost_ns;  /* of that save */
    uint64_t crowd;
};

/* Whether it saves again now. */
bool schedule_saves(const struct schedule_saved *program);

/* Whether a look is due once so much was spent in creations since the last, which took a fifth of a
 * millisecond. */
bool schedule_looks_after(uint64_t spent_ns, uint64_t crowd);

/* A pipeline is compiled, the caches are looked at pause_ns later, and then, or `during` that,
 * another one is compiled, behind which the program creates nothing: how long after that the next
 * look is due. */
uint64_t schedule_look_behind(uint64_t pause_ns, bool during);

/* A program has compiled for longer than a look, or a save, is put off at most, without a pause
 * behind any look: whether the next one, which costs a second, is due at once. */
enum schedule_step { SCHEDULE_LOOK, SCHEDULE_SAVE };
bool schedule_steps_in_a_long_burst(enum schedule_step step);

/* A program has saved so many bytes, which cost 5 ns for each, then compiles for spent_ns, and
 * creates nothing more: how long after the save the next one is due, of what a look has seen. */
uint64_t schedule_next_save(size_t written, uint64_t spent_ns);

#endif
