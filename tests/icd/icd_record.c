// SPDX-License-Identifier: Apache-2.0
#include "icd_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_icd.h"

static _Atomic uint64_t calls[ICD_COMMAND_COUNT];
static _Atomic uint64_t creations;
static _Atomic uint64_t violations;

static _Atomic(void *) call_user;
static void (*_Atomic call_function)(const char *command, void *user);

void test_icd_on_call(void (*function)(const char *command, void *user), void *user)
{
    atomic_store(&call_user, user);
    atomic_store(&call_function, function);
}

void icd_tell(const char *moment)
{
    void (*function)(const char *command, void *user) = atomic_load(&call_function);
    if (function != NULL) {
        function(moment, atomic_load(&call_user));
    }
}

uint64_t icd_count(enum icd_command command)
{
    icd_tell(icd_command_name(command));
    return atomic_fetch_add(&calls[command], 1) + 1;
}

/* The entry "name<separator>rest" of a comma-separated list: the rest, or NULL. */
static const char *find_entry(const char *list, const char *name, char separator)
{
    size_t length = strlen(name);
    for (const char *entry = list; *entry != '\0';) {
        if (strncmp(entry, name, length) == 0 && entry[length] == separator) {
            return entry + length + 1;
        }
        entry += strcspn(entry, ",");
        entry += *entry == ',';
    }
    return NULL;
}

static VkResult wanted_failure(const char *list, const char *name, uint64_t call)
{
    for (const char *rest = find_entry(list, name, ':'); rest != NULL;
         rest = find_entry(rest, name, ':')) {
        bool every = *rest == '*';
        char *end = (char *)(uintptr_t)rest + 1;
        uint64_t nth = every ? 0 : strtoull(rest, &end, 10);
        if ((every || nth == call) && *end == '=') {
            return (VkResult)strtol(end + 1, NULL, 10);
        }
        rest += strcspn(rest, ",");
        rest += *rest == ',';
    }
    return VK_SUCCESS;
}

VkResult icd_call(const struct icd_settings *settings, enum icd_command command)
{
    uint64_t call = icd_count(command);
    const char *name = icd_command_name(command);
    if (settings->instance_gone) {
        icd_violation("instance_gone", "%s: the device's instance has been destroyed", name);
    }
    if (settings->fail[0] != '\0') {
        VkResult failure = wanted_failure(settings->fail, name, call);
        if (failure != VK_SUCCESS) {
            return failure;
        }
    }
    if (settings->oom != 0 &&
        (strncmp(name, "vkCreate", 8) == 0 || strncmp(name, "vkAllocate", 10) == 0) &&
        atomic_fetch_add(&creations, 1) + 1 == settings->oom) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    return VK_SUCCESS;
}

VkResult icd_success(const struct icd_settings *settings, enum icd_command command)
{
    const char *rest = find_entry(settings->result, icd_command_name(command), '=');
    return rest == NULL ? VK_SUCCESS : (VkResult)strtol(rest, NULL, 10);
}

static void write_line(const char *text, size_t size)
{
    const char *path = getenv("WPTEST_ICD_LOG");
    if (path == NULL || *path == '\0') {
        return;
    }
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size) {
        fprintf(stderr, "test driver: cannot write '%s': %s\n", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void append(struct icd_event *event, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct icd_event *event, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof event->text - event->length;
    int length = vsnprintf(event->text + event->length, room, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= room) {
        fprintf(stderr, "test driver: event too long\n");
        abort();
    }
    event->length += (unsigned)length;
}

static void append_text(struct icd_event *event, const char *text)
{
    append(event, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; ++c) {
        append(event, *c < 0x20 || *c == '"' || *c == '\\' ? "\\u%04x" : "%c", *c);
    }
    append(event, "\"");
}

void icd_event_begin(struct icd_event *event, const char *name)
{
    event->length = 0;
    append(event, "{\"event\":\"%s\",\"pid\":%ld", name, (long)getpid());
}

void icd_event_number(struct icd_event *event, const char *key, int64_t value)
{
    append(event, ",\"%s\":%" PRId64, key, value);
}

void icd_event_bool(struct icd_event *event, const char *key, bool value)
{
    append(event, ",\"%s\":%s", key, value ? "true" : "false");
}

void icd_event_handle(struct icd_event *event, const char *key, uint64_t value)
{
    append(event, ",\"%s\":\"%" PRIx64 "\"", key, value);
}

void icd_event_text(struct icd_event *event, const char *key, const char *value)
{
    append(event, ",\"%s\":", key);
    append_text(event, value);
}

void icd_event_chain(struct icd_event *event, const void *chain)
{
    append(event, ",\"pnext\":[");
    for (const VkBaseInStructure *next = chain; next != NULL; next = next->pNext) {
        append(event, "%s%d", next == chain ? "" : ",", (int)next->sType);
    }
    append(event, "],\"pnext_at\":[");
    for (const VkBaseInStructure *next = chain; next != NULL; next = next->pNext) {
        append(event, "%s\"%" PRIxPTR "\"", next == chain ? "" : ",", (uintptr_t)next);
    }
    append(event, "]");
}

void icd_event_end(struct icd_event *event)
{
    append(event, "}\n");
    write_line(event->text, event->length);
}

void icd_violation(const char *id, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    atomic_fetch_add(&violations, 1);
    fprintf(stderr, "test driver: violation %s: %s\n", id, text);
    struct icd_event event;
    icd_event_begin(&event, "violation");
    icd_event_text(&event, "id", id);
    icd_event_text(&event, "text", text);
    icd_event_end(&event);
    const char *fatal = getenv("WPTEST_ICD_ABORT");
    if (fatal != NULL && strcmp(fatal, "1") == 0) {
        abort();
    }
}

void icd_record_counts(void)
{
    struct icd_event event;
    icd_event_begin(&event, "calls");
    for (unsigned i = 0; i < ICD_COMMAND_COUNT; ++i) {
        uint64_t count = atomic_load(&calls[i]);
        if (count != 0) {
            icd_event_number(&event, icd_command_name((enum icd_command)i), (int64_t)count);
        }
    }
    icd_event_end(&event);
}

uint64_t test_icd_calls(const char *command)
{
    for (unsigned i = 0; i < ICD_COMMAND_COUNT; ++i) {
        if (strcmp(icd_command_name((enum icd_command)i), command) == 0) {
            return atomic_load(&calls[i]);
        }
    }
    fprintf(stderr, "test driver: no command '%s'\n", command);
    abort();
}

uint64_t test_icd_violations(void)
{
    return atomic_load(&violations);
}

__attribute__((destructor)) static void record_counts_at_exit(void)
{
    icd_record_counts();
}
