#pragma once
// The table of cards. One file per family. A row's figures are the vendor's. What is not known for
// certain is left out.

#include <span>

#include "cards/card.h"

namespace berth {

[[nodiscard]] std::span<const Card> geforce_cards();      // GeForce and TITAN
[[nodiscard]] std::span<const Card> workstation_cards();  // Quadro, RTX A, RTX Ada, RTX PRO
[[nodiscard]] std::span<const Card> datacenter_cards();   // Tesla and what came after it; Jetson
[[nodiscard]] std::span<const Card> instinct_cards();     // AMD Instinct
[[nodiscard]] std::span<const Card> radeon_cards();       // AMD Radeon
[[nodiscard]] std::span<const Card> intel_cards();        // Arc, Data Center GPU Flex and Max
[[nodiscard]] std::span<const Card> ascend_chips();       // Huawei Ascend, one by one
/// All of them, in that order, the oldest of each first.
[[nodiscard]] std::span<const Card> all_cards();

}  // namespace berth
