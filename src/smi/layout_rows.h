#pragma once
// How rows of the layout are written down. Internal to the layout.

#include "smi/layout.h"

namespace berth::smi::rows {

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

}  // namespace berth::smi::rows
