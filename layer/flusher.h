/* The background worker: one thread for the process, started when there is first something for it
 * to do, and asleep without a time-out whenever there is not.
 *
 * It takes snapshots of the hot caches while the program's threads are quiet and brings them to
 * disk, so that little is lost however the program ends. It calls the next layer's device commands
 * only, never anything that takes the loader's lock (hazard 48), and through the gate
 * (driver_gate.h) that is closed at the end of the process. The library's destructor then writes
 * what snapshots are left, with file I/O alone (hazard 45). Where no thread can be made (a
 * sandbox), saves happen at vkDestroyDevice alone. A forked child starts anew, with no worker and
 * without its parent's clients (hazard 49). */
#ifndef WARMPIPE_LAYER_FLUSHER_H
#define WARMPIPE_LAYER_FLUSHER_H

#include <stdbool.h>
#include <stdint.h>

/* Somebody whom the worker serves; embedded in its owner. */
struct flusher_client {
    struct flusher_client *next;
    /* When the worker is needed next, monotonic ns; UINT64_MAX: not at all. Does not wait. */
    uint64_t (*due)(struct flusher_client *client, uint64_t now_ns);
    /* Does what is due; may call the driver between flusher_enter_driver and _leave_driver. */
    void (*work)(struct flusher_client *client);
    /* At the end of the process: file I/O only. */
    void (*last)(struct flusher_client *client);
    bool awake;          /* the worker knows that there is something to do; atomic */
    unsigned generation; /* counts forks: in which process it was added */
};

/* Registers a client, whose functions are set. Thread-safe, as all here. */
void flusher_add(struct flusher_client *client);

/* The client is not called after this; waits for the call that is under way, as long as the driver
 * takes but for a disk 5 s at most. False: do not touch what the worker may be using, neither locks
 * nor memory: the disk has not answered, or this is a child of the process that has added the
 * client, whose locks may be held by threads that do not exist here. */
bool flusher_remove(struct flusher_client *client);

/* There is something to do for the client. Cheap when the worker knows already. */
void flusher_wake(struct flusher_client *client);

/* Brackets driver calls of the worker; false: they are barred, for the process ends or the device
 * has gone. */
bool flusher_enter_driver(void);
void flusher_leave_driver(void);

#endif
