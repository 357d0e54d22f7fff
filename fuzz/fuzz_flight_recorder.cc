// links: berth_diagnose
// A flight recorder's dump: the pickle of one rank.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "diagnose/ranks/flight_recorder.h"
#include "diagnose/ranks/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto pickle = berth::Pickle::read(bytes)) {
    BERTH_CHECK(pickle->root() < pickle->size(), "the root is one of its values");
    BERTH_CHECK(pickle->size() <= size, "each value takes a byte at least");
    for (berth::Pickle::Number i = 0; i < pickle->size(); ++i) {
      for (const berth::Pickle::Number item : pickle->items(i)) {
        BERTH_CHECK(item < pickle->size(), "an item is one of its values");
      }
    }
  }
  const auto dump = berth::read_flight_dump(bytes);
  if (!dump) return 0;
  (void)berth::flight_story({{0, *dump}, {1, {}}, {2, *dump}}, 4);
  return 0;
}
