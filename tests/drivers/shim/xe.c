// SPDX-License-Identifier: Apache-2.0
// What the kernel's xe answers: GPUs from Lunar Lake on. One tile of eight subslices with eight
// execution units each; Battlemage has memory of its own.
#include "shim.h"

#include <stddef.h>
#include <string.h>

enum {
    DEVICE_QUERY = 0x00,
    GEM_CREATE = 0x01,
    GEM_MMAP_OFFSET = 0x02,
    VM_CREATE = 0x03,
    VM_DESTROY = 0x04,
    VM_BIND = 0x05,
    EXEC_QUEUE_CREATE = 0x06,
    EXEC_QUEUE_DESTROY = 0x07,
    EXEC_QUEUE_GET_PROPERTY = 0x08,
    EXEC = 0x09,
    WAIT_USER_FENCE = 0x0a,
    MADVISE = 0x0c,
};

// The arguments; where no member behind it is read or written, a struct ends early.
struct device_query {
    uint64_t extensions;
    uint32_t what, size;
    uint64_t data;
};

struct buffer {
    uint64_t extensions, size;
    uint32_t placement, flags, vm, handle;
};

struct map_offset {
    uint64_t extensions;
    uint32_t handle, flags;
    uint64_t offset;
};

struct vm {
    uint64_t extensions;
    uint32_t flags, id;
};

struct exec_queue {
    uint64_t extensions;
    uint16_t width, placements;
    uint32_t vm, flags, id;
};

struct exec_queue_property {
    uint64_t extensions;
    uint32_t id, property;
    uint64_t value;
};

struct engines {
    uint32_t count, pad;
    struct {
        uint16_t class, instance, gt, pad;
        uint64_t reserved[3];
    } engines[3];
};

struct regions {
    uint32_t count, pad;
    struct {
        uint16_t class, instance;
        uint32_t page;
        uint64_t size, used, visible, visible_used, reserved[6];
    } regions[2];
};

struct config {
    uint32_t count, pad;
    uint64_t values[5];
};

struct gts {
    uint32_t count, pad;
    struct {
        uint16_t type, tile, id, pad_0[3];
        uint32_t clock;
        uint64_t near, far;
        uint16_t major, minor, revision, pad_1;
        uint64_t reserved[7];
    } gt;
};

// Bit masks of subslices, then of execution units.
struct masks {
    struct {
        uint16_t gt, type;
        uint32_t size;
        uint8_t mask[4];
    } masks[3];
};

static bool has_own_memory(void)
{
    return shim_device_id() >> 8 == 0xe2;
}

static int answer(struct device_query *query, const void *data, size_t size)
{
    if (query->size != 0 && query->size < size)
        return shim_refuse();
    if (query->size != 0)
        memcpy((void *)(uintptr_t)query->data, data, size);
    query->size = (uint32_t)size;
    return 0;
}

// What a GPU's firmware says of it: a key, the number of values, the value. Mesa takes these of it,
// and knows them of older GPUs by itself.
static const uint32_t hardware[][3] = {
    {1, 1, 1},                  // slices
    {2, 1, 8},                  // subslices
    {3, 1, 8},                  // execution units of a subslice
    {15, 1, 8},                 // threads of an execution unit
    {16, 1, 512},               // threads: of vertex shaders
    {17, 1, 512},               // of geometry shaders
    {18, 1, 512},               // of hull shaders
    {19, 1, 512},               // of domain shaders
    {21, 1, 1024},              // of fragment shaders
    {29, 1, 64},                // entries of the URB, least and most: of vertex shaders
    {30, 1, 3576}, {33, 1, 34}, // of hull shaders
    {34, 1, 1548}, {35, 1, 2},  // of geometry shaders
    {36, 1, 1548}, {37, 1, 34}, // of domain shaders
    {38, 1, 1548},
};

static int answer_query(struct device_query *query)
{
    const uint64_t own_memory = has_own_memory();
    const struct engines engines = {
        .count = 3, .engines = {{.class = 0}, {.class = 1}, {.class = 4}}, // render, copy, compute
    };
    const struct regions regions = {
        .count = 1 + (uint32_t)own_memory,
        .regions = {{.page = 4096, .size = SHIM_MEMORY_BYTES},
                    {.class = 1,
                     .instance = 1,
                     .page = 65536,
                     .size = SHIM_MEMORY_BYTES,
                     .visible = SHIM_MEMORY_BYTES}},
    };
    const struct config config = {
        .count = 5,
        // Revision and id, flags (memory of its own), alignment, bits of an address, priority.
        .values = {shim_device_id(), own_memory, own_memory ? 65536 : 4096, 48, 1},
    };
    const struct gts gts = {
        .count = 1,
        .gt = {.clock = 19200000,
               .near = own_memory ? 2 : 1,
               .far = own_memory ? 1 : 0,
               .major = shim_device_id() >> 8 == 0xb0 ? 30 : 20,
               .minor = own_memory ? 1 : 4},
    };
    const struct masks masks = {
        {{.type = 1, .size = 4, .mask = {0xff}},  // DSS_GEOMETRY
         {.type = 2, .size = 4, .mask = {0xff}},  // DSS_COMPUTE
         {.type = 5, .size = 4, .mask = {0xff}}}, // SIMD16_EU_PER_DSS
    };
    switch (query->what) {
    case 0:
        return answer(query, &engines, sizeof engines);
    case 1:
        return answer(query, &regions,
                      own_memory ? sizeof regions : offsetof(struct regions, regions[1]));
    case 2:
        return answer(query, &config, sizeof config);
    case 3:
        return answer(query, &gts, sizeof gts);
    case 4:
        return answer(query, hardware, sizeof hardware);
    case 5:
        return answer(query, &masks, sizeof masks);
    default:
        return shim_refuse();
    }
}

int xe_ioctl(unsigned number, void *argument)
{
    switch (number) {
    case DEVICE_QUERY:
        return answer_query(argument);
    case VM_CREATE:
        ((struct vm *)argument)->id = shim_new_name();
        return 0;
    case EXEC_QUEUE_CREATE:
        ((struct exec_queue *)argument)->id = shim_new_name();
        return 0;
    case EXEC_QUEUE_GET_PROPERTY:
        ((struct exec_queue_property *)argument)->value = 0;
        return 0;
    case GEM_CREATE: {
        struct buffer *buffer = argument;
        buffer->handle = shim_new_buffer(buffer->size);
        return 0;
    }
    case GEM_MMAP_OFFSET: {
        struct map_offset *map = argument;
        map->offset = shim_buffer_offset(map->handle);
        return 0;
    }
    case VM_DESTROY:
    case VM_BIND:
    case EXEC_QUEUE_DESTROY:
    case EXEC:
    case WAIT_USER_FENCE:
    case MADVISE:
        return 0;
    default:
        return shim_refuse();
    }
}
