#pragma once
// ViewCache: what each who asks may see of one look. Made when the first of those who see the same
// asks, because leaving out what is not for him costs as much as writing a page of metrics.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "serve/policy.h"
#include "serve/principal.h"
#include "snapshot/snapshot.h"

namespace berth::serve {

class ViewCache {
 public:
  ViewCache(std::shared_ptr<const Snapshot> look, Policy policy,
            std::shared_ptr<const GroupBook> book)
      : look_(std::move(look)), policy_(policy), book_(std::move(book)) {}

  /// Never null. The same for all who see the same, as far as they are not too many to be kept.
  /// Of any thread.
  [[nodiscard]] std::shared_ptr<const Snapshot> of(const Principal& principal);

 private:
  static constexpr std::size_t most_kept = 64;

  std::shared_ptr<const Snapshot> look_;
  Policy policy_;
  std::shared_ptr<const GroupBook> book_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Snapshot>> kept_;  // by who sees the same
};

}  // namespace berth::serve
