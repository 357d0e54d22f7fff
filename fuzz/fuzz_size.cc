// links: berth_base
// Sizes, durations and numbers as people type them.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"

namespace fuzz_size {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)berth::parse_size(text);
  (void)berth::parse_signed(text);
  (void)berth::parse_unsigned(text);
  if (const auto number = berth::parse_decimal(text)) {
    BERTH_CHECK(*number >= 0, "a decimal has no sign");
  }
  if (const auto duration = berth::parse_duration(text)) {
    BERTH_CHECK(duration->count() >= 0, "no duration is negative");
    (void)berth::short_duration(*duration);
  }
  return 0;
}

}  // namespace fuzz_size
