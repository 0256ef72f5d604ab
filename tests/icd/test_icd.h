// SPDX-License-Identifier: Apache-2.0
/* The test driver: a small real ICD that the loader loads as any other. It draws nothing and runs
 * nothing; it creates pipelines into a pipeline cache that works, records what reaches it, and
 * misbehaves as it is told.
 *
 * It is chosen like any driver (VK_DRIVER_FILES at warmpipe_test_icd.json, beside the library) and
 * set from the environment, which is read at each vkCreateInstance. Numbers are decimal or 0x….
 *
 *   What is recorded
 *     WPTEST_ICD_LOG=PATH          append each event as a line of JSON
 *     WPTEST_ICD_ABORT=1           abort() at the first violation
 *
 *   Who the driver is
 *     WPTEST_ICD_API=1.3           apiVersion of instance and devices: 1.0 to 1.3, also 1.0.65
 *     WPTEST_ICD_DEVICES=1         physical devices, 0 to 4; device n adds n to deviceID and to the
 *                                  last byte of pipelineCacheUUID
 *     WPTEST_ICD_GROUP=1           one device group of all of them
 *     WPTEST_ICD_VENDOR_ID, WPTEST_ICD_DEVICE_ID, WPTEST_ICD_DRIVER_VERSION, WPTEST_ICD_DRIVER_ID
 *     WPTEST_ICD_DEVICE_NAME, WPTEST_ICD_DRIVER_NAME, WPTEST_ICD_DRIVER_INFO
 *     WPTEST_ICD_CONFORMANCE=1.3.0.0
 *     WPTEST_ICD_UUID              pipelineCacheUUID, 32 hex digits
 *     WPTEST_ICD_WITHOUT=A,B       extensions it does not offer, commands it does not have
 *
 *   How it compiles
 *     RADV_PERFTEST=               changes what vkGetPipelineKeyKHR tells; uuid: the UUID, too
 *     WPTEST_ICD_KEY=1             what vkGetPipelineKeyKHR tells
 *     WPTEST_ICD_COMPILE_US=0      busy time of each pipeline that no cache holds
 *     WPTEST_ICD_RECORD_BYTES=64   size of one pipeline in cache data
 *     WPTEST_ICD_NO_FEEDBACK=1     creation feedback is left as it came
 *     WPTEST_ICD_INLINE_APART=1    code in a stage is another pipeline than a module (Mesa 26.1)
 *     WPTEST_ICD_OLD_FEEDBACK=1    feedback of every stage is written, as by drivers of before
 *                                  mid-2022, whatever the count says: another one is a violation
 *     WPTEST_ICD_FEEDBACK          hit, miss: what feedback says, whatever is true (Turnip; all of
 *                                  Mesa on libraries without a shader)
 *     WPTEST_ICD_UNCACHED=0        so many pipelines of the process, the first ones, go to no cache
 *     WPTEST_ICD_WANDER=0          the records stand that many places further on, the first ones
 *                                  last, with four zero bytes for each place behind them all;
 *                                  process: as many as its process id says
 *     WPTEST_ICD_GARBAGE=0         what the last four bytes of each record are, meaning nothing
 *     WPTEST_ICD_SERIALIZE=1       every cache must have its user alone, as one that was created
 *                                  externally synchronized
 *
 *   Handles
 *     WPTEST_ICD_RECYCLE=1         a destroyed handle is what the next creation returns
 *     WPTEST_ICD_EQUAL_HANDLES=1   creations of equal content return one handle
 *
 *   Faults
 *     WPTEST_ICD_MERGE_MOVES=1     a merge takes the pipelines out of its sources, as RADV of Mesa
 *                                  22.3 does
 *     WPTEST_ICD_FAIL=COMMAND:N=RESULT,…   the Nth call (from 1, or *) fails so, without effect
 *     WPTEST_ICD_RESULT=COMMAND=RESULT,…   each successful call returns this (positive) code
 *     WPTEST_ICD_OOM=N             the Nth vkCreate* or vkAllocate* call of the process is out of
 *                                  host memory
 *     WPTEST_ICD_FAIL_ELEMENT=K=RESULT     element K of each batch of pipelines fails so
 *     WPTEST_ICD_CACHE_CREATE      fail_data: out of memory when there is initial data;
 *                                  fail: always; abort_data: abort() when there is initial data;
 *                                  abort_second: the second time that there is;
 *                                  ignore_data: nothing is taken of it (ANV of Mesa 22.3)
 *     WPTEST_ICD_CRASH=0xCONTENT   compiling the pipeline of this "content" in the record ends the
 *                                  process; WPTEST_ICD_HANG=0xCONTENT: never ends
 *     WPTEST_ICD_CRASH_ENTRY=NAME  so does each pipeline with a stage whose entry point has this
 *                                  name, whether its module has such an entry point or not
 *     WPTEST_ICD_KILLED_BY=PATH    the next compile removes this file, if it is there, and SIGKILL
 *                                  ends the process, as where there is no more memory;
 *                                  WPTEST_ICD_KILLED_AT=0xCONTENT: each compile of this
 *     WPTEST_ICD_TRUST=1           initial data are not checked: a record that is not as it was
 *                                  written ends the process when its pipeline is asked for,
 *                                  and stays so in what is merged with it and read back
 *     WPTEST_ICD_DATA              what vkGetPipelineCacheData does:
 *                                    incomplete  VK_INCOMPLETE for ever
 *                                    growing     more data at each call
 *                                    header      nothing but the header
 *                                    zero        no bytes, VK_SUCCESS
 *                                    short       a header, of which it reports 20 bytes
 *                                    foreign     a header of another device
 *                                    stale_size  *pDataSize stays as the caller set it
 *                                    overreport  the size query tells more than is then written
 *                                    counted     the header, and a count of no entries
 *     WPTEST_ICD_DATA_US=0         busy time of each vkGetPipelineCacheData, with the cache locked
 *     WPTEST_ICD_MAX_SAMPLERS=N    maxSamplerAllocationCount; one sampler more is a violation, and
 *                                  VK_ERROR_TOO_MANY_OBJECTS
 *     WPTEST_ICD_DEVICE_AFTER=PATH vkCreateDevice waits until there is this file; without it, it
 *                                  fails after 10 s
 *     WPTEST_ICD_NOT_DEFERRED=1    deferred operations are done at once
 *
 * What must never reach it is a violation: recorded, told on standard error, and counted. */
#ifndef WARMPIPE_TEST_ICD_H
#define WARMPIPE_TEST_ICD_H

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#define TEST_ICD_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* The functions below work in a process that links the library; the loader then finds the same one.
 * All are thread-safe. */

/* Calls of one command since the process began, over all devices; aliases count as the command
 * that they stand for. Name it with its "vk". */
TEST_ICD_EXPORT uint64_t test_icd_calls(const char *command);

/* Violations since the process began. */
TEST_ICD_EXPORT uint64_t test_icd_violations(void);

/* The driver's own function for a command, as vkGetDeviceProcAddr gives it without layers; NULL if
 * it has none of that name. */
TEST_ICD_EXPORT PFN_vkVoidFunction test_icd_command(const char *command);

/* From now on each compile (of a pipeline that no cache holds) calls the function, on the thread
 * that creates, without a lock of the driver's: for tests in which a compile must last until
 * something else has happened. NULL: none. */
TEST_ICD_EXPORT void test_icd_on_compile(void (*function)(void *user), void *user);

/* From now on each call of a command calls the function first, with the command's name, on the same
 * thread, without a lock of the driver's: as a driver does that has something to say to a
 * messenger; and again, with "vkGetPipelineCacheData returns", when that has given data. NULL:
 * none. */
TEST_ICD_EXPORT void test_icd_on_call(void (*function)(const char *command, void *user),
                                      void *user);

#ifdef __cplusplus
}
#endif

#endif
