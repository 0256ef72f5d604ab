// SPDX-License-Identifier: Apache-2.0
/* What a program asks under `warmpipe run` with a remote (common/blobs/asked.h): the blob and the
 * recipes of the device that it creates. It is asked before vkCreateDevice goes down and awaited
 * after it: drivers take ten milliseconds and more there, in which a remote nearby has answered. */
#ifndef WARMPIPE_LAYER_CACHE_PULL_QUESTION_H
#define WARMPIPE_LAYER_CACHE_PULL_QUESTION_H

#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/digest.h"
#include "common/files/names.h"
#include "layer/chain/instance.h"

struct pull_question {
    int folder_fd; /* of the program; -1: there is no answer to wait for */
    char identity_hex[DIGEST_HEX_SIZE];
    char token[UNIQUE_HEX_SIZE];
    uint64_t asked_ns; /* clock_now_ns */
    uint64_t wait_ms;
};

/* Asks for the blob of a device that the program is about to create; `instance` NULL: it is not
 * known. Where nobody answers in the instance's folder, nothing is kept, or there is a blob
 * already, nothing is to be waited for. Elsewhere than under such a run it costs the look for a
 * variable. Uses the disk and the driver; no lock is held. Closed with pull_question_close. */
void pull_question_ask(const struct instance *instance, VkPhysicalDevice physical_device,
                       struct pull_question *ret_question);

/* Waits for the answer, from the question on for as long as the one who answers has said at most;
 * once that has passed without an answer, this process asks no more. Before anything is read from
 * disk for the device. */
void pull_question_await(const struct pull_question *question);

void pull_question_close(struct pull_question *question);

#endif
