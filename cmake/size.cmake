# SPDX-License-Identifier: Apache-2.0
# How what need not be fast is built. The layer has to stay below a size (package.library), and what each release of gcc
# makes of -Os differs by a page of 4 KiB.
set(warmpipe_small -Os)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # What is the same in each round of a loop is not kept in a register from before it, which would have to be saved: 500
  # bytes of gcc 12. Nor is it followed from block to block what is known of a value (600 to 1,100 bytes), nor does a call
  # at the end of a function take its frame's place (500).
  list(APPEND warmpipe_small -fno-move-loop-invariants -fno-tree-dominator-opts -fno-optimize-sibling-calls)
  if(CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
    # Nor are blocks doubled for who comes from where: 600 bytes; gcc 14 makes 1,000 more of it.
    list(APPEND warmpipe_small -fno-thread-jumps)
  endif()
  if(CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 15)
    # Nor does a function get a copy for what it is called with: 1,400 bytes of gcc 16; gcc 12 makes more of it.
    list(APPEND warmpipe_small -fno-ipa-cp)
  endif()
endif()
