#include "run/shim_watch.h"

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/process.h"
#include "base/sentence.h"
#include "base/text.h"
#include "guard/context_sizes.h"
#include "record/record_writer.h"
#include "snapshot/device_name.h"

namespace berth {

namespace {

/// A process stuck in the kernel must not stop the sampler.
constexpr Duration patience_for_proof = std::chrono::seconds(2);

/// Memory that is taken and given back while the driver is asked is in neither sum of the charges.
/// What is above them in so many looks running is there: contexts, modules.
constexpr std::size_t looks_until_it_counts = 3;

Reading<bool> is_mapped_in(pid_t process, const std::string& image, const std::string& proc,
                           Clock& clock) {
  const auto answer = ask_child(
      [&] {
        const Reading<bool> mapped = has_shim_mapped(process, image, proc);
        const char* word = !mapped.has_value() ? "unknown" : *mapped.get() ? "yes" : "no";
        return write_all(1, word) ? 0 : 1;
      },
      clock, patience_for_proof);
  if (!answer || !answer->exit || answer->out == "unknown") return Absent::no_permission;
  return answer->out == "yes";
}

/// The part of what the last looks measured above the charges that lasts.
Bytes lasting(const std::deque<std::uint64_t>& above) {
  const bool counts =
      above.size() == looks_until_it_counts || (!above.empty() && above.back() == 0);
  return Bytes(counts ? *std::ranges::min_element(above) : 0);
}

}  // namespace

ShimWatch::ShimWatch(const Manifest& manifest, const std::string& directory, std::string proc)
    : proc_(std::move(proc)), slots_(proc_) {
  if (!manifest.cap || manifest.cap->tier != CapTier::shim || directory.empty()) return;
  image_ = manifest.cap->image;
  devices_ = manifest.given.devices;
  host_ = manifest.given.host;
  // What an earlier sampler of this run saw and told.
  if (auto seen = cap_seen_in(directory)) seen_ = told_ = *std::move(seen);
  auto account = AccountFile::open(directory + "/" + std::string(record_file::account));
  if (account) {
    account_.emplace(*std::move(account));
    state_directory_ = state_directory_of(directory);
  } else {
    seen_.gap = account.error().said();
  }
}

void ShimWatch::before_look() {
  before_.clear();
  if (!account_) return;
  if (auto told = account_->told()) before_ = *std::move(told);
}

std::vector<Note> ShimWatch::after_look(const std::vector<ProcessSample>& own,
                                        const std::vector<Reading<Bytes>>& measured, Clock& clock) {
  if (!account_) return {};
  const auto after = account_->told();
  if (!after) {
    seen_.gap = after.error().said();
    account_.reset();
    return {Note{"shim_account_lost",
                 sentence("the shim's account of memory cannot be read: {}", seen_.gap)}};
  }
  tell_measured(measured, *after);
  seen_.devices.clear();
  for (const AccountFile::Told& one : *after) {
    seen_.devices.push_back({.highest_charge = one.highest, .refusals = one.refusals});
  }
  std::vector<Note> news = look_into(own, clock);
  look_at_account(own, clock, news);
  learn_contexts(own, *after);
  return news;
}

/// Told once for a run. The driver's figure of such memory still counts against the limit
/// (tell_measured). But the process that has it is refused nothing.
void ShimWatch::look_at_account(const std::vector<ProcessSample>& own, Clock& clock,
                                std::vector<Note>& news) {
  const auto uncounted = slots_.look(*account_, own, clock);
  if (!uncounted || !seen_.gap.empty()) return;
  seen_.gap =
      sentence("process {} has {} of {} that the shim does not count", uncounted->pid,
               short_size(uncounted->measured), name_for_people(devices_.at(uncounted->device)));
  news.push_back({"memory_not_counted", sentence("{}; the watchdog alone holds it", seen_.gap)});
}

void ShimWatch::tell_measured(const std::vector<Reading<Bytes>>& measured,
                              const std::vector<AccountFile::Told>& after) {
  above_.resize(after.size());
  const std::size_t devices = std::min({measured.size(), before_.size(), after.size()});
  for (std::size_t at = 0; at < devices; ++at) {
    const auto& sum = measured[at].get();
    if (!sum) continue;  // it cannot be read: what was known stands
    const Bytes charged = std::max(before_[at].charged, after[at].charged);
    auto& above = above_[at];
    above.push_back(sum->count() > charged.count() ? sum->count() - charged.count() : 0);
    if (above.size() > looks_until_it_counts) above.pop_front();
    account_->tell_unseen(at, lasting(above));
  }
}

/// Applies if one process alone is on a device, and none of it is hidden. Then lasting memory above
/// its charges is its context's.
void ShimWatch::learn_contexts(const std::vector<ProcessSample>& own,
                               const std::vector<AccountFile::Told>& after) {
  if (state_directory_.empty() || !seen_.gap.empty() || !seen_.in_processes) return;
  for (std::size_t at = 0; at < std::min(above_.size(), devices_.size()); ++at) {
    const Bytes more = lasting(above_[at]);
    if (more == Bytes{0} || std::ranges::count(own, at, &ProcessSample::device) != 1) continue;
    ContextSizes sizes = ContextSizes::load(state_directory_);
    if (!sizes.note(devices_[at], host_.software_of(devices_[at]).driver, after[at].context + more))
      continue;
    static_cast<void>(sizes.save(state_directory_));  // the next run learns it anew
  }
}

std::vector<Note> ShimWatch::look_into(const std::vector<ProcessSample>& own, Clock& clock) {
  std::vector<Note> news;
  for (const ProcessSample& process : own) {
    if (!looked_into_.insert(process.pid).second) continue;
    const Reading<bool> mapped = is_mapped_in(process.pid, image_, proc_, clock);
    if (mapped.has_value() && *mapped.get()) {
      seen_.in_processes = true;
      continue;
    }
    // It may have ended since the driver was asked.
    if (!identify_process(process.pid)) continue;
    Sentence gap = mapped.has_value()
                       ? sentence("process {} uses the device without the shim", process.pid)
                       : sentence("whether process {} has the shim cannot be read", process.pid);
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
