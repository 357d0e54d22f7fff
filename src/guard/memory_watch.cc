#include "guard/memory_watch.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/text.h"

namespace berth {

namespace {

Bytes tolerated(Bytes cap) {
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(cap.count()) * cap_tolerance));
}

/// "dan 15.0 GiB, eve 2.0 GiB", the largest three.
std::string users_text(const std::vector<UnleasedUse>& by) {
  constexpr std::size_t most = 3;
  const auto told = [](const UnleasedUse& one) {
    return (one.user.empty() ? "?" : printable(one.user)) + " " + short_size(one.memory);
  };
  return joined(by | std::views::take(most), ", ", told) + (by.size() > most ? ", …" : "");
}

}  // namespace

MemoryWatch::MemoryWatch(std::vector<WatchedShare> shares, Figures figures) : figures_(figures) {
  for (WatchedShare& share : shares) watched_.push_back({.share = std::move(share)});
}

bool MemoryWatch::Trouble::is_news(bool there, Instant now) {
  if (!there) {
    looks = 0;
    told = false;
    return false;
  }
  ++looks;
  if (told || looks < looks_until_told) return false;
  if (told_at && now - *told_at < told_again_after) return false;
  told = true;
  told_at = now;
  return true;
}

Sentence MemoryWatch::said(Sentence text) const {
  return figures_ == Figures::measured
             ? text
             : sentence("{}: {}", text, sentence("these figures are simulated"));
}

std::vector<Note> MemoryWatch::news(const std::vector<WatchedMemory>& seen, Instant now) {
  std::vector<Note> news;
  for (std::size_t at = 0; at < std::min(seen.size(), watched_.size()); ++at) {
    if (watched_[at].share.cap) add_own(watched_[at], seen[at], now, news);
    add_taken(watched_[at], seen[at].taken, now, news);
  }
  return news;
}

void MemoryWatch::add_own(ShareState& one, const WatchedMemory& seen, Instant now,
                          std::vector<Note>& news) const {
  const Reading<Bytes>& own = seen.own;
  const Bytes cap = *one.share.cap;
  const bool is_over = own.has_value() && *own.get() > tolerated(cap);
  if (one.over.is_news(is_over, now)) {
    news.push_back({std::string(memory_over_cap),
                    said(sentence("{}: this run uses {} there and was promised {}",
                                  one.share.device, short_size(*own.get()), short_size(cap)))});
  }
  const bool is_unread = !own.has_value() && own.why() != Absent::not_sampled;
  one.unread = is_unread ? one.unread + 1 : 0;
  if (one.unread < looks_until_told || std::exchange(one.told_unread, true)) return;
  news.push_back({"memory_not_watched",
                  sentence("{}: whether this run keeps to its {} cannot be watched: {}",
                           one.share.device, short_size(cap),
                           Sentence(seen.unread_because.empty() ? reason_of(own.why())
                                                                : seen.unread_because))});
}

void MemoryWatch::add_taken(ShareState& one, const PromisesTaken& taken, Instant now,
                            std::vector<Note>& news) const {
  if (!one.taken.is_news(!taken.by.empty(), now)) return;
  news.push_back(
      {"neighbour_in_promised_memory",
       said(sentence("{}: {} promised to leases there are used without a lease ({})",
                     one.share.device, short_size(taken.memory), users_text(taken.by)))});
}

}  // namespace berth
