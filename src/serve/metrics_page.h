#pragma once
// What the parts of a metrics page share. Internal to the metrics pages.

#include <string>
#include <vector>

#include "serve/metrics.h"
#include "serve/metrics_exposition.h"
#include "snapshot/snapshot_index.h"

namespace berth::serve {

/// A device and the labels of its series: device, uuid, name.
struct PageDevice {
  const Device* device = nullptr;
  std::string labels;
};

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

struct Page {
  const Scrape& scrape;
  const MetricsOptions& options;
  const SnapshotIndex& index;
  std::vector<PageDevice> devices;  // no two of them with the same labels
  Exposition& out;
};

/// Devices of a snapshot that can be told apart by their labels.
[[nodiscard]] std::vector<PageDevice> page_devices(const Snapshot& snapshot);

/// Whether the driver answered in the newest look.
[[nodiscard]] bool driver_answered(const Snapshot& snapshot);
/// The device at an address, as XID errors name it; null: none is there now.
[[nodiscard]] const Device* device_at(std::string_view pci_address, const Snapshot& snapshot);

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

/// A card as the nvidia_smi profile labels it.
struct SmiGpu {
  const Device* gpu = nullptr;
  std::string uuid;    // without GPU-, in small letters
  std::string labels;  // uuid="…"
  DetailTable details;
};
// metrics_nvidia_smi_further.cc
void write_nvidia_smi_further(const std::vector<SmiGpu>& gpus, const Scrape& scrape,
                              const MetricsOptions& options, Exposition& out);

/// Names of the dcgm profile with type and help, for doc/METRICS.md.
[[nodiscard]] std::vector<Family> dcgm_families();

}  // namespace berth::serve
