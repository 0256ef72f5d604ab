#include "warm_crew.h"

#include <signal.h>

static void replay_item(struct warm_crew *crew, struct replay *replay, unsigned thread, size_t item)
{
    pthread_mutex_t *alone = crew->cache->alone;
    warm_page_begin(crew->page, thread, item);
    if (alone) {
        pthread_mutex_lock(alone);
    }
    enum replay_outcome outcome = replay_pipeline(replay, crew->recipes->items[item].pipeline);
    if (alone) {
        pthread_mutex_unlock(alone);
    }
    warm_page_end(crew->page, thread, (enum warm_outcome)outcome);
}

static void *work(void *user)
{
    struct warm_hand *hand = user;
    struct warm_crew *crew = hand->crew;
    const struct replay_source source = warm_recipes_source(crew->recipes);
    struct replay *replay =
        replay_new(crew->vulkan->device, &crew->vulkan->commands, crew->cache->handle, &source,
                   &crew->vulkan->limits, crew->vulkan->feedback);
    for (size_t i; replay && (i = atomic_fetch_add(&crew->next, 1)) < crew->item_count;) {
        replay_item(crew, replay, hand->thread, crew->items[i]);
    }
    replay_delete(replay);
    if (atomic_fetch_sub(&crew->working, 1) == 1) {
        pthread_kill(crew->leader, SIGUSR1);
    }
    return NULL;
}

bool warm_crew_start(struct warm_crew *crew, unsigned jobs)
{
    if (jobs > crew->item_count) {
        jobs = (unsigned)crew->item_count;
    }
    atomic_store(&crew->next, 0);
    atomic_store(&crew->working, 1); /* so that none is the last one before all are started */
    crew->leader = pthread_self();
    crew->count = 0;
    for (unsigned i = 0; i < jobs; i++) {
        struct warm_hand *hand = &crew->hands[i];
        *hand = (struct warm_hand){.crew = crew, .thread = i};
        atomic_fetch_add(&crew->working, 1);
        if (pthread_create(&hand->handle, NULL, work, hand) != 0) {
            atomic_fetch_sub(&crew->working, 1);
            break;
        }
        crew->count++;
    }
    if (atomic_fetch_sub(&crew->working, 1) == 1) {
        pthread_kill(crew->leader, SIGUSR1);
    }
    return crew->count > 0;
}

void warm_crew_join(struct warm_crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++) {
        pthread_join(crew->hands[i].handle, NULL);
    }
}
