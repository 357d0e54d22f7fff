#include "probe/sim/builtin.h"

#include <array>

#include "probe/sources.h"

// Placed here by scenarios.S.
#define BERTH_SCENARIO_SYMBOL(symbol)          \
  extern const char berth_scenario_##symbol[]; \
  extern const char berth_scenario_##symbol##_end[];
extern "C" {
BERTH_SCENARIO_SYMBOL(server_8xh100)
BERTH_SCENARIO_SYMBOL(lab_4)
BERTH_SCENARIO_SYMBOL(desktop)
BERTH_SCENARIO_SYMBOL(h100_mig)
BERTH_SCENARIO_SYMBOL(no_history)
BERTH_SCENARIO_SYMBOL(faults)
BERTH_SCENARIO_SYMBOL(driver_mismatch)
}
#undef BERTH_SCENARIO_SYMBOL

namespace berth {

namespace {

struct Builtin {
  ScenarioName listed;
  const char* begin = nullptr;
  const char* end = nullptr;
};

// The first is the default of `berth demo`.
constexpr std::array<Builtin, 7> builtins = {{
    {{"server-8xh100", "An 8xH100 server: three cards in use, five free."},
     berth_scenario_server_8xh100,
     berth_scenario_server_8xh100_end},
    {{"lab-4", "A lab box of four different cards, one of them busy."},
     berth_scenario_lab_4,
     berth_scenario_lab_4_end},
    {{"desktop", "One card that draws a desktop; nobody computes."},
     berth_scenario_desktop,
     berth_scenario_desktop_end},
    {{"h100-mig", "One H100 divided by MIG into four instances."},
     berth_scenario_h100_mig,
     berth_scenario_h100_mig_end},
    {{"no-history", "Two cards without persistence mode and utilisation history."},
     berth_scenario_no_history,
     berth_scenario_no_history_end},
    {{"faults", "A lost GPU, memory errors, a hot card, memory nobody explains."},
     berth_scenario_faults,
     berth_scenario_faults_end},
    {{"driver-mismatch", "Driver and library of different versions: only PCI speaks."},
     berth_scenario_driver_mismatch,
     berth_scenario_driver_mismatch_end},
}};

}  // namespace

namespace sim {

std::optional<std::string_view> builtin_scenario(std::string_view name) {
  for (const Builtin& builtin : builtins) {
    if (builtin.listed.name == name) {
      return std::string_view(builtin.begin, static_cast<std::size_t>(builtin.end - builtin.begin));
    }
  }
  return std::nullopt;
}

}  // namespace sim

std::vector<ScenarioName> builtin_scenarios() {
  std::vector<ScenarioName> names;
  for (const Builtin& builtin : builtins) names.push_back(builtin.listed);
  return names;
}

}  // namespace berth
