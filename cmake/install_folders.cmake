# SPDX-License-Identifier: Apache-2.0
# Adds the empty folders below the prefix to the file FOLDERS, for uninstall.cmake.
set(folders_prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
if(IS_DIRECTORY "${folders_prefix}")
  execute_process(COMMAND find "${folders_prefix}" -type d -empty OUTPUT_VARIABLE folders_empty ERROR_QUIET)
  file(APPEND "${FOLDERS}" "${folders_empty}")
endif()
