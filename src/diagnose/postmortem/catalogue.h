#pragma once
// The catalogue of error texts. Frameworks, CUDA, NCCL, the data loader and the kernel print them
// when a job dies or does without its GPU. Each has its meaning and what to try. One row per
// meaning. The source of each wording stands beside its sample in tests/data/logs. Pure data.

#include <span>
#include <string_view>

#include "base/tr.h"
#include "snapshot/finding.h"

namespace berth {

/// What a text says of a job's end. `cause` it is why. `consequence` it follows from something
/// that stands earlier, where that is known. `summary` a launcher says that something has ended.
/// `remark` the job goes on, worse than it could.
enum class LogPart { cause, consequence, summary, remark };
[[nodiscard]] constexpr std::string_view name_of(LogPart part) {
  constexpr std::string_view names[] = {"cause", "consequence", "summary", "remark"};
  return names[static_cast<int>(part)];
}

/// What else is decided by a text: whether `--retry-oom` starts the job again, and since when a
/// rank was missed.
enum class Tells { nothing, gpu_memory_shortage, lost_rank };

struct LogEntry {
  std::string_view code;  // a word for programs, the same for ever
  Severity severity;
  LogPart part;
  /// Alternatives, one per line, in small letters. "*" stands for anything within the line, "{a|b}"
  /// for one of both. "^" in front stands for the message's beginning, "$" behind for its end. "!"
  /// in front: it counts in an error alone (raised_lines). Comments, warnings and retries say it,
  /// too. Empty: it is found by where it stands (explain_log).
  std::string_view patterns;
  // Keys of the catalogue of words.
  std::string_view title;
  std::string_view meaning;
  struct Advice {
    std::string_view what;
    std::string_view command;
  };
  Advice steps[3];  // no std::array: its braces could not be nested plainly
  Tells tells = Tells::nothing;
};

struct LogFamily {
  std::string_view about;  // the heading of its table in doc/EXPLAIN.md
  std::span<const LogEntry> entries;
};
/// All entries; of two that fit the same line the first counts.
[[nodiscard]] std::span<const LogFamily> log_catalogue();
/// Null: there is none of this name.
[[nodiscard]] const LogEntry* log_entry(std::string_view code);

/// Whether the pattern fits somewhere in the line, which is in small letters.
[[nodiscard]] bool fits(std::string_view pattern, std::string_view line);

/// The entry whose text stands in this line; null: none. `is_raised`: the line is an error's.
[[nodiscard]] const LogEntry* entry_of_line(std::string_view line, bool is_raised);

// Advice that several families of the catalogue share.

inline constexpr LogEntry::Advice smaller_batch{
    as_key("lower the batch and accumulate gradients to keep its effect, or use mixed precision or "
           "activation checkpointing"),
    ""};
inline constexpr LogEntry::Advice who_is_on_it{as_key("see who else is on the device"), "berth ps"};
inline constexpr LogEntry::Advice find_the_kernel{
    as_key("wait for each kernel, so that the trace names the one that failed"),
    "export CUDA_LAUNCH_BLOCKING=1"};
inline constexpr LogEntry::Advice ask_health{as_key("see whether the device itself is well"),
                                             "berth health"};
inline constexpr LogEntry::Advice build_for_card{
    as_key("install a build of the framework that was made for this card (its page of downloads "
           "says which). Build your own extensions for it"),
    ""};

}  // namespace berth
