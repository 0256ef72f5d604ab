# SPDX-License-Identifier: Apache-2.0
# Run by cpack over the packages that it has made: CMake before 3.31 cannot write the field Multi-Arch.
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  execute_process(COMMAND dpkg-deb --field ${package} Multi-Arch
    OUTPUT_VARIABLE field OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(package MATCHES "\\.deb$" AND NOT field)
    set(folder ${package}.folder)
    execute_process(COMMAND dpkg-deb --raw-extract ${package} ${folder} COMMAND_ERROR_IS_FATAL ANY)
    file(READ ${folder}/DEBIAN/control control)
    string(REGEX REPLACE "(Architecture: [^\n]*\n)"
      "\\1Multi-Arch: ${CPACK_DEBIAN_PACKAGE_MULTIARCH}\n" control "${control}")
    file(WRITE ${folder}/DEBIAN/control "${control}")
    execute_process(COMMAND dpkg-deb --root-owner-group --build ${folder} ${package}
      OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE_RECURSE ${folder})
  endif()
endforeach()
