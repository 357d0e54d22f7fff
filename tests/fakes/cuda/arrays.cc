// The fake driver's arrays: counted by their elements, without padding.

#include <algorithm>
#include <map>
#include <mutex>

#include "fake_driver.h"

using namespace fake;

namespace {

struct Array {
  int device;
  std::size_t bytes;
};
auto& arrays = *new std::map<void*, Array>;
std::mutex arrays_guard;

/// CUDA_ARRAY3D_DESCRIPTOR and CUDA_ARRAY_DESCRIPTOR of cuda.h.
struct Descriptor3D {
  std::size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
struct Descriptor {
  std::size_t width, height;
  int format;
  unsigned channels;
};
struct OldDescriptor {
  unsigned width, height;
  int format;
  unsigned channels;
};

/// 0: not a plain format.
std::size_t size_of(int format) {
  switch (format) {
    case 1:
    case 8:
      return 1;
    case 2:
    case 9:
    case 16:
      return 2;
    case 3:
    case 10:
    case 32:
      return 4;
    default:
      return 0;
  }
}

int create(const char* name, void** array, const Descriptor3D& wanted, unsigned levels) {
  if (const int code = fault(name)) return code;
  if (current_device() < 0) return invalid_context;
  const std::size_t element = size_of(wanted.format) * wanted.channels;
  if (element == 0 || wanted.width == 0) return invalid_value;
  std::size_t elements = 0;
  for (unsigned level = 0; level < levels; ++level) {
    const std::size_t depth = (wanted.flags & 1U) != 0 ? wanted.depth : wanted.depth >> level;
    elements += std::max<std::size_t>(wanted.width >> level, 1) *
                std::max<std::size_t>(wanted.height >> level, 1) * std::max<std::size_t>(depth, 1);
  }
  const bool is_later = (wanted.flags & 0xC0U) != 0;  // sparse, or its memory is mapped later
  const std::size_t bytes = is_later ? 0 : elements * element;
  if (!use(current_device(), bytes)) return out_of_memory;
  const std::lock_guard lock(arrays_guard);
  *array = new char;
  arrays[*array] = {current_device(), bytes};
  return 0;
}

int destroy(void* array) {
  const std::lock_guard lock(arrays_guard);
  const auto found = arrays.find(array);
  if (found == arrays.end()) return invalid_value;
  give_back(found->second.device, found->second.bytes);
  arrays.erase(found);
  delete static_cast<char*>(array);
  return 0;
}

}  // namespace

extern "C" {

int cuArrayCreate_v2(void** array, const Descriptor* wanted) {
  return create("cuArrayCreate_v2", array,
                {wanted->width, wanted->height, 0, wanted->format, wanted->channels, 0}, 1);
}
int cuArrayCreate(void** array, const OldDescriptor* wanted) {
  return create("cuArrayCreate", array,
                {wanted->width, wanted->height, 0, wanted->format, wanted->channels, 0}, 1);
}
int cuArray3DCreate_v2(void** array, const Descriptor3D* wanted) {
  return create("cuArray3DCreate_v2", array, *wanted, 1);
}
int cuArrayDestroy(void* array) { return destroy(array); }

int cuMipmappedArrayCreate(void** array, const Descriptor3D* wanted, unsigned levels) {
  return create("cuMipmappedArrayCreate", array, *wanted, levels);
}
int cuMipmappedArrayDestroy(void* array) { return destroy(array); }

}  // extern "C"
