#include "run/shim_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/process.h"
#include "record/record_writer.h"

namespace berth {

namespace {

/// A process stuck in the kernel must not stop the sampler.
constexpr Duration maps_patience = std::chrono::milliseconds(500);

Reading<bool> is_mapped_in(pid_t process, const std::string& image, const std::string& proc,
                           Clock& clock) {
  const auto answer = ask_child(
      [&] {
        const Reading<bool> mapped = has_shim_mapped(process, image, proc);
        const char* word = !mapped.has_value() ? "unknown" : *mapped.get() ? "yes" : "no";
        return write_all(1, word) ? 0 : 1;
      },
      clock, maps_patience);
  if (!answer || !answer->exit || answer->out == "unknown") return Absent::no_permission;
  return answer->out == "yes";
}

}  // namespace

ShimWatch::ShimWatch(const Manifest& manifest, const std::string& directory, std::string proc)
    : proc_(std::move(proc)) {
  if (!manifest.cap || manifest.cap->tier != CapTier::shim || directory.empty()) return;
  image_ = manifest.cap->image;
  auto account = AccountFile::open(directory + "/" + std::string(record_file::account));
  if (account) {
    account_.emplace(*std::move(account));
  } else {
    seen_.gap = account.error().message();
  }
}

void ShimWatch::before_look() {
  before_.clear();
  if (!account_) return;
  if (auto told = account_->told()) before_ = *std::move(told);
}

std::vector<ShimNews> ShimWatch::after_look(const std::vector<ProcessSample>& own, Clock& clock) {
  if (!account_) return {};
  const auto after = account_->told();
  if (!after) {
    seen_.gap = after.error().message();
    account_.reset();
    return {{"shim_account_lost", "the shim's account of memory cannot be read: " + seen_.gap}};
  }
  tell_measured(own, *after);
  seen_.devices.clear();
  for (const AccountFile::Told& one : *after) {
    seen_.devices.push_back({.highest_charge = one.highest, .refusals = one.refusals});
  }
  return look_into(own, clock);
}

void ShimWatch::tell_measured(const std::vector<ProcessSample>& own,
                              const std::vector<AccountFile::Told>& after) {
  for (std::size_t at = 0; at < std::min(before_.size(), after.size()); ++at) {
    std::uint64_t sum = 0;
    bool is_whole = false;
    for (const ProcessSample& process : own) {
      if (process.device != at) continue;
      const auto& memory = process.memory.get();
      is_whole = memory.has_value();
      if (!is_whole) break;
      sum += memory->count();
    }
    if (!is_whole) continue;  // nobody is there, or one cannot be read
    account_->tell_measured(at, Bytes(sum), std::max(before_[at].charged, after[at].charged));
  }
}

std::vector<ShimNews> ShimWatch::look_into(const std::vector<ProcessSample>& own, Clock& clock) {
  std::vector<ShimNews> news;
  for (const ProcessSample& process : own) {
    if (!looked_into_.insert(process.pid).second) continue;
    const Reading<bool> mapped = is_mapped_in(process.pid, image_, proc_, clock);
    if (mapped.has_value() && *mapped.get()) {
      seen_.in_processes = true;
      continue;
    }
    // It may have ended since the driver was asked.
    if (!identify_process(process.pid)) continue;
    std::string gap =
        mapped.has_value()
            ? fmt::format("process {} uses the device without the shim", process.pid)
            : fmt::format("whether process {} has the shim cannot be read", process.pid);
    if (!seen_.gap.empty()) continue;
    news.push_back({"shim_missing", gap});
    seen_.gap = std::move(gap);
  }
  return news;
}

bool ShimWatch::has_changed() {
  if (image_.empty() || seen_ == told_) return false;
  told_ = seen_;
  return true;
}

}  // namespace berth
