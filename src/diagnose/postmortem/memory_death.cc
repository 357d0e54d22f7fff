#include "diagnose/postmortem/memory_death.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "diagnose/postmortem/explain_log.h"
#include "guard/account_file.h"
#include "record/log_tail.h"
#include "record/record_writer.h"
#include "snapshot/device_name.h"

namespace berth {

bool died_of_gpu_memory(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!has_failed(run) || run.manifest.cpu_only) return false;
  if (run.end->because == end_cause::memory_cap) return true;
  if (!run.end->because.empty() || was_ended_on_purpose(evidence)) return false;
  if (evidence.log != nullptr) return gpu_memory_shortage(*evidence.log).has_value();
  return evidence.refusals > 0 && signal_of(run) == 0;
}

namespace {

/// "20251121-014946-k3f9q2 20.0 GiB, anna 40.0 GiB": words of no language.
std::string parts_text(const Manifest& manifest, std::size_t device, const Sample& last) {
  std::vector<std::string> parts;
  std::optional<Bytes> own;
  for (const ProcessSample& one : last.processes) {
    if (one.device == device && one.memory.get()) own = own.value_or(Bytes{0}) + *one.memory.get();
  }
  if (own) parts.push_back(manifest.id + " " + short_size(*own));
  for (const OthersSample& one : last.others) {
    if (one.device != device || !one.memory.get()) continue;
    parts.push_back((one.user.empty() ? "?" : one.user) + " " + short_size(*one.memory.get()));
  }
  return parts.empty() ? "?" : joined(parts, ", ");
}

}  // namespace

Sentence holders_text(const Manifest& manifest, const Sample& last) {
  Sentence text;
  for (std::size_t i = 0; i < last.devices.size() && i < manifest.given.devices.size(); ++i) {
    const Device& device = manifest.given.devices[i];
    const auto& used = last.devices[i].memory_used.get();
    const auto& total = device.memory_total.get();
    if (!used || !total) continue;
    const Sentence one =
        sentence("{}: {} of {} were in use ({})", name_for_people(device), short_size(*used),
                 short_size(*total), parts_text(manifest, i, last));
    text = text.empty() ? one : sentence("{}; {}", text, one);
  }
  return text.empty() ? sentence("who held the memory was not sampled") : text;
}

std::uint64_t refusals_of(const RunRecord& run) {
  std::uint64_t seen = 0;
  if (const auto written = cap_seen_in(run.directory)) {
    for (const CapSeen::OnDevice& one : written->devices) seen += one.refusals;
  }
  std::uint64_t counted = 0;
  const auto account = AccountFile::open(run.directory + "/" + std::string(record_file::account));
  if (const auto told = account ? account->told() : std::unexpected(account.error())) {
    for (const AccountFile::Told& one : *told) counted += one.refusals;
  }
  return std::max(seen, counted);
}

std::optional<Sentence> who_held_its_memory(const RunRecord& run) {
  PostmortemEvidence evidence{
      .run = run, .events = events_of(run), .refusals = refusals_of(run), .log = nullptr};
  std::optional<LogText> log;
  if (auto tail =
          run.manifest.log ? read_log_tail(run) : Result<LogTail>(fail(ErrorCode::not_found, ""))) {
    log.emplace(tail->bytes, tail->cut);
    evidence.log = &*log;
  }
  if (!died_of_gpu_memory(evidence)) return std::nullopt;
  // What was taken after the job had ended no longer has what it held itself.
  Sample last;
  (void)for_each_sample(run, [&](const Sample& sample) {
    if (!sample.processes.empty() || last.processes.empty()) last = sample;
  });
  return holders_text(run.manifest, last);
}

}  // namespace berth
