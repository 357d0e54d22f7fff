/* What the driver says of the device's memory, as the limit leaves it. */

#include "guard/shim/guard.h"

static uint64_t at_most(uint64_t value, uint64_t most) { return value < most ? value : most; }

static uint64_t left_of(int device, uint64_t limit) {
  const uint64_t charged = total_charged(device);
  return charged < limit ? limit - charged : 0;
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  const int code = DRIVER(cuMemGetInfo_v2)(free, total);
  if (code != success) return code;
  const int device = current_place().device;
  const uint64_t limit = limit_of(device);
  if (limit == 0) return code;
  if (free != NULL) *free = at_most(*free, left_of(device, limit));
  if (total != NULL) *total = at_most(*total, limit);
  return code;
}

int cuMemGetInfo(unsigned* free, unsigned* total) {
  const int code = DRIVER(cuMemGetInfo)(free, total);
  if (code != success) return code;
  const int device = current_place().device;
  const uint64_t limit = limit_of(device);
  if (limit == 0) return code;
  if (free != NULL) *free = (unsigned)at_most(*free, left_of(device, limit));
  if (total != NULL) *total = (unsigned)at_most(*total, limit);
  return code;
}

int cuDeviceTotalMem_v2(size_t* bytes, int ordinal) {
  const int code = DRIVER(cuDeviceTotalMem_v2)(bytes, ordinal);
  const uint64_t limit = code == success ? limit_of(account_device(ordinal)) : 0;
  if (limit != 0) *bytes = at_most(*bytes, limit);
  return code;
}

int cuDeviceTotalMem(unsigned* bytes, int ordinal) {
  const int code = DRIVER(cuDeviceTotalMem)(bytes, ordinal);
  const uint64_t limit = code == success ? limit_of(account_device(ordinal)) : 0;
  if (limit != 0) *bytes = (unsigned)at_most(*bytes, limit);
  return code;
}
