// SPDX-License-Identifier: Apache-2.0
/* What libsodium does: keys and signatures in minisign's form
 * (https://jedisct1.github.io/minisign/), of its algorithm ED alone, Ed25519 over the BLAKE2b-512
 * of the message and over signature and trusted comment; and the digests that name objects. Secret
 * keys have no password. Thread-safe. */
#ifndef WARMPIPE_TOOLS_REMOTE_MINISIGN_H
#define WARMPIPE_TOOLS_REMOTE_MINISIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "tools/remote/heads/head.h"

#define MINISIGN_ID_SIZE 8

struct minisign_public_key {
    uint8_t id[MINISIGN_ID_SIZE];
    uint8_t key[32];
};

struct minisign_secret_key {
    uint8_t id[MINISIGN_ID_SIZE];
    uint8_t key[64]; /* its second half is the public key */
};

/* Makes a pair. Needs sodium_init before, as all here does. */
void minisign_generate(struct minisign_secret_key *ret_secret);

struct minisign_public_key minisign_public_of(const struct minisign_secret_key *secret);

/* A key's number as minisign shows it: 16 upper-case hex digits. */
void minisign_format_id(const uint8_t id[MINISIGN_ID_SIZE], char ret_text[17]);

/* The files' texts, appended. */
void minisign_put_public(struct bytes *text, const struct minisign_public_key *key);
void minisign_put_secret(struct bytes *text, const struct minisign_secret_key *key);

/* The keys of one remote. */
#define MINISIGN_KEYS 16

struct minisign_keys {
    size_t count;
    struct minisign_public_key trusted[MINISIGN_KEYS];
    bool can_sign;
    struct minisign_secret_key secret; /* with can_sign; its public half is trusted */
};

/* Reads the secret key (NULL: none) and the public key: `public_path`, else WARMPIPE_REMOTE_KEY,
 * else all files *.pub in $XDG_CONFIG_HOME/warmpipe/trusted/. A secret key that others may read is
 * refused. False after a message, which begins with the verb. */
bool minisign_read_keys(const char *verb, const char *public_path, const char *secret_path,
                        struct minisign_keys *ret_keys);

#define SHA256_SIZE 32

/* SHA-256 (FIPS 180-4). What is pulled is hashed twice, and libsodium's takes 6 ms a megabyte: more
 * than all else that a pull does. Where the processor has instructions for it, they are used
 * (sha256.c). `data` may be NULL where size is 0. */
void sha256(const void *data, size_t size, uint8_t ret_digest[SHA256_SIZE]);

/* The SHA-256 of the data in lower-case hex: the name of an object or payload. */
void object_name(const void *data, size_t size, char ret_name[OBJECT_NAME_SIZE]);

/* Appends the four lines of a .minisig over the message. The comment is one line of text. */
void minisign_sign(const struct minisign_secret_key *key, const void *message, size_t size,
                   const char *trusted_comment, struct bytes *text);

/* What stands before a message. */
struct minisign_signature {
    uint8_t id[MINISIGN_ID_SIZE];
    uint8_t signature[64];
    uint8_t global[64];
    const char *comment; /* the trusted one, in the text; ends without a zero */
    size_t comment_size;
    const uint8_t *message; /* behind the four lines */
    size_t message_size;
};

/* Takes the four lines apart. remote_bad_head: they are not of minisign's form, or of its older
 * algorithm Ed. */
enum status minisign_split(const void *text, size_t size, struct minisign_signature *ret_parts);

/* Whether the key has signed the message and the trusted comment. */
bool minisign_verify(const struct minisign_signature *parts, const struct minisign_public_key *key);

#endif
