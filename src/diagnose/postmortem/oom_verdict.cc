#include "diagnose/postmortem/oom_verdict.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace berth {

namespace {

/// A process's own context, its libraries and NCCL's buffers: what it holds beside its tensors.
/// 0.3 to 1.5 GiB on cards of Volta to Hopper, so more than that is somebody else's.
constexpr std::uint64_t largest_context = std::uint64_t{2} << 30;
/// A share of the card. Less than this in others' hands is a desktop, a context, rounding.
constexpr std::uint64_t noticeable_part = 20;  // one twentieth
constexpr std::uint64_t noticeable_pieces = std::uint64_t{256} << 20;

std::uint64_t count_or_zero(const std::optional<Bytes>& bytes) {
  return bytes ? bytes->count() : 0;
}

/// In a container a process does not know itself by the driver's number. The message then names it
/// like a stranger, and has no "this process".
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
  } else if (spare >= tried && spare >= noticeable_pieces &&
             spare * noticeable_part >= message.total->count()) {
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

// The words of an OomVerdict.

namespace {

Finding::Step step(Sentence what, std::string command = "") {
  return {std::move(what), std::move(command)};
}

Finding::Step lower_batch() {
  return step(
      sentence("lower the batch and accumulate gradients to keep its effect, or use mixed "
               "precision or activation checkpointing"));
}

void add_numbers(const OomMessage& message, const OomVerdict& verdict, Finding& finding) {
  finding.evidence.push_back(sentence("it tried to get {} more", short_size(message.tried)));
  if (message.total && message.free) {
    finding.evidence.push_back(sentence("of the device's {} were free: {}",
                                        short_size(*message.total), short_size(*message.free)));
  }
  if (message.allocated && message.unallocated) {
    finding.evidence.push_back(sentence("its tensors had {}; PyTorch held {} more in pieces",
                                        short_size(*message.allocated),
                                        short_size(*message.unallocated)));
  }
  if (verdict.of_others && verdict.of_others->count() > 0) {
    finding.evidence.push_back(sentence("other processes had {}", short_size(*verdict.of_others)));
  }
  if (message.allowed) {
    finding.evidence.push_back(
        sentence("PyTorch was allowed {} by the program", short_size(*message.allowed)));
  }
}

void say_needed(const OomMessage& message, const OomContext& around, Finding& finding) {
  finding.title = sentence("the GPU's memory was used up by the job itself");
  finding.meaning = sentence(
      "It is true need: its own tensors fill the device, and little lies about in pieces.");
  const auto batch = around.batch ? largest_batch(message, *around.batch) : std::nullopt;
  if (batch) {
    finding.steps.push_back(
        step(sentence("a batch of {} cannot fit, one of at most {} may: halve it until it runs",
                      *around.batch, *batch)));
  } else {
    finding.steps.push_back(step(sentence(
        "halve the batch until it runs: how much of the memory grows with it is not told here")));
  }
  finding.steps.push_back(lower_batch());
}

void say_fragmented(const OomMessage& message, Finding& finding) {
  finding.title = sentence("the GPU's memory was there, but in pieces (fragmentation)");
  finding.meaning = sentence(
      "PyTorch held more unused memory than was asked for, and no piece of it was large enough.");
  // A version that names no setting has none.
  if (!message.setting.empty()) {
    finding.steps.push_back(
        step(sentence("let PyTorch join its pieces"), "export " + message.setting));
  }
  finding.steps.push_back(step(sentence(
      "give it shapes that repeat (pad to fixed lengths): ever new sizes make the pieces")));
}

void say_neighbour(const OomVerdict& verdict, Finding& finding) {
  finding.title = sentence("the GPU's memory was held by somebody else");
  finding.meaning = sentence("Without the other processes' {} it would have fitted.",
                             short_size(*verdict.of_others));
  finding.steps.push_back(step(sentence("see who else is on the device"), "berth ps"));
  finding.steps.push_back(step(sentence("take a device alone, and wait for one if need be"),
                               "berth run --wait -- python train.py"));
  if (verdict.others_by_difference) {
    finding.doubt = sentence(
        "no other process is named: what others had is what is left of the sums. Memory that this "
        "process holds outside PyTorch would look the same");
  }
}

void say_rest(OomCause cause, Finding& finding) {
  if (cause == OomCause::too_large) {
    finding.title = sentence("one tensor is larger than the whole GPU");
    finding.meaning = sentence(
        "No setting and no empty device helps. Mostly a shape went wrong (a product of all with "
        "all, an image or a sequence far too long).");
    finding.steps.push_back(step(sentence("look at the shapes in the line that the trace names")));
    finding.steps.push_back(step(sentence("do it in pieces, or with an operation that does")));
  } else if (cause == OomCause::limit) {
    finding.title = sentence("the program's own limit of GPU memory was reached");
    finding.meaning = sentence(
        "torch.cuda.set_per_process_memory_fraction was called: the device itself may have more.");
    finding.steps.push_back(step(sentence("raise the fraction, or need less")));
    finding.steps.push_back(lower_batch());
  } else {
    finding.doubt = sentence(
        "the message does not tell whose memory it was. Its numbers are missing, or there was room "
        "by them (another process may have left meanwhile)");
    finding.steps.push_back(step(sentence("see who else is on the device"), "berth ps"));
    finding.steps.push_back(lower_batch());
  }
}

void say_promise(const OomMessage& message, Bytes promised, Finding& finding) {
  const auto held = message.own ? message.own : message.reserved();
  if (!held || held->count() + message.tried.count() <= promised.count()) return;
  finding.evidence.push_back(sentence("the run was promised {} and wanted at least {}",
                                      short_size(promised),
                                      short_size(Bytes(held->count() + message.tried.count()))));
  finding.steps.push_back(step(sentence("ask for as much memory as it needs"),
                               "berth run --memory …G -- python train.py"));
}

/// Its numbers are those of the share, which the program takes for the card.
void say_share(const OomContext& around, Finding& finding) {
  finding.title = sentence("the run's own share of the GPU's memory was used up");
  finding.meaning = sentence(
      "It has {} (--memory), and what holds it there refused allocations: {}. The card may have "
      "more.",
      short_size(*around.promised), std::to_string(around.refusals));
  finding.steps.push_back(step(sentence("ask for as much memory as it needs"),
                               "berth run --memory …G -- python train.py"));
  finding.steps.push_back(lower_batch());
}

}  // namespace

void explain_oom(const OomMessage& message, const OomContext& around, Finding& finding) {
  const OomVerdict verdict = judge(message);
  add_numbers(message, verdict, finding);
  finding.steps.clear();
  const bool is_of_the_card = around.refusals == 0 || !around.promised;
  if (!is_of_the_card && verdict.cause != OomCause::fragmented) return say_share(around, finding);
  switch (verdict.cause) {
    case OomCause::needed:
      say_needed(message, around, finding);
      break;
    case OomCause::fragmented:
      say_fragmented(message, finding);
      break;
    case OomCause::neighbour:
      say_neighbour(verdict, finding);
      break;
    case OomCause::too_large:
    case OomCause::limit:
    case OomCause::unknown:
      say_rest(verdict.cause, finding);
      break;
  }
  if (around.promised) say_promise(message, *around.promised, finding);
}

}  // namespace berth
