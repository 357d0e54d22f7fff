// links: berth_config
// The administrator's policy: its writer may slip.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "config/policy_file.h"

namespace fuzz_policy {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto policy = berth::parse_policy(text, "/etc/berth/berth.toml");
  if (!policy) {
    BERTH_CHECK(!policy.error().message().empty(), "a mistake is named");
    return 0;
  }
  const berth::UserRules rules = berth::rules_for(*policy, 1000, {"anna", {"staff"}});
  BERTH_CHECK(!rules.devices_at_most || *rules.devices_at_most >= 0, "a limit is none below 0");
  return 0;
}

}  // namespace fuzz_policy
