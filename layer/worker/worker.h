// SPDX-License-Identifier: Apache-2.0
/* The background worker: one thread for the process. It starts when there is first something to do,
 * sleeps without a time-out while there is nothing, and ends when no device is left
 * (docs/decisions/0300).
 *
 * States:
 *
 *     1 ASLEEP    no client has anything to do
 *     2 WAITING   until the first client is due
 *     3 WORKING   in a client's `work`, without the lock
 *     4 IN DRIVER in a client's `work`, between worker_enter_driver and worker_leave_driver
 *     5 EXITING   the process ends: no more work, only jobs; the thread that ends the process
 *                 calls each `closing`
 *     6 ENDED     the last snapshots are written
 *
 *     arrow                              function
 *     1 ASLEEP ──▶ 2 WAITING             worker_wake; the first call starts the thread
 *     2 WAITING ──▶ 3 WORKING, 1 ASLEEP  worker_run, by each client's `due`
 *     1 ASLEEP ──▶ none                  worker_await_behind, if no device's client is left
 *     3 WORKING ◀──▶ 4 IN DRIVER         worker_enter_driver, worker_leave_driver
 *     any ──▶ 5 EXITING                  worker_close_clients, from the gate's handler of atexit
 *     5 EXITING ──▶ 6 ENDED              worker_write_last_snapshots, the library's destructor
 *     any ──fork()──▶ 1, in the child    worker_after_fork_in_child: no thread, no clients
 *
 * The worker reads device caches into memory while the program is quiet, or from time to time while
 * it is not (cache_writer.h), and writes these snapshots to disk, so that little is lost however
 * the program ends. It calls only the next layer's device commands, never anything that takes the
 * loader's lock (hazard 48: a deadlock), and only through the gate (driver_gate.h), which closes at
 * the end of the process. Just before that, clients may take a last snapshot. The library's
 * destructor then writes what is left, with file I/O alone (hazard 45: an end without
 * vkDestroyDevice). Neither allocates memory if the process ends in a signal handler.
 *
 * A job is a function that may block on a disk. The caller waits for it at once (worker_do), or
 * after the driver has destroyed the device (worker_do_behind). If no thread can be made, only the
 * ends of devices and of the process save; in a sandbox nothing does. */
#ifndef WARMPIPE_LAYER_WORKER_WORKER_H
#define WARMPIPE_LAYER_WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct driver_permit;

/* Tests in C++ only pass the struct on. */
#ifdef __cplusplus
#define WORKER_ATOMIC(type) type
#else
#include <stdatomic.h>
#define WORKER_ATOMIC(type) _Atomic(type)
#endif

/* A user of the worker; embedded in its owner. */
struct worker_client {
    struct worker_client *next;
    /* Returns when the worker is needed next, monotonic ns; UINT64_MAX: not at all. Does not wait.
     */
    uint64_t (*due)(struct worker_client *client, uint64_t now_ns);
    /* Does that part of the due work that needs memory alone. It makes no system call, and is
     * called under the worker's lock. Returns when it is to be called next, as `due` does. May be
     * NULL. */
    uint64_t (*in_memory)(struct worker_client *client);
    /* Does the rest of the due work, unless the program is in a sandbox. May call the driver
     * between worker_enter_driver and worker_leave_driver. */
    void (*work)(struct worker_client *client);
    /* Called when the process ends and drivers can still be called, between worker_enter_driver and
     * worker_leave_driver. May be NULL. Other threads of the program may run, in the driver as
     * well. */
    void (*closing)(struct worker_client *client);
    /* Called at the end of the process. File I/O only. */
    void (*last)(struct worker_client *client);
    /* Called from time to time by a thread that has waited long for a driver call of `work`, until
     * that has returned. Does not use the disk. May be NULL. */
    void (*overdue)(struct worker_client *client);
    struct driver_permit *permit; /* of the driver that `work` calls; NULL: it calls none */
    bool outlives_devices; /* it does not keep the thread alive: what it has is written at the end
                              of each device */
    WORKER_ATOMIC(bool) awake; /* the worker knows that this client has something to do soon */
    unsigned generation; /* the count of forks when it was added: tells in which process that was */
};

static inline void *worker_owner(struct worker_client *client, size_t offset)
{
    return (char *)client - offset;
}

/* The struct of this type whose `member` is the client. */
#define WORKER_OWNER(client, type, member) ((type *)worker_owner(client, offsetof(type, member)))

/* Registers a client, whose functions are set. Thread-safe, as every function here. */
void worker_add(struct worker_client *client);

/* After this, the client is not called any more. Waits for a call under way: without bound if it is
 * in the driver, else as long as this thread has patience (base/clock.h). False: the caller must
 * touch neither locks nor memory that the worker may be using. Either the disk has not answered, or
 * this is a forked child of the process that added the client, whose locks may be held by threads
 * that do not exist here. */
bool worker_remove(struct worker_client *client);

/* Whether the client was added in this process, and not before a fork. */
bool worker_is_of_this_process(const struct worker_client *client);

/* Has the worker call `run`, which may block on a disk, and waits for it as long as this thread has
 * patience. If the worker is busy, a thread made for that calls `run`. Neither function may call
 * the driver. False: the disk has not answered. `run` may still be running, or has not begun; the
 * caller must leave alone what it uses, and never free it. The thread that ran it then calls
 * `carry_on` (NULL: nothing), for what the caller cannot do any more. If no thread can be made,
 * `run` is called here. Some client must have been added before. */
bool worker_do(void (*run)(void *argument), void (*carry_on)(void *argument), void *argument);

/* Has the worker call `run`, without waiting. worker_await_behind waits for it later, and so does
 * the thread that ends the process, both as long as they have patience; if no device's client is
 * left then, the worker's thread ends. `run` frees what it is given. If no thread can be made,
 * `run` is called here. Some client must have been added before. */
void worker_do_behind(void (*run)(void *argument), void *argument);
void worker_await_behind(void);

/* The client has something to do. Cheap if the worker already knows of something due within a
 * second. _now: it is, or may be, due before what the worker knows of. */
void worker_wake(struct worker_client *client);
void worker_wake_now(struct worker_client *client);

/* Brackets driver calls in a client's `work` or `closing`. False: make no call, because the process
 * ends, the device is gone, or the client's permit is withdrawn. */
bool worker_enter_driver(void);
void worker_leave_driver(void);

#endif
