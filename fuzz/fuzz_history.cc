// links: berth_record
// Blocks of the history store: columns, rows of roll-ups, the tail. Checksums are passed by where
// they would keep the fuzzer out; the first byte says which kind it is.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "record/history/chunk.h"
#include "record/history/column.h"
#include "record/history/rollup.h"

namespace fuzz_history {

namespace {

using namespace berth::history;

void check_column(std::string_view body) {
  const auto entries = detail::decode_column_body(body);
  if (!entries) {
    BERTH_CHECK(!entries.error().message().empty(), "a refusal says why");
    return;
  }
  BERTH_CHECK(entries->size() <= most_entries, "no column is longer than a block can be");
  const auto again = decode_column(encode_column(*entries));
  BERTH_CHECK(again.has_value() && *again == *entries, "what we write, we read");
}

void check_samples(std::string_view body) {
  const auto rows = detail::decode_samples_body(body);
  if (!rows) return;
  OpenChunk chunk;
  for (const SampleRow& row : *rows) {
    if (chunk.ends_before(row.at_ms)) chunk = {};
    chunk.add(row);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  if (all.empty()) return 0;
  const std::string_view body = all.substr(1);
  switch (all.front()) {
    case 'c':
      check_column(body);
      break;
    case 't':
      check_samples(body);
      break;
    case 'r':
      (void)decode_rollups(body, Level::minute);
      (void)decode_rollups(body, Level::hour);
      break;
    default:
      (void)decode_column(all);
      (void)decode_samples(all);
  }
  return 0;
}

}  // namespace fuzz_history
