# SPDX-License-Identifier: Apache-2.0
# The options for code that need not be fast, and for code that must be. The layer must stay below a
# size (the test package.library), and with -Os alone its size differs by 4 KiB between releases of
# gcc.
set(warmpipe_small -Os)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # Without moving invariants out of loops, fewer registers must be saved: 500 bytes less with gcc
  # 12. Without dominator optimizations it is 600 to 1,100 bytes less, without tail calls 500, and
  # without saving registers around calls 250 to 800.
  list(APPEND warmpipe_small -fno-move-loop-invariants -fno-tree-dominator-opts
    -fno-optimize-sibling-calls -fno-caller-saves)
  if(CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
    # Without jump threading, which doubles blocks: 600 bytes less, but 1,000 more with gcc 14.
    list(APPEND warmpipe_small -fno-thread-jumps)
  else()
    # 1,100 bytes less with gcc 14 and 16, but 1,100 more with gcc 12.
    list(APPEND warmpipe_small -fno-ipa-modref -fno-shrink-wrap -fno-tree-vrp)
  endif()
  if(CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 15)
    # Without copies of functions for constant arguments: 1,400 bytes less with gcc 16, but more
    # with gcc 12.
    list(APPEND warmpipe_small -fno-ipa-cp)
  endif()
endif()

set(warmpipe_quick -O2)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # Cold blocks stay in their function: elsewhere they need longer jumps and unwind tables of their
  # own. Targets of jumps and functions are not aligned, which saves 1,400 bytes. Loops are aligned:
  # without that a hit takes a tenth longer. Without partial redundancy elimination it is 500 to 800
  # bytes less, and a hit takes as long.
  list(APPEND warmpipe_quick -fno-reorder-blocks-and-partition -falign-jumps=1 -falign-functions=1
    -fno-tree-pre)
endif()
