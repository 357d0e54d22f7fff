// What its output says, and what its samples say of others who were there.

#include <algorithm>

#include "base/text.h"
#include "diagnose/postmortem/explain_log.h"
#include "diagnose/postmortem/postmortem.h"
#include "snapshot/device_name.h"

namespace berth {

namespace {

/// The promise per device, where all have the same.
std::optional<Bytes> promise_of(const Manifest& manifest) {
  if (manifest.promised.empty()) return std::nullopt;
  const auto differs = std::ranges::any_of(
      manifest.promised, [&](const auto& one) { return one != manifest.promised.front(); });
  return differs ? std::nullopt : manifest.promised.front();
}

/// What its own log says: the catalogue of error texts over a detached run's output.
Findings known_error_text(const PostmortemEvidence& evidence) {
  if (evidence.log == nullptr) return {};
  const Manifest& manifest = evidence.run.manifest;
  Findings findings =
      explain_log(*evidence.log, {.promised = promise_of(manifest),
                                  .refusals = evidence.refusals,
                                  .batch = batch_size_in(shell_joined(manifest.command))});
  const auto shortage = std::ranges::find_if(
      findings, [](const Finding& finding) { return is_gpu_memory_shortage(finding.rule); });
  if (shortage != findings.end()) add_events(out_of_gpu_memory_event, evidence, *shortage);
  return findings;
}

/// A share of the device: less than this is a desktop, a context, rounding.
constexpr std::uint64_t least_growth_part = 20;  // one twentieth
constexpr std::uint64_t least_growth = std::uint64_t{512} << 20;

const Device* device_it_is_on(const NeighbourGrowth& growth, const RunRecord& run) {
  const auto& devices = run.manifest.given.devices;
  return growth.device < devices.size() ? &devices[growth.device] : nullptr;
}

Bytes free_last(const NeighbourGrowth& growth, Bytes total) {
  return minus(total, growth.used_last).value_or(Bytes(0));
}

/// What they took is much, and it was seen until the end.
bool is_much_and_late(const NeighbourGrowth& growth, const RunRecord& run) {
  constexpr std::int64_t longest_ms = 60'000;
  const Device* device = device_it_is_on(growth, run);
  if (device == nullptr || !device->memory_total.get()) return false;
  const std::uint64_t grown = growth.grown().count();
  return grown >= least_growth &&
         grown * least_growth_part >= device->memory_total.get()->count() &&
         run.end->at.unix_ms - growth.seen_last.unix_ms <= longest_ms;
}

/// Whether this growth is what the message is about. It must be on the device that the message
/// names. Without it the tensor would have fitted.
bool is_what_lacked(const NeighbourGrowth& growth, const OomMessage& message,
                    const RunRecord& run) {
  const OomCause cause = judge(message).cause;
  const bool is_own =
      cause == OomCause::too_large || cause == OomCause::limit || cause == OomCause::fragmented;
  if (is_own || !message.free) return false;
  const std::uint64_t room = message.free->count() + growth.grown().count() +
                             (message.unallocated ? message.unallocated->count() : 0);
  if (message.tried.count() > room) return false;
  if (run.manifest.given.devices.size() == 1) return true;
  // A rank that is shown one device alone calls it 0, whichever it is: then the samples decide.
  const std::uint64_t total = device_it_is_on(growth, run)->memory_total.get()->count();
  return message.device == growth.device &&
         free_last(growth, Bytes(total)).count() <= message.tried.count() + total / 10;
}

/// The device is all but full.
bool left_nothing_free(const NeighbourGrowth& growth, const RunRecord& run) {
  constexpr std::uint64_t part = 50;
  const std::uint64_t total = device_it_is_on(growth, run)->memory_total.get()->count();
  return free_last(growth, Bytes(total)).count() * part <= total;
}

void add_neighbours_users(const NeighbourGrowth& growth, const RunRecord& run, Finding& finding) {
  std::uint64_t named = 0;
  for (const NeighbourGrowth::User& user : growth.users) {
    const std::uint64_t grown = minus(user.last, user.before).value_or(Bytes(0)).count();
    named += grown;
    if (grown * 4 < growth.grown().count()) continue;
    const std::string before = short_size(user.before);
    const std::string last = short_size(user.last);
    if (user.name.empty()) {
      finding.evidence.push_back(
          sentence("processes there whose user cannot be seen: from {} to {}", before, last));
    } else if (user.name == run.manifest.user) {
      finding.evidence.push_back(
          sentence("processes of {} there that are none of this run: from "
                   "{} to {}",
                   printable(user.name), before, last));
    } else {
      finding.evidence.push_back(
          sentence("processes of {} there: from {} to {}", printable(user.name), before, last));
    }
  }
  if (named * 2 < growth.grown().count() && finding.doubt.empty()) {
    finding.doubt = sentence(
        "the driver names no process that took it. Unlisted memory of the run itself (of a "
        "container that it started) would look the same");
  }
}

Finding finding_about(const NeighbourGrowth& growth, const RunRecord& run) {
  const Device& device = *device_it_is_on(growth, run);
  const Bytes total = *device.memory_total.get();
  return {.rule = "neighbour_grew",
          .severity = Severity::error,
          .title = sentence("others on its GPU took the memory while it ran"),
          .evidence = {sentence("others on {} grew from {} to {} of its {}",
                                printable(name_for_people(device)), short_size(growth.before),
                                short_size(growth.last), short_size(total)),
                       sentence("when it was last looked at, {} were free there",
                                short_size(free_last(growth, total)))},
          .meaning = sentence("Without what they took meanwhile it would have fitted."),
          .steps = {{sentence("see who else is on the device"), "berth ps"},
                    {sentence("take a device alone, and wait for one if need be"),
                     "berth run --wait -- python train.py"}}};
}

/// The one that grew most, of those that `fits` accepts.
template <class Fits>
const NeighbourGrowth* largest(const PostmortemEvidence& evidence, Fits fits) {
  const NeighbourGrowth* found = nullptr;
  for (const NeighbourGrowth& growth : evidence.neighbours) {
    if (!is_much_and_late(growth, evidence.run) || !fits(growth)) continue;
    if (found == nullptr || growth.grown().count() > found->grown().count()) found = &growth;
  }
  return found;
}

bool ended_badly_by_itself(const RunRecord& run) {
  return has_failed(run) && run.end->because.empty();
}

/// The log says that the GPU's memory was used up. The run's samples show that others took more and
/// more of it. Without a log see perhaps_neighbour_grew: there it is a guess.
Findings neighbour_grew(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!ended_badly_by_itself(run) || evidence.log == nullptr || evidence.neighbours.empty()) {
    return {};
  }
  const auto shortage = gpu_memory_shortage(*evidence.log);
  if (!shortage) return {};
  const NeighbourGrowth* growth = largest(evidence, [&](const NeighbourGrowth& one) {
    return shortage->message ? is_what_lacked(one, *shortage->message, run)
                             : left_nothing_free(one, run);
  });
  if (growth == nullptr) return {};
  Finding finding = finding_about(*growth, run);
  if (!shortage->message) {
    finding.meaning = sentence("There was more room when it began.");
    finding.doubt =
        sentence("the message in the log has no numbers: whether it would have fitted is not told");
  }
  add_neighbours_users(*growth, run, finding);
  return {std::move(finding)};
}

Findings perhaps_neighbour_grew(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  // A program that the driver gives no memory raises an exception: a signal is another story.
  if (!ended_badly_by_itself(run) || evidence.log != nullptr || signal_of(run) != 0) return {};
  const NeighbourGrowth* growth =
      largest(evidence, [&](const NeighbourGrowth& one) { return left_nothing_free(one, run); });
  if (growth == nullptr) return {};
  Finding finding = finding_about(*growth, run);
  finding.severity = Severity::warning;
  finding.meaning = sentence("A job that then asks for more of the GPU's memory fails.");
  finding.doubt = sentence(
      "its output was not kept: whether the GPU's memory is what it failed for is not told");
  add_neighbours_users(*growth, run, finding);
  return {std::move(finding)};
}

}  // namespace

std::span<const PostmortemRule> output_rules() {
  static constexpr PostmortemRule rules[] = {
      {.find = known_error_text,

       .reports = {{"every code of the catalogue below", "as said there", "its detached log",
                    "as said there"}}},
      {.find = neighbour_grew,

       .reports = {{"neighbour_grew", "error",
                    "its log says that the GPU's memory was used up, and by its samples [others "
                    "had taken more of it](#the-neighbour-who-grew) while it ran",
                    "doubt where the message has no numbers, or the driver lists no process that "
                    "took it"}}},
      {.find = perhaps_neighbour_grew,
       .asked = PostmortemRule::Asked::without_cause,
       .reports = {{"neighbour_grew", "warning",
                    "the same without a log: it failed, by no signal, on a device of which less "
                    "than 1/50 was free, and nothing else is known",
                    "doubt"}}},
  };
  return rules;
}

}  // namespace berth
