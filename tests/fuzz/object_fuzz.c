// SPDX-License-Identifier: Apache-2.0
/* What lies at a remote as hostile as it likes: a head with its signature, an object, a lease. The
 * first byte chooses which, the rest is all that the remote has, under every name. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/remote/remote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *content;
static size_t content_size;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static enum status get(struct engine *engine, const char *path, uint64_t limit,
                       struct engine_value *ret_value)
{
    (void)engine;
    (void)path;
    if (content_size > limit) {
        return STATUS_remote_bad_answer;
    }
    struct engine_value value = {.data = malloc(content_size ? content_size : 1),
                                 .size = content_size};
    require(value.data, "memory");
    memcpy(value.data, content, content_size);
    *ret_value = value;
    return STATUS_ok;
}

static void read_head(struct remote *remote)
{
    struct head head;
    struct engine_value value;
    if (remote_get_head(remote, HEAD_FOLDER "demo/recipes", &head, &value) == STATUS_ok) {
        require(strcmp(head.program, "demo") == 0 && !head.identity_hex[0],
                "the head that was asked for");
        engine_value_free(&value);
    }
}

/* A key that nobody has has signed nothing. */
static void read_signature(const struct remote *remote)
{
    struct minisign_signature parts;
    if (minisign_split(content, content_size, &parts) == STATUS_ok) {
        require(parts.message >= content &&
                    parts.message + parts.message_size == content + content_size,
                "the message is the rest");
        require(!minisign_verify(&parts, &remote->keys.trusted[0]), "it is not signed");
    }
}

static void read_object(struct remote *remote)
{
    struct head_part part = {.bytes = content_size};
    const struct head head = {.part_count = 0};
    const struct envelope prefix = {.blob = content, .blob_size = content_size};
    uint8_t *unpacked = NULL;
    if (content_size < 8) {
        return;
    }
    memcpy(&part.unpacked, content, 3); /* up to 16 MiB */
    content += 3;
    content_size -= 3;
    if (object_get(remote, &head, &part, part.unpacked % 2 ? &prefix : NULL, &unpacked) ==
        STATUS_ok) {
        require(false, "no object has an empty name");
    }
    memset(part.object, '0', sizeof part.object - 1);
    object_get(remote, &head, &part, NULL, &unpacked);
    free(unpacked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct engine_operations operations = {.get = get};
    struct engine engine = {.operations = &operations};
    struct remote remote = {.engine = &engine};
    struct leases leases;
    if (size == 0 || sodium_init() < 0) {
        return 0;
    }
    content = data + 1;
    content_size = size - 1;
    remote.keys.count = 1;
    switch (data[0] % 4) {
    case 0:
        remote.options.insecure = true;
        read_head(&remote);
        break;
    case 1:
        read_signature(&remote);
        read_head(&remote);
        break;
    case 2:
        read_object(&remote);
        break;
    default:
        leases_init(&leases);
        require(lease_try(&remote, &leases, "demo", "0") != LEASE_OURS, "it is not ours");
    }
    return 0;
}
