#pragma once
/* What elf_image.cc tells the shim inside the shared object that it writes: found in the template
 * by its magic, filled in there. C11, C++ and assembler. */

#define BERTH_GUARD_IMAGE_MAGIC "BERTH-GUARD-IMG1" /* 16 bytes, without a NUL */
/* Trampoline N begins N times these bytes behind the template's symbol berth_guard_tramp_0. The
 * template exports no other beside the wrappers. An image does not use the name (shim/tramp.S). */
#define BERTH_GUARD_TRAMPOLINES 2048
#define BERTH_GUARD_TRAMPOLINE_BYTES 32

#ifndef __ASSEMBLER__
#include <stdint.h>

struct berth_guard_image {
  char magic[16];
  /* Trampolines that have a name. 0: the template as it was built. */
  uint64_t name_count;
  /* From the start of this structure to an array of int32_t, one per trampoline. Each is the
   * distance from the array's start to a NUL-ended name. All are mapped with the image. */
  int64_t names_offset;
  /* The driver's libcuda.so.1: absolute, without a symbolic link to us. Empty in the template,
   * where BERTH_GUARD_DRIVER says it (for tests). */
  char driver[4064];
};
#endif
