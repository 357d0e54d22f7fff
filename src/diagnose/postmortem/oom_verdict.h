#pragma once
// Whose memory it was when the GPU's was used up. PyTorch's own numbers tell it, and what a run was
// promised. Says what cannot be told.

#include <cstdint>
#include <optional>
#include <string_view>

#include "diagnose/postmortem/oom_message.h"
#include "snapshot/finding.h"

namespace berth {

/// `too_large` one tensor is larger than the card. `limit` PyTorch was told to take no more.
/// `neighbour` it would have fitted without the others. `fragmented` PyTorch holds enough, in
/// pieces. `needed` the program needs more than there is. `unknown` the message does not tell.
enum class OomCause { too_large, limit, neighbour, fragmented, needed, unknown };
[[nodiscard]] std::string_view name_of(OomCause cause);

struct OomVerdict {
  OomCause cause = OomCause::unknown;
  /// The memory that others hold on the device; nothing: not told.
  std::optional<Bytes> of_others;
  /// The others' share follows from the sums alone: no process is named.
  bool others_by_difference = false;
  friend bool operator==(const OomVerdict&, const OomVerdict&) = default;
};
[[nodiscard]] OomVerdict judge(const OomMessage& message);

/// The largest batch that can fit if `batch` did not. It is an upper bound: the part that does not
/// grow with the batch (the weights) is not told. Nothing: the message tells too little, or tells
/// of no need.
[[nodiscard]] std::optional<std::uint64_t> largest_batch(const OomMessage& message,
                                                         std::uint64_t batch);

/// The batch size named in a command line or a log ("--batch-size 64", "batch_size=64"); nothing:
/// none, or several different ones.
[[nodiscard]] std::optional<std::uint64_t> batch_size_in(std::string_view text);

/// What is known of the run besides its log.
struct OomContext {
  std::optional<Bytes> promised;  // of the device; nothing: the whole device, or no run
  std::uint64_t refusals = 0;     // of allocations, by what holds the run to that
  std::optional<std::uint64_t> batch;
};

/// Turns the catalogue's general words into those of this message: title, evidence, meaning, steps.
void explain_oom(const OomMessage& message, const OomContext& around, Finding& finding);

}  // namespace berth
