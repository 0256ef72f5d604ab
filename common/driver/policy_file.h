/* The user's policy file, as rules. docs/POLICY.md describes the format; policy_keys.def lists its
 * keys. Strict: what is not understood refuses the whole file, for half of a policy is none. No I/O
 * here. */
#ifndef WARMPIPE_DRIVER_POLICY_FILE_H
#define WARMPIPE_DRIVER_POLICY_FILE_H

#include <stddef.h>

#include "base/result.h"
#include "policy_rule.h"

/* Bytes, and rules, of one file. */
#define POLICY_FILE_MAX_SIZE  (64 << 10)
#define POLICY_FILE_MAX_RULES 256

struct policy_file {
    char *text; /* what the rules' strings lead into */
    struct policy_rule *rules;
    size_t count; /* in the order of the file */
};

/* What is wrong with a file. */
struct policy_file_error {
    unsigned line;  /* from 1; 0: the file as a whole */
    char text[160]; /* may quote the file */
};

/* Parses `size` bytes. REASON_ok: *ret_file is freed with policy_file_free; no bytes are no rules.
 * bad_policy_file: *ret_error tells why, of the first line that is wrong. out_of_memory likewise
 * leaves *ret_file untouched. Thread-safe. */
enum reason policy_file_parse(const void *data, size_t size, struct policy_file *ret_file,
                              struct policy_file_error *ret_error);

/* Frees the memory and zeroes the struct. */
void policy_file_free(struct policy_file *file);

#endif
