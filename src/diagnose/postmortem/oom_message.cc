#include "diagnose/postmortem/oom_message.h"

#include <algorithm>

#include "base/text.h"

namespace berth {

namespace {

constexpr std::string_view beginning = "out of memory. Tried to allocate ";
/// No such message is longer.
constexpr std::size_t longest = 2000;

/// Takes a size as "20.00 MiB" or "0 bytes" off the front.
std::optional<Bytes> take_size(std::string_view& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || space > 20) return std::nullopt;
  const std::string_view unit = text.substr(space + 1, 5);
  const bool plain = unit == "bytes";
  if (!plain && !(unit.size() > 2 && unit.substr(1, 2) == "iB")) return std::nullopt;
  const auto size = parse_size(text.substr(0, plain ? space : space + 4));
  // Sums of a few of them must stay numbers, too.
  if (!size || size->count() > std::uint64_t{1} << 60) return std::nullopt;
  text.remove_prefix(space + 1 + (plain ? 5 : 3));
  return *size;
}

/// The size behind the first `words`.
std::optional<Bytes> size_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + words.size());
  return take_size(text);
}

/// The size in front of the first `words`.
std::optional<Bytes> size_before(std::string_view text, std::string_view words) {
  const std::size_t end = text.find(words);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view front = text.substr(0, end);
  const std::size_t unit = front.rfind(' ');
  if (unit == std::string_view::npos || unit == 0) return std::nullopt;
  const std::size_t number = front.find_last_of(" ;(", unit - 1);
  if (number == std::string_view::npos) return std::nullopt;
  std::string_view size = front.substr(number + 1);
  return take_size(size);
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + words.size());
  return parse_unsigned(
      rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size())));
}

/// "Process 2493055 has 12.02 GiB memory in use."
std::vector<OomMessage::OtherProcess> other_processes(std::string_view text) {
  constexpr std::string_view word = "Process ";
  constexpr std::size_t most = 64;
  std::vector<OomMessage::OtherProcess> others;
  for (std::size_t at = text.find(word); at != std::string_view::npos && others.size() < most;
       at = text.find(word)) {
    const auto pid = number_after(text.substr(at), word);
    text.remove_prefix(at + word.size());
    const auto bytes = size_after(text.substr(0, 60), " has ");
    if (pid && bytes) others.push_back({*pid, *bytes});
  }
  return others;
}

/// As the message writes it; versions 2.0 and 2.1 know one, later ones the other.
std::string setting_in(std::string_view text) {
  if (text.find("PYTORCH_ALLOC_CONF=expandable") != std::string_view::npos) {
    return "PYTORCH_ALLOC_CONF=expandable_segments:True";
  }
  if (text.find("expandable_segments:True") != std::string_view::npos) {
    return "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
  }
  if (text.find("max_split_size_mb") != std::string_view::npos) {
    const bool is_npu = text.find("(NPU ") != std::string_view::npos;
    return is_npu ? "PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:128"
                  : "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128";
  }
  return "";
}

void read_old_wording(std::string_view text, OomMessage& message) {
  message.device = number_after(text, "(GPU ");
  if (!message.device) message.device = number_after(text, "(NPU ");
  message.total = size_before(text, " total capacity");
  message.free = size_before(text, " free;");
  message.allocated = size_before(text, " already allocated");
  message.allowed = size_before(text, " allowed;");
  // 1.3 and older call "cached" what is not allocated.
  message.unallocated = size_before(text, " cached)");
  const auto reserved = size_before(text, " reserved in total");
  if (reserved && message.allocated) message.unallocated = minus(*reserved, *message.allocated);
}

void read_new_wording(std::string_view text, OomMessage& message) {
  message.device = number_after(text, "GPU ");
  // 2.0 and 2.1 wrote "capacty".
  message.total = size_after(text, " has a total capacity of ");
  if (!message.total) message.total = size_after(text, " has a total capacty of ");
  message.free = size_after(text, " of which ");
  message.own = size_after(text, "this process has ");
  message.others = other_processes(text);
  message.allowed = size_before(text, " allowed");
  message.allocated = size_after(text, "Of the allocated memory ");
  message.private_pools = size_before(text, " allocated in private pools");
  message.unallocated = size_before(text, " is reserved by PyTorch but unallocated");
  // A newer version leaves out what is 0.
  if (message.allocated && !message.unallocated && message.private_pools) {
    message.unallocated = Bytes{0};
  }
}

}  // namespace

std::optional<Bytes> OomMessage::reserved() const {
  if (!allocated || !unallocated) return std::nullopt;
  return Bytes(allocated->count() + unallocated->count());
}

std::optional<OomMessage> parse_oom_message(std::string_view text) {
  const std::size_t at = text.find(beginning);
  if (at == std::string_view::npos) return std::nullopt;
  text = text.substr(at + beginning.size(), longest);
  text = text.substr(0, text.find(beginning));
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  std::string_view rest = line;
  const auto tried = take_size(rest);
  if (!tried) return std::nullopt;
  OomMessage message;
  message.tried = *tried;
  message.setting = setting_in(rest);
  if (rest.find("total capacity;") != std::string_view::npos) {
    read_old_wording(rest, message);
  } else {
    read_new_wording(rest, message);
  }
  return message;
}

}  // namespace berth
