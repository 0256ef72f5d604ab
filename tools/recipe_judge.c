#include "recipe_judge.h"

#include <stdlib.h>

#include "codec/canonical.h"
#include "driver/environment.h"

bool recipe_judge_init(struct recipe_judge *judge)
{
    *judge = (struct recipe_judge){.validator = spirv_validator_new()};
    return judge->validator;
}

void recipe_judge_free(struct recipe_judge *judge)
{
    spirv_validator_delete(judge->validator);
    free(judge->refusals);
}

/* Any handle does: nothing is created here. */
static bool give_handle(void *user, VkObjectType type, struct digest content, uint64_t *ret_handle)
{
    (void)user, (void)type, (void)content;
    *ret_handle = 1;
    return true;
}

/* Code is judged by itself; a decoded create-info only points to it. */
static bool give_code(void *user, struct digest content, size_t size, const void **ret_code)
{
    static const uint32_t code[1];
    (void)user, (void)content, (void)size;
    *ret_code = code;
    return true;
}

static bool is_form(const struct recipe_record *record)
{
    const struct canonical_sources sources = {.handle = give_handle, .code = give_code};
    void *create_info = canonical_decode(record->data, record->size, &sources);
    free(create_info);
    return create_info;
}

static bool is_environment(const struct recipe_record *record)
{
    struct environment *environment = environment_decode(record->data, record->size);
    environment_free(environment);
    return environment;
}

static bool is_fit(const struct recipe_judge *judge, const struct recipe_record *record)
{
    switch (record->kind) {
    case RECIPE_CODE:
        return spirv_validator_accepts(judge->validator, record->data, record->size);
    case RECIPE_FORM:
        return is_form(record);
    default:
        return is_environment(record);
    }
}

bool recipe_judge_accepts(void *user, const struct recipe_record *record)
{
    struct recipe_judge *judge = user;
    if (is_fit(judge, record)) {
        return true;
    }
    struct recipe_refusal *more =
        reallocarray(judge->refusals, judge->count + 1, sizeof *judge->refusals);
    if (more) {
        more[judge->count++] =
            (struct recipe_refusal){.kind = record->kind, .digest = record->digest};
        judge->refusals = more;
    }
    return false;
}

void recipe_judge_show(const struct recipe_judge *judge, struct output *output)
{
    static const char *const kinds[] = {
        [RECIPE_CODE] = "module",
        [RECIPE_FORM] = "form",
        [RECIPE_ENVIRONMENT] = "environment",
    };
    static const char *const reasons[] = {
        [RECIPE_CODE] = "invalid_spirv",
        [RECIPE_FORM] = "malformed",
        [RECIPE_ENVIRONMENT] = "malformed",
    };
    output_open(output, "refused", OUTPUT_TABLE);
    for (size_t i = 0; i < judge->count; i++) {
        char digest[DIGEST_HEX_SIZE];
        digest_format(judge->refusals[i].digest, digest);
        output_open(output, NULL, OUTPUT_ROW);
        output_text(output, "kind", kinds[judge->refusals[i].kind]);
        output_text(output, "digest", digest);
        output_text(output, "reason", reasons[judge->refusals[i].kind]);
        output_close(output);
    }
    output_close(output);
}
