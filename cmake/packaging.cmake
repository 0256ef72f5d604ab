# SPDX-License-Identifier: Apache-2.0
# A Debian package of what `cmake --install` installs (a distribution has its own packaging:
# docs/PACKAGING.md):
#
#     cmake --preset package && cmake --build --preset package
#     cpack --config build-package/CPackConfig.cmake -B build-package
#
# The layer is no library that anybody links to, so it lies in a folder of its own.
set(CPACK_PACKAGE_NAME warmpipe)
set(CPACK_PACKAGE_VENDOR "warmpipe")
set(CPACK_PACKAGE_CONTACT "warmpipe maintainers <maintainers@warmpipe.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Vulkan layer that makes unmodified programs start warm")
set(CPACK_PACKAGE_DESCRIPTION
  "Vulkan programs compile their pipelines at every start. This layer gives every
pipeline creation a persistent pipeline cache, creates each distinct object
once, and keeps what the driver compiled in a validated file, so that the next
start finds its pipelines ready. It is off until WARMPIPE_ENABLE=1 is set, or
for one program with 'warmpipe run'.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE ${PROJECT_HOMEPAGE_URL})
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON) # warmpipe-dbgsym, beside it; strips what is packed
# The command serves programs of any architecture. CMake 3.31 writes the field, before that multiarch.cmake.
set(CPACK_DEBIAN_PACKAGE_MULTIARCH foreign)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libvulkan1")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What Debian's policy asks for and no other installation needs.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/policy.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/multiarch.cmake)
include(CPack)
