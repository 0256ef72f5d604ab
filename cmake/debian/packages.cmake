# SPDX-License-Identifier: Apache-2.0
# Run by cpack after it has made the packages: dpkg-deb packs them anew. CMake before 3.31 cannot
# write the field Multi-Arch. In packages of debugging symbols CPack's md5sums name the folder that
# it worked in, and modes depend on the umask.
set(folders OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  set(folder ${package}.folder)
  execute_process(COMMAND dpkg-deb --raw-extract ${package} ${folder} COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${folder}/DEBIAN/control control)
  if(package MATCHES "\\.ddeb$")
    file(CHMOD_RECURSE ${folder}/usr DIRECTORY_PERMISSIONS ${folders}
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    execute_process(COMMAND sh -c "find usr -type f | LC_ALL=C sort | xargs md5sum > DEBIAN/md5sums"
      WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
  elseif(NOT control MATCHES "\nMulti-Arch: ")
    string(REGEX REPLACE "(Architecture: [^\n]*\n)"
      "\\1Multi-Arch: ${CPACK_DEBIAN_PACKAGE_MULTIARCH}\n" control "${control}")
    file(WRITE ${folder}/DEBIAN/control "${control}")
  endif()
  file(CHMOD ${folder}/DEBIAN PERMISSIONS ${folders})
  execute_process(COMMAND dpkg-deb --root-owner-group --build ${folder} ${package}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${folder})
endforeach()
