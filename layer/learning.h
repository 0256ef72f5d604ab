/* What is learnt of a program from run to run (program.json): whether it reads its own pipeline
 * caches back. Read at the first question, written when something has been learnt. Thread-safe. */
#ifndef WARMPIPE_LAYER_LEARNING_H
#define WARMPIPE_LAYER_LEARNING_H

#include <pthread.h>
#include <stdbool.h>

#include "base/config.h"
#include "disk/program.h"

struct learning {
    const struct config *config;
    const char *app;
    pthread_mutex_t lock;
    bool persist;
    bool loaded;
    struct program_facts facts;
};

/* config and app are borrowed. persist false: nothing is read or written, nothing is known. */
void learning_init(struct learning *learning, const struct config *config, const char *app,
                   bool persist);
void learning_release(struct learning *learning);

/* Whether an earlier run has shown that the program does not read its caches back. */
bool learning_caches_are_not_read(struct learning *learning);

/* A run that has made caches has come as far as a save. Reading back, once seen, stays true. */
void learning_conclude(struct learning *learning, bool read_back);

#endif
