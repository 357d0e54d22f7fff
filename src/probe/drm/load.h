#pragma once
// Load: how busy each client of a card has kept its engines, between two looks.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/reading.h"
#include "base/units.h"
#include "probe/drm/fdinfo.h"

namespace berth::drm {

/// What an engine does, whatever a driver calls it.
enum class EngineKind { graphics, compute, decode, encode, copy, other };
[[nodiscard]] EngineKind kind_of_engine(std::string_view name);

/// Whether the client has ever used an engine of that kind.
[[nodiscard]] bool has_used(const Client& client, EngineKind kind);

struct ClientLoad {
  Reading<Percent> shader = Absent::unsupported;  // graphics and compute together, 100 at most
  Reading<Percent> decoder = Absent::unsupported;
  Reading<Percent> encoder = Absent::unsupported;
  /// For a process with several clients: their sum, 100 at most.
  void add(const ClientLoad& more);
};

class Load {
 public:
  /// Nothing between `begin` and `end` of a look keeps a client that was not asked for.
  void begin(Instant now);
  /// Absent  not_sampled: it was not there at the look before; unsupported: it has not used it.
  [[nodiscard]] ClientLoad of(const Client& client);
  void end();

 private:
  std::optional<Instant> before_;
  Instant now_{};
  std::map<std::uint64_t, std::map<std::string, EngineUse, std::less<>>> earlier_;
  std::map<std::uint64_t, std::map<std::string, EngineUse, std::less<>>> seen_;
};

}  // namespace berth::drm
