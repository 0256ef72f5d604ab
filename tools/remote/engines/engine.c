// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/engines/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

bool engine_is_fixed(const char *path)
{
    return strncmp(path, OBJECT_FOLDER, strlen(OBJECT_FOLDER)) == 0;
}

uint64_t engine_age(time_t now, time_t written)
{
    const uint64_t after = (uint64_t)now - (uint64_t)written;
    return now < written ? -after : after;
}

void engine_value_free(struct engine_value *value)
{
    free(value->data);
    *value = (struct engine_value){0};
}

bool engine_value_equal(const struct engine_value *a, const struct engine_value *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

enum status engine_fail(struct engine *engine, enum status reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(engine->failure.detail, sizeof engine->failure.detail, format, arguments);
    va_end(arguments);
    engine->failure.reason = reason;
    engine->failure.is_of_value = false;
    return reason;
}

enum status engine_of_value(struct engine *engine, enum status reason)
{
    engine->failure.is_of_value = true;
    return reason;
}

enum status engine_too_large(struct engine *engine)
{
    return engine_of_value(engine,
                           engine_fail(engine, STATUS_remote_bad_answer, "larger than it may be"));
}

static void engine_look_for_stop(struct engine *engine)
{
    sigset_t pending;
    sigset_t both;
    if (engine->stops && engine->stop_ns == 0 && sigpending(&pending) == 0 &&
        sigandset(&both, &pending, engine->stops) == 0 && !sigisemptyset(&both)) {
        engine->stop_ns = clock_now_ns() + ENGINE_STOP_MS * CLOCK_MS;
    }
}

static unsigned engine_time_until(uint64_t end_ns, unsigned most)
{
    const uint64_t now = clock_now_ns();
    const uint64_t left = end_ns > now ? (end_ns - now) / CLOCK_MS : 0;
    return end_ns == 0 || left > most ? most : (unsigned)left;
}

unsigned engine_time_in_all(struct engine *engine, unsigned most)
{
    engine_look_for_stop(engine);
    return engine_time_until(engine->stop_ns, engine_time_until(engine->deadline_ns, most));
}

unsigned engine_time_left(struct engine *engine, unsigned most)
{
    const bool is_silent = engine->silent_ms > 0 && engine->traffic.answers == 0;
    if (is_silent && engine->silent_ns == 0) {
        engine->silent_ns = clock_now_ns() + engine->silent_ms * CLOCK_MS;
    }
    return engine_time_in_all(engine,
                              is_silent ? engine_time_until(engine->silent_ns, most) : most);
}

struct engine_visitor {
    struct engine *engine;
    const char *prefix;
    size_t left;
    uint64_t received; /* before the listing */
    bool refused;
    engine_visit *visit;
    void *user;
};

static bool engine_visit_bounded(const char *path, void *user)
{
    struct engine_visitor *visitor = user;
    visitor->refused = visitor->left == 0 ||
                       visitor->engine->traffic.received - visitor->received > ENGINE_LIST_BYTES;
    if (visitor->refused) {
        return false;
    }
    visitor->left--;
    return strncmp(path, visitor->prefix, strlen(visitor->prefix)) != 0 ||
           visitor->visit(path, visitor->user);
}

enum status engine_list(struct engine *engine, const char *prefix, size_t most, engine_visit *visit,
                        void *user)
{
    struct engine_visitor visitor = {.engine = engine,
                                     .prefix = prefix,
                                     .left = most,
                                     .received = engine->traffic.received,
                                     .visit = visit,
                                     .user = user};
    const uint64_t deadline_ns = engine->deadline_ns;
    const uint64_t until_ns = clock_now_ns() + ENGINE_LIST_MS * CLOCK_MS;
    if (deadline_ns == 0 || deadline_ns > until_ns) {
        engine->deadline_ns = until_ns;
    }
    const enum status reason =
        engine->operations->list(engine, prefix, engine_visit_bounded, &visitor);
    engine->deadline_ns = deadline_ns;
    return visitor.refused
               ? engine_fail(engine, STATUS_remote_bad_answer, "a listing that is too long")
               : reason;
}

/* URLs. */

static const char *const url_schemes[] = {
    [URL_FILE] = "file",   [URL_HTTP] = "http",     [URL_HTTPS] = "https", [URL_S3] = "s3",
    [URL_REDIS] = "redis", [URL_REDISS] = "rediss", [URL_UNIX] = "unix",
};

#define URL_SCHEME_COUNT (sizeof url_schemes / sizeof url_schemes[0])

/* Copies `size` bytes as text. False: it does not fit. */
static bool url_copy(char *to, size_t capacity, const char *text, size_t size)
{
    if (size >= capacity) {
        return false;
    }
    memcpy(to, text, size);
    to[size] = '\0';
    return true;
}

/* Printable ASCII without what would end a line, a header or a request. */
static bool url_is_plain(const char *text)
{
    for (; *text; text++) {
        if (*text <= ' ' || *text > '~' || *text == '"' || *text == '\\' || *text == '#') {
            return false;
        }
    }
    return true;
}

/* user@host:port; the host may be an IPv6 address in brackets, which it keeps. */
static enum status url_parse_authority(const char *text, size_t size, struct url *url)
{
    const char *at = memchr(text, '@', size);
    if (at) {
        const size_t user = (size_t)(at - text);
        if (memchr(text, ':', user)) {
            return STATUS_remote_url_password;
        }
        if (!url_copy(url->user, sizeof url->user, text, user)) {
            return STATUS_remote_bad_url;
        }
        size -= user + 1;
        text = at + 1;
    }
    const char *bracket = size && *text == '[' ? memchr(text, ']', size) : NULL;
    const size_t before = bracket ? (size_t)(bracket - text) : 0;
    const char *colon = memchr(text + before, ':', size - before);
    const size_t host = colon ? (size_t)(colon - text) : size;
    bool fits = url_copy(url->host, sizeof url->host, text, host);
    if (colon) {
        const size_t digits = strspn(colon + 1, "0123456789");
        fits = fits && digits > 0 && host + 1 + digits == size &&
               url_copy(url->port, sizeof url->port, colon + 1, digits);
    }
    return fits ? STATUS_ok : STATUS_remote_bad_url;
}

bool url_local_path(const struct url *url, char *ret_path)
{
    memcpy(ret_path, url->path, URL_SIZE);
    return listing_decode_url(ret_path);
}

/* Of s3: alone; the others take no query. A value that is empty, as of a variable that nobody has
 * set, would send the request elsewhere than was meant. */
static bool url_takes_query(enum url_scheme scheme, const char *query)
{
    bool known = scheme == URL_S3;
    for (const char *next = query; known && next; next = strchr(next, '&')) {
        next += *next == '&';
        const size_t name = strncmp(next, "region=", 7) == 0     ? 7
                            : strncmp(next, "endpoint=", 9) == 0 ? 9
                                                                 : 0;
        known = name > 0 && strcspn(next + name, "&") > 0;
    }
    return known;
}

enum status url_parse(const char *text, struct url *ret_url)
{
    struct url url = {.scheme = URL_FILE};
    const size_t length = strcspn(text, ":");
    while (url.scheme < URL_SCHEME_COUNT && (strlen(url_schemes[url.scheme]) != length ||
                                             memcmp(url_schemes[url.scheme], text, length) != 0)) {
        url.scheme++;
    }
    if (url.scheme == URL_SCHEME_COUNT || text[length] != ':' || !url_is_plain(text) ||
        strlen(text) >= URL_SIZE) {
        return STATUS_remote_bad_url;
    }
    const char *rest = text + length + 1;
    if (strncmp(rest, "//", 2) == 0) {
        const size_t authority = strcspn(rest + 2, "/?");
        const enum status reason = url_parse_authority(rest + 2, authority, &url);
        if (reason != STATUS_ok) {
            return reason;
        }
        rest += 2 + authority;
    } else if (url.scheme != URL_UNIX && url.scheme != URL_FILE) {
        return STATUS_remote_bad_url;
    }
    size_t path = strcspn(rest, "?");
    const bool has_query = rest[path];
    const char *query = rest + path + has_query;
    while (path > 0 && rest[path - 1] == '/') {
        path--;
    }
    const bool is_local = url.scheme == URL_FILE || url.scheme == URL_UNIX;
    if (!url_copy(url.path, sizeof url.path, rest, path) ||
        !url_copy(url.query, sizeof url.query, query, strlen(query)) ||
        (has_query && !url_takes_query(url.scheme, query)) ||
        (is_local ? rest[0] != '/' || url.host[0] : !url.host[0]) ||
        (url.scheme == URL_S3 && (url.user[0] || url.port[0]))) {
        return STATUS_remote_bad_url;
    }
    char decoded[URL_SIZE];
    if (is_local ? !url_local_path(&url, decoded)
                 : url_query(&url, "endpoint", decoded, sizeof decoded) &&
                       !listing_decode_url(decoded)) {
        return STATUS_remote_bad_url;
    }
    *ret_url = url;
    return STATUS_ok;
}

bool url_query(const struct url *url, const char *name, char *ret_value, size_t capacity)
{
    const size_t length = strlen(name);
    for (const char *next = url->query; *next;) {
        const size_t size = strcspn(next, "&");
        if (size > length && strncmp(next, name, length) == 0 && next[length] == '=') {
            return url_copy(ret_value, capacity, next + length + 1, size - length - 1);
        }
        next += size + (next[size] ? 1 : 0);
    }
    return false;
}

void url_show(const struct url *url, char *ret_text)
{
    snprintf(ret_text, (size_t)URL_SIZE * 2, "%s:%s%s%s%s%s", url_schemes[url->scheme],
             url->scheme == URL_UNIX ? "" : "//", url->host, url->port[0] ? ":" : "", url->port,
             url->path);
}

/* Listings. */

struct listing listing_over(const void *text, size_t size)
{
    const char *start = size > 0 ? text : ""; /* an empty answer may be NULL */
    return (struct listing){start, start + size};
}

/* The next tag; *ret_name: its local name. False: there is none. */
static bool listing_tag(struct listing *listing, const char **ret_name, size_t *ret_size,
                        bool *ret_closes)
{
    const size_t left = (size_t)(listing->end - listing->next);
    const char *open = left ? memchr(listing->next, '<', left) : NULL;
    const char *close = open ? memchr(open, '>', (size_t)(listing->end - open)) : NULL;
    if (!close) {
        listing->next = listing->end;
        return false;
    }
    listing->next = close + 1;
    const char *name = open + 1;
    *ret_closes = name < close && *name == '/';
    name += *ret_closes;
    const char *end = name;
    for (; end < close && !strchr(" \t\r\n/", *end); end++) {
        if (*end == ':') {
            name = end + 1;
        }
    }
    *ret_name = name;
    *ret_size = (size_t)(end - name);
    return true;
}

static bool listing_is(const char *name, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(name, word, size) == 0;
}

/* Copies text and resolves the entities that XML has by itself. */
static bool listing_copy(const char *text, size_t size, char *ret_text, size_t capacity)
{
    static const struct {
        const char *entity;
        char character;
    } entities[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t length = 0;
    for (size_t at = 0; at < size;) {
        char character = text[at];
        size_t step = 1;
        for (size_t i = 0; character == '&' && i < sizeof entities / sizeof entities[0]; i++) {
            const size_t entity = strlen(entities[i].entity);
            if (size - at >= entity && memcmp(text + at, entities[i].entity, entity) == 0) {
                character = entities[i].character;
                step = entity;
                break;
            }
        }
        if (length + 1 >= capacity || character == '\0') {
            return false;
        }
        ret_text[length++] = character;
        at += step;
    }
    ret_text[length] = '\0';
    return true;
}

bool listing_element(struct listing *listing, const char *name, char *ret_text, size_t capacity)
{
    const char *tag;
    size_t size;
    bool closes;
    while (listing_tag(listing, &tag, &size, &closes)) {
        if (closes || !listing_is(tag, size, name)) {
            continue;
        }
        const char *text = listing->next;
        struct listing after = *listing;
        if (listing_tag(&after, &tag, &size, &closes) && closes && listing_is(tag, size, name)) {
            const char *end = memchr(text, '<', (size_t)(listing->end - text));
            *listing = after;
            if (listing_copy(text, (size_t)(end - text), ret_text, capacity)) {
                return true;
            }
        }
    }
    return false;
}

bool listing_is_whole(const void *text, size_t size, const char *root)
{
    struct listing listing = listing_over(text, size);
    const char *tag = "";
    size_t length = 0;
    bool closes = false;
    bool is_root = false;
    while (listing_tag(&listing, &tag, &length, &closes)) {
        const bool is_comment = length > 0 && (*tag == '!' || *tag == '?');
        const bool is_empty = listing.next[-2] == '/'; /* <root/> */
        is_root = is_comment ? is_root : (closes || is_empty) && listing_is(tag, length, root);
    }
    return is_root;
}

bool listing_decode_url(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        const int high = text_hex_value(from[1]);
        const int low = high < 0 ? -1 : text_hex_value(from[2]);
        if (low < 0 || high * 16 + low == 0) {
            return false;
        }
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

bool redis_parse_move(const char *text, size_t size, struct redis_move *ret_move)
{
    char kind[6];
    char place[sizeof ret_move->host + 8];
    uint64_t port;
    AUTO_FREE char *copy = strndup(text, size);
    if (!copy || strlen(copy) != size ||
        sscanf(copy, "%5[A-Z] %*[0-9] %263[^\n]", kind, place) != 2 ||
        (strcmp(kind, "ASK") != 0 && strcmp(kind, "MOVED") != 0)) {
        return false;
    }
    char *colon = strrchr(place, ':'); /* the last: an address of IPv6 has more */
    const char *digits = colon ? colon + 1 : NULL;
    if (!colon || !text_parse_digits(&digits, UINT16_MAX, &port) || *digits || port == 0 ||
        (size_t)(colon - place) >= sizeof ret_move->host) {
        return false;
    }
    *colon = '\0';
    *ret_move = (struct redis_move){.is_ask = kind[0] == 'A', .port = (int)port};
    if (strcmp(place, "?") != 0) { /* a node that does not know its own name */
        memcpy(ret_move->host, place, (size_t)(colon - place));
    }
    return true;
}
