#pragma once
// Which row of the table is meant: by a person ("3090", "rtx 3090", "H100 sxm"), or by what a
// driver reports.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cards/card.h"
#include "snapshot/device.h"

namespace berth {

/// Every word of it must be in the card's names. Cards that differ in memory size and form alone
/// come together: "a100" is four cards, "3090" is not the 3090 Ti. Empty: none is called so.
[[nodiscard]] std::vector<const Card*> cards_called(std::string_view name);

/// The cards whose names look most like it, the nearest first; none twice.
[[nodiscard]] std::vector<std::string_view> similar_names(std::string_view name, std::size_t most);

/// The row of a device, by its name. Where several cards have that name: by PCI id, then by the
/// nearest memory size. By its PCI id alone where the driver gives no name of the table. A MIG
/// instance has none: it is a part of its card. Null: not in the table.
[[nodiscard]] const Card* card_of(const Device& device);

/// By a driver's name, with or without "NVIDIA "; also where the driver adds to it what the table
/// does not ("Tesla P100-PCIE-16GB-LN"). Null: not in the table.
[[nodiscard]] const Card* card_of_product(std::string_view name);

/// FP32 lanes enabled on a product, by its name with or without "NVIDIA ". For what does not tell:
/// drivers older than 510, texts of nvidia-smi.
[[nodiscard]] std::optional<std::uint64_t> cores_of_product(std::string_view name);

}  // namespace berth
