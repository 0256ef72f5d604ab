// SPDX-License-Identifier: Apache-2.0
// A preloaded library with which Mesa's drivers for Intel find a GPU: they compile for it, and what
// is submitted to it is dropped. node.c is what a process sees of the device's files, i915.c what
// the kernel answers. INTEL_GPU_ID: the PCI id of the device, in hexadecimal (9a49, a Tiger Lake).
//
// All functions may be called from any thread.
#ifndef WARMPIPE_TESTS_DRIVERS_SHIM_H
#define WARMPIPE_TESTS_DRIVERS_SHIM_H

#include <stdint.h>

// The PCI id of the device.
uint32_t shim_device_id(void);

// Answers a call of the kernel's interface: include/uapi/drm/drm.h, and i915_drm.h for `number` of
// 0x40 and more. `argument` is the struct that belongs to the number. 0, or -1 with errno.
int i915_ioctl(unsigned number, void *argument);

#endif
