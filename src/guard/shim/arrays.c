/* Arrays and mipmapped arrays. The driver does not say what they take, so their elements are
 * charged. The sampler sees the driver's padding. */

#include "guard/shim/guard.h"

/* Bits of one element of a channel: CUarray_format. */
static uint64_t bits_of(int format, unsigned channels) {
  switch (format) {
    case 0x01: /* UNSIGNED_INT8 */
    case 0x08: /* SIGNED_INT8 */
      return 8 * (uint64_t)channels;
    case 0x02: /* UNSIGNED_INT16 */
    case 0x09: /* SIGNED_INT16 */
    case 0x10: /* HALF */
      return 16 * (uint64_t)channels;
    case 0xb0: /* NV12: 8 bits, and colours at half the resolution */
      return 12;
    case 0x91: /* BC1, BC4: blocks of 4 x 4 in 8 bytes */
    case 0x92:
    case 0x97:
    case 0x98:
      return 4;
    case 0x93: /* BC2, BC3, BC5, BC6H, BC7: in 16 bytes */
    case 0x94:
    case 0x95:
    case 0x96:
    case 0x99:
    case 0x9a:
    case 0x9b:
    case 0x9c:
    case 0x9d:
    case 0x9e:
      return 8;
    case 0xc0: /* UNORM_INT8X1, X2, X4 and INT16X1, X2, X4; SNORM the same */
    case 0xc6:
      return 8;
    case 0xc1:
    case 0xc3:
    case 0xc7:
    case 0xc9:
      return 16;
    case 0xc5:
    case 0xcb:
      return 64;
    case 0xc2:
    case 0xc4:
    case 0xc8:
    case 0xca:
      return 32;
    default: /* UNSIGNED_INT32, SIGNED_INT32, FLOAT; and what is newer */
      return 32 * (uint64_t)channels;
  }
}

static uint64_t at_least_one(uint64_t number) { return number > 0 ? number : 1; }

static uint64_t level_bytes(const struct array_3d* array, unsigned level) {
  const bool has_layers = (array->flags & (array_layered | array_cubemap)) != 0;
  const uint64_t depth = has_layers ? array->depth : array->depth >> level;
  uint64_t elements, bits;
  if (__builtin_mul_overflow(at_least_one(array->width >> level),
                             at_least_one(array->height >> level), &elements) ||
      __builtin_mul_overflow(elements, at_least_one(depth), &elements) ||
      __builtin_mul_overflow(elements, bits_of(array->format, array->channels), &bits)) {
    return BERTH_ACCOUNT_TENTATIVE; /* more than any device has */
  }
  return bits / 8;
}

static uint64_t bytes_of(const struct array_3d* array, unsigned levels) {
  if (array == NULL || (array->flags & (array_sparse | array_deferred)) != 0) return 0;
  uint64_t bytes = 0;
  for (unsigned level = 0; level < levels && level < 32; ++level)
    bytes += level_bytes(array, level);
  return bytes;
}

/* For the other descriptors, which have no depth or flags, or 32-bit sizes. */
#define BYTES_AS_3D(array, depth, flags)                                                     \
  ((array) == NULL ? 0                                                                       \
                   : bytes_of(&(struct array_3d){(array)->width, (array)->height, depth,     \
                                                 (array)->format, (array)->channels, flags}, \
                              1))

int cuArrayCreate(void** result, const struct old_array* array) {
  ALLOCATE(current_place(), BYTES_AS_3D(array, 0, 0), of_array, cuArrayCreate, result, array);
}
int cuArrayCreate_v2(void** result, const struct array* array) {
  ALLOCATE(current_place(), BYTES_AS_3D(array, 0, 0), of_array, cuArrayCreate_v2, result, array);
}
int cuArray3DCreate(void** result, const struct old_array_3d* array) {
  ALLOCATE(current_place(), BYTES_AS_3D(array, array->depth, array->flags), of_array,
           cuArray3DCreate, result, array);
}
int cuArray3DCreate_v2(void** result, const struct array_3d* array) {
  ALLOCATE(current_place(), bytes_of(array, 1), of_array, cuArray3DCreate_v2, result, array);
}
int cuMipmappedArrayCreate(void** result, const struct array_3d* array, unsigned levels) {
  ALLOCATE(current_place(), bytes_of(array, levels), of_mipmaps, cuMipmappedArrayCreate, result,
           array, levels);
}

int cuArrayDestroy(void* array) { FREE(of_array, cuArrayDestroy, array); }
int cuMipmappedArrayDestroy(void* array) { FREE(of_mipmaps, cuMipmappedArrayDestroy, array); }
