# SPDX-License-Identifier: Apache-2.0
# Run by cpack over the tree before it is packed. It compresses the manual pages and the changelog,
# writes a copyright file that refers to the licence instead of repeating it, and moves zsh's
# completion to where Debian's zsh looks.
foreach(program dpkg-shlibdeps file) # without the first CPack makes a package that depends on nothing
  find_program(${program}_program ${program})
  if(NOT ${program}_program)
    message(FATAL_ERROR "no ${program}: the package cannot tell what it depends on (Debian packages dpkg-dev, file)")
  endif()
endforeach()
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(doc ${usr}/share/doc/warmpipe)
# Of the sources, not of the build: the packages of two architectures must have the same files.
# SOURCE_DATE_EPOCH wins, where it is set.
file(TIMESTAMP ${CMAKE_CURRENT_LIST_DIR}/../../CHANGELOG.md date "%a, %d %b %Y %H:%M:%S +0000" UTC)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
file(MAKE_DIRECTORY ${doc})
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${doc}/copyright)
file(WRITE ${doc}/changelog "warmpipe (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(GLOB compressed ${usr}/share/man/man1/*.1 ${doc}/changelog)
execute_process(COMMAND gzip -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
file(MAKE_DIRECTORY ${usr}/share/zsh/vendor-completions)
file(RENAME ${usr}/share/zsh/site-functions/_warmpipe ${usr}/share/zsh/vendor-completions/_warmpipe)
file(REMOVE_RECURSE ${usr}/share/zsh/site-functions)
file(CHMOD_RECURSE ${usr} DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE) # whatever the umask
file(GLOB installed ${doc}/*)
file(CHMOD ${installed} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
