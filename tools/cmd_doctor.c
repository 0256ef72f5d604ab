/* warmpipe doctor: why it works here, or why it does not. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "doctor.h"
#include "verb.h"

enum { OPTION_JSON };

static const struct option_spec options[] = {
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

void doctor_tell(struct doctor *doctor, enum verdict verdict, const char *check, const char *advice,
                 const char *format, ...)
{
    static const char *const words[] = {
        [VERDICT_OK] = "ok",
        [VERDICT_NOTE] = "note",
        [VERDICT_PROBLEM] = "problem",
    };
    char *finding = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&finding, format, arguments);
    va_end(arguments);
    output_open(&doctor->output, NULL, OUTPUT_ROW);
    output_text(&doctor->output, "check", check);
    output_text(&doctor->output, "verdict", words[verdict]);
    output_text(&doctor->output, "finding", length < 0 ? format : finding);
    if (advice) {
        output_remark(&doctor->output, "advice", advice);
    }
    output_close(&doctor->output);
    doctor->found |= verdict == VERDICT_PROBLEM;
    if (length >= 0) {
        free(finding);
    }
}

static const char *read_environment(const char *name)
{
    return getenv(name);
}

static int run(const struct arguments *arguments)
{
    struct config config;
    config_read(read_environment, &config);
    struct doctor doctor = {.config = &config};
    output_begin(&doctor.output, arguments->values[OPTION_JSON]);
    output_open(&doctor.output, "findings", OUTPUT_LIST);
    if (doctor_look_at_loader(&doctor)) {
        doctor_look_at_devices(&doctor);
    }
    doctor_look_at_variables(&doctor);
    doctor_look_at_storage(&doctor);
    output_close(&doctor.output);
    config_free(&config);
    return output_end(&doctor.output, doctor.found ? EXIT_FINDING : EXIT_CLEAN);
}

const struct verb verb_doctor = {
    .name = "doctor",
    .summary = "find out why it works here, or why not",
    .operands = "",
    .description =
        "Looks at the Vulkan loader and the layer's manifests, at each device's driver\n"
        "and what it may be given, at variables and at the place of the caches. On each\n"
        "device it compiles a small pipeline twice: with a cache of its own that it\n"
        "saves and loads, and under the layer in a directory that is removed again; both\n"
        "in processes of their own. One line a finding: 'ok', 'note' or 'problem', and\n"
        "what to do about it.\n\n"
        "Exit status: 0 it works, 1 there is a problem.",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
