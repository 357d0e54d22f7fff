#pragma once
// A scenario is a simulated server: a snapshot's JSON, and how its numbers move over time. Its
// values follow from the file, the seed and the time alone. So two processes that look at once see
// the same server.
//
// The file is a snapshot (snapshot/json.h) with these further keys, each optional:
//
//   "about"   one sentence for people
//   "seed"    number that the noise follows from
//   "models"  {"NAME": {device fields}}; a device with "model": "NAME" starts from those
//   "life"    {"people": ["NAME", …]}: jobs that come and go for weeks (probe/sim/life.h)
//   "moves"   [{"device": 0 | "all" | "GPU-…", "field": "power_draw_milliwatts", HOW}, …]
//
// HOW is one of
//   "wave":  {"low": 20, "high": 80, "period_s": 30, "phase": 0.0}   a sine between the two
//   "noise": {"amplitude": 2, "every_s": 1}                          added to what is there
//   "rate":  {"per_second": 1000}                                    a counter since "taken"
// and, without "field",
//   "load":  {"low": 80, "high": 100, "period_s": 30, "phase": 0.0}  utilisation as a wave, with
//            power, temperature, clocks and the utilisation history that go with it.
//
// Times in the file (process starts, leases) keep their distance to "taken_unix_ms", to the day.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "probe/sim/life.h"
#include "snapshot/fields.h"
#include "snapshot/snapshot.h"

namespace berth::sim {

struct Wave {
  double low = 0;
  double high = 0;
  double period_s = 60;
  double phase = 0;  // share of a period
};
struct Noise {
  double amplitude = 0;
  double every_s = 1;
};
struct Rate {
  double per_second = 0;
};
struct Load {
  Wave utilization;
};
using How = std::variant<Wave, Noise, Rate, Load>;

struct Move {
  std::vector<std::size_t> devices;  // positions in Snapshot::devices
  const Field* field = nullptr;      // null for a Load, which moves several
  How how;
};

struct Scenario {
  std::string name;
  std::string about;
  std::uint64_t seed = 1;
  Snapshot base;  // as of base.taken
  std::vector<Move> moves;
  Life life;  // without jobs: it has none
};

/// invalid: not JSON, not a snapshot, a move of a field or device that there is not; says which.
[[nodiscard]] Result<Scenario> scenario_from_json(std::string_view text, std::string name);

/// A built-in scenario by name, else a file by path. The error names the built-in ones.
[[nodiscard]] Result<Scenario> load_scenario(const std::string& name_or_path);

// The scenarios that are part of the program (src/probe/sim/scenarios), so that everything can be
// tried where there is no GPU.

/// The built-in scenario that is shown where none is named.
inline constexpr std::string_view default_scenario = "server-8xh100";

/// The JSON of a built-in scenario; nothing: there is none of that name.
[[nodiscard]] std::optional<std::string> builtin_scenario(std::string_view name);

}  // namespace berth::sim
