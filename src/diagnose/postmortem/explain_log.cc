#include "diagnose/postmortem/explain_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "base/sentence.h"
#include "base/text.h"
#include "diagnose/postmortem/catalogue.h"
#include "diagnose/postmortem/sibling_ranks.h"
#include "health/xid.h"
#include "snapshot/kernel_messages.h"

namespace berth {

namespace {

/// So much of a line is shown as evidence. PyTorch's longest message needs it.
constexpr std::size_t longest_shown = 400;

std::string shown(std::string_view line) {
  const std::string masked = masked_text(line);
  line = masked;
  if (line.size() <= longest_shown) return printable(line);
  // Cut inside a character, printable() would show its bytes.
  std::size_t end = longest_shown;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0U) == 0x80U) --end;
  return printable(line.substr(0, end)) + "…";
}

/// The lines after each line: they tell whether the job went on.
class Aftermath {
 public:
  explicit Aftermath(const LogText& log) : log_(log), progress_(log.size() + 1, 0) {
    bool seen_progress = false;
    for (std::size_t i = log.size(); i-- > 0;) {
      const bool progress = is_progress_line(log.line(i));
      progress_[i] = progress_[i + 1] + (progress ? 1 : 0);
      seen_progress = seen_progress || progress;
      if (!seen_progress && is_error_line(log.line(i))) ends_in_error_ = true;
    }
  }

  /// Work went on, so what this line says did not kill the job.
  [[nodiscard]] bool is_survived(std::size_t line) const {
    constexpr std::size_t few = 3;    // other ranks print that much before they notice
    constexpr std::size_t many = 30;  // whatever came then, it was not of this
    const std::size_t progress = progress_[line + 1];
    if (progress >= many) return true;
    if (ends_in_error_) return false;
    return progress >= few || is_retried(line);
  }

  /// Work went on between the two.
  [[nodiscard]] bool is_pause(std::size_t before, std::size_t after) const {
    constexpr std::size_t few = 3;
    return progress_[before + 1] - progress_[after] >= few;
  }

 private:
  [[nodiscard]] bool is_retried(std::size_t line) const {
    constexpr std::array words = {"retry",        "skipping",       "skipped",      "recovered",
                                  "falling back", "reducing batch", "trying again", "ignored",
                                  "ignoring",     "relying on",     "fallback"};
    constexpr std::size_t near = 4;
    const std::string text = small_letters(log_.joined(line, near));
    return std::ranges::any_of(words, [&](std::string_view word) { return text.contains(word); });
  }

  const LogText& log_;
  std::vector<std::size_t> progress_;  // lines of progress from here on
  bool ends_in_error_ = false;
};

struct LogHit {
  const LogEntry* entry = nullptr;  // null: the XID
  std::uint64_t xid = 0;
  std::size_t first = 0;  // of those that count: the earliest of the last block
  std::size_t last = 0;
  std::size_t times = 0;
};

/// The driver's, or what NVIDIA's plugin for Kubernetes says of it. One that ends what another
/// broke may name that one: "45, …, caused by previous Xid 149".
std::optional<XidEvent> xid_in(std::string_view line) {
  auto xid = parse_xid(line);
  const auto code =
      number_following(line, xid ? "caused by previous Xid " : "XidCriticalError: Xid=");
  if (!code) return xid;
  if (!xid) xid.emplace();
  xid->code = *code;
  return xid;
}

/// Each entry with the lines in which it stands, in the order of their first.
std::vector<LogHit> seen_in(const LogText& log, const Aftermath& after) {
  std::vector<LogHit> found;
  const std::vector<bool> raised = raised_lines(log);
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (is_talk(log.line(i))) continue;
    const LogEntry* entry = entry_of_line(log.line(i), raised[i]);
    const auto xid = entry == nullptr ? xid_in(log.line(i)) : std::nullopt;
    if (entry == nullptr && !xid) continue;
    const std::uint64_t code = xid ? xid->code : 0;
    const auto known = std::ranges::find_if(
        found, [&](const LogHit& seen) { return seen.entry == entry && seen.xid == code; });
    if (known == found.end()) {
      found.push_back({entry, code, i, i, 1});
      continue;
    }
    // After a pause in which work went on it is another story.
    if (after.is_pause(known->last, i)) known->first = i;
    known->last = i;
    ++known->times;
  }
  return found;
}

Sentence place_of(const LogText& log, std::size_t line) {
  const std::string text = shown(log.line(line));
  if (log.number(line) == 0) return sentence("in the log: {}", text);
  return sentence("line {} of the log: {}", log.number(line), text);
}

/// Most errors with nothing to be done follow from another.
LogPart part_of(const LogHit& seen) {
  if (seen.entry != nullptr) return seen.entry->part;
  return xid_facts(seen.xid).action == XidAction::none ? LogPart::consequence : LogPart::cause;
}

/// Neither a worker of a data loader's nor the shared memory is spoken of.
bool is_bare_bus_error(std::string_view line) {
  const std::string text = small_letters(line);
  return !text.contains("worker") && !text.contains("shared memory") && !text.contains("</torch");
}

/// ROCm's tools in place of CUDA's; nothing: it has none such.
std::optional<std::string> command_for(std::string_view line, std::string_view command) {
  const bool is_of_rocm = small_letters(line).contains("hip");
  if (is_of_rocm && command == find_the_kernel.command) return "export AMD_SERIALIZE_KERNEL=3";
  if (is_of_rocm && command.starts_with("compute-sanitizer")) return std::nullopt;
  return std::string(command);
}

Finding finding_of(const LogHit& seen, const LogText& log) {
  if (seen.entry == nullptr) {
    return finding_of_xid(*xid_in(log.line(seen.first)),
                          sentence("the driver reported XID {}", seen.xid),
                          place_of(log, seen.first));
  }
  const LogEntry& entry = *seen.entry;
  Finding finding{.rule = std::string(entry.code),
                  .severity = entry.severity,
                  .title = Sentence(entry.title),
                  .evidence = {place_of(log, seen.first)},
                  .meaning = Sentence(entry.meaning)};
  for (const LogEntry::Advice& step : entry.steps) {
    if (step.what.empty()) continue;
    auto command = command_for(log.line(seen.first), step.command);
    if (command) finding.steps.push_back({Sentence(step.what), *std::move(command)});
  }
  if (entry.code == "killed_line") {
    finding.doubt = sentence("the log says only that it was killed, not by whom");
  }
  if (entry.code == "shared_memory_full" && is_bare_bus_error(log.line(seen.first))) {
    finding.doubt = sentence(
        "a bus error alone does not say so. A mapped file that became shorter, or a disk that "
        "fails, ends a program so, too");
  }
  return finding;
}

std::optional<OomMessage> message_at(const LogHit& seen, const LogText& log) {
  // It may have been broken into lines.
  constexpr std::size_t lines = 8;
  return parse_oom_message(log.joined(seen.first, lines));
}

void add_oom(const LogHit& seen, const LogText& log, OomContext around, Finding& finding) {
  const auto message = message_at(seen, log);
  if (!message) return;
  if (!around.batch) {
    constexpr std::size_t head = 2000;
    around.batch = batch_size_in(log.joined(0, head));
  }
  explain_oom(*message, around, finding);
}

/// "0, 1, 3", at most as many as a line shows.
std::string some_of(const std::map<std::uint64_t, std::uint64_t>& ranks) {
  constexpr std::size_t most = 16;
  return joined(ranks | std::views::keys | std::views::take(most), ", ") +
         (ranks.size() > most ? ", …" : "");
}

void add_ranks(const LogText& log, Finding& finding) {
  const RankStory story = rank_story(log);
  if (!story.waiting.empty()) {
    finding.evidence.push_back(sentence("ranks that waited in {}: {}",
                                        story.operation.empty() ? "?" : story.operation,
                                        some_of(story.waiting)));
  }
  switch (story.how) {
    case RankStory::How::own_error:
      finding.evidence.push_back(sentence("rank {} had an error of its own first: {}", *story.first,
                                          shown(story.shown_by)));
      return;
    case RankStory::How::behind:
      finding.evidence.push_back(
          sentence("rank {} stopped first: it waited in an earlier operation than the others",
                   *story.first));
      return;
    case RankStory::How::torchrun:
      finding.evidence.push_back(
          sentence("rank {} was the first that torchrun saw fail", *story.first));
      return;
    case RankStory::How::nobody:
      finding.doubt = sentence(
          "which rank stopped first cannot be told: all that wrote into this log waited alike");
      return;
  }
}

/// What a launcher or another rank says where one rank is gone.
bool tells_of_a_lost_rank(const LogHit& seen) {
  return seen.entry != nullptr && seen.entry->tells == Tells::lost_rank;
}

/// PyTorch's watch of the store says this after the rank that kept it ended in order. That rank
/// warned before that its process group was still there.
bool is_store_closed_at_the_end(const LogHit& seen, const LogText& log) {
  if (seen.entry == nullptr || seen.entry->code != "peer_gone") return false;
  const auto has = [&](std::size_t line, std::string_view words) {
    return small_letters(log.line(line)).contains(words);
  };
  if (!has(seen.first, "tcpstore") || !has(seen.last, "tcpstore")) return false;
  for (std::size_t i = 0; i < seen.first; ++i) {
    if (has(i, "destroy_process_group() was not called before program exit")) return true;
  }
  return false;
}

/// Whether a Python trace's last frame stands before it: its file, its source, what marks it. Ranks
/// that share a pipe may print in front of a line, or between two.
bool is_behind_frame(std::size_t line, const LogText& log) {
  constexpr std::size_t most = 5;
  for (std::size_t back = 1; back <= std::min(most, line); ++back) {
    const std::string_view before = log.line(line - back);
    if (before.contains("File \"") && before.contains(", line ")) return true;
  }
  return false;
}

/// A rank's own error: the last line of the first Python traceback that no entry knows. It stands
/// before a rank was missed. Nothing: there is none, or a rank's story tells it (NCCL's timeouts).
std::optional<std::size_t> own_error_line(const LogText& log, const Aftermath& after,
                                          const std::vector<LogHit>& all) {
  std::size_t missed = 0;
  for (const LogHit& seen : all) {
    if (seen.entry != nullptr && seen.entry->code == "nccl_timeout") return std::nullopt;
    if (tells_of_a_lost_rank(seen)) missed = std::max(missed, seen.last);
  }
  for (std::size_t i = 1; i < missed; ++i) {
    if (!is_own_error(log.line(i)) || !is_behind_frame(i, log)) continue;
    if (entry_of_line(log.line(i), true) == nullptr && !after.is_survived(i)) return i;
  }
  return std::nullopt;
}

/// What tells most comes first. A consequence is left out if a cause is known. A summary is left
/// out if anything else is known.
void keep_what_tells(std::vector<std::pair<LogPart, Finding>>& found) {
  std::ranges::stable_sort(found, {}, [](const auto& one) { return one.first; });
  if (found.empty() || found.front().first == LogPart::remark) return;
  const LogPart most = found.front().first;
  std::erase_if(found,
                [&](const auto& one) { return one.first != most && one.first != LogPart::remark; });
}

}  // namespace

Findings explain_log(const LogText& log, const OomContext& around) {
  std::vector<std::pair<LogPart, Finding>> found;
  const Aftermath after(log);
  const std::vector<LogHit> all = seen_in(log, after);
  const bool has_cause = std::ranges::any_of(all, [&](const LogHit& seen) {
    return part_of(seen) == LogPart::cause && !after.is_survived(seen.last);
  });
  const auto own_error = has_cause ? std::nullopt : own_error_line(log, after, all);
  if (own_error) {
    const LogHit raised{log_entry("rank_raised"), 0, *own_error, *own_error, 1};
    found.emplace_back(LogPart::cause, finding_of(raised, log));
  }
  for (const LogHit& seen : all) {
    const LogPart part = part_of(seen);
    if (part != LogPart::remark && after.is_survived(seen.last)) continue;
    if (is_store_closed_at_the_end(seen, log)) continue;
    Finding finding = finding_of(seen, log);
    if (finding.rule.starts_with("cuda_out_of_memory")) add_oom(seen, log, around, finding);
    if (finding.rule == "nccl_timeout") add_ranks(log, finding);
    if (seen.times > 1) {
      finding.evidence.push_back(sentence("it stands {} times in the log", seen.times));
    }
    found.emplace_back(part, std::move(finding));
  }
  keep_what_tells(found);
  Findings findings;
  for (auto& one : found) findings.push_back(std::move(one.second));
  return findings;
}

Finding finding_of_xid(const XidEvent& xid, Sentence title, Sentence evidence) {
  const XidFacts facts = xid_facts(xid.code);
  return {.rule = fmt::format("xid_{}", xid.code),
          .severity = Severity::error,
          .title = std::move(title),
          .evidence = {std::move(evidence)},
          .meaning = Sentence(facts.meaning),
          .steps = {{Sentence(advice_for(facts.action)), ""}}};
}

bool is_gpu_memory_shortage(std::string_view rule) {
  const LogEntry* entry = log_entry(rule);
  return entry != nullptr && entry->tells == Tells::gpu_memory_shortage;
}

std::optional<GpuMemoryShortage> gpu_memory_shortage(const LogText& log) {
  const Aftermath after(log);
  for (const LogHit& seen : seen_in(log, after)) {
    if (seen.entry == nullptr || seen.entry->tells != Tells::gpu_memory_shortage) continue;
    if (!after.is_survived(seen.last)) return GpuMemoryShortage{message_at(seen, log)};
  }
  return std::nullopt;
}

std::vector<std::string> last_lines(const LogText& log, std::size_t count) {
  std::vector<std::string> lines;
  for (std::size_t i = log.size() - std::min(count, log.size()); i < log.size(); ++i) {
    lines.push_back(shown(log.line(i)));
  }
  return lines;
}

}  // namespace berth
