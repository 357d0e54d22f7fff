// links: berth_alert
// The file in which the alerts that go on are kept, and the CUDA toolkit's own about its version.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alert/state.h"
#include "base/check.h"

namespace fuzz_alert_state {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)berth::toolkit_version(text);
  const auto state = berth::alert_state_from_json(text);
  if (!state) return 0;
  const auto again = berth::alert_state_from_json(to_json(*state));
  BERTH_CHECK(again.has_value() && *again == *state, "alerts are read as they were written");
  return 0;
}

}  // namespace fuzz_alert_state
