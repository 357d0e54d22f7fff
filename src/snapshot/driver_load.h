#pragma once
// DriverLoad: the NVIDIA kernel module was loaded, as the kernel log tells it.

#include <string>

#include "base/clock.h"

namespace berth {

struct DriverLoad {
  WallTime at;
  std::string version;  // "550.54.15"
  friend bool operator==(const DriverLoad&, const DriverLoad&) = default;
};

}  // namespace berth
