/* warmpipe doctor: what its parts share. Each part looks at one thing and tells what it finds. */
#ifndef WARMPIPE_TOOLS_DOCTOR_H
#define WARMPIPE_TOOLS_DOCTOR_H

#include <stdbool.h>

#include "base/config.h"
#include "output.h"

enum verdict {
    VERDICT_OK,
    VERDICT_NOTE,   /* works, but not everywhere or not as well as it could */
    VERDICT_PROBLEM /* does not work: exit status 1 */
};

struct doctor {
    struct output output;
    const struct config *config;
    bool found; /* a problem was told */
};

/* One finding. advice NULL: there is nothing to do about it. */
void doctor_tell(struct doctor *doctor, enum verdict verdict, const char *check, const char *advice,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The loader and its version, the manifests that it finds and which library wins, and variables
 * that change what it does. False: there is no loader, so nothing else can be found out. */
bool doctor_look_at_loader(struct doctor *doctor);
void doctor_look_at_variables(struct doctor *doctor);

/* Each device: what its driver may be given, whether its own cache works, and whether the layer
 * warms a program on it. */
void doctor_look_at_devices(struct doctor *doctor);

/* Where caches are kept: permissions, space, what is there. */
void doctor_look_at_storage(struct doctor *doctor);

#endif
