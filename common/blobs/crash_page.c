// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/crash_page.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/machine.h"
#include "common/files/file.h"

static_assert(offsetof(struct crash_page, slots) == 128, "as in docs/FORMAT.md");
static_assert(sizeof(struct crash_page) == 128 + CRASH_SLOTS * 32, "as in docs/FORMAT.md");

/* Places for pages of this process: for the end of the process, for forks, and for stores that come
 * late. Without a free place there is no page. */
#define CRASH_PLACES 64
static struct {
    struct crash_guard *_Atomic guard; /* whose place it is; NULL: it is free */
    struct crash_page *_Atomic page;   /* NULL: none yet; set once, and never unmapped */
} crash_places[CRASH_PLACES];

/* Threads and their slots. */

#define NO_SLOT CRASH_SLOTS

static _Atomic uint64_t crash_taken_slots; /* a bit for each */
static pthread_key_t crash_thread_key;     /* its destructor gives the slot back */
static bool crash_has_thread_key;
static _Thread_local unsigned crash_own_slot; /* from 1; 0: not taken yet */

/* A thread may end inside a call, by pthread_exit (Wine ends threads so): the process lives on. */
static __attribute__((cold)) void crash_give_slot_back(void *own)
{
    const unsigned slot = (unsigned)(uintptr_t)own - 1;
    crash_own_slot = NO_SLOT + 1; /* what other destructors do is not guarded */
    for (size_t i = 0; i < CRASH_PLACES; i++) {
        struct crash_page *page = atomic_load(&crash_places[i].page);
        if (page) {
            atomic_store_explicit(&page->slots[slot].state, CRASH_OUTSIDE, memory_order_release);
        }
    }
    atomic_fetch_and(&crash_taken_slots, ~(UINT64_C(1) << slot));
}

static unsigned crash_take_slot(void)
{
    uint64_t taken = atomic_load(&crash_taken_slots);
    unsigned slot;
    do {
        if (taken == UINT64_MAX || !crash_has_thread_key) {
            return NO_SLOT;
        }
        slot = (unsigned)__builtin_ctzll(~taken);
    } while (
        !atomic_compare_exchange_weak(&crash_taken_slots, &taken, taken | UINT64_C(1) << slot));
    if (pthread_setspecific(crash_thread_key, (void *)(uintptr_t)(slot + 1)) != 0) {
        atomic_fetch_and(&crash_taken_slots, ~(UINT64_C(1) << slot));
        return NO_SLOT;
    }
    return slot;
}

/* Of this thread; NULL: none is left. */
static struct crash_slot *crash_slot_of(struct crash_page *page)
{
    if (crash_own_slot == 0) {
        crash_own_slot = crash_take_slot() + 1;
    }
    return crash_own_slot <= CRASH_SLOTS ? &page->slots[crash_own_slot - 1] : NULL;
}

/* What is stored there from now on is nobody's. */
static void crash_forget_memory(struct crash_page *page)
{
    mmap(page, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
         0);
}

/* The child's thread is a copy of the one that forked, and keeps its slot. It may be inside a call
 * of its parent's, and come out of it in the child: so the memory stays, and is nobody's. */
static __attribute__((cold)) void crash_after_fork_in_child(void)
{
    const unsigned own = crash_own_slot;
    atomic_store(&crash_taken_slots, own > 0 && own <= CRASH_SLOTS ? UINT64_C(1) << (own - 1) : 0);
    for (size_t i = 0; i < CRASH_PLACES; i++) {
        struct crash_guard *guard = atomic_load(&crash_places[i].guard);
        struct crash_page *page = guard ? atomic_load(&guard->page) : NULL;
        if (page) {
            crash_forget_memory(page);
            file_kept_close(&guard->file); /* it would keep the parent's lock */
        }
    }
}

static __attribute__((cold)) void crash_prepare(void)
{
    crash_has_thread_key = pthread_key_create(&crash_thread_key, crash_give_slot_back) == 0;
    pthread_atfork(NULL, NULL, crash_after_fork_in_child);
}

/* The index of a place that was of `before` and is of `now`; CRASH_PLACES: there is none. */
static __attribute__((cold)) size_t crash_replace_guard(struct crash_guard *before,
                                                        struct crash_guard *now)
{
    for (size_t i = 0; i < CRASH_PLACES; i++) {
        struct crash_guard *expected = before;
        if (atomic_compare_exchange_strong(&crash_places[i].guard, &expected, now)) {
            return i;
        }
    }
    return CRASH_PLACES;
}

/* The page. */

static_assert(sizeof(struct digest) == CRASH_BOOT_SIZE, "as in docs/FORMAT.md");

/* Which start of the machine this is. */
static void crash_boot_id(uint8_t ret_boot[CRASH_BOOT_SIZE])
{
    const struct digest start = machine_start();
    memcpy(ret_boot, &start, CRASH_BOOT_SIZE);
}

__attribute__((cold)) bool crash_guard_open(struct crash_guard *guard, int fd, uint64_t number,
                                            const struct bytes *record,
                                            const struct crash_keys *known)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct crash_page content = {.ended = 0};
    pthread_once(&once, crash_prepare);
    if (record->failed || record->size > CRASH_RECORD_SIZE) {
        return false;
    }
    const size_t place = crash_replace_guard(NULL, guard);
    if (place == CRASH_PLACES) {
        return false;
    }
    if (record->size > 0) {
        memcpy(content.record, record->data, record->size);
    }
    crash_boot_id(content.boot);
    struct crash_page *memory = atomic_load(&crash_places[place].page);
    struct crash_page *page = crash_page_make(fd, number, &content, memory, &guard->is_elsewhere);
    if (!page) {
        atomic_store(&crash_places[place].guard, NULL);
        return false;
    }
    atomic_store(&crash_places[place].page, page);
    guard->known = *known;
    guard->without = false;
    atomic_store(&guard->passed, 0);
    guard->file = file_keep(fd);
    atomic_store(&guard->page, page);
    return true;
}

__attribute__((cold)) void crash_guard_close(struct crash_guard *guard)
{
    struct crash_page *page = atomic_exchange(&guard->page, NULL);
    if (page) {
        crash_forget_memory(page);
        crash_replace_guard(guard, NULL);
        file_kept_close(&guard->file);
    }
}

__attribute__((cold)) void crash_guard_go_without(struct crash_guard *guard)
{
    guard->without = true;
    atomic_load(&guard->page)->without = CRASH_WITHOUT;
}

struct crash_call crash_guard_raise(const struct crash_guard *guard, uint64_t key,
                                    enum crash_state state)
{
    struct crash_call call = {0};
    struct crash_page *page = atomic_load_explicit(&guard->page, memory_order_acquire);
    call.slot = page ? crash_slot_of(page) : NULL;
    if (call.slot) {
        struct crash_slot *slot = call.slot;
        const uint32_t count = atomic_load_explicit(&slot->count, memory_order_relaxed);
        call.key = key;
        call.outer_key = atomic_load_explicit(&slot->key, memory_order_relaxed);
        call.outer_state = atomic_load_explicit(&slot->state, memory_order_relaxed);
        atomic_store_explicit(&slot->count, count + 1, memory_order_relaxed);
        atomic_store_explicit(&slot->key, key, memory_order_relaxed);
        atomic_store_explicit(&slot->state, state, memory_order_release);
    }
    return call;
}

static bool crash_disproves(const struct crash_guard *guard, uint64_t key, uint64_t known)
{
    return key == known || (key == CRASH_KEY_LOAD && known == CRASH_KEY_MERGE) ||
           (guard->without && key >= CRASH_KEY_UNKNOWN && known < CRASH_KEY_UNKNOWN);
}

/* Whoever is the last to pass one tells the page. */
static void crash_guard_pass(struct crash_guard *guard, struct crash_page *page, uint64_t key)
{
    uint32_t passed = 0;
    for (uint32_t i = 0; i < guard->known.count; i++) {
        passed |= (uint32_t)crash_disproves(guard, key, guard->known.keys[i]) << i;
    }
    if ((atomic_load(&guard->passed) & passed) == passed) {
        return;
    }
    passed |= atomic_fetch_or(&guard->passed, passed);
    if (passed == (1U << guard->known.count) - 1) {
        atomic_store(&page->passed, 1);
    }
}

void crash_guard_lower(struct crash_guard *guard, const struct crash_call *call)
{
    struct crash_slot *slot = call->slot;
    struct crash_page *page = atomic_load_explicit(&guard->page, memory_order_relaxed);
    if (!slot) {
        return;
    }
    if (call->outer_state != CRASH_OUTSIDE) {
        const uint32_t count = atomic_load_explicit(&slot->count, memory_order_relaxed);
        atomic_store_explicit(&slot->count, count + 1, memory_order_relaxed);
        atomic_store_explicit(&slot->key, call->outer_key, memory_order_relaxed);
    }
    atomic_store_explicit(&slot->state, call->outer_state, memory_order_release);
    if (!page) {
        return;
    }
    if (call->key >= CRASH_KEY_UNKNOWN &&
        atomic_load_explicit(&page->returned, memory_order_relaxed) == 0) {
        atomic_store_explicit(&page->returned, 1, memory_order_relaxed);
    }
    if (guard->known.count > 0) {
        crash_guard_pass(guard, page, call->key);
    }
}

__attribute__((cold)) void crash_guard_end(struct crash_guard *guard)
{
    struct crash_page *page = atomic_load(&guard->page);
    if (page) {
        atomic_store(&page->ended, 1);
    }
}

bool crash_guard_has_passed(const struct crash_guard *guard)
{
    return !guard->without && guard->known.count > 0 &&
           atomic_load(&guard->passed) == (1U << guard->known.count) - 1;
}

/* Another thread may close a guard meanwhile, so that only the memory of the pages is looked at. */
__attribute__((cold)) void crash_guard_end_all(void)
{
    for (size_t i = 0; i < CRASH_PLACES; i++) {
        const bool is_open = atomic_load(&crash_places[i].guard) != NULL;
        struct crash_page *page = is_open ? atomic_load(&crash_places[i].page) : NULL;
        const bool is_inside = page && crash_own_slot > 0 && crash_own_slot <= CRASH_SLOTS &&
                               atomic_load(&page->slots[crash_own_slot - 1].state) != CRASH_OUTSIDE;
        if (page && !is_inside) {
            atomic_store(&page->ended, 1);
        }
    }
}

__attribute__((cold)) bool crash_guard_watch(struct crash_guard *guard, struct crash_watch *watch,
                                             uint64_t now_ns)
{
    struct crash_page *page = atomic_load(&guard->page);
    bool is_used = false;
    for (unsigned i = 0; page && i < CRASH_SLOTS; i++) {
        struct crash_slot *slot = &page->slots[i];
        const uint32_t count = atomic_load(&slot->count);
        const uint32_t state = atomic_load(&slot->state);
        const bool is_inside = state != CRASH_OUTSIDE;
        const uint64_t long_ns = state == CRASH_INSIDE_OTHER ? CRASH_COMPILE_NS : CRASH_LONG_NS;
        is_used |= is_inside || count != watch->counts[i];
        if (count != watch->counts[i]) {
            watch->counts[i] = count;
            watch->since_ns[i] = now_ns;
        } else if (is_inside && now_ns - watch->since_ns[i] >= long_ns) {
            atomic_store(&slot->long_count, count);
        }
    }
    return is_used;
}

/* Pages of the dead. */

__attribute__((cold)) bool crash_keys_share(const struct crash_keys *one,
                                            const struct crash_keys *other)
{
    for (uint32_t i = 0; i < one->count; i++) {
        for (uint32_t j = 0; j < other->count; j++) {
            if (one->keys[i] == other->keys[j]) {
                return true;
            }
        }
    }
    return false;
}

/* Takes the keys of the calls that are long, or of those that are not. */
static __attribute__((cold)) void crash_find_calls(const struct crash_page *page,
                                                   struct crash_finding *finding)
{
    for (unsigned i = 0; i < CRASH_SLOTS; i++) {
        const struct crash_slot *slot = &page->slots[i];
        const bool is_inside = slot->state == CRASH_INSIDE || slot->state == CRASH_INSIDE_OTHER;
        if (is_inside && (slot->long_count == slot->count) == finding->is_long &&
            finding->keys.count < CRASH_KEYS_MAX) {
            finding->keys.keys[finding->keys.count++] = slot->key;
            finding->stored |= slot->state == CRASH_INSIDE;
        }
    }
}

__attribute__((cold)) void crash_page_read(const void *data, struct crash_finding *ret_finding)
{
    struct crash_page page;
    uint8_t boot[CRASH_BOOT_SIZE];
    memcpy(&page, data, sizeof page);
    crash_boot_id(boot);
    struct crash_finding finding = {
        .returned = page.returned != 0,
        .passed = page.passed != 0,
        .without = page.without,
        .saved = page.saved,
        .saving = page.saving,
    };
    crash_find_calls(&page, &finding);
    if (finding.keys.count == 0) {
        finding.is_long = true;
        crash_find_calls(&page, &finding);
    }
    const bool was_ended = page.ended == 0 && memcmp(boot, page.boot, CRASH_BOOT_SIZE) == 0;
    const bool is_without = page.without != CRASH_NOT_WITHOUT;
    finding.died = was_ended && !is_without && finding.keys.count > 0;
    finding.killed = was_ended && is_without;
    *ret_finding = finding;
}
