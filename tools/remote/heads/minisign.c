// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/heads/head.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/files/file.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"

#define MINISIGN_UNTRUSTED "untrusted comment: "
#define MINISIGN_TRUSTED   "trusted comment: "

/* What the second line of each file holds, decoded. */
#define MINISIGN_PUBLIC_SIZE    (2 + MINISIGN_ID_SIZE + 32)
#define MINISIGN_SIGNATURE_SIZE (2 + MINISIGN_ID_SIZE + 64)
#define MINISIGN_SECRET_SIZE    (2 + 2 + 2 + 32 + 8 + 8 + MINISIGN_ID_SIZE + 64 + 32)

/* Longest of these in base64, with its zero. */
#define MINISIGN_LINE_SIZE 256

/* Bytes of a key file at most. */
#define MINISIGN_FILE_LIMIT 4096

/* Lines. */

static void minisign_put_base64(struct bytes *text, const uint8_t *data, size_t size)
{
    char line[MINISIGN_LINE_SIZE];
    sodium_bin2base64(line, sizeof line, data, size, sodium_base64_VARIANT_ORIGINAL);
    bytes_put_text(text, line);
    bytes_put_u8(text, '\n');
    sodium_memzero(line, sizeof line);
}

/* A text, read line by line. */
struct minisign_lines {
    const char *next;
    size_t left;
};

static bool minisign_next_line(struct minisign_lines *lines, const char **ret_line,
                               size_t *ret_size)
{
    const char *end = lines->left ? memchr(lines->next, '\n', lines->left) : NULL;
    if (!end) {
        return false;
    }
    *ret_line = lines->next;
    *ret_size = (size_t)(end - lines->next);
    lines->left -= *ret_size + 1;
    lines->next = end + 1;
    return true;
}

static bool minisign_starts_with(const char *line, size_t size, const char *word)
{
    return size >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* Whether the line is base64 of exactly `size` bytes. */
static bool minisign_decode(const char *line, size_t length, uint8_t *ret_data, size_t size)
{
    size_t found = 0;
    const char *end = NULL;
    return length > 0 &&
           sodium_base642bin(ret_data, size, line, length, NULL, &found, &end,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           found == size && end == line + length;
}

/* The first line that is no comment; keys are often pasted without their last newline. */
static bool minisign_decode_key(const void *text, size_t size, uint8_t *ret_data, size_t key_size)
{
    struct minisign_lines lines = {text, size};
    const char *line = text;
    size_t length = 0;
    while (minisign_next_line(&lines, &line, &length)) {
        if (!minisign_starts_with(line, length, MINISIGN_UNTRUSTED)) {
            return minisign_decode(line, length, ret_data, key_size);
        }
    }
    return minisign_decode(lines.next, lines.left, ret_data, key_size);
}

/* Keys. */

/* Where the parts of a secret key lie. */
enum {
    MINISIGN_SECRET_KDF = 2,
    MINISIGN_SECRET_CHECKSUM_KIND = 4,
    MINISIGN_SECRET_ID = 54,
    MINISIGN_SECRET_KEY = MINISIGN_SECRET_ID + MINISIGN_ID_SIZE,
    MINISIGN_SECRET_CHECKSUM = MINISIGN_SECRET_KEY + 64,
};

static void minisign_checksum(const uint8_t *data, uint8_t ret_checksum[32])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, 32);
    crypto_generichash_update(&state, data, 2);
    crypto_generichash_update(&state, data + MINISIGN_SECRET_ID, MINISIGN_ID_SIZE + 64);
    crypto_generichash_final(&state, ret_checksum, 32);
}

void minisign_make_pair(struct bytes *secret_text, struct bytes *public_text, char ret_id[17])
{
    uint8_t secret_key[MINISIGN_SECRET_SIZE] = {'E', 'd', 0, 0, 'B', '2'};
    uint8_t public_key[MINISIGN_PUBLIC_SIZE] = {'E', 'd'};
    uint8_t *id = secret_key + MINISIGN_SECRET_ID;
    randombytes_buf(id, MINISIGN_ID_SIZE);
    memcpy(public_key + 2, id, MINISIGN_ID_SIZE);
    crypto_sign_keypair(public_key + 2 + MINISIGN_ID_SIZE, secret_key + MINISIGN_SECRET_KEY);
    minisign_checksum(secret_key, secret_key + MINISIGN_SECRET_CHECKSUM);
    for (int i = 0; i < MINISIGN_ID_SIZE; i++) {
        snprintf(ret_id + 2 * i, 3, "%02X", id[MINISIGN_ID_SIZE - 1 - i]);
    }
    bytes_reserve(secret_text, 2 * MINISIGN_LINE_SIZE); /* where it grows, a copy would be left */
    bytes_put_text(secret_text, MINISIGN_UNTRUSTED "minisign secret key without a password\n");
    minisign_put_base64(secret_text, secret_key, sizeof secret_key);
    bytes_put_text(public_text, MINISIGN_UNTRUSTED "minisign public key ");
    bytes_put_text(public_text, ret_id);
    bytes_put_u8(public_text, '\n');
    minisign_put_base64(public_text, public_key, sizeof public_key);
    sodium_memzero(secret_key, sizeof secret_key);
}

/* Digests. */

void object_name(const void *data, size_t size, char ret_name[OBJECT_NAME_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    sha256(data, size, digest);
    sodium_bin2hex(ret_name, OBJECT_NAME_SIZE, digest, sizeof digest);
}

/* Signatures. */

static void minisign_hash(const void *message, size_t size, uint8_t ret_hash[64])
{
    crypto_generichash(ret_hash, 64, message, size, NULL, 0);
}

void minisign_sign(const struct minisign_secret_key *key, const void *message, size_t size,
                   const char *trusted_comment, struct bytes *text)
{
    uint8_t hash[64];
    uint8_t data[MINISIGN_SIGNATURE_SIZE] = {'E', 'D'};
    uint8_t global[64];
    AUTO(bytes_free) struct bytes whole = {0};
    minisign_hash(message, size, hash);
    memcpy(data + 2, key->id, MINISIGN_ID_SIZE);
    crypto_sign_detached(data + 2 + MINISIGN_ID_SIZE, NULL, hash, sizeof hash, key->key);
    bytes_put(&whole, data + 2 + MINISIGN_ID_SIZE, 64);
    bytes_put_text(&whole, trusted_comment);
    text->failed = text->failed || whole.failed;
    if (!text->failed) {
        crypto_sign_detached(global, NULL, whole.data, whole.size, key->key);
        bytes_put_text(text, MINISIGN_UNTRUSTED "signature of a warmpipe head\n");
        minisign_put_base64(text, data, sizeof data);
        bytes_put_text(text, MINISIGN_TRUSTED);
        bytes_put_text(text, trusted_comment);
        bytes_put_u8(text, '\n');
        minisign_put_base64(text, global, sizeof global);
    }
}

enum status minisign_split(const void *text, size_t size, struct minisign_signature *ret_parts)
{
    struct minisign_lines lines = {text, size};
    const char *line[4];
    size_t length[4];
    uint8_t data[MINISIGN_SIGNATURE_SIZE];
    const size_t trusted = strlen(MINISIGN_TRUSTED);
    for (int i = 0; i < 4; i++) {
        if (!minisign_next_line(&lines, &line[i], &length[i])) {
            return STATUS_remote_bad_head;
        }
    }
    if (!minisign_starts_with(line[0], length[0], MINISIGN_UNTRUSTED) ||
        !minisign_decode(line[1], length[1], data, sizeof data) || memcmp(data, "ED", 2) != 0 ||
        !minisign_starts_with(line[2], length[2], MINISIGN_TRUSTED) ||
        !minisign_decode(line[3], length[3], ret_parts->global, sizeof ret_parts->global)) {
        return STATUS_remote_bad_head;
    }
    memcpy(ret_parts->id, data + 2, MINISIGN_ID_SIZE);
    memcpy(ret_parts->signature, data + 2 + MINISIGN_ID_SIZE, sizeof ret_parts->signature);
    ret_parts->comment = line[2] + trusted;
    ret_parts->comment_size = length[2] - trusted;
    ret_parts->message = (const uint8_t *)lines.next;
    ret_parts->message_size = lines.left;
    return STATUS_ok;
}

bool minisign_verify(const struct minisign_signature *parts, const struct minisign_public_key *key)
{
    uint8_t hash[64];
    AUTO(bytes_free) struct bytes whole = {0};
    minisign_hash(parts->message, parts->message_size, hash);
    bytes_put(&whole, parts->signature, sizeof parts->signature);
    bytes_put(&whole, parts->comment, parts->comment_size);
    return !whole.failed && memcmp(parts->id, key->id, MINISIGN_ID_SIZE) == 0 &&
           crypto_sign_verify_detached(parts->signature, hash, sizeof hash, key->key) == 0 &&
           crypto_sign_verify_detached(parts->global, whole.data, whole.size, key->key) == 0;
}

/* Key files. */

/* The bytes of a key's file; it may also hold them without its first line, as `minisign -P` takes
 * them. `exposed`: users whom `mode` means may use the file. remote_bad_key: it is none. */
static enum status minisign_read_key(const char *path, mode_t mode, enum status exposed,
                                     uint8_t *ret_data, size_t size)
{
    uint8_t *text = NULL;
    size_t text_size = 0;
    struct stat status;
    enum status reason = file_read_any(path, MINISIGN_FILE_LIMIT, &text, &text_size);
    if (reason != STATUS_ok) {
        return reason;
    }
    if (!minisign_decode_key(text, text_size, ret_data, size) || memcmp(ret_data, "Ed", 2) != 0) {
        reason = STATUS_remote_bad_key; /* whoever may read it: most often it is the public one */
    } else if (stat(path, &status) == 0 && (status.st_mode & mode) != 0) {
        reason = exposed;
    }
    sodium_memzero(text, text_size);
    free(text);
    return reason;
}

static enum status minisign_read_public(const char *path, struct minisign_public_key *ret_key)
{
    uint8_t data[MINISIGN_PUBLIC_SIZE];
    const enum status reason =
        minisign_read_key(path, S_IWOTH, STATUS_file_mode, data, sizeof data);
    if (reason == STATUS_ok) {
        memcpy(ret_key->id, data + 2, MINISIGN_ID_SIZE);
        memcpy(ret_key->key, data + 2 + MINISIGN_ID_SIZE, sizeof ret_key->key);
    }
    return reason;
}

/* Whether a secret key has no password, and is whole. */
static bool minisign_is_secret(const uint8_t data[MINISIGN_SECRET_SIZE])
{
    static const uint8_t no_password[2];
    static const uint8_t no_checksum[32];
    const uint8_t *found = data + MINISIGN_SECRET_CHECKSUM;
    uint8_t checksum[32];
    uint8_t public_key[32];
    uint8_t again[64];
    /* minisign -G -W leaves the checksum out; the key's two halves belong together all the same. */
    minisign_checksum(data, checksum);
    crypto_sign_seed_keypair(public_key, again, data + MINISIGN_SECRET_KEY);
    const bool is_whole =
        memcmp(data + MINISIGN_SECRET_KDF, no_password, 2) == 0 &&
        memcmp(data + MINISIGN_SECRET_CHECKSUM_KIND, "B2", 2) == 0 &&
        (sodium_memcmp(checksum, found, 32) == 0 || sodium_memcmp(no_checksum, found, 32) == 0) &&
        sodium_memcmp(again, data + MINISIGN_SECRET_KEY, sizeof again) == 0;
    sodium_memzero(again, sizeof again);
    return is_whole;
}

/* remote_key_exposed: others may read the secret. */
static enum status minisign_read_secret(const char *path, struct minisign_secret_key *ret_key)
{
    uint8_t data[MINISIGN_SECRET_SIZE];
    enum status reason =
        minisign_read_key(path, S_IRWXO, STATUS_remote_key_exposed, data, sizeof data);
    if (reason == STATUS_ok && !minisign_is_secret(data)) {
        reason = STATUS_remote_bad_key;
    }
    if (reason == STATUS_ok) {
        memcpy(ret_key->id, data + MINISIGN_SECRET_ID, MINISIGN_ID_SIZE);
        memcpy(ret_key->key, data + MINISIGN_SECRET_KEY, sizeof ret_key->key);
    }
    sodium_memzero(data, sizeof data);
    return reason;
}

static bool minisign_check_key(const char *path, enum status reason)
{
    if (reason != STATUS_ok) {
        output_message("'%s': %s (%s)", path,
                       reason == STATUS_no_file ? strerror(ENOENT) : status_text(reason),
                       status_id(reason));
    }
    return reason == STATUS_ok;
}

static bool minisign_add_key(const char *path, struct minisign_keys *keys)
{
    if (keys->count == MINISIGN_KEYS + (size_t)keys->can_sign) {
        output_message("'%s': no more than %d keys can be trusted", path, MINISIGN_KEYS);
        return false;
    }
    const enum status reason = minisign_read_public(path, &keys->trusted[keys->count]);
    keys->count += reason == STATUS_ok;
    return minisign_check_key(path, reason);
}

/* Whether all may add files to a folder. With the sticky bit they can replace none of another's: a
 * mounted secret of Kubernetes is such a one. */
static bool minisign_is_open(const struct stat *folder)
{
    return (folder->st_mode & S_IWOTH) != 0;
}

/* Whether a key of a folder counts: in an open one it has to be its owner's or ours. */
static bool minisign_is_believed(const struct stat *folder, const char *path)
{
    struct stat key;
    return !minisign_is_open(folder) ||
           (stat(path, &key) == 0 && (key.st_uid == folder->st_uid || key.st_uid == geteuid()));
}

/* All of $XDG_CONFIG_HOME/warmpipe/trusted/: its files that end in .pub. */
static bool minisign_add_folder(struct minisign_keys *keys)
{
    AUTO_FREE char *base = options_base("XDG_CONFIG_HOME", ".config");
    AUTO_FREE char *folder = base ? output_format("%s/warmpipe/trusted", base) : NULL;
    AUTO_LISTING DIR *listing = folder ? opendir(folder) : NULL;
    struct stat status = {0};
    bool added = !listing || (fstat(dirfd(listing), &status) == 0 &&
                              (!minisign_is_open(&status) || (status.st_mode & S_ISVTX) != 0));
    if (!added) {
        output_message("'%s': others may put keys there (%s)", folder,
                       status_id(STATUS_directory_mode));
    }
    for (const char *name; added && (name = listing_next(listing));) {
        AUTO_FREE char *path = output_format("%s/%s", folder, name);
        added = path && (!text_ends_in(name, ".pub") || !minisign_is_believed(&status, path) ||
                         minisign_add_key(path, keys));
    }
    return added;
}

bool minisign_read_keys(const char *public_path, const char *secret_path,
                        struct minisign_keys *ret_keys)
{
    const char *path = public_path ? public_path : options_variable("WARMPIPE_REMOTE_KEY", NULL);
    *ret_keys = (struct minisign_keys){.count = 0};
    if (secret_path) {
        const enum status reason = minisign_read_secret(secret_path, &ret_keys->secret);
        if (!minisign_check_key(secret_path, reason)) {
            return false;
        }
        ret_keys->can_sign = true;
        struct minisign_public_key *own = &ret_keys->trusted[ret_keys->count++];
        memcpy(own->id, ret_keys->secret.id, sizeof own->id);
        memcpy(own->key, ret_keys->secret.key + 32, sizeof own->key);
    }
    return path ? minisign_add_key(path, ret_keys) : minisign_add_folder(ret_keys);
}
