// SPDX-License-Identifier: Apache-2.0
// What every DRM driver of the kernel answers. What is submitted counts as done at once.
#include "shim.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum {
    VERSION = 0x00,
    GEM_CLOSE = 0x09,
    GET_CAP = 0x0c,
    SYNCOBJ_CREATE = 0xbf,
    SYNCOBJ_DESTROY = 0xc0,
    SYNCOBJ_WAIT = 0xc3,
    SYNCOBJ_RESET = 0xc4,
    SYNCOBJ_SIGNAL = 0xc5,
    SYNCOBJ_TIMELINE_WAIT = 0xca,
    SYNCOBJ_QUERY = 0xcb,
    SYNCOBJ_TRANSFER = 0xcc,
    SYNCOBJ_TIMELINE_SIGNAL = 0xcd,
};

// The first number of the device's own driver.
static const unsigned COMMAND_BASE = 0x40;
static const unsigned COMMAND_END = 0xa0;

// The arguments; where no member behind it is read or written, a struct ends early.
struct version {
    int numbers[3];
    struct {
        size_t size;
        char *text;
    } name, date, description;
};

struct cap {
    uint64_t number, value;
};

struct syncobj {
    uint32_t handle;
};

struct syncobj_query {
    uint64_t handles, points;
    uint32_t count;
};

int shim_refuse(void)
{
    errno = EINVAL;
    return -1;
}

uint32_t shim_new_name(void)
{
    static atomic_uint last;
    return atomic_fetch_add(&last, 1) + 1;
}

// A handle is the buffer's place, in units of 64 KiB.
uint32_t shim_new_buffer(uint64_t bytes)
{
    static atomic_uint next = 1;
    return atomic_fetch_add(&next, (uint32_t)((bytes + 0xffff) >> 16));
}

uint64_t shim_buffer_offset(uint32_t handle)
{
    return (uint64_t)handle << 16;
}

static void put_text(size_t *size, char *text, const char *value)
{
    if (text)
        memcpy(text, value, *size < strlen(value) ? *size : strlen(value));
    *size = strlen(value);
}

static int get_version(struct version *version)
{
    version->numbers[0] = 1;
    version->numbers[1] = shim_is_xe() ? 1 : 6;
    version->numbers[2] = 0;
    put_text(&version->name.size, version->name.text, shim_is_xe() ? "xe" : "i915");
    put_text(&version->date.size, version->date.text, "20201103");
    put_text(&version->description.size, version->description.text, "Intel Graphics");
    return 0;
}

static int query_timelines(const struct syncobj_query *query)
{
    for (uint32_t i = 0; i < query->count; ++i)
        ((uint64_t *)(uintptr_t)query->points)[i] = UINT64_MAX;
    return 0;
}

int drm_ioctl(unsigned number, void *argument)
{
    if (number >= COMMAND_BASE && number < COMMAND_END)
        return (shim_is_xe() ? xe_ioctl : i915_ioctl)(number - COMMAND_BASE, argument);
    switch (number) {
    case VERSION:
        return get_version(argument);
    case GET_CAP:
        ((struct cap *)argument)->value = 1;
        return 0;
    case SYNCOBJ_CREATE:
        ((struct syncobj *)argument)->handle = shim_new_name();
        return 0;
    case SYNCOBJ_QUERY:
        return query_timelines(argument);
    case GEM_CLOSE:
    case SYNCOBJ_DESTROY:
    case SYNCOBJ_WAIT:
    case SYNCOBJ_RESET:
    case SYNCOBJ_SIGNAL:
    case SYNCOBJ_TIMELINE_WAIT:
    case SYNCOBJ_TRANSFER:
    case SYNCOBJ_TIMELINE_SIGNAL:
        return 0;
    default:
        return shim_refuse();
    }
}
