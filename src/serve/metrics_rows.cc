// What a row of a metrics profile says, written.

#include "base/check.h"
#include "serve/metrics_page.h"

namespace berth::serve {

namespace {

std::optional<Decimal> sample_of(const KnownRow& known, const PageDevice& one,
                                 const Snapshot& snapshot) {
  if (known.field == nullptr) return known.row->own(*one.device);
  return told_by(*known.field, one, snapshot, [&](const Cell& cell) {
    auto value = decimal_in(cell, known.row->exponent);
    if (value) value->count /= known.row->per;
    return value;
  });
}

}  // namespace

std::vector<KnownRow> known_rows(std::span<const MetricRow> rows) {
  std::vector<KnownRow> known;
  for (const MetricRow& row : rows) {
    const Field* field = row.key.empty() ? nullptr : find_field(row.key);
    BERTH_CHECK(field != nullptr || row.own != nullptr, "a row of metrics is read from something");
    known.push_back({&row, field});
  }
  return known;
}

void write_rows(const std::vector<KnownRow>& rows, const std::vector<PageDevice>& devices,
                const Snapshot& snapshot, Exposition& out) {
  for (const KnownRow& known : rows) {
    out.begin(known.row->family);
    for (const PageDevice& one : devices) out.add(one.labels, {}, sample_of(known, one, snapshot));
  }
}

}  // namespace berth::serve
