#pragma once
// `berth spec`: what cards are, side by side; the driver's own figures where the card is here.

#include <optional>
#include <string>
#include <vector>

#include "cards/card.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// One card asked for. At least one of the two is there.
struct SpecSubject {
  const Card* card = nullptr;      // its row of the table; null: the table has none
  const Device* device = nullptr;  // one of it that is here; null: none, or not asked
  std::vector<int> indices;        // of all of it that are here
};

/// The cards here, each kind once, in the order of their indices.
[[nodiscard]] std::vector<SpecSubject> cards_here(const Snapshot& snapshot);

struct SpecAnswer {
  std::vector<SpecSubject> subjects;
  std::optional<std::string> simulated;  // the devices are this simulated server's
};

/// Where driver and table differ, the driver's value is shown and the table's beside it.
[[nodiscard]] std::string render_spec(const SpecAnswer& answer, const Style& style);
[[nodiscard]] std::string spec_json(const SpecAnswer& answer);

/// Every card of the table in a line.
[[nodiscard]] std::string render_card_list(const Style& style);

}  // namespace berth
