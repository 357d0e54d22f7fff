# Compiles for arm64 with Debian's g++-aarch64-linux-gnu. The static libraries of arm64 lie in
# build/peers/arm64, where `./dev package arm64` unpacks them; headers without code are this machine's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)

get_filename_component(arm64 ${CMAKE_CURRENT_LIST_DIR}/../build/peers/arm64/usr ABSOLUTE)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${arm64})
set(CMAKE_LIBRARY_PATH ${arm64}/lib/aarch64-linux-gnu)
set(OPENSSL_ROOT_DIR ${arm64})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
# What an architecture has of its own, as OpenSSL's configuration, before this machine's.
set(flags "-isystem \"${arm64}/include/aarch64-linux-gnu\" -isystem \"${arm64}/include\"")
set(CMAKE_C_FLAGS_INIT ${flags})
set(CMAKE_CXX_FLAGS_INIT ${flags})
