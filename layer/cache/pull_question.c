// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/pull_question.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/blobs/asked.h"
#include "common/driver/policy.h"
#include "common/files/file.h"
#include "layer/worker/sandbox.h"

/* Pauses between two looks for the answer: a remote nearby takes a few milliseconds, and little of
 * what it has taken is waited in vain. */
#define PULL_LEAST_POLL_NS  (CLOCK_MS / 4)
#define PULL_MOST_POLL_NS   (8 * CLOCK_MS)
#define PULL_POLLS_OF_TAKEN 16

static atomic_bool pull_is_unanswered; /* nobody answers this process */

/* Milliseconds, and the token; 0: nobody answers in this folder. */
static uint64_t pull_question_wait_ms(const struct instance *instance,
                                      char ret_token[UNIQUE_HEX_SIZE])
{
    const char *text = config_environment(ASKED_VARIABLE);
    const char *root = instance->config.root;
    uint64_t wait_ms;
    if (!text || !root || !text_parse_digits(&text, UINT64_MAX, &wait_ms) || *text++ != ':' ||
        !names_is_hex(text, UNIQUE_HEX_SIZE - 1) || text[UNIQUE_HEX_SIZE - 1] != ':') {
        return 0;
    }
    const char *folder = text + UNIQUE_HEX_SIZE;
    const size_t root_length = strlen(root);
    memcpy(ret_token, text, UNIQUE_HEX_SIZE - 1);
    ret_token[UNIQUE_HEX_SIZE - 1] = '\0';
    const bool is_here = strncmp(folder, root, root_length) == 0 && folder[root_length] == '/' &&
                         strcmp(folder + root_length + 1, instance->app) == 0;
    return !is_here ? 0 : wait_ms < ASKED_WAIT_LIMIT_MS ? wait_ms : ASKED_WAIT_LIMIT_MS;
}

/* False: no blob of the device is kept. */
static bool pull_question_identity(const struct instance *instance,
                                   VkPhysicalDevice physical_device, char ret_hex[DIGEST_HEX_SIZE])
{
    struct driver_identity identity;
    struct policy policy;
    identity_query(&instance->identity, physical_device, &identity);
    policy_of_settings(&instance->config, &identity, &policy);
    digest_format(identity_digest(&identity), ret_hex);
    return policy.inject && policy.persist && !instance->config.read_only;
}

void pull_question_ask(const struct instance *instance, VkPhysicalDevice physical_device,
                       struct pull_question *ret_question)
{
    struct pull_question question = {.folder_fd = -1};
    *ret_question = question;
    const bool may_ask = instance && !instance->passive && !atomic_load(&pull_is_unanswered) &&
                         (question.wait_ms = pull_question_wait_ms(instance, question.token)) > 0 &&
                         sandbox_note_open() &&
                         pull_question_identity(instance, physical_device, question.identity_hex);
    int folder_fd;
    if (!may_ask ||
        file_open_directory(instance->config.root, instance->app, true, &folder_fd) != STATUS_ok) {
        return;
    }
    if (!asked_is_served(folder_fd, question.token)) {
        atomic_store(&pull_is_unanswered, true);
    } else if (asked_begin(folder_fd, question.identity_hex, question.token) &&
               !asked_has_file(folder_fd, question.identity_hex)) {
        question.folder_fd = folder_fd;
        question.asked_ns = clock_now_ns();
        *ret_question = question;
        return;
    }
    close(folder_fd);
}

/* False: there is no answer, and there will be none for another device. */
static bool pull_question_wait(const struct pull_question *question)
{
    while (asked_is_open(question->folder_fd, question->identity_hex, question->token)) {
        if (!asked_is_served(question->folder_fd, question->token)) {
            asked_remove(question->folder_fd, question->identity_hex, question->token);
            return false;
        }
        const uint64_t taken_ns = clock_now_ns() - question->asked_ns;
        if (taken_ns >= question->wait_ms * CLOCK_MS) {
            log_info("nothing was pulled within %llu ms", (unsigned long long)question->wait_ms);
            return false;
        }
        const uint64_t poll_ns = taken_ns / PULL_POLLS_OF_TAKEN;
        clock_pause(poll_ns < PULL_LEAST_POLL_NS  ? PULL_LEAST_POLL_NS
                    : poll_ns < PULL_MOST_POLL_NS ? poll_ns
                                                  : PULL_MOST_POLL_NS);
    }
    return true;
}

void pull_question_await(const struct pull_question *question)
{
    if (question->folder_fd >= 0 && !pull_question_wait(question)) {
        atomic_store(&pull_is_unanswered, true);
    }
}

void pull_question_close(struct pull_question *question)
{
    io_close(question->folder_fd);
    question->folder_fd = -1;
}
