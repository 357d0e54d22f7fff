#pragma once
// HostReport: what another server says of itself, in short, and how asking it went. Made where
// servers ask each other (serve/fleet.h), shown by views; its JSON is that of GET /api/v1/hosts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/result.h"

namespace berth {

/// `ok` it answered, and what it says is new. `stale` its answer says that it is old, or it failed
/// to answer once, or it was not asked yet. `unreachable` nobody answers. `refused` it, or its
/// certificate, does not let us in. `incompatible` what answers is no berth, or one that this one
/// cannot read.
enum class HostState { ok, stale, unreachable, refused, incompatible };
[[nodiscard]] std::string_view name_of(HostState state);

/// Words are the other server's: its bytes, cut to a length, not yet safe to print.
struct HostDevice {
  std::string id;
  std::optional<int> index;
  std::string kind;
  std::optional<std::string> parent;  // of a MIG instance
  std::optional<std::string> name;
  std::string state;                  // name_of(DeviceState)
  std::optional<std::string> health;  // name_of(HealthState)
  std::optional<double> utilization_percent;
  std::optional<std::uint64_t> memory_used_bytes;
  bool memory_used_is_bound = false;
  std::optional<std::uint64_t> memory_total_bytes;
  std::vector<std::string> users;
};

struct HostOverview {
  std::string version;
  std::optional<std::string> simulated;
  WallTime taken;  // by its own clock
  bool is_stale = false;
  std::vector<std::pair<std::string, std::uint64_t>> counts;  // by name_of(DeviceState), and failed
  std::vector<HostDevice> devices;
  std::uint64_t waiting = 0;            // in its queue
  std::optional<std::uint64_t> alerts;  // nothing: its berth has none
};

struct HostReport {
  std::string name;     // as we call it
  std::string address;  // "https://gpu1:9700"
  std::optional<std::string> page;
  HostState state = HostState::stale;
  Sentence why;  // empty where all is well
  Sentence remedy;
  std::optional<WallTime> asked;
  /// What it said last; nothing where that must not be taken for what is now.
  std::optional<HostOverview> seen;
  /// When that was, also where it is gone.
  std::optional<WallTime> taken;
};

/// An overview as GET /api/v1/overview answers it. invalid: it is none; unsupported: of a newer
/// berth. What is too long is cut, what has the wrong type is absent.
[[nodiscard]] Result<HostOverview> parse_overview(std::string_view json);

/// Askers who may not see names are shown a copy without `users`.
void walk(Archive& archive, HostReport& report);
/// An answer of GET /api/v1/hosts. invalid: it is none.
[[nodiscard]] Result<std::vector<HostReport>> parse_hosts(std::string_view json);

}  // namespace berth
