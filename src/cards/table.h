#pragma once
// The table of cards. One file per family; a row's figures are the vendor's, and what is not known
// for certain is left out of it.

#include <span>

#include "cards/card.h"

namespace berth {

[[nodiscard]] std::span<const Card> geforce_cards();      // GeForce and TITAN
[[nodiscard]] std::span<const Card> workstation_cards();  // Quadro, RTX A, RTX Ada, RTX PRO
[[nodiscard]] std::span<const Card> datacenter_cards();   // Tesla and what came after it; Jetson
[[nodiscard]] std::span<const Card> instinct_cards();     // AMD Instinct
/// All of them, in that order, the oldest of each first.
[[nodiscard]] std::span<const Card> all_cards();

}  // namespace berth
