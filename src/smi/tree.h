#pragma once
// The tree that `-q`, `-q -x` and `-q -j` print, built once from a device by the layout's rows. A
// dump is read into the same shape.

#include <string>
#include <string_view>
#include <vector>

#include "smi/format.h"
#include "smi/smi.h"

namespace berth::smi {

struct Node {
  std::string name;   // label of -q, tag of XML
  std::string value;  // of a leaf, or of a section that has nothing in it
  std::vector<Node> children;
  bool section = false;  // in XML it is opened and closed even where it is empty
};

/// What of a device is wanted: topics of -q -d in capitals, or everything.
struct Selection {
  Surface surface = Surface::text;
  const std::vector<std::string>* topics = nullptr;  // null or empty: all
};

/// The device's rows, without the line of its address.
[[nodiscard]] Node device_tree(const Snapshot& snapshot, const Device& device,
                               const Selection& selection);

/// Driver and CUDA version, as this driver calls them, and how many GPUs there are.
[[nodiscard]] std::vector<Node> heading(const Snapshot& snapshot, const Selection& selection,
                                        Clockface clockface);

/// Whether -q -d knows the section.
[[nodiscard]] bool is_topic(std::string_view name);

/// A GPU's address as it stands at the head of its part: "00000000:3B:00.0".
[[nodiscard]] std::string address_of(const Device& device);

}  // namespace berth::smi
