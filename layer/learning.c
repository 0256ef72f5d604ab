#include "learning.h"

#include "base/log.h"

void learning_init(struct learning *learning, const struct config *config, const char *app,
                   bool persist)
{
    *learning = (struct learning){.config = config, .app = app, .persist = persist};
    pthread_mutex_init(&learning->lock, NULL);
}

void learning_release(struct learning *learning)
{
    pthread_mutex_destroy(&learning->lock);
}

/* Under the lock. A file that is damaged is one line, and nothing is known. */
static void load(struct learning *learning)
{
    if (learning->loaded || !learning->persist) {
        return;
    }
    learning->loaded = true;
    enum reason reason = program_load(learning->config->root, learning->app, &learning->facts);
    if (reason != REASON_ok && reason != REASON_no_file) {
        log_warn("what was learnt of the program is lost (%s): %s", reason_id(reason),
                 reason_text(reason));
    }
}

bool learning_caches_are_not_read(struct learning *learning)
{
    pthread_mutex_lock(&learning->lock);
    load(learning);
    bool not_read = learning->facts.caches == PROGRAM_CACHES_NOT_READ;
    pthread_mutex_unlock(&learning->lock);
    return not_read;
}

void learning_conclude(struct learning *learning, bool read_back)
{
    pthread_mutex_lock(&learning->lock);
    load(learning);
    enum program_caches learnt = read_back ? PROGRAM_CACHES_READ_BACK : PROGRAM_CACHES_NOT_READ;
    enum program_caches known = learning->facts.caches;
    if (learning->persist && !learning->config->read_only && known != learnt &&
        known != PROGRAM_CACHES_READ_BACK) {
        learning->facts.caches = learnt;
        enum reason reason = program_learn(learning->config->root, learning->app, learnt);
        if (reason != REASON_ok) {
            log_info("what was learnt of the program is not kept (%s)", reason_id(reason));
        }
    }
    pthread_mutex_unlock(&learning->lock);
}
