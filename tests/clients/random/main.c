// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "random.h"

static const char usage[] =
    "usage: random SEED [--items N] [--item N] [--threads N] [--cache FILE | --own-caches]\n"
    "              [--skip FILE] [--messages] [--strict] [--statistics]\n\n"
    "Creates what the seed says, N items (40) of it, or the item N alone, and tells of each\n"
    "pipeline. --cache: with a cache of its own, kept in FILE; --own-caches: with many, filled,\n"
    "merged, read back and never kept. --skip: without the items whose numbers FILE has.\n"
    "--messages: tells of items that validation complains of. --strict: no pointer is wild, not\n"
    "even one that Vulkan ignores. --statistics: looks at what was compiled, too.\n";

#define THREADS_MAX 64

static struct device device;
static uint64_t seed;
static uint32_t item_count = 40;
static bool skipped[1 << 16];
static _Atomic uint32_t next_item;

static VkPipelineCache create_cache(size_t size, const void *data, VkPipelineCacheCreateFlags flags)
{
    const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                            .flags = flags,
                                            .initialDataSize = size,
                                            .pInitialData = data};
    VkPipelineCache cache;
    must(vkCreatePipelineCache(device.device, &info, NULL, &cache), "vkCreatePipelineCache");
    return cache;
}

/* What a cache has, read by the size idiom; a cache of this thread alone cannot grow meanwhile. */
static void *read_cache(VkPipelineCache cache, bool is_shared, size_t *ret_size)
{
    size_t size;
    void *data;
    VkResult result;
    do {
        must(vkGetPipelineCacheData(device.device, cache, &size, NULL), "cache size");
        const size_t announced = size;
        data = malloc(size);
        result = vkGetPipelineCacheData(device.device, cache, &size, data);
        must(result, "cache data");
        if (!is_shared && (result != VK_SUCCESS || size > announced)) {
            printf("a cache of one thread: %d, %zu of %zu bytes\n", result, size, announced);
        }
        if (result == VK_INCOMPLETE) {
            free(data);
        }
    } while (result == VK_INCOMPLETE);
    *ret_size = size;
    return data;
}

static VkPipelineCache draw_cache(struct item *item)
{
    VkPipelineCache cache = device.caches[item_draw(item, OWN_CACHES)];
    switch (item_draw(item, 8)) {
    case 0:
        return VK_NULL_HANDLE;
    case 1: {
        const bool is_synchronized =
            device.features.v13.pipelineCreationCacheControl && item_draw(item, 2);
        cache = create_cache(
            0, NULL, is_synchronized ? VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT : 0);
        OWN(item, OBJECT_CACHE, cache);
        return cache;
    }
    case 2: {
        size_t size;
        void *data = read_cache(cache, true, &size);
        cache = create_cache(size, data, 0);
        free(data);
        OWN(item, OBJECT_CACHE, cache);
        return cache;
    }
    case 3: {
        VkPipelineCache sources[] = {cache, device.caches[item_draw(item, OWN_CACHES)]};
        cache = create_cache(0, NULL, 0);
        must(vkMergePipelineCaches(device.device, cache, 1 + (sources[0] != sources[1]), sources),
             "vkMergePipelineCaches");
        OWN(item, OBJECT_CACHE, cache);
        return cache;
    }
    default:
        return cache;
    }
}

VkPipelineCache item_cache(struct item *item)
{
    if (!device.own_caches) {
        return device.cache;
    }
    const uint64_t random = item->random; /* the items are the same, whatever their caches */
    item->random = random * 0x9e3779b97f4a7c15u | 1;
    const VkPipelineCache cache = draw_cache(item);
    item->random = random;
    return cache;
}

/* Reads caches of this thread back, now and then. */
static void read_back(struct item *item)
{
    const uint64_t random = item->random;
    for (uint32_t i = 0; i < item->object_count; i++) {
        if (item->objects[i].kind == OBJECT_CACHE && item_chance(item, 30)) {
            size_t size;
            free(read_cache((VkPipelineCache)item->objects[i].handle, false, &size));
        }
    }
    item->random = random;
}

static void run_item(struct item *item, uint32_t number)
{
    const char *about;
    const uint32_t messages = device_messages(&about);
    /* Every fourth is the one before it once more, perhaps on another thread. */
    item_begin(item, number, seed << 32 | (number % 4 == 3 ? number - 1 : number));
    printf("item %u\n", number);
    if (item_chance(item, 35)) {
        draw_compute(item);
    } else {
        draw_graphics(item);
    }
    read_back(item);
    if (item_chance(item, 60) || item->object_count > MAX_OBJECTS / 2) {
        item_drop_all(item);
    }
    if (device_messages(&about) != messages) {
        printf("message %u %s\n", number, about);
    }
}

static void *work(void *argument)
{
    struct item *item = argument;
    for (uint32_t number; (number = atomic_fetch_add(&next_item, 1)) < item_count;) {
        if (!skipped[number]) {
            run_item(item, number);
        }
    }
    item_drop_all(item);
    free(item);
    return NULL;
}

static void run_threads(uint32_t count)
{
    pthread_t threads[THREADS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = calloc(1, sizeof *item);
        must(item ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY, "calloc");
        item->device = &device;
        if (pthread_create(&threads[i], NULL, work, item) != 0) {
            exit(1);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void load_cache(const char *path)
{
    static char data[1 << 24];
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(data, 1, sizeof data, file) : 0;
    device.cache = create_cache(size, data, 0);
    if (file) {
        fclose(file);
    }
}

static void save_cache(const char *path)
{
    size_t size;
    void *data = read_cache(device.cache, false, &size);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    free(data);
    vkDestroyPipelineCache(device.device, device.cache, NULL);
}

static void read_skipped(const char *path)
{
    FILE *file = fopen(path, "r");
    for (unsigned number; file && fscanf(file, "%u%*[^\n]", &number) == 1;) {
        skipped[number % COUNT_OF(skipped)] = true;
    }
    if (file) {
        fclose(file);
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"items", required_argument, NULL, 'n'},   {"item", required_argument, NULL, 'i'},
        {"threads", required_argument, NULL, 't'}, {"cache", required_argument, NULL, 'c'},
        {"own-caches", no_argument, NULL, 'o'},    {"skip", required_argument, NULL, 's'},
        {"messages", no_argument, NULL, 'm'},      {"strict", no_argument, NULL, 'x'},
        {"statistics", no_argument, NULL, 'l'},    {NULL, 0, NULL, 0}};
    const char *cache_path = NULL;
    uint32_t threads = 1;
    bool messages = false, statistics = false;
    for (int found; (found = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        const uint32_t number = optarg ? (uint32_t)strtoul(optarg, NULL, 10) : 0;
        switch (found) {
        case 'n':
            item_count = number % (COUNT_OF(skipped) + 1);
            break;
        case 'i':
            next_item = number;
            item_count = number + 1;
            break;
        case 't':
            threads = number < THREADS_MAX ? number : THREADS_MAX;
            break;
        case 'c':
            cache_path = optarg;
            break;
        case 'o':
            device.own_caches = true;
            break;
        case 's':
            read_skipped(optarg);
            break;
        case 'm':
            messages = true;
            break;
        case 'x':
            device.strict = true;
            break;
        case 'l':
            statistics = true;
            break;
        default:
            optind = argc;
        }
    }
    if (optind + 1 != argc) {
        fputs(usage, stderr);
        return 2;
    }
    seed = strtoul(argv[optind], NULL, 10);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct device_options options = {seed, messages, statistics};
    device_open(&device, &options);
    for (uint32_t i = 0; device.own_caches && i < OWN_CACHES; i++) {
        device.caches[i] = create_cache(0, NULL, 0);
    }
    if (cache_path) {
        load_cache(cache_path);
    }
    run_threads(threads);
    for (uint32_t i = 0; device.own_caches && i < OWN_CACHES; i++) {
        vkDestroyPipelineCache(device.device, device.caches[i], NULL);
    }
    if (cache_path) {
        save_cache(cache_path);
    }
    device_close(&device);
    puts("done");
    return 0;
}
