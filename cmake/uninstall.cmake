# SPDX-License-Identifier: Apache-2.0
# cmake --build BUILD --target uninstall: removes the files of the last `cmake --install BUILD`, and
# the folders up to the prefix that are empty after that. Folders that were empty before the
# installation stay.
#
# usage: cmake -D MANIFEST=BUILD/install_manifest.txt -D FOLDERS=BUILD/install_folders.txt -P uninstall.cmake
cmake_minimum_required(VERSION 3.22) # IN_LIST
if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "nothing was installed from this build folder: no ${MANIFEST}")
endif()
file(STRINGS "${MANIFEST}" files ENCODING UTF-8)
set(empty_before "")
if(EXISTS "${FOLDERS}")
  file(STRINGS "${FOLDERS}" empty_before ENCODING UTF-8)
endif()
# Where it was put, whatever DESTDIR is now: the same paths without it may be another installation's.
set(destdir "$ENV{DESTDIR}")
get_filename_component(build "${MANIFEST}" DIRECTORY)
if(EXISTS "${build}/install_destdir.txt")
  file(READ "${build}/install_destdir.txt" destdir)
endif()
string(REGEX REPLACE "/+$" "" destdir "${destdir}")
# The prefix is what all of them have in common.
list(GET files 0 prefix)
get_filename_component(prefix "${prefix}" DIRECTORY)
foreach(file IN LISTS files)
  string(FIND "${file}" "${prefix}/" at)
  while(NOT at EQUAL 0)
    get_filename_component(prefix "${prefix}" DIRECTORY)
    string(FIND "${file}" "${prefix}/" at)
  endwhile()
endforeach()
if(destdir STREQUAL "")
  get_filename_component(above "${prefix}" DIRECTORY)
else()
  set(above "${destdir}")
endif()
foreach(file IN LISTS files)
  set(path "${destdir}${file}")
  if(EXISTS "${path}" OR IS_SYMLINK "${path}")
    file(REMOVE "${path}")
    message(STATUS "removed ${path}")
  endif()
  get_filename_component(folder "${path}" DIRECTORY)
  set(kept 0) # rmdir(1) keeps what is not empty
  while(kept EQUAL 0 AND NOT "${folder}" STREQUAL "${above}" AND NOT "${folder}" IN_LIST empty_before)
    execute_process(COMMAND rmdir -- "${folder}" RESULT_VARIABLE kept ERROR_QUIET)
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
endforeach()
file(REMOVE "${MANIFEST}" "${FOLDERS}" "${build}/install_destdir.txt")
