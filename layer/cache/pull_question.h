// SPDX-License-Identifier: Apache-2.0
/* The question of a program under `warmpipe run` with a remote (common/blobs/asked.h): for the blob
 * and the recipes of the device that it creates. It asks before vkCreateDevice goes down the chain
 * and waits for the answer after that: drivers take ten milliseconds and more there, in which a
 * near remote has answered. */
#ifndef WARMPIPE_LAYER_CACHE_PULL_QUESTION_H
#define WARMPIPE_LAYER_CACHE_PULL_QUESTION_H

#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/digest.h"
#include "common/files/names.h"
#include "layer/chain/instance.h"

struct pull_question {
    int folder_fd; /* the program's folder; -1: there is no answer to wait for */
    char identity_hex[DIGEST_HEX_SIZE];
    char token[UNIQUE_HEX_SIZE];
    uint64_t asked_ns; /* clock_now_ns */
    uint64_t wait_ms;
};

/* Asks for the blob of a device that the program is about to create. `instance` NULL: it is not
 * known. There is no answer to wait for if nobody answers in the instance's folder, nothing is
 * kept, or there is a blob already. Without such a run it costs only the lookup of a variable. Uses
 * the disk and the driver; no lock is held. Closed with pull_question_close. */
void pull_question_ask(const struct instance *instance, VkPhysicalDevice physical_device,
                       struct pull_question *ret_question);

/* Waits for the answer, for as long as the answering process has allowed, counted from the
 * question. If that passes without an answer, this process asks no more. Call it before anything is
 * read from disk for the device. */
void pull_question_await(const struct pull_question *question);

void pull_question_close(struct pull_question *question);

#endif
