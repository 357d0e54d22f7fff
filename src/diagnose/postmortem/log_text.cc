#include "diagnose/postmortem/log_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace berth {

namespace {

constexpr std::size_t most_lines = 200'000;
/// Of a longer line the rest is left out: no message is as long.
constexpr std::size_t longest_line = 4096;

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_of_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.'; }

/// How many bytes the escape sequence that begins at `at` takes (ECMA-48: CSI, OSC, two bytes).
std::size_t escape_length(std::string_view text, std::size_t at) {
  constexpr std::size_t longest = 256;
  if (at + 1 >= text.size()) return 1;
  const std::string_view rest = text.substr(at + 2, longest);
  if (text[at + 1] == '[') {
    const auto* end = std::ranges::find_if(rest, [](char c) { return c >= 0x40 && c <= 0x7e; });
    return 2 + static_cast<std::size_t>(end - rest.begin()) + (end == rest.end() ? 0 : 1);
  }
  if (text[at + 1] == ']') {
    const std::size_t end = rest.find_first_of("\a\x1b\n");
    if (end == std::string_view::npos || rest[end] == '\n') return 2;
    return 2 + end + (rest[end] == '\a' ? 1 : 2);
  }
  return text[at + 1] == '\n' || text[at + 1] == '\r' ? 1 : 2;
}

bool contains(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

/// "[rank3]:" or "[default3]:" (torchrun), "[1,2]<stderr>:" (mpirun).
std::size_t bracket_prefix(std::string_view line) {
  if (!line.starts_with('[')) return 0;
  const std::size_t close = line.substr(0, 24).find(']');
  if (close == std::string_view::npos) return 0;
  const std::string_view inside = line.substr(1, close - 1);
  const std::string_view rest = line.substr(close + 1);
  const bool is_rank = inside.starts_with("rank") || inside.starts_with("default");
  if (is_rank && rest.starts_with(':')) return close + 2;
  if (!inside.empty() && is_digit(inside.front()) && rest.starts_with("<std")) {
    const std::size_t colon = rest.substr(0, 16).find(">:");
    if (colon != std::string_view::npos) return close + 1 + colon + 2;
  }
  return 0;
}

/// "(RayTrainWorker pid=7046) ", "(VllmWorker rank=0 pid=13543) ".
std::size_t worker_prefix(std::string_view line) {
  if (!line.starts_with('(')) return 0;
  const std::size_t close = line.substr(0, 80).find(')');
  if (close == std::string_view::npos || !contains(line.substr(0, close), "pid=")) return 0;
  return close + 1;
}

/// The exception's name at the line's beginning: "torch.cuda.OutOfMemoryError"; empty: none.
std::string_view exception_name(std::string_view line) {
  const auto* end = std::ranges::find_if_not(line, is_of_name);
  const std::string_view name(line.begin(), end);
  const std::string_view rest = line.substr(name.size());
  if (!rest.starts_with(':') && !rest.starts_with(" (")) return {};
  // "OutOfResources" is Triton's.
  constexpr std::array endings = {"Error", "Exception", "Interrupt", "Failure", "OutOfResources"};
  // pynvml's are "NVMLError_GpuIsLost" and the like.
  const bool fits =
      contains(name, "Error_") ||
      std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
  // "_pickle.UnpicklingError" is Python's own.
  return fits && (is_letter(name.front()) || name.front() == '_') ? name : std::string_view{};
}

/// "E0325 20:57:27.62 2606 file.py:869] ", "[E ProcessGroupNCCL.cpp:737] ", "F0426 …",
/// "[E410 01:50:33.889423318 ProcessGroupNCCL.cpp:1895] ".
bool is_glog_error(std::string_view line) {
  // TensorFlow's has the date in front: "2020-01-14 21:15:03.388200: E path.cc:238] ".
  const std::size_t time = line.substr(0, 32).find(": ");
  if (!line.empty() && is_digit(line.front()) && time != std::string_view::npos) {
    line.remove_prefix(time + 2);
  }
  if (line.starts_with('[')) line.remove_prefix(1);
  if (line.size() < 3 || (line[0] != 'E' && line[0] != 'F')) return false;
  const bool dated = is_digit(line[1]) && is_digit(line[2]);
  return (dated || line[1] == ' ') && contains(line.substr(0, 120), "] ") &&
         contains(line.substr(0, 120), ":");
}

/// "2025-11-21 10:02:03,123 ERROR trainer: RuntimeError: …": an error by a log's own words.
bool is_logged_error(std::string_view line) {
  const std::string_view front = line.substr(0, 120);
  if (line.empty() || !(is_digit(line.front()) || line.front() == '[' || line.starts_with("ERROR")))
    return false;
  constexpr std::array levels = {"ERROR", "CRITICAL", "FATAL"};
  return std::ranges::any_of(levels,
                             [&](std::string_view level) { return contains(front, level); });
}

}  // namespace

LogText::LogText(std::string_view raw, bool cut) : cut_(cut) {
  if (raw.size() > longest_log) {
    raw.remove_prefix(raw.size() - longest_log);
    cut_ = true;
  }
  text_.reserve(raw.size());
  std::size_t number = 1;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    const char c = raw[at];
    if (c == '\x1b') {
      at += escape_length(raw, at) - 1;
    } else if (c == '\n' || c == '\r') {
      end_line(number);
      if (c == '\n') ++number;
    } else if (c == '\t') {
      text_ += ' ';
    } else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f &&
               text_.size() - begin_ < longest_line) {
      text_ += c;
    }
  }
  end_line(number);
  if (lines_.size() > most_lines) {
    lines_.erase(lines_.begin(), lines_.end() - most_lines);
  }
}

void LogText::end_line(std::size_t number) {
  while (text_.size() > begin_ && text_.back() == ' ') text_.pop_back();
  if (text_.size() > begin_) {
    lines_.push_back({static_cast<std::uint32_t>(begin_),
                      static_cast<std::uint32_t>(text_.size() - begin_),
                      static_cast<std::uint32_t>(number)});
  }
  begin_ = text_.size();
}

std::string_view LogText::line(std::size_t i) const {
  return std::string_view(text_).substr(lines_[i].begin, lines_[i].length);
}

std::size_t LogText::number(std::size_t i) const { return cut_ ? 0 : lines_[i].number; }

std::string LogText::joined(std::size_t first, std::size_t count) const {
  std::string text;
  for (std::size_t i = first; i < size() && i < first + count; ++i) {
    if (!text.empty()) text += ' ';
    text += line(i);
  }
  return text;
}

std::string_view without_prefix(std::string_view line) {
  for (int times = 0; times < 3; ++times) {
    const std::size_t length = std::max(bracket_prefix(line), worker_prefix(line));
    if (length == 0) break;
    line.remove_prefix(length);
    if (line.starts_with(' ')) line.remove_prefix(1);
  }
  return line;
}

bool is_error_line(std::string_view line) {
  line = without_prefix(line);
  if (!exception_name(line).empty() || is_glog_error(line) || is_logged_error(line)) return true;
  const std::string_view text = trimmed(line);
  constexpr std::array beginnings = {
      "what():",    "terminate called", "Fatal Python error:", "CUDA error",
      "Cuda error", "CUDA Error",       "NCCL error"};
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}

bool is_progress_line(std::string_view line) {
  line = without_prefix(line);
  if (line.starts_with(' ') && !contains(line, "%|")) return false;
  if (std::ranges::none_of(line, is_digit) || is_error_line(line)) return false;
  const std::string small = small_letters(line.substr(0, 400));
  constexpr std::array words = {"epoch", "step",  "loss",      "it/s",     "s/it",
                                "iter ", "iter:", "iteration", "accuracy", "eta "};
  return std::ranges::any_of(words, [&](std::string_view word) { return contains(small, word); });
}

}  // namespace berth
