/* Memory for driver objects of our own on a device whose program has given it, or its instance, an
 * allocator. That one would serve objects that are created without any, and it may be called on the
 * program's threads alone ("Memory Allocation", Host Memory; hazard 9); ours on any. */
#ifndef WARMPIPE_LAYER_OWN_ALLOCATOR_H
#define WARMPIPE_LAYER_OWN_ALLOCATOR_H

#include <vulkan/vulkan.h>

extern const VkAllocationCallbacks own_allocator;

#endif
