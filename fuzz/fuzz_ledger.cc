// links: berth_lease
// The ledger's files, which any user of the machine may have written.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "lease/lease_text.h"

namespace fuzz_ledger {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto lease = berth::parse_lease(text)) {
    BERTH_CHECK(!lease->claim.devices.empty(), "a lease names a device");
  }
  (void)berth::parse_ticket(text);
  if (const auto planned = berth::parse_planned(text)) {
    const auto again = berth::parse_planned(berth::write_planned(*planned));
    BERTH_CHECK(again && *again == *planned, "what is planned is written as it was read");
  }
  if (const auto limit = berth::parse_limit(text)) {
    const auto again = berth::parse_limit(berth::write_limit(*limit));
    BERTH_CHECK(again && *again == *limit, "a limit is written as it was read");
  }
  return 0;
}

}  // namespace fuzz_ledger
