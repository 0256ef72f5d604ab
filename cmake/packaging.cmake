# SPDX-License-Identifier: Apache-2.0
# A Debian package of what `cmake --install` installs (a distribution has its own packaging:
# docs/PACKAGING.md):
#
#     cmake --preset package && cmake --build --preset package
#     cpack --config build-package/CPackConfig.cmake -B build-package
#
# The packages of several architectures install side by side: what differs between them lies in
# /usr/lib/<architecture>/, the manifests name the library alone, and all other files are the same.
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
# CMake 3.31 writes the field, before that packages.cmake.
set(CPACK_DEBIAN_PACKAGE_MULTIARCH same)
set(debian_architectures x86_64-linux-gnu amd64 i386-linux-gnu i386 aarch64-linux-gnu arm64)
list(FIND debian_architectures "${CMAKE_LIBRARY_ARCHITECTURE}" found)
if(CMAKE_CROSSCOMPILING AND NOT found EQUAL -1)
  math(EXPR found "${found} + 1")
  list(GET debian_architectures ${found} CPACK_DEBIAN_PACKAGE_ARCHITECTURE)
endif()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# libcurl is loaded when it is needed, so that shlibdeps does not see it.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libvulkan1, libcurl4 (>= 7.87)")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What Debian's policy asks for and no other installation needs.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/policy.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/packages.cmake)
include(CPack)
