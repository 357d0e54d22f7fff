// links: berth_serve
// What a scraper, or anybody, asks /metrics for: the Accept header and the list of profiles.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "serve/metrics.h"

namespace fuzz_accept {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto format = berth::serve::negotiated(text);
  BERTH_CHECK(!berth::serve::content_type(format).empty(), "each format has a type");
  const auto profiles = berth::serve::profiles_from(text);
  BERTH_CHECK(!profiles || (!profiles->empty() && profiles->size() <= 3), "each profile once");
  return 0;
}

}  // namespace fuzz_accept
