#include "diagnose/postmortem/oom_verdict.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace berth {

namespace {

/// A process's own context, its libraries and NCCL's buffers: what it holds beside its tensors.
/// 0.3 to 1.5 GiB on cards of Volta to Hopper, so more than that is somebody else's.
constexpr std::uint64_t largest_context = std::uint64_t{2} << 30;
/// Of the card: what others hold below this is a desktop, a context, rounding.
constexpr std::uint64_t noticeable_part = 20;  // one twentieth
constexpr std::uint64_t noticeable_pieces = std::uint64_t{256} << 20;

std::uint64_t count_or_zero(const std::optional<Bytes>& bytes) {
  return bytes ? bytes->count() : 0;
}

/// In a container a process does not know itself by the driver's number: then it is named like a
/// stranger, and no "this process" is.
bool is_itself(const OomMessage::OtherProcess& other, const OomMessage& message) {
  const auto reserved = message.reserved();
  return !message.own && reserved && other.bytes.count() + (64 << 20) >= reserved->count() &&
         other.bytes.count() <= reserved->count() + largest_context;
}

std::optional<Bytes> named_others(const OomMessage& message) {
  std::uint64_t sum = 0;
  bool skipped = false;
  for (const auto& other : message.others) {
    if (!skipped && is_itself(other, message)) {
      skipped = true;
      continue;
    }
    sum += other.bytes.count();
  }
  if (message.others.empty()) return std::nullopt;
  return Bytes(sum);
}

/// By subtraction: the card less what is free and what this process is known to hold.
std::optional<Bytes> others_by_sum(const OomMessage& message) {
  if (!message.total || !message.free) return std::nullopt;
  const auto reserved = message.reserved();
  if (!message.own && !reserved) return std::nullopt;
  const std::uint64_t mine =
      message.own ? message.own->count() : reserved->count() + largest_context;
  const std::uint64_t known = message.free->count() + mine;
  return Bytes(message.total->count() > known ? message.total->count() - known : 0);
}

bool is_noticeable(Bytes others, const OomMessage& message) {
  return message.total && others.count() * noticeable_part >= message.total->count();
}

}  // namespace

std::string_view name_of(OomCause cause) {
  constexpr std::array<std::string_view, 6> names = {"too_large",  "limit",  "neighbour",
                                                     "fragmented", "needed", "unknown"};
  return names[static_cast<std::size_t>(cause)];
}

OomVerdict judge(const OomMessage& message) {
  OomVerdict verdict;
  verdict.of_others = named_others(message);
  if (!verdict.of_others) {
    verdict.of_others = others_by_sum(message);
    verdict.others_by_difference = verdict.of_others.has_value();
  }
  if (!message.total || !message.free) return verdict;
  const std::uint64_t tried = message.tried.count();
  const std::uint64_t spare = count_or_zero(message.unallocated);
  const auto reserved = message.reserved();
  if (tried > message.total->count()) {
    verdict.cause = OomCause::too_large;
  } else if (message.allowed && reserved && reserved->count() + tried > message.allowed->count()) {
    verdict.cause = OomCause::limit;
  } else if (verdict.of_others && is_noticeable(*verdict.of_others, message) &&
             tried <= message.free->count() + spare + verdict.of_others->count()) {
    verdict.cause = OomCause::neighbour;
  } else if (spare >= tried && spare >= noticeable_pieces) {
    verdict.cause = OomCause::fragmented;
  } else if (tried < message.free->count()) {
    verdict.cause = OomCause::unknown;  // by these numbers there was room
  } else if (message.allocated) {
    verdict.cause = OomCause::needed;
  }
  return verdict;
}

std::optional<std::uint64_t> largest_batch(const OomMessage& message, std::uint64_t batch) {
  if (judge(message).cause != OomCause::needed || batch < 2 || batch > 1'000'000) {
    return std::nullopt;
  }
  // At least this much was needed; at most this much can be had.
  const double needed =
      static_cast<double>(message.allocated->count()) + static_cast<double>(message.tried.count());
  const double have = static_cast<double>(
      message.allocated->count() + count_or_zero(message.unallocated) + message.free->count());
  if (needed <= have || needed <= 0) return batch - 1;
  const double share = have / needed * static_cast<double>(batch);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(share), 1, batch - 1);
}

std::optional<std::uint64_t> batch_size_in(std::string_view text) {
  constexpr std::array names = {"batch_size", "batch-size", "train_batch_size"};
  std::optional<std::uint64_t> found;
  for (const std::string_view name : names) {
    for (std::size_t at = text.find(name); at != std::string_view::npos;
         at = text.find(name, at + 1)) {
      std::string_view rest = text.substr(at + name.size(), 24);
      rest.remove_prefix(std::min(rest.find_first_not_of(" =:'\""), rest.size()));
      const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
      const auto value = parse_unsigned(rest.substr(0, digits));
      if (!value) continue;
      if (found && *found != *value) return std::nullopt;
      found = *value;
    }
  }
  return found;
}

}  // namespace berth
