// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/engines/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* The first that knows all options that are used. */
#define CURL_LIBRARY_OLDEST 0x075700 /* 7.87.0 */

struct curl_library curl;

static char curl_library_error[256];

/* The usual name first; Debian has a build with another TLS as well. */
static void *curl_library_open(void)
{
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(curl_library_error, sizeof curl_library_error, "%s", dlerror());
        library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static void curl_library_fill(void)
{
    void *library = curl_library_open();
    if (!library) {
        return;
    }
    curl_library_error[0] = '\0';
#define CURL_LIBRARY_FIND(name)                                                                    \
    *(void **)&curl.name = dlsym(library, "curl_" #name);                                          \
    if (!curl.name) {                                                                              \
        snprintf(curl_library_error, sizeof curl_library_error, "%s", dlerror());                  \
        return;                                                                                    \
    }
    CURL_LIBRARY_FUNCTIONS(CURL_LIBRARY_FIND)
#undef CURL_LIBRARY_FIND
    const curl_version_info_data *info = curl.version_info(CURLVERSION_NOW);
    if (info->version_num < CURL_LIBRARY_OLDEST) {
        snprintf(curl_library_error, sizeof curl_library_error, "libcurl %s is older than 7.87",
                 info->version);
    }
}

const char *curl_library_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, curl_library_fill);
    return curl_library_error[0] ? curl_library_error : NULL;
}
