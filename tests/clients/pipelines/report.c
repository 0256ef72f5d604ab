// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "util.h"

static void print_string(const char *name, const char *value)
{
    printf("\"%s\":\"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\') {
            putchar('\\');
        }
        if ((unsigned char)*value >= 0x20) {
            putchar(*value);
        }
    }
    printf("\",");
}

static void print_number(const char *name, uint64_t value)
{
    printf("\"%s\":%" PRIu64 ",", name, value);
}

static void print_counts(const struct device_report *report)
{
    print_number("create_ns", report->creation.create_ns);
    print_number("first_create_ns", report->creation.first_ns);
    print_number("create_wall_ns", report->creation.wall_ns);
    print_number("load_ns", report->cache.load_ns);
    print_number("save_ns", report->cache.save_ns);
    print_number("objects_ns", report->objects_ns);
    print_number("failed_calls", report->creation.failed_calls);
    print_number("feedback_valid", report->creation.feedback.valid);
    print_number("feedback_hits", report->creation.feedback.hits);
    print_number("feedback_stage_hits", report->creation.feedback.stage_hits);
    print_number("feedback_untouched", report->creation.feedback.untouched);
    print_number("app_cache_bytes", report->cache.bytes);
    print_number("readbacks", report->cache.readbacks);
    print_number("readbacks_resized", report->cache.resized);
    print_number("dispatched", report->verification.dispatched);
    printf("\"digest\":\"%016" PRIx64 "\"", report->verification.digest);
}

static struct device_report sum_up(const struct device_report *devices, uint32_t count)
{
    struct device_report sum = devices[0];
    for (uint32_t i = 1; i < count; i++) {
        const struct device_report *next = &devices[i];
        sum.creation.create_ns += next->creation.create_ns;
        sum.creation.first_ns += next->creation.first_ns;
        sum.creation.wall_ns += next->creation.wall_ns;
        sum.cache.load_ns += next->cache.load_ns;
        sum.cache.save_ns += next->cache.save_ns;
        sum.objects_ns += next->objects_ns;
        sum.creation.failed_calls += next->creation.failed_calls;
        sum.creation.feedback.valid += next->creation.feedback.valid;
        sum.creation.feedback.hits += next->creation.feedback.hits;
        sum.creation.feedback.stage_hits += next->creation.feedback.stage_hits;
        sum.creation.feedback.untouched += next->creation.feedback.untouched;
        sum.cache.bytes += next->cache.bytes;
        sum.cache.readbacks += next->cache.readbacks;
        sum.cache.resized += next->cache.resized;
        sum.verification.dispatched += next->verification.dispatched;
        sum.verification.digest ^= next->verification.digest;
    }
    return sum;
}

void report_print(const struct options *options, const struct device_report *devices,
                  uint32_t count, uint64_t wall_ns)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    struct allocator_counts allocator = allocator_counts();
    struct device_report sum = sum_up(devices, count);
    printf("{");
    print_number("wall_ns", wall_ns);
    print_number("peak_rss_bytes", (uint64_t)usage.ru_maxrss * 1024);
    print_number("compute", options->compute);
    print_number("graphics", options->graphics);
    print_number("raytracing", options->raytracing);
    print_number("repeat", options->repeat);
    print_number("allocations", allocator.allocations);
    print_number("frees", allocator.frees);
    print_number("foreign_allocator_calls", allocator.foreign_calls);
    print_counts(&sum);
    printf(",\"devices\":[");
    for (uint32_t i = 0; i < count; i++) {
        printf(i ? ",{" : "{");
        print_string("device", devices[i].gpu->name);
        print_string("driver", devices[i].gpu->driver);
        print_number("cpu", devices[i].gpu->is_cpu);
        print_counts(&devices[i]);
        printf("}");
    }
    printf("]}\n");
    fflush(stdout);
}
