// SPDX-License-Identifier: Apache-2.0
// A preloaded library with which Mesa's drivers for Intel find a GPU: they compile for it, and what
// is submitted to it is dropped. node.c is what a process sees of the device's files; drm.c, i915.c
// and xe.c are what the kernel answers. INTEL_GPU_ID: the PCI id of the device, in hexadecimal
// (9a49, a Tiger Lake).
//
// All functions may be called from any thread.
#ifndef WARMPIPE_TESTS_DRIVERS_SHIM_H
#define WARMPIPE_TESTS_DRIVERS_SHIM_H

#include <stdbool.h>
#include <stdint.h>

// The PCI id of the device.
uint32_t shim_device_id(void);

// Whether the kernel's driver for it is xe, not i915.
bool shim_is_xe(void);

// How much memory there is, in bytes.
#define SHIM_MEMORY_BYTES (8ull << 30)

// A name that was not given before. Names and buffers are never taken back.
uint32_t shim_new_name(void);

// A handle for a buffer of so many bytes, and where it lies in the device's memory.
uint32_t shim_new_buffer(uint64_t bytes);
uint64_t shim_buffer_offset(uint32_t handle);

// -1 and EINVAL: what a kernel says of a call or a value that it does not know.
int shim_refuse(void);

// Answers a call of the kernel's interface by its number in include/uapi/drm/drm.h; those of 0x40
// and more are i915's (i915_drm.h) or xe's (xe_drm.h). `argument` is the struct that belongs to the
// number. 0, or -1 with errno.
int drm_ioctl(unsigned number, void *argument);

// The same for numbers less 0x40.
int i915_ioctl(unsigned number, void *argument);
int xe_ioctl(unsigned number, void *argument);

#endif
