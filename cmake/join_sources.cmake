# SPDX-License-Identifier: Apache-2.0
# join_sources(RET_SOURCES SOURCE...): what a target of tests in C++ compiles. Most of a build goes into the
# templates that each file instantiates anew. With a sanitizer up to 16 files of a folder are therefore one
# translation unit, and what has no linkage is named once in a folder. The release build compiles each file by
# itself, so that a missing include is found there. The paths are relative: checkouts in different folders share a
# compiler cache.
function(join_sources ret_sources)
  if(NOT WARMPIPE_SANITIZE)
    set(${ret_sources} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(units "")
  set(unit_folder "")
  foreach(source IN LISTS ARGN)
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
  foreach(unit IN LISTS units)
    file(GENERATE OUTPUT ${unit} CONTENT "${content_of_${unit}}")
    set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS -Wno-shadow) # of another file's names
  endforeach()
  set(${ret_sources} ${units} PARENT_SCOPE)
endfunction()
