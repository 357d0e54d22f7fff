#include "serve/view_cache.h"

namespace berth::serve {

std::shared_ptr<const Snapshot> ViewCache::of(const Principal& principal) {
  if (principal.admin) return look_;
  const std::string key = principal.view_key();
  const std::scoped_lock lock(mutex_);
  if (const auto had = kept_.find(key); had != kept_.end()) return had->second;
  auto made = std::make_shared<const Snapshot>(visible_part(*look_, principal, policy_, *book_));
  if (kept_.size() < most_kept) kept_.emplace(key, made);
  return made;
}

}  // namespace berth::serve
