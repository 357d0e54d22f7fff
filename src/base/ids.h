#pragma once
// Identities that outlast a reboot, a renumbering or a reused pid.

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace berth {

/// A device's lasting identity: its UUID ("GPU-…", "MIG-…"), else its PCI address
/// ("00000000:3b:00.0"). An index is only how it is shown today.
class DeviceId {
 public:
  DeviceId() = default;
  explicit DeviceId(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const std::string& text() const { return text_; }
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;

 private:
  std::string text_;
};

/// A process that cannot be mistaken for a later one with the same pid.
struct ProcessId {
  pid_t pid = 0;
  /// Field 22 of /proc/PID/stat: clock ticks since boot. 0: not known (the process had gone, or
  /// lives in another PID namespace): it cannot be signalled then.
  std::uint64_t start_ticks = 0;
  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

/// A calendar time in milliseconds since 1970 UTC. Steady time is std::chrono::steady_clock's.
struct WallTime {
  std::int64_t unix_ms = 0;
  friend auto operator<=>(const WallTime&, const WallTime&) = default;
};

}  // namespace berth

template <>
struct std::hash<berth::DeviceId> {
  std::size_t operator()(const berth::DeviceId& id) const noexcept {
    return std::hash<std::string>()(id.text());
  }
};
