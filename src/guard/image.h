#pragma once
// What a template of the shim leaves open, and elf_image.cc fills in for one driver. C11 and C++.
//
// The template exports two symbols that no image has: `berth_guard_image`, this struct in .data, and
// `berth_guard_tramps`, BERTH_GUARD_TRAMPS trampolines of equal length one after the other (the
// symbol's size says how long). In an image a name of the driver that the template does not export
// leads to trampoline N, which looks up name N in the real driver.
//
// Addresses count from where the image is loaded, as a symbol's value does.

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#else
#include <stddef.h>
#include <stdint.h>
#endif

#define BERTH_GUARD_IMAGE_MAGIC "berth guard img"  // 15 bytes and the NUL
#define BERTH_GUARD_IMAGE_VERSION 1
#define BERTH_GUARD_TRAMPS 2048
#define BERTH_GUARD_DRIVER_BYTES 4096

struct berth_guard_image {
  char magic[16];
  uint32_t version;
  uint32_t name_count;  // trampolines in use; 0: this is the template
  uint64_t names;       // address of name_count times uint32_t: where name N begins in `strings`
  uint64_t strings;     // address of the texts, each with its NUL
  char driver[BERTH_GUARD_DRIVER_BYTES];  // the real driver's absolute path, with its NUL
};
