// SPDX-License-Identifier: Apache-2.0
/* Engines: storage for a remote's values. The rest of the tool only uses the operations below;
 * another engine is one more file and a line in remote.c. Also the texts that engines parse: URLs,
 * listings, redirections of Redis nodes.
 *
 * A path is one of ours: letters, digits, '_', '-', '.' and '/', never empty, without a slash at
 * either end. An engine's answers are not trusted: callers check digests and signatures. An engine
 * belongs to one thread. */
#ifndef WARMPIPE_TOOLS_REMOTE_ENGINES_ENGINE_H
#define WARMPIPE_TOOLS_REMOTE_ENGINES_ENGINE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/io.h"
#include "common/base/status.h"

/* URLs, parsed. A password in a URL is refused, because URLs appear in process lists, logs and
 * shell histories. */

#define URL_SIZE 1024

enum url_scheme { URL_FILE, URL_HTTP, URL_HTTPS, URL_S3, URL_REDIS, URL_REDISS, URL_UNIX };

struct url {
    enum url_scheme scheme;
    char user[128];       /* "": none */
    char host[256];       /* S3: the bucket; "" for file: and unix: */
    char port[6];         /* "": the scheme's own */
    char path[URL_SIZE];  /* starts with a slash, ends with none; "" for the root */
    char query[URL_SIZE]; /* of s3: alone, without the question mark */
};

/* remote_bad_url, remote_url_password, or STATUS_ok. *ret_url is filled only then. Thread-safe. */
enum status url_parse(const char *text, struct url *ret_url);

/* The path of a file: or unix: URL, with %20 decoded to a space; `ret_path` holds URL_SIZE bytes.
 * False: a percent sign begins no escape; url_parse refuses that. */
bool url_local_path(const struct url *url, char *ret_path);

/* The value of `name` in the query, as it stands. False: it is not there, or longer than
 * `capacity` - 1 characters. */
bool url_query(const struct url *url, const char *name, char *ret_value, size_t capacity);

/* The URL without its user and query, for messages and as the remote's name: `ret_text` holds
 * URL_SIZE * 2 bytes. */
void url_show(const struct url *url, char *ret_text);

/* Values and operations. */

#define ENGINE_VERSION_SIZE 128
#define ENGINE_PATH_SIZE    512

/* Values below this folder never change, so any copy on the way is good; all others may change. */
#define OBJECT_FOLDER "v1/obj/"
bool engine_is_fixed(const char *path);

/* This value is overwritten to find out whether conditional writes work. */
#define ENGINE_PROBE "v1/probe"

/* A value as it was read, with the name of this version of it. */
struct engine_value {
    uint8_t *data; /* malloc'ed */
    size_t size;
    char version[ENGINE_VERSION_SIZE]; /* HTTP: the entity tag; other engines compare the data */
    uint64_t age_s; /* since it was written, by the server's clock; 0 if not known */
    bool has_age;   /* it is known */
};

/* Frees the memory and zeroes the struct. */
void engine_value_free(struct engine_value *value);

/* Whether both are the same bytes, or none. */
bool engine_value_equal(const struct engine_value *a, const struct engine_value *b);

/* Seconds between two times, in either order: a value with a time far in the future (a wrong clock)
 * counts as old. */
uint64_t engine_age(time_t now, time_t written);

struct engine;

/* One path of a listing. False: no more are wanted. */
typedef bool engine_visit(const char *path, void *user);

struct engine_operations {
    /* Reads at most `limit` bytes, else remote_bad_answer; 0: only checks whether the value exists,
     * and the value stays empty. no_file: there is none. */
    enum status (*get)(struct engine *engine, const char *path, uint64_t limit,
                       struct engine_value *ret_value);
    /* Writes a value whose path is its digest, so overwriting changes nothing. */
    enum status (*put)(struct engine *engine, const char *path, const void *data, size_t size);
    /* Replaces `old`; NULL: there must be none. remote_conflict: there is another value by now. */
    enum status (*swap)(struct engine *engine, const char *path, const struct engine_value *old,
                        const void *data, size_t size);
    /* Visits all paths that begin with `prefix`, a folder with a slash at its end. */
    enum status (*list)(struct engine *engine, const char *prefix, engine_visit *visit, void *user);
    /* no_file: there was none. */
    enum status (*remove)(struct engine *engine, const char *path);
    /* Removes what killed writers have left, if it is older than `age_s` seconds. NULL: nothing can
     * be removed. */
    void (*sweep)(struct engine *engine, uint64_t age_s);
    /* Describes relevant facts of the server as a text; NULL: nothing is checked. */
    enum status (*check)(struct engine *engine, char *ret_text, size_t capacity);
    /* Prepares what every operation needs: a connection that is logged in, or credentials. A
     * failure recurs in the first operation. NULL: nothing to prepare. */
    enum status (*prepare)(struct engine *engine);
    /* Call it before a long time without operations: closes a connection that a server would keep
     * open; the next operation makes another. NULL: there is none. */
    void (*rest)(struct engine *engine);
    /* Makes a second engine for the same remote, for another thread; the caller sets its times.
     * NULL: out of memory; or no such function: one connection is as good. */
    struct engine *(*another)(const struct engine *engine);
    void (*close)(struct engine *engine);
};

/* What was moved. */
struct engine_traffic {
    uint64_t requests;
    uint64_t answers;  /* of a server, with any status */
    uint64_t received; /* bytes of values */
    uint64_t sent;
    uint64_t conflicts; /* tries to change a head in which another machine was first */
};

/* The last failure that has details, which are for this reason alone (engine_detail). */
struct engine_failure {
    enum status reason;
    bool is_of_value; /* it concerns that value alone; other operations may succeed */
    char detail[256]; /* for a message: "HTTP 503"; never a secret */
};

/* The common part of all engines; each begins with it. */
struct engine {
    const struct engine_operations *operations;
    struct engine_traffic traffic;
    bool single_writer;   /* nobody else writes: a write without a condition suffices */
    unsigned settle_ms;   /* for so long after a swap, another swap that began before may still win:
                             the server checks and writes in two steps; 0: in one step */
    bool expires;         /* it removes by itself what was swapped in with a lifetime (Redis) */
    unsigned lifetime_ms; /* of a swapped-in value, if the engine expires it; 0: it stays */
    uint64_t deadline_ns; /* clock_now_ns; 0: none. Operations end by then (remote_timeout) */
    unsigned silent_ms;   /* until there is an answer, operations end so long after the first has
                             begun; 0: no such limit */
    uint64_t silent_ns;   /* when that time is over; 0: no operation has begun. Set by the engine */
    const sigset_t *stops; /* blocked signals: once one of them is pending, operations end within
                              ENGINE_STOP_MS; NULL: none */
    uint64_t stop_ns;      /* when that is; 0: none is pending. Set by the engine */
    bool is_unmade;        /* nothing was ever written there: the folder does not exist yet */
    struct engine_failure failure;
};

/* Opens the engine of a URL; most connect only in the first operation. NULL: out of memory. Closed
 * with operations->close. */
struct engine *engine_file_open(const struct url *url);
struct engine *engine_http_open(const struct url *url);
struct engine *engine_s3_open(const struct url *url);
struct engine *engine_redis_open(const struct url *url);

/* Notes a failure's details and returns `reason`. */
enum status engine_fail(struct engine *engine, enum status reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The details of the last failure, if this is its reason; else "". Borrowed. */
static inline const char *engine_detail(const struct engine *engine, enum status reason)
{
    return engine->failure.reason == reason ? engine->failure.detail : "";
}

/* Marks the failure just noted as that value's alone, and returns `reason`. */
enum status engine_of_value(struct engine *engine, enum status reason);

/* Notes that a value is larger than its reader allows: remote_bad_answer, for it alone. */
enum status engine_too_large(struct engine *engine);

/* operations->list for callers that trust no server: a listing of more than `most` paths or of more
 * than ENGINE_LIST_BYTES is refused (remote_bad_answer), and so is one that takes longer than
 * ENGINE_LIST_MS (remote_timeout). Paths outside the prefix count, but are not visited. */
#define ENGINE_LIST_BYTES ((uint64_t)256 << 20)
#define ENGINE_LIST_MS    300000
enum status engine_list(struct engine *engine, const char *prefix, size_t most, engine_visit *visit,
                        void *user);

/* Returns the milliseconds until the deadline, at most `most`; 0: it has passed. A caller that
 * waits for long calls it again each second, because a signal may have come. */
unsigned engine_time_left(struct engine *engine, unsigned most);

/* Calls `rest`, if the engine has one. */
static inline void engine_rest(struct engine *engine)
{
    if (engine->operations->rest) {
        engine->operations->rest(engine);
    }
}

/* The same, as if there had been an answer. */
unsigned engine_time_in_all(struct engine *engine, unsigned most);

/* Docker kills ten seconds after it has asked. */
#define ENGINE_STOP_MS 5000

/* Listings: the answers of servers to a request for a folder's content, XML of WebDAV (RFC 4918)
 * and of S3. Only the needed elements are searched, the rest is skipped. Nothing outside the text
 * is read, whatever it holds. No I/O; thread-safe. */

/* A window over the text. */
struct listing {
    const char *next;
    const char *end;
};

struct listing listing_over(const void *text, size_t size);

/* The content of the next element of this local name ("href" finds <D:href>, <href>), entities
 * resolved, as a string. Elements whose content does not fit `capacity`, or holds elements, are
 * skipped. False: there is no more. */
bool listing_element(struct listing *listing, const char *name, char *ret_text, size_t capacity);

/* Whether the last tag closes the element of this local name. */
bool listing_is_whole(const void *text, size_t size, const char *root);

/* Decodes %41 in place. False: it is malformed, or encodes a zero. */
bool listing_decode_url(char *text);

/* Where a cluster node says that a key is. */
struct redis_move {
    bool is_ask;    /* only for this request */
    char host[256]; /* "": where the answer came from */
    int port;
};

/* Reads the error "MOVED 3999 host:6381", or ASK. False: it is neither. Nothing is read beyond
 * `size`. */
bool redis_parse_move(const char *text, size_t size, struct redis_move *ret_move);

#endif
