// SPDX-License-Identifier: Apache-2.0
/* The crash page: memory of this process that outlives it, because it is a file that is mapped.
 * While a thread is in a driver call that uses bytes of a blob, its slot in the page says so, and
 * which pipeline it asks for. So the next process can tell what a dead one died of.
 *
 * The states of a slot, and the function that performs each arrow:
 *
 *     1 OUTSIDE   the thread is in no such call
 *     2 INSIDE    it is
 *     3 LONG      it has been for CRASH_LONG_NS, or CRASH_COMPILE_NS: the blob is not what ends the
 *                 process now
 *
 *     1 → 2   crash_guard_raise, which a nested call repeats
 *     2 → 1   crash_guard_lower; of a nested call: back to the outer one's 2
 *     2 → 3   crash_guard_watch, on another thread
 *     3 → 1   crash_guard_lower
 *
 * Raising and lowering are plain stores of the thread that owns the slot: no system call, no atomic
 * read-modify-write. A thread takes a slot at its first raise, of all pages alike, and gives it
 * back when it ends; further threads than CRASH_SLOTS are not guarded.
 *
 * The file is locked (flock(2)) as long as its process lives. In the child of a fork, and when the
 * page is closed, other memory that nobody reads takes its place: the address stays, for a thread
 * may be on its way there, or exit() looks at all pages. The next page of this process gets it.
 *
 * A store into a mapped file may fail or wait on all file systems but tmpfs. So the page is a file
 * in /dev/shm instead, under the number of the locked file: *elsewhere*; on those of disks only
 * where that outlives the process, as a rule (docs/decisions/0362). */
#ifndef WARMPIPE_BLOBS_CRASH_PAGE_H
#define WARMPIPE_BLOBS_CRASH_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/files/file.h"

/* Tests in C++ pass these on, and look at them when nobody else does. */
#ifdef __cplusplus
#define CRASH_ATOMIC(type) type
#else
#include <stdatomic.h>
#define CRASH_ATOMIC(type) _Atomic(type)
#endif

#define CRASH_SLOTS   64
#define CRASH_LONG_NS (250 * CLOCK_MS)
/* Of a call whose pipeline nobody knows to be in the blob: what takes longer is a compile, and the
 * driver has read what it had of the blob before. */
#define CRASH_COMPILE_NS (10 * CLOCK_MS)

/* A process that lives for so long is not one that somebody kills at each start. */
#define CRASH_LIFE_NS (2 * CLOCK_S)

/* The layout of the file. Numbers behind the record are in the machine's own byte order. */
#define CRASH_RECORD_SIZE 80
#define CRASH_BOOT_SIZE   16

enum crash_state {
    CRASH_OUTSIDE,
    CRASH_INSIDE,      /* the call uses what the blob holds */
    CRASH_INSIDE_OTHER /* nobody knows that the blob holds this pipeline */
};

/* Of a page: 0, or any other value where its process goes without the blob, after a death. Of a
 * .strike: what became of that process. */
enum crash_without {
    CRASH_NOT_WITHOUT,   /* nobody is known to have been killed without the blob */
    CRASH_WITHOUT,       /* it was, before it had done what that death was in */
    CRASH_WITHOUT_PASSED /* soon after that */
};

struct crash_slot {
    CRASH_ATOMIC(uint64_t) key;
    CRASH_ATOMIC(uint32_t) state;      /* enum crash_state; these three of the thread alone */
    CRASH_ATOMIC(uint32_t) count;      /* of calls */
    CRASH_ATOMIC(uint32_t) long_count; /* the call of this count is long; of the watcher alone */
    uint32_t reserved[3];
};

struct crash_page {
    uint8_t record[CRASH_RECORD_SIZE]; /* marker.h */
    uint8_t boot[CRASH_BOOT_SIZE];     /* which start of the machine this is; zeros: not known */
    CRASH_ATOMIC(uint32_t) ended;      /* the process, or its use of the blob, ends in order */
    CRASH_ATOMIC(uint32_t) returned;   /* a creation with the blob has returned */
    CRASH_ATOMIC(uint32_t) passed; /* what the death that it knows of was in has returned here */
    uint32_t without;              /* enum crash_without */
    CRASH_ATOMIC(uint64_t) saved; /* generation of the file that this process wrote last; 0: none */
    CRASH_ATOMIC(uint64_t) saving; /* of the one that it is writing; 0: none */
    struct crash_slot slots[CRASH_SLOTS];
};

/* Calls that ask for no pipeline have these keys. Of those that do, the key is a hash. */
enum crash_key {
    CRASH_KEY_LOAD = 1, /* a cache is made from the blob */
    CRASH_KEY_MERGE,    /* it is merged for a save, its own load included */
    CRASH_KEY_READ,     /* its cache is read, or merged */
    CRASH_KEY_DESTROY,
    CRASH_KEY_UNKNOWN, /* a pipeline that has no key */
    CRASH_KEY_FIRST_PIPELINE
};

/* Keys that are kept of a death. */
#define CRASH_KEYS_MAX 8

struct crash_keys {
    uint32_t count;
    uint64_t keys[CRASH_KEYS_MAX];
};

bool crash_keys_share(const struct crash_keys *one, const struct crash_keys *other);

/* What a process has of one page. Zero-initialize; never moved while it is open. */
struct crash_guard {
    CRASH_ATOMIC(struct crash_page *) page; /* NULL: nothing is guarded */
    struct file_kept file;
    struct crash_keys known;       /* of the death that is to be disproved */
    CRASH_ATOMIC(uint32_t) passed; /* a bit for each of them */
    bool without;
    bool is_elsewhere; /* the page; the file holds nothing of it */
};

/* Makes the page of a file of this process, empty but locked, whose number is `number`. False, the
 * file untouched but for its size: neither it nor one elsewhere can be mapped. `known`: keys of an
 * earlier death, may be empty. Takes the descriptor over. */
bool crash_guard_open(struct crash_guard *guard, int fd, uint64_t number,
                      const struct bytes *record, const struct crash_keys *known);

/* Makes a page with this content: in the file if it is beside the cache there, or elsewhere under
 * the number; at `memory`, which an earlier page had, unless that is NULL. Never unmapped. NULL:
 * neither can be mapped. */
struct crash_page *crash_page_make(int fd, uint64_t number, const struct crash_page *content,
                                   struct crash_page *memory, bool *ret_is_elsewhere);

/* The page elsewhere of the file of this number, if it belongs to this user or root. False: there
 * is none. */
bool crash_page_read_elsewhere(uint64_t number, uint8_t ret_page[sizeof(struct crash_page)]);
void crash_page_remove_elsewhere(uint64_t number);

/* Removes pages elsewhere of this user that were made before that time (nanoseconds since the
 * epoch): of processes that were killed, and whose cache nobody has used since. Of a process that
 * has lived so long no later death is known. */
void crash_page_sweep_elsewhere(int64_t before_ns);

/* Closes the file; in the child of a fork too. Other threads may be in calls that the guard
 * brackets: their stores go to memory of nobody. */
void crash_guard_close(struct crash_guard *guard);

/* The process goes without the blob, and its page says so. Call it before anything else may. A
 * pipeline that returns there stands for all that is not one: it reads no blob. */
void crash_guard_go_without(struct crash_guard *guard);

/* A call; belongs to its thread. */
struct crash_call {
    struct crash_slot *slot; /* NULL: not guarded */
    uint64_t key;            /* of this call */
    uint64_t outer_key;
    uint32_t outer_state;
};

/* Brackets a driver call. Thread-safe, a few nanoseconds; a guard without a page does nothing. */
struct crash_call crash_guard_raise(const struct crash_guard *guard, uint64_t key,
                                    enum crash_state state);
void crash_guard_lower(struct crash_guard *guard, const struct crash_call *call);

/* The use of the blob ends in order, or a process without it has lived for CRASH_LIFE_NS: a death
 * from now on says nothing. */
void crash_guard_end(struct crash_guard *guard);

/* Whether a process that knew of a death has done what that one died of, and lives. */
bool crash_guard_has_passed(const struct crash_guard *guard);

/* The same of all pages, when the process ends; not of those in which this very thread is inside:
 * then a handler of its own crash ends it. */
void crash_guard_end_all(void);

/* What a watcher has seen of the slots; zero-initialize. Of one thread. */
struct crash_watch {
    uint32_t counts[CRASH_SLOTS];
    uint64_t since_ns[CRASH_SLOTS];
};

/* Marks the calls that are long by now. Whether there was a call since the last look; if not, the
 * watcher may sleep. */
bool crash_guard_watch(struct crash_guard *guard, struct crash_watch *watch, uint64_t now_ns);

/* What a page of a dead process says. */
struct crash_finding {
    bool died;     /* with the blob, inside a short call, since the machine was started */
    bool stored;   /* in one that uses what the blob holds */
    bool returned; /* as in the page */
    bool passed;
    uint32_t without; /* as in the page */
    bool killed;      /* without the blob, soon and not in order */
    uint64_t saved;
    uint64_t saving;
    struct crash_keys keys;
};

/* `data` has sizeof(struct crash_page) bytes, of any alignment and content. */
void crash_page_read(const void *data, struct crash_finding *ret_finding);

#endif
