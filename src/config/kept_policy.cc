#include "config/kept_policy.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace berth {

Result<std::shared_ptr<const Policy>> KeptPolicy::read(const PolicyPlaces& places,
                                                       std::chrono::seconds local_offset) {
  struct stat facts{};
  const bool is_there = ::stat(places.file.c_str(), &facts) == 0;
  if (!is_there && (errno == ENOENT || errno == ENOTDIR)) return std::shared_ptr<const Policy>();
  constexpr std::int64_t fresh_ms = 60'000;
  std::string stamp = fmt::format("{} {} {} {}.{} {}", facts.st_ino, facts.st_mode, facts.st_uid,
                                  facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec,
                                  places.now.value_or(WallTime{}).unix_ms / fresh_ms);
  if (policy_ && is_there && stamp == stamp_) return policy_;
  policy_.reset();
  auto policy = read_policy(places);
  if (!policy) return std::unexpected(std::move(policy).error());
  policy->local_offset = local_offset;
  policy_ = std::make_shared<const Policy>(*std::move(policy));
  stamp_ = std::move(stamp);
  return policy_;
}

}  // namespace berth
