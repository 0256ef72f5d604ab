# SPDX-License-Identifier: Apache-2.0
# What the build takes from the distribution.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# The oldest headers, and registry, that the codec's tables are complete with.
pkg_check_modules(VULKAN REQUIRED IMPORTED_TARGET vulkan>=1.3.239)

# xxHash is used as a header alone (XXH_INLINE_ALL): the layer links libc only.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)

# SPIRV-Tools judge the SPIR-V of imported recipes, in the tool alone. Static on Debian, and C++.
find_path(SPIRV_TOOLS_INCLUDE_DIR spirv-tools/libspirv.h REQUIRED)
find_library(SPIRV_TOOLS_LIBRARY NAMES SPIRV-Tools SPIRV-Tools-shared REQUIRED)
# Those of Debian 12 have no options for what VK_KHR_maintenance8 and VK_KHR_maintenance9 allow.
file(STRINGS ${SPIRV_TOOLS_INCLUDE_DIR}/spirv-tools/libspirv.h WARMPIPE_SPIRV_TOOLS_MAINTENANCE
     REGEX "spvValidatorOptionsSetAllow(OffsetTextureOperand|Vulkan32BitBitwise)")
list(LENGTH WARMPIPE_SPIRV_TOOLS_MAINTENANCE WARMPIPE_SPIRV_TOOLS_MAINTENANCE)

# Where they are static, so is the library of C++ if there is a static one: most of a start of the tool
# went into binding the shared one (docs/decisions/0152-libstdc++-in-the-tool.md).
set(WARMPIPE_TOOL_LINK_OPTIONS "")
if(SPIRV_TOOLS_LIBRARY MATCHES "\\.a$" AND NOT WARMPIPE_SANITIZE)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LINK_OPTIONS -static-libstdc++ -static-libgcc)
  check_cxx_source_compiles("#include <string>
int main(int argc, char **argv) { return (int)std::string(argv[0]).size() + argc; }"
                            WARMPIPE_HAVE_STATIC_LIBSTDCXX)
  if(WARMPIPE_HAVE_STATIC_LIBSTDCXX)
    set(WARMPIPE_TOOL_LINK_OPTIONS ${CMAKE_REQUIRED_LINK_OPTIONS})
  endif()
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
endif()

# Machines that share, in the tool alone: signatures and digests, compression.
pkg_check_modules(SODIUM IMPORTED_TARGET libsodium)
pkg_check_modules(ZSTD IMPORTED_TARGET libzstd)
pkg_check_modules(HIREDIS IMPORTED_TARGET hiredis)
pkg_check_modules(CURL IMPORTED_TARGET libcurl>=7.87)

# The chain's dispatch tables: Debian 12 has them with the validation layers' headers, newer
# distributions with the Vulkan utility libraries.
find_path(VULKAN_INCLUDE_DIR vulkan/vk_layer.h REQUIRED)
if(EXISTS "${VULKAN_INCLUDE_DIR}/vulkan/vk_layer_dispatch_table.h")
  set(WARMPIPE_DISPATCH_TABLE_HEADER "vulkan/vk_layer_dispatch_table.h")
  set(WARMPIPE_DEVICE_DISPATCH_TABLE VkLayerDispatchTable)
elseif(EXISTS "${VULKAN_INCLUDE_DIR}/vulkan/utility/vk_dispatch_table.h")
  set(WARMPIPE_DISPATCH_TABLE_HEADER "vulkan/utility/vk_dispatch_table.h")
  set(WARMPIPE_DEVICE_DISPATCH_TABLE VkuDeviceDispatchTable)
else()
  message(FATAL_ERROR "no dispatch table header: install vulkan-validationlayers-dev (Debian 12) "
                      "or vulkan-utility-libraries-dev")
endif()
