// links: berth_top
// Bytes that a terminal sends: keys, its answers, and whatever somebody pastes or pipes into it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "top/input.h"

namespace fuzz_keys {

namespace {

using Inputs = std::vector<berth::top::Input>;

void add(Inputs& all, Inputs more) {
  for (berth::top::Input& input : more) all.push_back(std::move(input));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  berth::top::InputDecoder whole;
  const Inputs told = whole.feed(bytes);
  berth::top::InputDecoder cut;
  Inputs pieces = cut.feed(bytes.substr(0, size / 2));
  add(pieces, cut.feed(bytes.substr(size / 2)));
  BERTH_CHECK(told == pieces, "where the bytes are cut makes no difference");
  for (const berth::top::Input& input : told) {
    const auto* key = std::get_if<berth::top::Key>(&input);
    if (key == nullptr) continue;
    BERTH_CHECK(berth::printable(key->text) == key->text, "nothing unprintable is typed");
  }
  (void)whole.silence();
  BERTH_CHECK(!whole.patience(), "silence ends whatever has begun");
  return 0;
}

}  // namespace fuzz_keys
