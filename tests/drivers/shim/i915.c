// SPDX-License-Identifier: Apache-2.0
// What the kernel's i915 answers: GPUs up to Meteor Lake and Arc A. One slice of six subslices with
// 16 execution units each, and no memory but the system's.
#include "shim.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum {
    GETPARAM = 0x06,
    GEM_BUSY = 0x17,
    GEM_CREATE = 0x1b,
    GEM_SET_DOMAIN = 0x1f,
    GEM_SET_TILING = 0x21,
    GEM_GET_TILING = 0x22,
    GEM_GET_APERTURE = 0x23,
    GEM_MMAP_OFFSET = 0x24,
    GEM_MADVISE = 0x26,
    GEM_EXECBUFFER2 = 0x29,
    GEM_WAIT = 0x2c,
    GEM_CONTEXT_CREATE = 0x2d,
    GEM_CONTEXT_DESTROY = 0x2e,
    GEM_SET_CACHING = 0x2f,
    REG_READ = 0x31,
    GET_RESET_STATS = 0x32,
    GEM_USERPTR = 0x33,
    GEM_CONTEXT_GETPARAM = 0x34,
    GEM_CONTEXT_SETPARAM = 0x35,
    QUERY = 0x39,
    GEM_VM_CREATE = 0x3a,
    GEM_VM_DESTROY = 0x3b,
    GEM_CREATE_EXT = 0x3c,
};

// The arguments; where no member behind it is read or written, a struct ends early.
struct parameter {
    int number;
    int *value;
};

struct buffer { // of GEM_CREATE_EXT, too
    uint64_t size;
    uint32_t handle;
};

struct tiling {
    uint32_t handle, mode, swizzle;
};

struct aperture {
    uint64_t size, available;
};

struct busy {
    uint32_t handle, busy;
};

struct map_offset {
    uint32_t handle, pad;
    uint64_t offset;
};

struct user_memory {
    uint64_t address, size;
    uint32_t flags, handle;
};

struct context {
    uint32_t id;
};

struct context_parameter {
    uint32_t id, size;
    uint64_t number, value;
};

struct vm {
    uint64_t extensions;
    uint32_t flags, id;
};

struct reg {
    uint64_t offset, value;
};

struct query_item {
    uint64_t id;
    int32_t length;
    uint32_t flags;
    uint64_t data;
};

struct query {
    uint32_t count, flags;
    uint64_t items;
};

struct topology {
    uint16_t flags, slices, subslices, units;
    uint16_t subslice_offset, subslice_stride, unit_offset, unit_stride;
    uint8_t slice_mask, subslice_mask, unit_masks[6][2];
};

struct engines {
    uint32_t count, reserved[3];
    struct {
        uint16_t class, instance;
        uint32_t reserved_0;
        uint64_t flags, capabilities, reserved_1[4];
    } engines[2];
};

struct regions {
    uint32_t count, reserved[3];
    struct {
        uint16_t class, instance;
        uint32_t reserved_0;
        uint64_t size, available, reserved_1[8];
    } region;
};

static int get_parameter(const struct parameter *parameter)
{
    const struct {
        int number, value;
    } known[] = {
        {4, (int)shim_device_id()}, // CHIPSET_ID
        {9, 1},                     // HAS_EXECBUF2
        {17, 1},                    // HAS_LLC
        {18, 3},                    // HAS_ALIASING_PPGTT: a whole address space for each process
        {19, 1},                    // HAS_WAIT_TIMEOUT
        {30, 1},                    // MMAP_VERSION
        {32, 1},                    // REVISION
        {37, 1},                    // HAS_EXEC_SOFTPIN
        {40, 4},                    // MMAP_GTT_VERSION: GEM_MMAP_OFFSET is there
        {43, 1},                    // HAS_EXEC_ASYNC
        {44, 1},                    // HAS_EXEC_FENCE
        {45, 1},                    // HAS_EXEC_CAPTURE
        {49, 1},                    // HAS_EXEC_FENCE_ARRAY
        {50, 1},                    // HAS_CONTEXT_ISOLATION
        {51, 19200000},             // CS_TIMESTAMP_FREQUENCY
        {55, 1},                    // HAS_EXEC_TIMELINE_FENCES
        {56, 1},                    // HAS_USERPTR_PROBE
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (known[i].number == parameter->number) {
            *parameter->value = known[i].value;
            return 0;
        }
    }
    return shim_refuse();
}

static int get_context_parameter(struct context_parameter *parameter)
{
    switch (parameter->number) {
    case 3: // GTT_SIZE
        parameter->value = 1ull << 48;
        return 0;
    case 6: // PRIORITY
        parameter->value = 0;
        return 0;
    case 9: // VM
        parameter->value = 1;
        return 0;
    default:
        return shim_refuse();
    }
}

static void answer(struct query_item *item, const void *data, size_t size)
{
    if (item->length != 0 && (size_t)item->length < size) {
        item->length = -EINVAL;
        return;
    }
    if (item->length != 0)
        memcpy((void *)(uintptr_t)item->data, data, size);
    item->length = (int32_t)size;
}

static void answer_item(struct query_item *item)
{
    static const struct topology topology = {
        .slices = 1,
        .subslices = 6,
        .units = 16,
        .subslice_offset =
            offsetof(struct topology, subslice_mask) - offsetof(struct topology, slice_mask),
        .subslice_stride = 1,
        .unit_offset =
            offsetof(struct topology, unit_masks) - offsetof(struct topology, slice_mask),
        .unit_stride = 2,
        .slice_mask = 1,
        .subslice_mask = 0x3f,
        .unit_masks =
            {{0xff, 0xff}, {0xff, 0xff}, {0xff, 0xff}, {0xff, 0xff}, {0xff, 0xff}, {0xff, 0xff}},
    };
    // One that renders and one that copies.
    static const struct engines engines = {.count = 2, .engines = {{.class = 0}, {.class = 1}}};
    const struct regions regions = {
        .count = 1, .region = {.size = SHIM_MEMORY_BYTES, .available = SHIM_MEMORY_BYTES}};
    switch (item->id) {
    case 1: // TOPOLOGY_INFO
    case 6: // GEOMETRY_SUBSLICES
        answer(item, &topology, sizeof topology);
        break;
    case 2: // ENGINE_INFO
        answer(item, &engines, sizeof engines);
        break;
    case 4: // MEMORY_REGIONS
        answer(item, &regions, sizeof regions);
        break;
    default:
        item->length = -EINVAL;
    }
}

static int answer_query(const struct query *query)
{
    for (uint32_t i = 0; i < query->count; ++i)
        answer_item((struct query_item *)(uintptr_t)query->items + i);
    return 0;
}

int i915_ioctl(unsigned number, void *argument)
{
    switch (number) {
    case GETPARAM:
        return get_parameter(argument);
    case GEM_CONTEXT_GETPARAM:
        return get_context_parameter(argument);
    case QUERY:
        return answer_query(argument);
    case GEM_CONTEXT_CREATE:
        ((struct context *)argument)->id = shim_new_name();
        return 0;
    case GEM_VM_CREATE:
        ((struct vm *)argument)->id = shim_new_name();
        return 0;
    case GEM_BUSY:
        ((struct busy *)argument)->busy = 0;
        return 0;
    case REG_READ:
        ((struct reg *)argument)->value = 0;
        return 0;
    case GEM_CREATE:
    case GEM_CREATE_EXT: {
        struct buffer *buffer = argument;
        buffer->handle = shim_new_buffer(buffer->size);
        return 0;
    }
    case GEM_USERPTR: {
        struct user_memory *memory = argument;
        memory->handle = shim_new_buffer(memory->size);
        return 0;
    }
    case GEM_MMAP_OFFSET: {
        struct map_offset *map = argument;
        map->offset = shim_buffer_offset(map->handle);
        return 0;
    }
    case GEM_GET_TILING: {
        struct tiling *tiling = argument;
        tiling->mode = tiling->swizzle = 0;
        return 0;
    }
    case GEM_GET_APERTURE: {
        struct aperture *aperture = argument;
        aperture->size = aperture->available = SHIM_MEMORY_BYTES;
        return 0;
    }
    case GEM_SET_DOMAIN:
    case GEM_SET_TILING:
    case GEM_SET_CACHING:
    case GEM_MADVISE:
    case GEM_EXECBUFFER2:
    case GEM_WAIT:
    case GEM_CONTEXT_DESTROY:
    case GEM_CONTEXT_SETPARAM:
    case GEM_VM_DESTROY:
    case GET_RESET_STATS:
        return 0;
    default:
        return shim_refuse();
    }
}
