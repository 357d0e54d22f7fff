#include "run/waiting_news.h"

#include <utility>

namespace berth {

namespace {

constexpr Duration news_interval = std::chrono::milliseconds(300);

NewsKey key_of(int position, const Placement& placement) {
  NewsKey key{.position = position};
  for (const Refusal& refusal : placement.refused) {
    std::vector<std::string> by_whom;
    for (const Holder& holder : refusal.holders) by_whom.push_back(who(holder));
    key.reasons.emplace_back(refusal.device, refusal.rule, std::move(by_whom));
  }
  return key;
}

}  // namespace

void NewsTeller::tell(const AcquireOptions& options, Instant now, WaitingNews news,
                      const Placement& placement, const Snapshot& snapshot) {
  if (!options.on_news || (last_ && now - *last_ < news_interval)) return;
  NewsKey key = key_of(news.position, placement);
  if (last_ && key == told_ && !options.tells_time) return;
  told_ = std::move(key);
  last_ = now;
  news.placement = placement;
  news.snapshot = snapshot;
  options.on_news(news);
}

}  // namespace berth
