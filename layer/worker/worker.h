// SPDX-License-Identifier: Apache-2.0
/* The background worker: one thread for the process, started when there is first something for it
 * to do, asleep without a time-out whenever there is not, and gone when there is no device left
 * (docs/decisions/0300).
 *
 *     1 ASLEEP    no client has anything to do
 *     2 WAITING   until the first client is due
 *     3 WORKING   in a client's `work`, without the lock
 *     4 IN DRIVER in a client's `work`, between worker_enter_driver and worker_leave_driver
 *     5 EXITING   the process ends: no more work but jobs; the thread that ends it calls each
 *                 `closing`
 *     6 ENDED     the last snapshots are written
 *
 *     arrow                              function
 *     1 ASLEEP ──▶ 2 WAITING             worker_wake; the first one starts the thread
 *     2 WAITING ──▶ 3 WORKING, 1 ASLEEP  worker_run, by each client's `due`
 *     1 ASLEEP ──▶ none                  worker_await_behind, where no device's client is left
 *     3 WORKING ◀──▶ 4 IN DRIVER         worker_enter_driver, worker_leave_driver
 *     any ──▶ 5 EXITING                  worker_close_clients, from the gate's handler of atexit
 *     5 EXITING ──▶ 6 ENDED              worker_write_last_snapshots, the library's destructor
 *     any ──fork()──▶ 1, in the child    worker_after_fork_in_child: no thread, no clients
 *
 * It takes snapshots of device caches while the program is quiet, or now and then while it is not
 * (cache_writer.h), and writes them to disk, so that little is lost however the program ends. It
 * calls the next layer's device commands only, never anything that takes the loader's lock (hazard
 * 48), and only through the gate (driver_gate.h), which closes at the end of the process. Just
 * before that, clients may take a last snapshot; the library's destructor then has it write what is
 * left, with file I/O alone (hazard 45); from a handler of a signal neither takes memory. Jobs are
 * what a disk may keep: waited for at once (worker_do), or behind the driver (worker_do_behind).
 * Where no thread can be made (a sandbox), saves happen at vkDestroyDevice alone. */
#ifndef WARMPIPE_LAYER_WORKER_WORKER_H
#define WARMPIPE_LAYER_WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct driver_permit;

/* Tests in C++ pass it on. */
#ifdef __cplusplus
#define WORKER_ATOMIC(type) type
#else
#include <stdatomic.h>
#define WORKER_ATOMIC(type) _Atomic(type)
#endif

/* What the worker serves; embedded in its owner. */
struct worker_client {
    struct worker_client *next;
    /* When the worker is needed next, monotonic ns; UINT64_MAX: not at all. Does not wait. */
    uint64_t (*due)(struct worker_client *client, uint64_t now_ns);
    /* Does of what is due all that needs memory alone: makes no system call, and is called under
     * the worker's lock. When it is to be called next, as `due`; may be NULL. */
    uint64_t (*in_memory)(struct worker_client *client);
    /* Does the rest, unless the program has shut itself into a sandbox; may call the driver between
     * worker_enter_driver and _leave_driver. */
    void (*work)(struct worker_client *client);
    /* The process ends, and drivers can still be called, between worker_enter_driver and _leave;
     * may be NULL. Other threads of the program may be running, in the driver as well. */
    void (*closing)(struct worker_client *client);
    /* At the end of the process: file I/O only. */
    void (*last)(struct worker_client *client);
    /* Somebody waits for a driver call of `work`, and has waited long: called now and then, by that
     * thread, until it has returned. Does not use the disk; may be NULL. */
    void (*overdue)(struct worker_client *client);
    struct driver_permit *permit; /* of the driver that `work` calls; NULL: it calls none */
    bool outlives_devices;        /* it keeps no thread: what it has is written at each one's end */
    WORKER_ATOMIC(bool) awake;    /* the worker knows that there is something to do soon */
    unsigned generation;          /* counts forks: in which process it was added */
};

static inline void *worker_owner(struct worker_client *client, size_t offset)
{
    return (char *)client - offset;
}

/* The struct of this type whose `member` is the client. */
#define WORKER_OWNER(client, type, member) ((type *)worker_owner(client, offsetof(type, member)))

/* Registers a client, whose functions are set. Thread-safe, as all here. */
void worker_add(struct worker_client *client);

/* The client is not called after this. Waits for a call that is under way: without bound for the
 * driver, for a disk as long as this thread has patience (base/clock.h). False: the caller must
 * not touch what the worker may be using, neither locks nor memory, since the disk has not
 * answered, or since this is a forked child of the process that added the client, and its locks may
 * be held by threads that do not exist here. */
bool worker_remove(struct worker_client *client);

/* Whether the client was added in this process, and not before a fork. */
bool worker_is_of_this_process(const struct worker_client *client);

/* Has the worker do what a disk may keep, and waits for it as long as this thread has patience;
 * while the worker is occupied, a thread made for that does it. Neither must call the driver.
 * False: the disk has not answered; `run` may be running still, or is to begin, and what it uses
 * must be left alone and never be freed. After it `carry_on` is called then, by the thread that ran
 * it, for what the caller cannot do any more; NULL: nothing. Where no thread can be made, `run` is
 * called here. Some client must have been added before. */
bool worker_do(void (*run)(void *argument), void (*carry_on)(void *argument), void *argument);

/* Has the worker do what is waited for later, by worker_await_behind, and by who ends the process:
 * as long as they have patience. Where no device's client is left then, the thread ends. `run`
 * frees what it is given. Where no thread can be made, it is called here. Some client must have
 * been added before. */
void worker_do_behind(void (*run)(void *argument), void *argument);
void worker_await_behind(void);

/* There is something to do for the client. Cheap when the worker knows already of what is due
 * within a second. _now: it is due before what the worker knows of, or may be. */
void worker_wake(struct worker_client *client);
void worker_wake_now(struct worker_client *client);

/* Brackets the worker's driver calls in a client's `work` or `closing`. False: no call, since the
 * process ends, the device is gone, or the client's permit is withdrawn. */
bool worker_enter_driver(void);
void worker_leave_driver(void);

#endif
