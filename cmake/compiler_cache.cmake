# SPDX-License-Identifier: Apache-2.0
# ccache, where it is installed and no other launcher was asked for (an empty
# -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_CXX_COMPILER_LAUNCHER= does without). What it is told makes it
# take precompiled headers, and lets checkouts in different folders share what they compile.
find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
foreach(language C CXX)
  if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER
     AND NOT DEFINED ENV{CMAKE_${language}_COMPILER_LAUNCHER})
    set(CMAKE_${language}_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros
        CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE_PROGRAM})
  endif()
endforeach()
# Else clang writes into a precompiled header when it was made, and each one is another.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
# Else where the checkout lies is part of what is compiled, as debuggers want it.
if(CCACHE_PROGRAM AND (WARMPIPE_SANITIZE OR WARMPIPE_BUILD_FUZZERS))
  add_compile_options(-fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()
