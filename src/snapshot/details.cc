#include "snapshot/details.h"

#include <algorithm>
#include <iterator>
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

void Details::add_missing(const Details& earlier) {
  std::vector<Entry> all;
  all.reserve(entries_.size() + earlier.entries_.size());
  // Where both have one, the first list's comes first, and stays.
  std::ranges::merge(entries_, earlier.entries_, std::back_inserter(all), {}, &Entry::detail,
                     &Entry::detail);
  const auto again = std::ranges::unique(all, {}, &Entry::detail);
  all.erase(again.begin(), again.end());
  entries_ = std::move(all);
}

}  // namespace berth
