# The template of the memory cap's shim, berth-guard.so. It is C alone, without sanitizers and the
# program's options: it lives in programs of others. src/guard/elf_image.cc makes a driver's
# libcuda.so.1 of it.
file(GLOB shim CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/guard/shim/*.c ${CMAKE_SOURCE_DIR}/src/guard/shim/*.S)
add_library(berth_guard_shim MODULE ${shim})
set_target_properties(berth_guard_shim PROPERTIES
  PREFIX "" OUTPUT_NAME berth-guard SUFFIX .so C_STANDARD 11 C_VISIBILITY_PRESET hidden
  POSITION_INDEPENDENT_CODE ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/guard)
target_include_directories(berth_guard_shim PRIVATE ${CMAKE_SOURCE_DIR}/src)
# It allocates nothing, knows no exceptions, and must start where an older glibc is.
target_compile_options(berth_guard_shim PRIVATE -O2 -g0 -Wall -Wextra -fno-asynchronous-unwind-tables
  $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},aarch64>:-mno-outline-atomics>)
# Its own names are its own (-Bsymbolic), so that the table of dynamic symbols can be written anew.
# Every process of a job pays at its start for each segment. It pays for each name of libc that is
# looked up then: hence at the first call. It pays for each page that is written to: hence no table
# of addresses.
target_link_options(berth_guard_shim PRIVATE -nostartfiles -nodefaultlibs -fuse-ld=bfd
  -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,-z,lazy -Wl,-z,norelro -Wl,-z,noseparate-code -Wl,-z,noexecstack -Wl,-z,defs
  -Wl,--hash-style=gnu -Wl,--build-id=sha1)
target_link_libraries(berth_guard_shim PRIVATE c)
