// links: berth_probe
// A simulated server's file, which users write by hand.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/sim/scenario.h"

namespace fuzz_scenario {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)berth::sim::scenario_from_json(text, "fuzz");
  return 0;
}

}  // namespace fuzz_scenario
