// SPDX-License-Identifier: Apache-2.0
/* The remote that WARMPIPE_REMOTE names: whether it answers from here, and whose heads are trusted.
 * `warmpipe remote check` tries more. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "tools/doctor/doctor.h"
#include "tools/remote/remote.h"

/* Longest wait for an answer. */
#define DOCTOR_REMOTE_NS (5 * CLOCK_S)

void doctor_check_remote(struct doctor *doctor)
{
    const char *url = getenv("WARMPIPE_REMOTE");
    const struct remote_options options = {.verb = "doctor", .url = url};
    struct remote remote;
    if (!url || !*url) {
        return;
    }
    if (!remote_open(&options, &remote)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "remote", "correct WARMPIPE_REMOTE and the keys",
                    "the remote cannot be used");
        return;
    }
    struct engine *engine = remote.engine;
    uint64_t took_ns;
    engine->deadline_ns = clock_now_ns() + DOCTOR_REMOTE_NS;
    const enum status reason = remote_reach(&remote, &took_ns);
    if (reason == STATUS_ok) {
        doctor_tell(doctor, VERDICT_OK, "remote", NULL, "%s answers in %.1f ms", remote.name,
                    (double)took_ns / (double)CLOCK_MS);
    } else {
        doctor_tell(doctor, VERDICT_PROBLEM, "remote",
                    "programs start without it; see 'warmpipe remote check'", "%s: %s (%s)%s%s",
                    remote.name, status_text(reason), status_id(reason),
                    engine->detail[0] ? ": " : "", engine->detail);
    }
    if (remote.keys.count == 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, "remote",
                    "set WARMPIPE_REMOTE_KEY, or put the public key in ~/.config/warmpipe/trusted/",
                    "no key is trusted, so nothing can be pulled");
    }
    remote_close(&remote);
}
