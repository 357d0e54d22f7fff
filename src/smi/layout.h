#pragma once
// The layout of `nvidia-smi -q`. One list of rows, in its order, for text and XML and for every
// generation of drivers. The same rows print a device and read a dump of one back.

#include <span>
#include <string_view>

#include "smi/format.h"
#include "smi/generation.h"
#include "snapshot/device.h"
#include "snapshot/fields.h"

namespace berth::smi {

/// Rows that are printed by code of their own.
enum class Special { none, mig_devices, retired_pages, supported_clocks, processes, accounted };

/// What a device must be like for the row to be printed. Reading a dump does not ask.
enum class When {
  always,
  margins,  // tells temperatures as margins (T.Limit)
  no_margins,
  margin_told,   // some drivers print the line of cards that were asked for a margin alone
  licensed,      // a virtual machine's card
  ecc_by_place,  // chips before Turing count errors by place
  ecc_simple,    // Turing: SRAM and DRAM
  ecc_detailed   // Ampere and newer: SRAM errors by kind and source
};

struct LayoutRow {
  int depth = 0;           // 0: directly below the GPU
  std::string_view label;  // of -q; empty: XML only
  std::string_view tag;    // of XML; empty: text only
  std::string_view
      key;  // of the field table; of a section: the reading that says whether it is there
  Format format = Format::text;
  bool section = false;
  Special special = Special::none;
  When when = When::always;
  int from = 0;      // drivers that have it
  int until = 9999;  // the last one
  /// An older branch that has it, too, from `branch_release` on: 580.173 does, 580.105 does not. If
  /// that is 0, it is printed for cards that tell it. 0: none.
  int branch = 0;
  int branch_release = 0;
  /// The branch whose drivers have it no more from `last_release` on, before `until`. 0: none.
  int last_branch = 0;
  int last_release = 0;
  /// What drivers before `renamed` call it. 0: nothing else.
  std::string_view old_label;
  std::string_view old_tag;
  int renamed = 0;
  std::string_view topic;  // of -q -d; empty: its parent's
  bool beside = false;     // stands below the row before it in text, beside it in XML
  bool sampled = false;    // printed by -q -d alone, as the driver's samples are

  /// A copy with one member changed. It stands before its uses, where clang looks for it.
  template <class T>
  [[nodiscard]] constexpr LayoutRow with(T LayoutRow::* member, T value) const {
    LayoutRow copy = *this;
    copy.*member = value;
    return copy;
  }
  [[nodiscard]] constexpr LayoutRow since(int major) const { return with(&LayoutRow::from, major); }
  [[nodiscard]] constexpr LayoutRow upto(int major) const { return with(&LayoutRow::until, major); }
  [[nodiscard]] constexpr LayoutRow also_in(int major, int release = 0) const {
    return with(&LayoutRow::branch, major).with(&LayoutRow::branch_release, release);
  }
  [[nodiscard]] constexpr LayoutRow not_in(int major, int release) const {
    return with(&LayoutRow::last_branch, major).with(&LayoutRow::last_release, release);
  }
  [[nodiscard]] constexpr LayoutRow before(int major, std::string_view old_name,
                                           std::string_view old_element) const {
    return with(&LayoutRow::renamed, major)
        .with(&LayoutRow::old_label, old_name)
        .with(&LayoutRow::old_tag, old_element);
  }
  [[nodiscard]] constexpr LayoutRow only(When what) const { return with(&LayoutRow::when, what); }
  [[nodiscard]] constexpr LayoutRow beside_in_xml() const { return with(&LayoutRow::beside, true); }
  [[nodiscard]] constexpr LayoutRow sampled_only() const { return with(&LayoutRow::sampled, true); }
  [[nodiscard]] constexpr LayoutRow about(std::string_view what) const {
    return with(&LayoutRow::topic, what);
  }
};

/// How rows of its tables are written down.
namespace rows {
constexpr LayoutRow section(int depth, std::string_view label, std::string_view tag,
                            std::string_view key = {}) {
  return {.depth = depth, .label = label, .tag = tag, .key = key, .section = true};
}
constexpr LayoutRow leaf(int depth, std::string_view label, std::string_view tag,
                         std::string_view key, Format format = Format::text) {
  return {.depth = depth, .label = label, .tag = tag, .key = key, .format = format};
}
constexpr LayoutRow special(Special what, std::string_view label, std::string_view tag) {
  return {.depth = 0, .label = label, .tag = tag, .section = true, .special = what};
}
}  // namespace rows

/// A line above the GPUs.
struct HeadingLine {
  std::string_view label;
  std::string_view tag;
  [[nodiscard]] constexpr std::string_view on(Surface surface) const {
    return surface == Surface::text ? label : tag;
  }
};
namespace heading_line {
inline constexpr HeadingLine timestamp{"Timestamp", "timestamp"};
inline constexpr HeadingLine driver{"Driver Version", "driver_version"};
inline constexpr HeadingLine cuda{"CUDA Version", "cuda_version"};
// The names of both where they are named twice (Generation).
inline constexpr HeadingLine kernel_driver{"KMD Version", "kmd_version"};
inline constexpr HeadingLine user_driver{"CUDA UMD Version", "cuda_umd_version"};
inline constexpr HeadingLine gpus{"Attached GPUs", "attached_gpus"};
}  // namespace heading_line

[[nodiscard]] std::span<const LayoutRow> gpu_rows();
/// The rows of a MIG instance, inside Special::mig_devices.
[[nodiscard]] std::span<const LayoutRow> mig_rows();

/// What it is called on this surface, by drivers of today and before it was renamed; empty: it is
/// not there.
enum class Named { today, before };
[[nodiscard]] constexpr std::string_view name_of(const LayoutRow& row, Surface surface,
                                                 Named when) {
  const bool old = when == Named::before && row.renamed != 0;
  if (surface == Surface::text) return old ? row.old_label : row.label;
  return old ? row.old_tag : row.tag;
}
/// How deep it stands on this surface.
[[nodiscard]] constexpr int depth_on(const LayoutRow& row, Surface surface) {
  return row.depth - (row.beside && surface == Surface::xml ? 1 : 0);
}
/// Whether this driver prints the row of this device.
[[nodiscard]] bool applies(const LayoutRow& row, DriverNumber driver, const Device& device);
/// The row's field; null: the row has none.
[[nodiscard]] const Field* field_of(const LayoutRow& row);

}  // namespace berth::smi
