// SPDX-License-Identifier: Apache-2.0
/* The crash page: a mapped file, in which a process notes what it is doing, and which outlives the
 * process. While a thread is in a driver call that uses bytes of a blob, its slot in the page says
 * so, and which pipeline the call asks for. So the next process can tell what a dead one died of.
 *
 * States of a slot:
 *
 *     1 OUTSIDE   the thread is in no such call
 *     2 INSIDE    it is in such a call
 *     3 LONG      it has been for CRASH_LONG_NS, or CRASH_COMPILE_NS: a death now hardly counts
 *                 against the blob (marker.h)
 *
 *     1 → 2   crash_guard_raise, which a nested call repeats
 *     2 → 1   crash_guard_lower; of a nested call: back to the outer one's 2
 *     2 → 3   crash_guard_watch, on another thread
 *     3 → 1   crash_guard_lower
 *     2, 3 → 1   crash_give_slot_back, at the end of a thread that has not come out of its call
 *
 * Raising and lowering are plain stores of the thread that owns the slot: no system call, no atomic
 * read-modify-write. A thread takes a slot at its first raise, the same one in all pages, and gives
 * it back when it ends. Threads beyond CRASH_SLOTS are not guarded.
 *
 * The file is locked (flock(2)) while its process lives. In the child of a fork, and when the page
 * is closed, other memory that nobody reads replaces the mapping. The address stays valid, because
 * another thread may be about to store there, or exit() looks at all pages. The next page of this
 * process reuses it.
 *
 * A store into a mapped file may fail or block on all file systems but tmpfs. So on others the page
 * is *elsewhere*: a file in /dev/shm, under the number of the locked file. On disk file systems
 * that is done only if /dev/shm outlives the process, as a rule (docs/decisions/0362). */
#ifndef WARMPIPE_BLOBS_CRASH_PAGE_H
#define WARMPIPE_BLOBS_CRASH_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/files/file.h"

/* Tests in C++ only pass these on, and read them when nobody else does. */
#ifdef __cplusplus
#define CRASH_ATOMIC(type) type
#else
#include <stdatomic.h>
#define CRASH_ATOMIC(type) _Atomic(type)
#endif

#define CRASH_SLOTS   64
#define CRASH_LONG_NS (250 * CLOCK_MS)
/* For a call whose pipeline is not known to be in the blob: a longer call is a compile, and the
 * driver has read its part of the blob before. */
#define CRASH_COMPILE_NS (10 * CLOCK_MS)

/* A process that lives this long is not one that somebody kills at each start. */
#define CRASH_LIFE_NS (2 * CLOCK_S)

/* The layout of the file. Numbers after the record are in the machine's own byte order. */
#define CRASH_RECORD_SIZE 80
#define CRASH_BOOT_SIZE   16

enum crash_state {
    CRASH_OUTSIDE,
    CRASH_INSIDE,      /* the call uses what the blob holds */
    CRASH_INSIDE_OTHER /* the blob is not known to hold this pipeline */
};

/* In a page: 0, or another value if its process goes without the blob, after a death. In a .strike:
 * what happened to that process. */
enum crash_without {
    CRASH_NOT_WITHOUT,   /* no process is known to have been killed without the blob */
    CRASH_WITHOUT,       /* one was killed before all calls of that death had returned in it */
    CRASH_WITHOUT_PASSED /* one was killed soon after they had */
};

struct crash_slot {
    CRASH_ATOMIC(uint64_t) key;
    CRASH_ATOMIC(uint32_t) state;      /* enum crash_state; these three of the thread alone */
    CRASH_ATOMIC(uint32_t) count;      /* of calls */
    CRASH_ATOMIC(uint32_t) long_count; /* the long call's count; of the watcher alone */
    uint32_t reserved[3];
};

struct crash_page {
    uint8_t record[CRASH_RECORD_SIZE]; /* marker.h */
    uint8_t boot[CRASH_BOOT_SIZE];     /* the boot in which the page was made; zeros: not known */
    CRASH_ATOMIC(uint32_t) ended;      /* the process, or its use of the blob, ends in order */
    CRASH_ATOMIC(uint32_t) returned;   /* a creation with the blob has returned */
    CRASH_ATOMIC(uint32_t) passed;     /* every call of the known death has returned here */
    uint32_t without;                  /* enum crash_without */
    CRASH_ATOMIC(uint64_t) saved; /* generation of the file that this process wrote last; 0: none */
    CRASH_ATOMIC(uint64_t) saving; /* of the one that it is writing; 0: none */
    struct crash_slot slots[CRASH_SLOTS];
};

/* Keys of calls that ask for no pipeline. The key of other calls is a hash. */
enum crash_key {
    CRASH_KEY_LOAD = 1, /* a cache is made from the blob */
    CRASH_KEY_MERGE,    /* it is merged for a save, its own load included */
    CRASH_KEY_READ,     /* its cache is read, or merged with others */
    CRASH_KEY_DESTROY,
    CRASH_KEY_UNKNOWN, /* a pipeline that has no key */
    CRASH_KEY_FIRST_PIPELINE
};

/* Number of keys that are kept of a death. */
#define CRASH_KEYS_MAX 8

struct crash_keys {
    uint32_t count;
    uint64_t keys[CRASH_KEYS_MAX];
};

bool crash_keys_share(const struct crash_keys *one, const struct crash_keys *other);

/* One page, as its process sees it. Zero-initialize; do not move it while it is open. */
struct crash_guard {
    CRASH_ATOMIC(struct crash_page *) page; /* NULL: nothing is guarded */
    struct file_kept file;
    struct crash_keys known;       /* of the death that this process may disprove */
    CRASH_ATOMIC(uint32_t) passed; /* a bit for each of them */
    bool without;
    bool is_elsewhere; /* the page is elsewhere; the file holds nothing of it */
};

/* Makes the page of this process's file, empty but locked, whose number is `number`. `known`: keys
 * of an earlier death, may be empty. Takes over the descriptor. False, with the file unchanged but
 * for its size: the page can be mapped neither there nor elsewhere. */
bool crash_guard_open(struct crash_guard *guard, int fd, uint64_t number,
                      const struct bytes *record, const struct crash_keys *known);

/* Makes a page with this content: in the file if the page belongs beside the cache there, or
 * elsewhere under the number; at `memory`, the address of an earlier page, unless that is NULL.
 * Never unmapped. NULL: neither can be mapped. */
struct crash_page *crash_page_make(int fd, uint64_t number, const struct crash_page *content,
                                   struct crash_page *memory, bool *ret_is_elsewhere);

/* Reads the page elsewhere that has this number, if it belongs to this user or root. False: there
 * is none. */
bool crash_page_read_elsewhere(uint64_t number, uint8_t ret_page[sizeof(struct crash_page)]);
void crash_page_remove_elsewhere(uint64_t number);

/* Removes this user's pages elsewhere that were made before that time (nanoseconds since the
 * epoch): of killed processes whose cache nobody has used since. If such an old process still
 * lives, a later death of it is not noticed. */
void crash_page_sweep_elsewhere(int64_t before_ns);

/* Closes the file; also in the child of a fork. Other threads may be in guarded calls: their stores
 * go to memory that nobody reads. */
void crash_guard_close(struct crash_guard *guard);

/* The process goes without the blob, and its page says so. Call it before any other use of the
 * guard. A pipeline that returns in it also disproves the keys that stand for no pipeline, because
 * this process reads no blob. */
void crash_guard_go_without(struct crash_guard *guard);

/* A guarded call; belongs to its thread. */
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

/* The use of the blob ends in order, or a process without the blob has lived for CRASH_LIFE_NS: a
 * death from now on does not count. */
void crash_guard_end(struct crash_guard *guard);

/* Whether this process, which knew of a death, has made the calls of that death and lives. */
bool crash_guard_has_passed(const struct crash_guard *guard);

/* Ends all pages, when the process ends; except those in which this very thread is inside a call:
 * then its own crash handler ends the process. */
void crash_guard_end_all(void);

/* A watcher's state; zero-initialize. For one thread. */
struct crash_watch {
    uint32_t counts[CRASH_SLOTS];
    uint64_t since_ns[CRASH_SLOTS];
};

/* Marks the calls that are long by now. Returns whether there was a call since the last check; if
 * not, the watcher may sleep. */
bool crash_guard_watch(struct crash_guard *guard, struct crash_watch *watch, uint64_t now_ns);

/* The content of a dead process's page. */
struct crash_finding {
    bool died;     /* with the blob, inside a call, in this boot of the machine */
    bool is_long;  /* of the calls that it was in, none is short */
    bool stored;   /* in a call that uses what the blob holds */
    bool returned; /* as in the page */
    bool passed;
    uint32_t without; /* as in the page */
    bool killed;      /* without the blob, soon, and not in order */
    uint64_t saved;
    uint64_t saving;
    struct crash_keys keys; /* of the short calls; if there are none, of the long ones */
};

/* `data` has sizeof(struct crash_page) bytes, of any alignment and content. */
void crash_page_read(const void *data, struct crash_finding *ret_finding);

#endif
