// links: berth_base
// Text from strangers made safe to print and cut to columns.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"

namespace fuzz_text {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string safe = berth::printable(text);
  for (const char byte : safe) {
    const auto value = static_cast<unsigned char>(byte);
    BERTH_CHECK(value >= 0x20 && value != 0x7f, "nothing printable() returns controls a terminal");
  }
  BERTH_CHECK(berth::printable(safe) == safe || text.find('\\') != std::string_view::npos,
              "what is safe stays as it is");
  for (const int columns : {0, 1, 2, 3, 10, 79}) {
    BERTH_CHECK(berth::display_width(berth::cut_to_width(safe, columns, false)) <= columns,
                "what was cut fits");
    BERTH_CHECK(berth::display_width(berth::cut_to_width(safe, columns, true)) <= columns,
                "what was cut fits");
  }
  if (const auto mistake = berth::typographic_mistake(text)) {
    BERTH_CHECK(mistake->corrected != text, "a correction changes something");
  }
  (void)berth::masked_text(text);
  (void)berth::shell_quoted(text);
  return 0;
}

}  // namespace fuzz_text
