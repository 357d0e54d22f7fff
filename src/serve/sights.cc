#include "serve/sights.h"

namespace berth::serve {

std::shared_ptr<const Snapshot> Sights::of(const Asker& asker) {
  if (asker.admin) return look_;
  const std::string key = asker.view_key();
  const std::scoped_lock lock(mutex_);
  if (const auto had = kept_.find(key); had != kept_.end()) return had->second;
  auto made = std::make_shared<const Snapshot>(visible_part(*look_, asker, policy_, *book_));
  if (kept_.size() < most_kept) kept_.emplace(key, made);
  return made;
}

}  // namespace berth::serve
