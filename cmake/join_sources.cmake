# SPDX-License-Identifier: Apache-2.0
# join_sources(RET_SOURCES SOURCE...): the files that a target of C++ tests compiles (decision
# 0272). Most of a build's time goes into templates that each file instantiates anew. So with a
# sanitizer, and in tools/check, up to 16 files of a folder are one translation unit; names without
# linkage must then be unique in a folder. A build that is configured by hand compiles each file by
# itself, which finds missing includes.
#
# Checkouts in different folders share a compiler cache. For that, the units name their files by
# relative paths, and files that know absolute places (paths.h) are joined only with each other.
function(join_sources ret_sources)
  if(NOT WARMPIPE_JOIN_TESTS AND NOT WARMPIPE_SANITIZE)
    set(${ret_sources} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(movable "")
  set(settled "")
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} lines REGEX "^#include \"paths.h\"")
    if(lines)
      list(APPEND settled ${source})
    else()
      list(APPEND movable ${source})
    endif()
  endforeach()
  set(units "")
  foreach(kind movable settled)
    set(unit_folder "")
    foreach(source IN LISTS ${kind})
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
      get_filename_component(folder ${path} DIRECTORY)
      if(NOT folder STREQUAL unit_folder OR left EQUAL 0)
        list(LENGTH units number)
        set(unit ${CMAKE_CURRENT_BINARY_DIR}/joined_${number}.cpp)
        list(APPEND units ${unit})
        set(unit_folder ${folder})
        set(left 16)
      endif()
      math(EXPR left "${left} - 1")
      string(APPEND content_of_${unit} "#include \"${path}\"\n")
    endforeach()
  endforeach()
  foreach(unit IN LISTS units)
    file(GENERATE OUTPUT ${unit} CONTENT "${content_of_${unit}}")
    set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS -Wno-shadow) # of another file's names
  endforeach()
  set(${ret_sources} ${units} PARENT_SCOPE)
endfunction()
