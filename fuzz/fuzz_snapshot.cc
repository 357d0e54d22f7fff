// links: berth_snapshot
// A snapshot's JSON, which users write by hand and attach to reports.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "snapshot/json.h"

namespace fuzz_snapshot {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto snapshot = berth::snapshot_from_json(text);
  if (!snapshot) {
    BERTH_CHECK(!snapshot.error().message().empty(), "a refusal says why");
    return 0;
  }
  const std::string written = berth::to_json(*snapshot, berth::JsonLayout::compact);
  const auto again = berth::snapshot_from_json(written);
  BERTH_CHECK(again.has_value(), "what we write, we read");
  BERTH_CHECK(berth::to_json(*again, berth::JsonLayout::compact) == written,
              "writing what was read changes nothing");
  return 0;
}

}  // namespace fuzz_snapshot
