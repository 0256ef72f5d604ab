# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers and hardening that every target of the project is built with.
add_compile_options(-Wall -Wextra -Wpedantic)
add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
                    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
                    $<$<COMPILE_LANGUAGE:C>:-Wcast-qual>
                    $<$<COMPILE_LANGUAGE:C>:-Wundef> -Wshadow -Wvla)
if(WARMPIPE_WERROR)
  add_compile_options(-Werror)
endif()
if(WARMPIPE_SANITIZE)
  add_compile_options(-fsanitize=${WARMPIPE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -g1) # lines for its reports; not for a debugger
  add_link_options(-fsanitize=${WARMPIPE_SANITIZE})
  if(WARMPIPE_SANITIZE MATCHES address)
    # gcc 12's search for leaks takes what lies before a library's thread-local variables for their
    # size where they are allocated, and crashes now and then.
    add_compile_options(-ftls-model=initial-exec)
  endif()
  if(WARMPIPE_SANITIZE MATCHES undefined)
    # What is looked at is the product, which is C; of the tests it would cost a third of the build.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=undefined>)
  endif()
endif()
# What distributions switch on in their packages, for packages of ours; elsewhere it is the
# distribution's, or the builder's, to say. (Position independence and full RELRO are always on.)
option(WARMPIPE_HARDEN "stack protector, _FORTIFY_SOURCE, RELRO and CET, as in packages" OFF)
if(WARMPIPE_HARDEN)
  # The package must be the same wherever it is built, so no file holds the source folder's path.
  # The linker gets the option too, because it compiles (-flto), and so does the assembler: gcc does
  # not pass it on if it makes fat objects.
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT PROJECT_SOURCE_DIR MATCHES ",")
    add_compile_options(-Wa,--debug-prefix-map=${PROJECT_SOURCE_DIR}=.)
  endif()
  add_link_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  include(CheckCCompilerFlag)
  add_compile_options(-fstack-protector-strong)
  add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
                      $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>) # needs optimization
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wformat> $<$<COMPILE_LANGUAGE:C>:-Werror=format-security>)
  check_c_compiler_flag(-fcf-protection WARMPIPE_HAVE_CF_PROTECTION) # x86 alone
  if(WARMPIPE_HAVE_CF_PROTECTION)
    add_compile_options(-fcf-protection)
  endif()
  check_c_compiler_flag(-fstack-clash-protection WARMPIPE_HAVE_STACK_CLASH_PROTECTION)
  if(WARMPIPE_HAVE_STACK_CLASH_PROTECTION)
    add_compile_options(-fstack-clash-protection)
  endif()
  add_link_options(-Wl,-z,relro -Wl,-z,now)
endif()
