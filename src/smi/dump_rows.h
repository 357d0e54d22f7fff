#pragma once
// Which row of the layout a line of a dump is, by its path. Drivers moved or renamed some lines:
// those are found by section and name. Internal to reading dumps.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "smi/layout.h"
#include "smi/layout_items.h"
#include "smi/tree.h"

namespace berth::smi {

/// Small letters and digits alone: "GPU T.Limit Temp" is "gputlimittemp".
[[nodiscard]] std::string normalised(std::string_view name);

class RowIndex {
 public:
  RowIndex(std::span<const LayoutRow> rows, Surface surface);
  /// The path as normalised names, outermost first. Null: nobody knows it.
  [[nodiscard]] const LayoutRow* find(const std::vector<std::string>& path) const;
  /// The rows below a section.
  [[nodiscard]] std::span<const LayoutRow> below(const LayoutRow& section) const;

 private:
  void add_names(Surface surface, Named when);

  std::span<const LayoutRow> rows_;
  std::unordered_map<std::string, const LayoutRow*> by_path_;
  /// "section//name"; null where two rows of different readings share it.
  std::unordered_map<std::string, const LayoutRow*> by_section_;
};

[[nodiscard]] const RowIndex& gpu_index(Surface surface);
[[nodiscard]] const RowIndex& mig_index_of(Surface surface);

/// Reads every line below `node` that is a row into the device.
void read_rows(const Node& node, const RowIndex& index, Device& device);
/// What a dump says of UUID and address and is no plain word (a collector's mask, a trick) is none.
void keep_plain_ids(Device& device);
/// What follows from the readings: sums, what the layout says, the power that counts.
void complete(Device& device);

/// A child by its normalised name; null: there is none.
[[nodiscard]] const Node* child_of(const Node& node, std::string_view name);
/// Its value as this format; not_sampled where it has none that can be understood.
[[nodiscard]] Cell cell_in(const Node* node, Format format);

/// MIG instances, processes and lists of one GPU.
void read_mig_devices(const Node& gpu, Surface surface, const Device& parent,
                      std::vector<Device>& devices);
/// False: the dump does not say who is on it (-q -d MEMORY, a list that the driver refused).
bool read_processes(const Node& gpu, Surface surface, const Device& parent, Snapshot& snapshot);
void read_lists(const Node& gpu, Surface surface, Device& device);
/// One process of a card, as a list of them tells it.
void add_process(const ItemCells& cells, const Device& parent, Snapshot& snapshot);

/// Problems: the device was lost; nobody told who is on some devices, which is not the same as
/// nobody.
void report_lost(const Device& device, Snapshot& snapshot);
void report_untold(Snapshot& snapshot);

/// The line of hashes that a capture file has around each heading.
inline constexpr std::string_view capture_rule =
    "################################################################################";
/// What a capture tells of the machine outside of its -q: names of MIG instances, accounted
/// processes, NVLinks, affinities, and what pmon had of each process. Also the processes where -q
/// has none, and the driver's order of those in -q.
void read_capture_parts(std::string_view capture, std::string_view phase, Snapshot& snapshot);

}  // namespace berth::smi
