// SPDX-License-Identifier: Apache-2.0
/* libcurl, loaded when a remote first needs it, because it loads thirty more libraries, and most
 * starts of the tool do not use them. Thread-safe. */
#ifndef WARMPIPE_TOOLS_REMOTE_ENGINES_CURL_LIBRARY_H
#define WARMPIPE_TOOLS_REMOTE_ENGINES_CURL_LIBRARY_H

#include <curl/curl.h>

#define CURL_LIBRARY_FUNCTIONS(X)                                                                  \
    X(easy_cleanup)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_header)                                                                                 \
    X(easy_init)                                                                                   \
    X(easy_reset)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_strerror)                                                                               \
    X(getdate)                                                                                     \
    X(global_cleanup)                                                                              \
    X(global_init)                                                                                 \
    X(multi_add_handle)                                                                            \
    X(multi_cleanup)                                                                               \
    X(multi_info_read)                                                                             \
    X(multi_init)                                                                                  \
    X(multi_perform)                                                                               \
    X(multi_poll)                                                                                  \
    X(multi_remove_handle)                                                                         \
    X(multi_setopt)                                                                                \
    X(slist_append)                                                                                \
    X(slist_free_all)                                                                              \
    X(version_info)

/* curl_easy_init is curl.easy_init. Filled by curl_library_load. */
#define CURL_LIBRARY_MEMBER(name) __typeof__(curl_##name) *name;
extern struct curl_library {
    CURL_LIBRARY_FUNCTIONS(CURL_LIBRARY_MEMBER)
} curl;
#undef CURL_LIBRARY_MEMBER

/* Returns NULL when `curl` is filled; otherwise a message that says why not, in every call. The
 * library is never unloaded. */
const char *curl_library_load(void);

#endif
