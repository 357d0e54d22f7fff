# libberth: the C library of include/berth/berth.h. It holds its own folder and base (of snapshot it
# has constants), the C++ runtime included, and exports berth_* alone. It is libberth.so.0, and
# libberth.a: one object whose other names are local. So a program with its own {fmt} or JSON library
# never meets ours.

# Alone in its object: the library brings a check_failed() of its own, which ends no host.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/check.cc
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# berth_library(NAME DEPS …): src/NAME/*.cc and what they need become the library.
function(berth_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS")
  list(TRANSFORM arg_DEPS PREPEND berth_)
  set_target_properties(${arg_DEPS} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(berth_lib OBJECT ${sources})
  set_target_properties(berth_lib PROPERTIES POSITION_INDEPENDENT_CODE ON)
  berth_compile_together(berth_lib -fPIC)
  target_include_directories(berth_lib PUBLIC ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(berth_lib PUBLIC ${arg_DEPS})
  berth_calls(calls)

  list(JOIN calls ";\n    " exported)
  set(map ${CMAKE_BINARY_DIR}/libberth.map)
  file(CONFIGURE OUTPUT ${map}
       CONTENT "BERTH_0 {\n  global:\n    @exported@;\n  local:\n    *;\n};\n" @ONLY)
  add_library(berth_shared SHARED $<TARGET_OBJECTS:berth_lib>)
  set_target_properties(berth_shared PROPERTIES OUTPUT_NAME berth EXPORT_NAME berth VERSION 0
                                                SOVERSION 0 LINK_DEPENDS ${map})
  target_link_libraries(berth_shared PRIVATE ${arg_DEPS})
  target_link_options(
    berth_shared PRIVATE -static-libstdc++ -static-libgcc -fuse-ld=bfd -Wl,--gc-sections
    -Wl,-z,relro -Wl,-z,now -Wl,--version-script=${map})
  berth_include_directory(berth_shared)

  if(BERTH_SANITIZE OR BERTH_UBSAN OR BERTH_TSAN OR BERTH_FUZZ)
    # A sanitizer's runtime is the program's, not a library's.
    set_target_properties(berth_lib berth_shared PROPERTIES EXCLUDE_FROM_ALL ON)
  else()
    berth_static_library("${calls}" ${arg_DEPS})
  endif()
endfunction()

# berth_calls(OUT): the functions that berth.h declares.
function(berth_calls out)
  set(header ${CMAKE_SOURCE_DIR}/include/berth/berth.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(STRINGS ${header} lines REGEX "^[a-z].*[ *]berth_[a-z0-9_]+\\(")
  list(TRANSFORM lines REPLACE "^[a-z].*[ *](berth_[a-z0-9_]+)\\(.*" "\\1")
  set(${out} ${lines} PARENT_SCOPE)
endfunction()

function(berth_include_directory target)
  target_include_directories(
    ${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                        $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
endfunction()

# One object of all that the calls reach, by `ld -r`. With -r the compiler links no library by
# itself, so the C++ runtime is named. What unwinds the stack is the host's, as it is the
# compiler's.
function(berth_static_library calls)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a
                  OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(TRANSFORM calls PREPEND -Wl,-u, OUTPUT_VARIABLE roots)
  list(TRANSFORM calls PREPEND --keep-global-symbol= OUTPUT_VARIABLE global)
  add_executable(berth_object $<TARGET_OBJECTS:berth_lib>)
  # Base by name: the linker looks into the runtime once, behind all that needs it.
  target_link_libraries(berth_object PRIVATE ${ARGN} berth_base ${runtime})
  # Without groups, which the host's linker would merge with its own of the same name.
  target_link_options(berth_object PRIVATE -r -fuse-ld=bfd -Wl,--force-group-allocation
                      -Wl,--gc-sections ${roots})
  set(object ${CMAKE_BINARY_DIR}/libberth.o)
  add_custom_command(
    OUTPUT ${object}
    # Weak first: objcopy leaves what is "unique in the whole process" as it is.
    COMMAND ${CMAKE_OBJCOPY} --wildcard --weaken-symbol=_Z* $<TARGET_FILE:berth_object> ${object}
    COMMAND ${CMAKE_OBJCOPY} ${global} --strip-unneeded ${object}
    DEPENDS berth_object
    VERBATIM)
  add_library(berth_static STATIC ${object})
  set_target_properties(berth_static PROPERTIES OUTPUT_NAME berth EXPORT_NAME static
                                                LINKER_LANGUAGE C)
  berth_include_directory(berth_static)
endfunction()
