// links: berth_smi
// What the vendor's tool printed on some other machine: -q text, XML, capture files.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "smi/dump.h"
#include "smi/smi.h"
#include "snapshot/json.h"

namespace fuzz_dump {

namespace {

class Dump : public berth::smi::Source {
 public:
  explicit Dump(const berth::Snapshot& snapshot) : snapshot_(snapshot) {}
  berth::Snapshot look(const berth::Wanted&) override { return snapshot_; }

 private:
  const berth::Snapshot& snapshot_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view one : berth::smi::dumps_in(text)) {
    const auto snapshot = berth::smi::snapshot_from_dump(one, "");
    if (!snapshot) {
      BERTH_CHECK(!snapshot.error().message().empty(), "a refusal says why");
      continue;
    }
    Dump source(*snapshot);
    const auto printed = berth::smi::run({"-q"}, source);
    BERTH_CHECK(berth::smi::looks_like_dump(printed.text), "what is printed is a dump again");
    const auto json = berth::to_json(*snapshot, berth::JsonLayout::compact);
    BERTH_CHECK(berth::snapshot_from_json(json).has_value(), "a dump's snapshot travels as JSON");
  }
  return 0;
}

}  // namespace fuzz_dump
