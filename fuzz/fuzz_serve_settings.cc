// links: berth_serve
// The server's configuration.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "serve/settings.h"

namespace fuzz_serve_settings {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto settings = berth::serve::parse_settings(text);
  if (!settings) {
    BERTH_CHECK(!settings.error().message().empty(), "a mistake is named");
    return 0;
  }
  for (const auto& address : settings->listen) {
    const auto again = berth::serve::parse_address(as_text(address));
    BERTH_CHECK(again.has_value() && *again == address, "an address is written as it is read");
  }
  (void)berth::serve::refused_listeners(*settings);
  return 0;
}

}  // namespace fuzz_serve_settings
