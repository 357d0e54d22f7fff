#include "snapshot/details.h"

#include <algorithm>
#include <utility>

namespace berth {

const Cell& Details::cell(Detail detail) const {
  static const Cell nobody_asked;
  const auto found = std::ranges::lower_bound(entries_, detail, {}, &Entry::detail);
  return found == entries_.end() || found->detail != detail ? nobody_asked : found->cell;
}

void Details::put(Detail detail, Cell cell) {
  const auto found = std::ranges::lower_bound(entries_, detail, {}, &Entry::detail);
  const bool there = found != entries_.end() && found->detail == detail;
  if (!cell.get() && cell.why() == Absent::not_sampled) {
    if (there) entries_.erase(found);
  } else if (there) {
    found->cell = std::move(cell);
  } else {
    entries_.insert(found, {detail, std::move(cell)});
  }
}

}  // namespace berth
