#pragma once
// What the host does beside its devices: processors, memory and load, from the texts of /proc.
// Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace berth::top {

struct HostUse {
  std::optional<double> cpu_percent;  // of all processors, since the look before
  std::optional<Bytes> memory_used;
  std::optional<Bytes> memory_total;
  std::optional<double> load;  // mean of a minute
  friend bool operator==(const HostUse&, const HostUse&) = default;
};

class HostMeter {
 public:
  /// Texts of /proc/stat, /proc/meminfo and /proc/loadavg; empty: it could not be read.
  [[nodiscard]] HostUse take(std::string_view stat, std::string_view meminfo,
                             std::string_view loadavg);

 private:
  struct Ticks {
    std::uint64_t busy = 0;
    std::uint64_t all = 0;
  };
  [[nodiscard]] static std::optional<Ticks> ticks_in(std::string_view stat);
  std::optional<Ticks> before_;
};

/// Nothing: it is not told.
[[nodiscard]] std::optional<double> memory_percent(const HostUse& use);

/// "CPU 23%  memory 12.0/64.0G  load 3.1"; what is not known is left out.
[[nodiscard]] std::string host_text(const HostUse& use);

}  // namespace berth::top
