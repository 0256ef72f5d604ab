// SPDX-License-Identifier: Apache-2.0
/* Heads: which objects make up a program's blob for one device and driver, or its recipes. A head
 * is canonical JSON: each content has exactly one text, and any other text is refused. Parsing
 * needs no memory, no library and no trust; signatures are below. */
#ifndef WARMPIPE_TOOLS_REMOTE_HEAD_H
#define WARMPIPE_TOOLS_REMOTE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/base/status.h"
#include "common/driver/identity.h"
#include "common/files/names.h"

/* Objects never change: v1/obj/<name> is one zstd frame, and the name is the SHA-256 of the
 * unpacked content. If the object has a base, a '-' and the first 16 digits of the base's name
 * follow. Sizes: 64 hex digits and the terminating zero; the same with the base. */
#define OBJECT_NAME_SIZE 65
#define HEAD_FILE_SIZE   (OBJECT_NAME_SIZE + 17)

/* Bytes of one object at most, unpacked. */
#define OBJECT_LIMIT ((uint64_t)1 << 30)

/* No frame of `unpacked` bytes is larger. */
static inline uint64_t object_frame_limit(uint64_t unpacked)
{
    return unpacked + unpacked / 128 + 1024;
}

/* Bytes of a head at most, its signature included. */
#define HEAD_LIMIT 65536

/* Parts that a head lists at most, and how many of them may be larger than HEAD_SMALL bytes. */
#define HEAD_PARTS 64
#define HEAD_LARGE 4
#define HEAD_SMALL ((uint64_t)1 << 20)

/* Bases at most. */
#define HEAD_BASES 4

/* Bytes of the frames that stand in the head itself, altogether at most. */
#define HEAD_INLINE 24576

/* Payloads that crashed a driver, the latest ones. */
#define HEAD_BLOCKED 64

/* Larger serials are refused: no sequence of changes leads to them, and nothing could follow. */
#define HEAD_SERIAL_LAST ((uint64_t)INT64_MAX)

#define HEAD_PATH_SIZE (NAMES_APP_SIZE + DIGEST_HEX_SIZE + 16)

#define HEAD_FOLDER "v1/head/"

struct head_part {
    char object[OBJECT_NAME_SIZE];  /* the whole file, or segment */
    char payload[OBJECT_NAME_SIZE]; /* the SHA-256 of what the driver is given; of recipes, the
                                       object again */
    uint64_t bytes;                 /* of the object's frame */
    uint64_t unpacked;
    uint64_t made;       /* seconds since the epoch */
    uint64_t compile_ms; /* about how long its pipelines took where they were compiled; 0: not
                            known */
    char base[OBJECT_NAME_SIZE]; /* the object with whose driver data its own is packed; "": none */
    size_t frame;                /* its frame is in head.frames, at this index - 1; 0: elsewhere */
};

struct head {
    char program[NAMES_APP_SIZE];
    char identity_hex[DIGEST_HEX_SIZE]; /* "": recipes */
    struct driver_identity identity;    /* for people; only the one in the file is trusted */
    uint64_t serial;                    /* one more with each change, from 1 to HEAD_SERIAL_LAST */
    uint64_t made;                      /* seconds since the epoch */
    size_t part_count;
    struct head_part parts[HEAD_PARTS];
    size_t blocked_count;
    char blocked[HEAD_BLOCKED][OBJECT_NAME_SIZE];
    size_t base_count; /* each is the base of a part, has no base, and is not in the head */
    struct head_part bases[HEAD_BASES];
    size_t frames_size;
    uint8_t frames[HEAD_INLINE];
};

/* v1/head/<program>/<identity>, or .../recipes where `identity_hex` is NULL or "". */
void head_path(const char *program, const char *identity_hex, char ret_path[HEAD_PATH_SIZE]);

/* The program and identity ("": recipes) of a head's path. False: it is none. */
bool head_split_path(const char *path, char ret_program[NAMES_APP_SIZE],
                     char ret_identity[DIGEST_HEX_SIZE]);

/* Appends the text, a newline at its end. bytes.failed: out of memory. */
void head_encode(const struct head *head, struct bytes *text);

/* Parses a head. remote_bad_head: it is not exactly what head_encode writes, with numbers within
 * their limits; the head then is empty. */
enum status head_parse(const void *text, size_t size, struct head *ret_head);

/* Where the object of a part lies, below OBJECT_FOLDER. */
void head_file_name(const struct head_part *part, char ret_name[HEAD_FILE_SIZE]);

/* The frame of a part, part->bytes long, that stands in the head; NULL: it lies elsewhere. */
const uint8_t *head_frame(const struct head *head, const struct head_part *part);

/* The base of a part; NULL: it has none. */
const struct head_part *head_find_base(const struct head *head, const struct head_part *part);

/* Drops the part of this index. */
void head_drop(struct head *head, size_t index);

/* Removes bases and frames that no part has any more; call it before head_encode. */
void head_tidy(struct head *head);

/* Whether a part has it as base. */
bool head_is_base(const struct head *head, const struct head_part *base);

/* Adds a part, for which head_has_room was true. `frame` (part->bytes long) goes into the head if
 * there is room: then the object need not be elsewhere. `base` is the part's base, or NULL. False:
 * there are too many bases, and nothing is added. */
bool head_add(struct head *head, const struct head_part *part, const struct head_part *base,
              const uint8_t *frame, bool *ret_is_inline);

/* Returns the part with this payload, or object; and whether this payload is blocked. */
const struct head_part *head_find_payload(const struct head *head, const char *payload);
bool head_blocks(const struct head *head, const char *payload);

/* Blocks a payload (the oldest one is dropped if there is no room), and removes its parts. */
void head_block(struct head *head, const char *payload);

/* Whether another part of this size may be added. */
bool head_has_room(const struct head *head, uint64_t unpacked);

/* Functions of libsodium: keys and signatures in minisign's form
 * (https://jedisct1.github.io/minisign/), with its algorithm ED alone (Ed25519 over the BLAKE2b-512
 * of the message, and over signature and trusted comment), and the digests that name objects.
 * Secret keys have no password. Thread-safe. */

#define MINISIGN_ID_SIZE 8

struct minisign_public_key {
    uint8_t id[MINISIGN_ID_SIZE];
    uint8_t key[32];
};

struct minisign_secret_key {
    uint8_t id[MINISIGN_ID_SIZE];
    uint8_t key[64]; /* its second half is the public key */
};

/* Makes a key pair, and appends the texts of its two files; the caller overwrites the secret one
 * when it is written. *ret_id is the number as minisign shows it: 16 upper-case hex digits.
 * bytes.failed: out of memory. Call sodium_init before this and every function here. */
void minisign_make_pair(struct bytes *secret_text, struct bytes *public_text, char ret_id[17]);

/* The keys of one remote: so many public ones, besides that of the secret key. */
#define MINISIGN_KEYS 16

struct minisign_keys {
    size_t count;
    struct minisign_public_key trusted[MINISIGN_KEYS + 1];
    bool can_sign;
    struct minisign_secret_key secret; /* with can_sign; its public half is trusted */
};

/* Reads the secret key (NULL: none) and the public key: `public_path`, else WARMPIPE_REMOTE_KEY,
 * else all files *.pub in $XDG_CONFIG_HOME/warmpipe/trusted/. A secret key that others may read is
 * refused. False after a message. */
bool minisign_read_keys(const char *public_path, const char *secret_path,
                        struct minisign_keys *ret_keys);

#define SHA256_SIZE 32

/* SHA-256 (FIPS 180-4). Pulled data is hashed twice, and libsodium's function takes 6 ms a
 * megabyte, more than the rest of a pull. If the processor has instructions for it, they are used
 * (sha256.c). `data` may be NULL if size is 0. */
void sha256(const void *data, size_t size, uint8_t ret_digest[SHA256_SIZE]);

/* The SHA-256 of the data in lower-case hex: the name of an object or payload. */
void object_name(const void *data, size_t size, char ret_name[OBJECT_NAME_SIZE]);

/* Appends the four lines of a .minisig over the message. The comment is one line of text. */
void minisign_sign(const struct minisign_secret_key *key, const void *message, size_t size,
                   const char *trusted_comment, struct bytes *text);

/* A signed text, taken apart: the lines of the signature, and the message after them. */
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
