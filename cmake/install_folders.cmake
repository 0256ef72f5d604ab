# SPDX-License-Identifier: Apache-2.0
# For uninstall.cmake: adds the empty folders below the prefix to the file FOLDERS, and notes
# DESTDIR beside it. If these lists cannot be written, nothing is installed, because nothing could
# be removed again.
get_filename_component(folders_build "${FOLDERS}" DIRECTORY)
foreach(path IN ITEMS "${folders_build}" "${FOLDERS}" "${folders_build}/install_manifest.txt"
    "${folders_build}/install_destdir.txt")
  execute_process(COMMAND test -e "${path}" -a ! -w "${path}" RESULT_VARIABLE lacks_right)
  if(lacks_right EQUAL 0)
    message(FATAL_ERROR "${path} belongs to another user: install as that user, or chown -R the build folder")
  endif()
endforeach()
file(WRITE "${folders_build}/install_destdir.txt" "$ENV{DESTDIR}")
set(folders_prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
if(IS_DIRECTORY "${folders_prefix}")
  execute_process(COMMAND find "${folders_prefix}" -type d -empty OUTPUT_VARIABLE folders_empty ERROR_QUIET)
  file(APPEND "${FOLDERS}" "${folders_empty}")
endif()

# Makes the folders of everything that is installed, if they are not there yet, so that others may
# enter them, whatever the umask is.
file(GLOB folders_scripts "${folders_build}/cmake_install.cmake" "${folders_build}/*/cmake_install.cmake")
foreach(script IN LISTS folders_scripts)
  file(STRINGS "${script}" lines REGEX "file\\(INSTALL DESTINATION \"")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "DESTINATION \"([^\"]*)\"" found "${line}")
    string(REPLACE "\${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_PREFIX}" folder "${CMAKE_MATCH_1}")
    execute_process(COMMAND sh -c "umask 022 && exec mkdir -p \"$1\"" sh "$ENV{DESTDIR}${folder}")
  endforeach()
endforeach()
