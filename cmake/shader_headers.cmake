# SPDX-License-Identifier: Apache-2.0
# add_shader_headers(HEADERS VERSION SOURCE…): each shader of the folder shaders/ becomes a header,
# spirv/<name>.h in the build, with its SPIR-V as an array named like the file (dots become
# underscores), for this version of Vulkan. They are appended to the list HEADERS.
find_program(GLSLANG_VALIDATOR glslangValidator REQUIRED)

function(add_shader_headers headers version)
  foreach(source ${ARGN})
    string(MAKE_C_IDENTIFIER ${source} variable)
    set(header ${CMAKE_CURRENT_BINARY_DIR}/spirv/${variable}.h)
    add_custom_command(
      OUTPUT ${header}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/spirv
      COMMAND ${GLSLANG_VALIDATOR} -V --quiet --target-env vulkan${version} --vn ${variable} -o ${header}
              ${CMAKE_CURRENT_SOURCE_DIR}/shaders/${source}
      DEPENDS shaders/${source}
      VERBATIM)
    list(APPEND ${headers} ${header})
  endforeach()
  set(${headers} ${${headers}} PARENT_SCOPE)
endfunction()
