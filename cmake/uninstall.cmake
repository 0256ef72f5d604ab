# SPDX-License-Identifier: Apache-2.0
# cmake --build BUILD --target uninstall: removes what the last `cmake --install BUILD` has put there, and the
# folders that are empty then, up to the one that was the prefix.
#
# usage: cmake -D MANIFEST=BUILD/install_manifest.txt -P uninstall.cmake
if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "nothing was installed from this build folder: no ${MANIFEST}")
endif()
file(STRINGS "${MANIFEST}" files ENCODING UTF-8)
foreach(file IN LISTS files)
  set(path "$ENV{DESTDIR}${file}")
  if(EXISTS "${path}" OR IS_SYMLINK "${path}")
    file(REMOVE "${path}")
    message(STATUS "removed ${path}")
  endif()
  # At most as deep as the files lie: rmdir(1) keeps what is not empty.
  get_filename_component(folder "${path}" DIRECTORY)
  foreach(level RANGE 5)
    execute_process(COMMAND rmdir -- "${folder}" RESULT_VARIABLE kept ERROR_QUIET)
    if(kept)
      break()
    endif()
    get_filename_component(folder "${folder}" DIRECTORY)
  endforeach()
endforeach()
file(REMOVE "${MANIFEST}")
