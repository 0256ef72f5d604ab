// SPDX-License-Identifier: Apache-2.0
/* Values that are fetched side by side. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/remote/remote.h"

enum fetch_state { FETCH_WAITS, FETCH_BEGUN, FETCH_DONE, FETCH_GIVEN };

struct fetch_item {
    enum fetch_state state;
    enum status reason;
    struct engine_value value;
    char detail[sizeof(((struct engine *)NULL)->detail)];
};

struct fetch_thread {
    struct fetch *fetch;
    struct engine *engine;
    pthread_t thread;
};

struct fetch {
    struct engine *engine; /* the caller's */
    struct fetch_list list;
    struct fetch_thread threads[FETCH_SIDE - 1];
    size_t thread_count;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct fetch_item items[FETCH_ITEMS];
    size_t held; /* begun by threads, and not yet given to the caller */
    bool stops;
};

void fetch_list_add(struct fetch_list *list, const char *path, uint64_t limit)
{
    if (list->count < FETCH_ITEMS) {
        snprintf(list->paths[list->count], sizeof list->paths[0], "%s", path);
        list->limits[list->count++] = limit;
    }
}

/* The next that nobody has begun; NULL: there is none. The first is the caller's, who asks for it
 * at once, and would wait for it while its own connection is idle. Under the lock. */
static struct fetch_item *fetch_next(struct fetch *fetch)
{
    for (size_t i = 1; i < fetch->list.count && !fetch->stops; i++) {
        if (fetch->items[i].state == FETCH_WAITS) {
            return &fetch->items[i];
        }
    }
    return NULL;
}

static void *fetch_run(void *user)
{
    struct fetch_thread *self = user;
    struct fetch *fetch = self->fetch;
    struct fetch_item *item;
    pthread_mutex_lock(&fetch->lock);
    while ((item = fetch_next(fetch))) {
        if (fetch->held >= FETCH_SIDE - 1) {
            pthread_cond_wait(&fetch->changed, &fetch->lock);
            continue;
        }
        const size_t place = (size_t)(item - fetch->items);
        struct engine_value value = {0};
        item->state = FETCH_BEGUN;
        fetch->held++;
        pthread_mutex_unlock(&fetch->lock);
        const enum status reason = self->engine->operations->get(
            self->engine, fetch->list.paths[place], fetch->list.limits[place], &value);
        pthread_mutex_lock(&fetch->lock);
        item->reason = reason;
        item->value = value;
        memcpy(item->detail, self->engine->detail, sizeof item->detail);
        self->engine->detail[0] = '\0';
        item->state = FETCH_DONE;
        pthread_cond_broadcast(&fetch->changed);
    }
    pthread_mutex_unlock(&fetch->lock);
    return NULL;
}

/* Another connection with the times of the first. */
static struct engine *fetch_open(struct engine *engine)
{
    struct engine *other = engine->operations->another(engine);
    if (other) {
        other->deadline_ns = engine->deadline_ns;
        other->silent_ms = engine->silent_ms;
        other->silent_ns = engine->silent_ns;
        other->stops = engine->stops;
        other->stop_ns = engine->stop_ns;
    }
    return other;
}

struct fetch *fetch_begin(struct engine *engine, const struct fetch_list *list)
{
    const size_t most = list->count < FETCH_SIDE ? list->count : FETCH_SIDE;
    struct fetch *fetch = most > 1 && engine->operations->another ? calloc(1, sizeof *fetch) : NULL;
    if (!fetch) {
        return NULL;
    }
    fetch->engine = engine;
    fetch->list = *list;
    pthread_mutex_init(&fetch->lock, NULL);
    pthread_cond_init(&fetch->changed, NULL);
    while (fetch->thread_count < most - 1) { /* the caller fetches as well */
        struct fetch_thread *thread = &fetch->threads[fetch->thread_count];
        thread->fetch = fetch;
        thread->engine = fetch_open(engine);
        if (!thread->engine) {
            break;
        }
        if (pthread_create(&thread->thread, NULL, fetch_run, thread) != 0) {
            thread->engine->operations->close(thread->engine);
            break;
        }
        fetch->thread_count++;
    }
    return fetch;
}

static struct fetch_item *fetch_find(struct fetch *fetch, const char *path)
{
    for (size_t i = 0; i < fetch->list.count; i++) {
        if (fetch->items[i].state != FETCH_GIVEN && strcmp(fetch->list.paths[i], path) == 0) {
            return &fetch->items[i];
        }
    }
    return NULL;
}

/* A server may have enough of connections, and none of requests. Who says nothing is not asked
 * again: it would say nothing for as long. */
static bool fetch_may_be_the_connection(enum status reason)
{
    return reason == STATUS_remote_unreachable || reason == STATUS_remote_error ||
           reason == STATUS_remote_busy;
}

enum status fetch_get(struct fetch *fetch, struct engine *engine, const char *path, uint64_t limit,
                      struct engine_value *ret_value)
{
    bool is_ours = true;
    enum status reason = STATUS_ok;
    if (fetch) {
        pthread_mutex_lock(&fetch->lock);
        struct fetch_item *item = fetch_find(fetch, path);
        is_ours = !item || item->state == FETCH_WAITS;
        while (item && item->state == FETCH_BEGUN) {
            pthread_cond_wait(&fetch->changed, &fetch->lock);
        }
        if (!is_ours) {
            reason = item->reason;
            *ret_value = item->value;
            memcpy(engine->detail, item->detail, sizeof engine->detail);
            fetch->held--;
            fetch->stops |= reason != STATUS_ok && reason != STATUS_no_file;
            is_ours = fetch_may_be_the_connection(reason);
            pthread_cond_broadcast(&fetch->changed);
        }
        if (item) {
            item->value = (struct engine_value){0};
            item->state = FETCH_GIVEN;
        }
        pthread_mutex_unlock(&fetch->lock);
    }
    return is_ours ? engine->operations->get(engine, path, limit, ret_value) : reason;
}

void fetch_end(struct fetch *fetch)
{
    if (!fetch) {
        return;
    }
    pthread_mutex_lock(&fetch->lock);
    fetch->stops = true;
    pthread_cond_broadcast(&fetch->changed);
    pthread_mutex_unlock(&fetch->lock);
    for (size_t i = 0; i < fetch->thread_count; i++) {
        struct engine *engine = fetch->threads[i].engine;
        pthread_join(fetch->threads[i].thread, NULL);
        fetch->engine->traffic.requests += engine->traffic.requests;
        fetch->engine->traffic.answers += engine->traffic.answers;
        fetch->engine->traffic.received += engine->traffic.received;
        engine->operations->close(engine);
    }
    for (size_t i = 0; i < fetch->list.count; i++) {
        engine_value_free(&fetch->items[i].value);
    }
    pthread_cond_destroy(&fetch->changed);
    pthread_mutex_destroy(&fetch->lock);
    free(fetch);
}
