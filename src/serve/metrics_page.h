#pragma once
// What the parts of a metrics page share. Internal to the metrics pages.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/metrics.h"
#include "serve/metrics_exposition.h"
#include "snapshot/snapshot_index.h"

namespace berth::serve {

/// A device's details by their number: a page asks for each of them.
class DetailTable {
 public:
  explicit DetailTable(const Device& device) : cells_(detail_count, nullptr) {
    for (const Details::Entry& entry : device.details.entries()) {
      cells_[static_cast<std::size_t>(entry.detail)] = &entry.cell;
    }
  }
  /// Null: nobody read it.
  [[nodiscard]] const Cell* of(Detail which) const {
    return cells_[static_cast<std::size_t>(which)];
  }

 private:
  std::vector<const Cell*> cells_;
};

/// A device and the labels of its series, which each profile has its own of.
struct PageDevice {
  const Device* device = nullptr;
  std::string labels;
  DetailTable details;
};

/// A series of a profile: what it is called and what it tells of a device.
struct MetricRow {
  Family family;
  std::string_view key{};  // of the field table; empty: `own` tells it
  int exponent = 0;        // the power of ten from the field's unit to the family's
  std::uint64_t per = 1;   // how many of the field's make one; the rest is dropped
  std::optional<Decimal> (*own)(const Device&) = nullptr;
};

/// The rows of a profile with their fields. To find them takes longer than a page may: once.
struct KnownRow {
  const MetricRow* row = nullptr;
  const Field* field = nullptr;  // null: the row's own function
};
[[nodiscard]] std::vector<KnownRow> known_rows(std::span<const MetricRow> rows);
/// Row by row, a sample of each device that has one.
void write_rows(const std::vector<KnownRow>& rows, const std::vector<PageDevice>& devices,
                const Snapshot& snapshot, Exposition& out);
/// `use` of what the field tells of the device; a detail is neither searched for nor copied.
template <class Use>
[[nodiscard]] auto told_by(const Field& field, const PageDevice& device, const Snapshot& snapshot,
                           Use use) {
  if (!field.detail) return use(field.read(*device.device, snapshot));
  const Cell* cell = device.details.of(*field.detail);
  return cell == nullptr ? use(Cell(Absent::not_sampled)) : use(*cell);
}

struct Page {
  const Scrape& scrape;
  const MetricsOptions& options;
  const SnapshotIndex& index;
  std::vector<PageDevice> devices;  // no two of them with the same labels
  Exposition& out;
};

/// Devices of a snapshot that can be told apart by their labels.
[[nodiscard]] std::vector<PageDevice> page_devices(const Snapshot& snapshot);

// metrics_berth.cc
void write_devices(const Page& page);
// metrics_people.cc
void write_people(const Page& page);
// metrics_daemon.cc
void write_simulated(const Scrape& scrape, Exposition& out);
void write_daemon(const Scrape& scrape, Exposition& out);
// metrics_dcgm.cc, metrics_nvidia_smi.cc
void write_dcgm(const Scrape& scrape, const MetricsOptions& options, Exposition& out);
void write_nvidia_smi(const Scrape& scrape, const MetricsOptions& options, Exposition& out);

/// Names of the dcgm profile with type and help, for doc/METRICS.md.
[[nodiscard]] std::vector<Family> dcgm_families();

}  // namespace berth::serve
