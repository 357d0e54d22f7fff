#pragma once
// Reader of /proc/PID/fdinfo/FD of a graphics device's file: what one client of a DRM driver holds
// and has used. Pure.
//
// Source: Documentation/gpu/drm-usage-stats.rst of Linux 6.15, and what amdgpu and xe print.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace berth::drm {

/// How long an engine has worked for a client: nanoseconds, or cycles with how many there were.
struct EngineUse {
  std::uint64_t busy = 0;
  std::optional<std::uint64_t> of;  // cycles in all; nothing: `busy` is nanoseconds
  std::uint64_t engines = 1;        // that `busy` is the sum over
  friend bool operator==(const EngineUse&, const EngineUse&) = default;
};

struct Client {
  std::string driver;
  std::string pci_address;  // as Device::pci_address; empty: it does not tell
  std::uint64_t id = 0;     // descriptors of the same id are one client: counted once
  /// What lies there now, by region ("vram", "gtt", "local0"). What is `total` has also what is
  /// swapped out, or another's.
  std::map<std::string, Bytes, std::less<>> memory;
  std::map<std::string, EngineUse, std::less<>> engines;
  friend bool operator==(const Client&, const Client&) = default;
};

/// Nothing: not of a DRM driver, or without the client's number.
[[nodiscard]] std::optional<Client> parse_fdinfo(std::string_view text);

/// What is on the card itself: all regions called vram or local. Nothing: no such region is told,
/// which is not 0.
[[nodiscard]] std::optional<Bytes> memory_on_card(const Client& client);
/// The processor's memory that the card uses: gtt or system.
[[nodiscard]] std::optional<Bytes> memory_of_host(const Client& client);

}  // namespace berth::drm
