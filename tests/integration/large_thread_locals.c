// SPDX-License-Identifier: Apache-2.0
/* Preloaded: what is kept for each thread takes nearly a mebibyte, which glibc takes from the stack
 * of each. */
static _Thread_local char kept[1036000];

char *kept_of_this_thread(void);
char *kept_of_this_thread(void)
{
    return kept;
}
