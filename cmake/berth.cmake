# What every target shares, and berth_folder(): the library and the tests of one folder of src/.

add_library(berth_options INTERFACE)
target_include_directories(berth_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(berth_options INTERFACE _GNU_SOURCE
                                                   BERTH_VERSION="${BERTH_VERSION}")
target_compile_options(
  berth_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wno-missing-field-initializers>)
# GCC 12 suspects the unused alternatives of a std::variant, thirty lines at a time.
target_compile_options(berth_options INTERFACE
                       $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
# It collects its garbage late: 9 % of its CPU time for 150 MB of memory (AMD EPYC, 2026-11-27).
target_compile_options(berth_options INTERFACE
                       "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1000000>")
# clang asks for braces that a table's row has already. It also names std::get_temporary_buffer, which
# C++17 deprecated, at each use of libstdc++ 12's stable_sort.
target_compile_options(
  berth_options
  INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-missing-braces -Wno-deprecated-declarations>)
# Among several files compiled as one, what shadows a name of the file before it shadows nothing.
if(NOT BERTH_UNITY)
  target_compile_options(berth_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wshadow>)
endif()
# A value that a switch forgets is named at each build, by whichever compiler.
target_compile_options(berth_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror=switch>)
if(BERTH_WERROR)
  target_compile_options(berth_options INTERFACE -Werror)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# -g1 keeps file and line for the sanitizers' reports. -O0: a test file compiles in 9.5 s of CPU
# instead of 12.3 with -Og. Measured on one core of this project's build machine. No test is slow
# enough to notice.
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
# A test's own files without: GoogleTest names file and line of what fails. They compile in 11.2 s of CPU
# instead of 13.1 (clang 19, AMD EPYC, 2026-11-27).
set(berth_test_options "")
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(berth_test_options -g0)
endif()

if(BERTH_FUZZ)
  target_compile_options(berth_options INTERFACE -fsanitize=address,undefined,fuzzer-no-link
                                                 -fno-sanitize-recover=all)
  target_link_options(berth_options INTERFACE -fsanitize=address,undefined)
elseif(BERTH_SANITIZE)
  # Without the checks of each pointer before its use: they take a third of a fresh clone's compile
  # time. AddressSanitizer finds a null one as well. ./dev check and ./dev fuzz have them all.
  target_compile_options(
    berth_options INTERFACE -fsanitize=address,undefined -fno-sanitize=null,vptr,alignment
                            -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # Nor with clang's second stack, which finds the use of a local after its return: an eighth of what
  # the tests run (AMD EPYC, 2026-11-28). ./dev fuzz has it.
  target_compile_options(
    berth_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fsanitize-address-use-after-return=never>)
  target_link_options(berth_options INTERFACE -fsanitize=address,undefined)
elseif(BERTH_UBSAN)
  target_compile_options(berth_options INTERFACE -fsanitize=undefined -fno-sanitize-recover=all)
  target_link_options(berth_options INTERFACE -fsanitize=undefined)
elseif(BERTH_TSAN)
  target_compile_options(berth_options INTERFACE -fsanitize=thread)
  target_link_options(berth_options INTERFACE -fsanitize=thread)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(berth_options INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE
                                                 -D_FORTIFY_SOURCE=2)
endif()
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug") # where the linker leaves out what nothing calls
  target_compile_options(berth_options INTERFACE -ffunction-sections -fdata-sections)
endif()

# Files of a folder are compiled several at a time: most of a file's compile time is its headers.
# From clean on two cores it is what a fresh clone waits for. -DBERTH_UNITY=OFF compiles each alone
# (./dev check does, which also shows that each stands alone).
#
# These stay alone: tables that declare their columns under the same names, fakes of the same thing.
set_source_files_properties(
  ${CMAKE_SOURCE_DIR}/src/cards/table_ascend.cc
  ${CMAKE_SOURCE_DIR}/src/cards/table_datacenter.cc ${CMAKE_SOURCE_DIR}/src/cards/table_geforce.cc
  ${CMAKE_SOURCE_DIR}/src/cards/table_intel.cc ${CMAKE_SOURCE_DIR}/src/cards/table_radeon.cc
  ${CMAKE_SOURCE_DIR}/src/cards/table_workstation.cc
  ${CMAKE_SOURCE_DIR}/src/smi/gpustat_arguments.cc ${CMAKE_SOURCE_DIR}/src/smi/monitor.cc
  ${CMAKE_SOURCE_DIR}/src/smi/table.cc ${CMAKE_SOURCE_DIR}/src/view/process_list.cc ${CMAKE_SOURCE_DIR}/src/view/runs_text.cc
  ${CMAKE_SOURCE_DIR}/src/view/status_devices.cc
  ${CMAKE_SOURCE_DIR}/src/probe/nvml/details_rates_test.cc
  ${CMAKE_SOURCE_DIR}/src/probe/nvml/nvml_probe_test.cc
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
function(berth_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${BERTH_UNITY} UNITY_BUILD_BATCH_SIZE 64)
  if(BERTH_UNITY)
    # A file's own types stay its own.
    target_compile_options(${target} PRIVATE
                           $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
    berth_precompile(${target} ${ARGN})
  endif()
endfunction()

# berth_precompile(TARGET [tests] [snapshot|record] OPTION…): headers that most files read are compiled
# once for all targets of the same words. These are the standard library's, with "tests" GoogleTest's.
# "snapshot" and "record" add our own, up to that folder. So a file may forget an #include: ./dev check
# compiles each alone.
function(berth_precompile target)
  list(JOIN ARGN "_" name)
  string(MAKE_C_IDENTIFIER "berth_precompiled_${name}" name)
  # Its templates are instantiated once, too: 4 % of clang's time. Without a time stamp a compiler cache
  # can answer.
  set(for_clang "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-fpch-instantiate-templates -Xclang -fno-pch-timestamp>")
  if(NOT TARGET ${name})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "")
    add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
    set(headers algorithm array charconv chrono cstdint expected filesystem functional map memory optional
        ranges set span string string_view utility variant vector fmt/format.h)
    if("tests" IN_LIST ARGN)
      list(APPEND headers gmock/gmock.h gtest/gtest.h)
      target_link_libraries(${name} PRIVATE GTest::gtest GTest::gmock)
    endif()
    if("snapshot" IN_LIST ARGN OR "record" IN_LIST ARGN)
      list(APPEND headers base/text.h base/tr.h snapshot/questions.h)
      if("tests" IN_LIST ARGN)
        list(APPEND headers snapshot/builder.h)
      endif()
    endif()
    if("record" IN_LIST ARGN)
      list(APPEND headers place/placement.h record/run_record.h)
    endif()
    list(REMOVE_ITEM ARGN tests snapshot record)
    list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
    target_precompile_headers(${name} PRIVATE ${headers})
    target_link_libraries(${name} PRIVATE berth_options Threads::Threads)
    target_compile_options(${name} PRIVATE ${ARGN} ${for_clang})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
                                           ${for_clang})
endfunction()

# berth_folder(NAME DEPS …): src/NAME/**/*.cc without *_test.cc becomes berth_NAME; the tests become
# NAME_tests. src/app is the program itself.
#
# FAST: what all else calls. The rest is compiled for size: with OpenSSL and SQLite in it the program
# would not stay below its 13.25 MiB otherwise. LIBRARY: a part of libraries, too.
function(berth_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FAST;LIBRARY" "" "DEPS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc
       ${CMAKE_SOURCE_DIR}/src/${name}/*.S)
  list(FILTER sources EXCLUDE REGEX "/guard/shim/") # C of other programs' (shim.cmake)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM arg_DEPS PREPEND berth_)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  add_library(berth_${name} STATIC ${sources})
  set(options "")
  if(arg_LIBRARY)
    set(options -fPIC)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT arg_FAST)
    list(APPEND options -Os)
  endif()
  target_compile_options(berth_${name} PRIVATE ${options})
  if("-Os" IN_LIST options)
    # Where pointers may point: 6 % of the compiler's time for 0.1 % of the size (AMD EPYC, 2026-11-28).
    target_compile_options(berth_${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-tree-pta>)
  endif()
  set(reads snapshot)
  if(name STREQUAL "record" OR "berth_record" IN_LIST arg_DEPS)
    set(reads record)
  elseif(name STREQUAL "base" OR name STREQUAL "compute")
    set(reads "")
  endif()
  berth_compile_together(berth_${name} ${reads} ${options})
  target_link_libraries(berth_${name} PUBLIC berth_options ${arg_DEPS} ${CMAKE_DL_LIBS}
                                             Threads::Threads)
  if(BERTH_UNIT_TESTS AND tests)
    find_package(GTest REQUIRED)
    add_executable(${name}_tests ${tests})
    target_compile_options(${name}_tests PRIVATE ${berth_test_options})
    berth_compile_together(${name}_tests tests ${reads} ${berth_test_options})
    target_link_libraries(${name}_tests PRIVATE berth_${name} GTest::gmock_main GTest::gtest
                                                GTest::gmock)
    set_property(GLOBAL APPEND PROPERTY BERTH_TEST_PROGRAMS ${name}_tests)
  endif()
endfunction()

# berth_program(FOLDER): the program of this folder's main.cc.
function(berth_program folder)
  target_include_directories(berth_${folder} BEFORE PRIVATE ${CMAKE_SOURCE_DIR}/cmake/no_streams)
  add_executable(berth ${CMAKE_SOURCE_DIR}/src/${folder}/main.cc)
  target_link_libraries(berth PRIVATE berth_${folder})
  target_link_options(berth PRIVATE -Wl,--wrap=OPENSSL_cpuid_setup)
  if(NOT BERTH_SANITIZE AND NOT BERTH_UBSAN AND NOT BERTH_TSAN)
    # At a fixed address. Each start of a position-independent program would rewrite 156 pages of
    # pointers, of OpenSSL and our own tables. That is 174 page faults and 1.0 to 1.3 ms of
    # `berth --version` (AMD EPYC, 2026-11-21). The table of what to rewrite would be 790 kB.
    # Stack, heap and libraries stay where nobody can guess them.
    # ld.bfd: mold and gold keep the dynamic symbols of sections that --gc-sections removed. Then
    # libstdc++'s unused random_device would want glibc 2.36's arc4random.
    target_link_options(berth PRIVATE -no-pie -static-libstdc++ -static-libgcc -fuse-ld=bfd
                        -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now)
  endif()
  # It is wiring and has no unit tests: a sanitized build need not hold it.
  if(BERTH_SANITIZE)
    set_target_properties(berth_${folder} berth PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# berth_catalogue(LIBRARY): po/*.po compiled by msgfmt and packed, for the .incbin in base/catalogue.S.
function(berth_catalogue library)
  set(mo ${CMAKE_BINARY_DIR}/po/zh_CN.mo)
  add_custom_command(
    OUTPUT ${mo}.gz
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/po
    COMMAND ${MSGFMT} --no-hash --check-format -o ${mo} ${CMAKE_SOURCE_DIR}/po/zh_CN.po
    COMMAND gzip --best --no-name --force ${mo}
    DEPENDS ${CMAKE_SOURCE_DIR}/po/zh_CN.po)
  target_sources(berth_${library} PRIVATE ${mo}.gz)
  target_include_directories(berth_${library} PRIVATE ${CMAKE_BINARY_DIR}/po)
  set_source_files_properties(
    ${CMAKE_SOURCE_DIR}/src/base/catalogue.S
    PROPERTIES OBJECT_DEPENDS ${mo}.gz COMPILE_OPTIONS "-Wa,-I,${CMAKE_BINARY_DIR}/po")
endfunction()

# berth_scenarios(LIBRARY): the simulated servers packed, for the .incbin in probe/sim/scenarios.S.
function(berth_scenarios library)
  set(packed_folder ${CMAKE_BINARY_DIR}/scenarios)
  file(GLOB scenarios CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/probe/sim/scenarios/*.json)
  set(all_packed "")
  foreach(scenario ${scenarios})
    get_filename_component(name ${scenario} NAME)
    set(packed ${packed_folder}/${name}.gz)
    add_custom_command(
      OUTPUT ${packed}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${packed_folder}
      COMMAND gzip --best --no-name --stdout ${scenario} > ${packed}
      DEPENDS ${scenario}
      VERBATIM)
    list(APPEND all_packed ${packed})
  endforeach()
  target_sources(berth_${library} PRIVATE ${all_packed})
  set_source_files_properties(
    ${CMAKE_SOURCE_DIR}/src/probe/sim/scenarios.S
    PROPERTIES OBJECT_DEPENDS "${all_packed}" COMPILE_OPTIONS "-Wa,-I,${packed_folder}")
endfunction()

# berth_recipes(): the .incbin in app/recipes.S finds its files and notices their changes.
function(berth_recipes)
  set(folder ${CMAKE_SOURCE_DIR}/examples/recipes)
  file(GLOB recipes CONFIGURE_DEPENDS ${folder}/*.py)
  set_source_files_properties(
    ${CMAKE_SOURCE_DIR}/src/app/recipes.S
    PROPERTIES OBJECT_DEPENDS "${recipes}" COMPILE_OPTIONS "-Wa,-I,${folder}")
endfunction()

# berth_server(LIBRARY): what serves HTTP beyond our own folders, static where Debian has it so. And
# the API's description for the .incbin in serve/openapi.S.
function(berth_server library)
  set(folder ${CMAKE_SOURCE_DIR}/src/${library})
  set_source_files_properties(${folder}/openapi.S PROPERTIES OBJECT_DEPENDS ${folder}/openapi.json
                                                             COMPILE_OPTIONS "-Wa,-I,${folder}")
  # Boost's headers beside each other file of a batch would make that batch the one all wait for.
  set_source_files_properties(${folder}/http_client.cc ${folder}/http_loop.cc
                              ${folder}/http_reply.cc ${folder}/http_server.cc ${folder}/http_session.cc
                              ${folder}/settings.cc ${folder}/settings_alerts.cc
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # What a scrape costs is promised; what it is compiled for is speed.
  set_source_files_properties(${folder}/metrics_berth.cc ${folder}/metrics_exposition.cc
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
                                         "$<$<CONFIG:Release>:-O2;-ftree-pta>")
  set(OPENSSL_USE_STATIC_LIBS ON)
  set(ZLIB_USE_STATIC_LIBS ON)
  find_package(OpenSSL REQUIRED)
  find_package(Boost 1.81 REQUIRED)
  target_link_libraries(berth_${library} PUBLIC OpenSSL::SSL OpenSSL::Crypto)
  target_include_directories(berth_${library} SYSTEM PRIVATE ${Boost_INCLUDE_DIRS})
endfunction()
