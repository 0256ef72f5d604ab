# Warnings and sanitizers that every target of the project is built with.
add_compile_options(-Wall -Wextra -Wpedantic)
add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
                    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> -Wshadow -Wvla)
if(WARMPIPE_WERROR)
  add_compile_options(-Werror)
endif()
if(WARMPIPE_SANITIZE)
  add_compile_options(-fsanitize=${WARMPIPE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -g)
  add_link_options(-fsanitize=${WARMPIPE_SANITIZE})
endif()
