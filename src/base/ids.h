#pragma once
// Identities that outlast a reboot, a renumbering or a reused pid.

#include <sys/types.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace berth {

/// Whether a text may be a device's identity: a plain word, as every UUID and PCI address is. A
/// shell gets it from `berth pick` and may evaluate it, whatever file or driver it came from.
[[nodiscard]] constexpr bool is_plain_id(std::string_view text) {
  constexpr std::size_t longest = 128;
  const auto is_alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (text.empty() || text.size() > longest || !is_alphanumeric(text.front())) return false;
  for (const char c : text) {
    if (!is_alphanumeric(c) && std::string_view("._:/-").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

/// A device's lasting identity: its UUID ("GPU-…", "MIG-…"), else its PCI address
/// ("00000000:3b:00.0"). An index is only how it is shown today. What comes from outside is made
/// one only where is_plain_id() says so.
class DeviceId {
 public:
  DeviceId() = default;
  explicit DeviceId(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const std::string& text() const { return text_; }
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;

 private:
  std::string text_;
};

/// A text is no list: whether one has another in it is its own question.
template <class List>
  requires(!std::is_convertible_v<List, std::string_view>)
[[nodiscard]] constexpr bool contains(const List& list, const typename List::value_type& value) {
  return std::ranges::find(list, value) != list.end();
}

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
