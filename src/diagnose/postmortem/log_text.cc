#include "diagnose/postmortem/log_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace berth {

namespace {

constexpr std::size_t most_lines = 200'000;
/// The rest of a longer line is left out: no message is as long.
constexpr std::size_t longest_line = 4096;

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr std::string_view name_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
constexpr bool is_of_name(char c) { return name_letters.contains(c); }

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

/// The place behind the word, where the message begins; 0: no prefix reaches as far as the word.
std::size_t behind(std::string_view line, std::string_view word) {
  constexpr std::size_t longest_prefix = 96;
  const std::size_t at = line.substr(0, longest_prefix).find(word);
  return at == std::string_view::npos ? 0 : at + word.size();
}

/// "[rank3]:", "[1,2]<stderr>:" (mpirun), "[core.py:1108]", "[    9.247039]", "[ERROR]",
/// "(RayTrainWorker pid=7046)".
std::size_t bracket_prefix(std::string_view line) {
  if (!line.starts_with('[') && !line.starts_with('(')) return 0;
  const std::size_t end = behind(line, line.front() == '[' ? "]" : ")");
  if (end < 3) return 0;
  const std::string_view rest = line.substr(end);
  if (rest.starts_with("<std")) return end + behind(rest.substr(0, 16), ">");
  return rest.empty() || std::string_view(" :[(|").contains(rest.front()) ? end : 0;
}

/// "2021-12-08T01:25:15.387865564Z", "04-03", "21:32:52", "2026-04-19".
std::size_t time_prefix(std::string_view line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  const bool is_time = word.size() >= 5 && is_digit(word.front()) &&
                       word.find_first_not_of("0123456789-/:.,TZ+") == std::string_view::npos &&
                       word.find_first_of(":-/") != std::string_view::npos;
  return is_time ? end : 0;
}

/// glog's "F0804 08:28:56.961689  2742 net.cpp:816]".
std::size_t glog_prefix(std::string_view line) {
  const bool is_glog = line.size() > 5 && std::string_view("IWEF").contains(line[0]) &&
                       is_digit(line[1]) && is_digit(line[2]) && is_digit(line[3]);
  return is_glog ? behind(line, "]") : 0;
}

/// "Feb 22 06:35:27 host env[2827]:", "Dec  6 17:49:03 host kernel:", in any language.
std::size_t syslog_prefix(std::string_view line) {
  if (const std::size_t end = behind(line, " kernel:")) return end;
  const std::size_t end = behind(line, "]:");
  const std::string_view front = line.substr(0, end);
  const bool is_syslog =
      front.size() > 20 && is_letter(front.front()) && is_digit(front[7]) && front.find(':') < 16;
  return is_syslog ? end : 0;
}

/// "ERROR", "E" (pytest's).
std::size_t level_prefix(std::string_view line) {
  constexpr std::array levels = {"ERROR", "CRITICAL", "FATAL", "WARNING",
                                 "WARN",  "INFO",     "DEBUG", "E"};
  for (const std::string_view level : levels) {
    const std::string_view rest = line.substr(std::min(level.size(), line.size()));
    if (line.starts_with(level) && (rest.starts_with(' ') || rest.starts_with(':'))) {
      return level.size();
    }
  }
  return 0;
}

/// docker compose's "app-1  |".
std::size_t compose_prefix(std::string_view line) {
  if (line.starts_with('|')) return 1;
  const std::size_t end = behind(line, " |");
  if (end == 0) return 0;
  const std::string_view name = trimmed(line.substr(0, end - 1));
  const bool is_name =
      !name.empty() && std::ranges::all_of(name, [](char c) { return is_of_name(c) || c == '-'; });
  return is_name ? end : 0;
}

/// "torch.cuda.OutOfMemoryError: …", "… failed: RuntimeError: …".
bool is_exception(std::string_view message) {
  // "OutOfResources" is Triton's.
  constexpr std::array endings = {"Error", "Exception", "Interrupt", "Failure", "OutOfResources"};
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t colon = std::min(message.find_first_of(":(", at), message.size());
    // "RuntimeError (rank 3): …", not the call "RuntimeError(…)" of a source line.
    const bool is_behind = message.substr(colon).starts_with('(');
    if (is_behind && (colon == 0 || message[colon - 1] != ' ')) {
      at = colon + 1;
      continue;
    }
    std::string_view name = trimmed(message.substr(0, colon));
    name.remove_prefix(std::min(name.find_last_not_of(name_letters) + 1, name.size()));
    // What another rank printed may stand before it without a blank: "ranks 4ValueError: …".
    name.remove_prefix(std::min(name.find_first_not_of("0123456789"), name.size()));
    if (name.ends_with("Warning")) return false;
    // pynvml's are "NVMLError_GpuIsLost" and the like.
    const bool fits =
        contains(name, "Error_") || std::ranges::any_of(endings, [&](std::string_view ending) {
          return name.ends_with(ending) && name != "Error";
        });
    // "_pickle.UnpicklingError" is Python's own.
    if (fits && (is_letter(name.front()) || name.front() == '_')) return true;
    at = colon + 1;
  }
  return false;
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
  constexpr std::array levels = {" ERROR", "[ERROR", "| ERROR", "CRITICAL", "FATAL"};
  return line.starts_with("ERROR") || std::ranges::any_of(levels, [&](std::string_view level) {
           return contains(front, level);
         });
}

/// By its own words no part of an error before it: "INFO 05-25 15:29:28 …", "W tensorflow/…".
bool is_other_message(std::string_view line) {
  constexpr std::array levels = {"INFO ", "INFO:", "[INFO]", "WARNING", "DEBUG ", ": I ", ": W "};
  const std::string_view front = line.substr(0, 96);
  return std::ranges::any_of(levels,
                             [&](std::string_view level) { return contains(front, level); });
}

}  // namespace

LogText::LogText(std::string_view raw, bool cut) : cut_(cut) {
  if (raw.size() > longest_tail) {
    raw.remove_prefix(raw.size() - longest_tail);
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
  constexpr std::array prefixes = {bracket_prefix, time_prefix,  glog_prefix,
                                   syslog_prefix,  level_prefix, compose_prefix};
  constexpr int most = 8;
  line = trimmed(line);
  for (int times = 0; times < most; ++times) {
    std::size_t length = 0;
    for (const auto prefix : prefixes) length = std::max(length, prefix(line));
    if (length == 0) break;
    line.remove_prefix(std::min(length, line.size()));
    if (line.starts_with(':')) line.remove_prefix(1);
    line = trimmed(line);
  }
  return line;
}

bool is_error_line(std::string_view line) {
  const std::string_view message = without_prefix(line);
  if (is_exception(message) || is_glog_error(line) || is_logged_error(line)) return true;
  constexpr std::array beginnings = {"what():",    "terminate called", "fatal",
                                     "error:",     "error response",   "cuda error",
                                     "nccl error", "panic:",           "original error:"};
  if (contains(line, " panicked at ")) return true;
  const std::string start = small_letters(message.substr(0, 20));
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return start.starts_with(beginning); });
}

bool is_progress_line(std::string_view line) {
  const std::string_view message = without_prefix(line);
  if (message.empty()) return false;
  const std::string_view front(line.begin(), message.begin());
  const bool is_indented = front == " " || front.ends_with("  ");
  line = message;
  if (is_indented && !contains(line, "%|")) return false;
  if (std::ranges::none_of(line, is_digit) || is_error_line(line)) return false;
  const std::string small = small_letters(line.substr(0, 400));
  constexpr std::array words = {"epoch", "step",  "loss",      "it/s",     "s/it",
                                "iter ", "iter:", "iteration", "accuracy", "eta "};
  return std::ranges::any_of(words, [&](std::string_view word) { return contains(small, word); });
}

bool is_talk(std::string_view line) {
  const std::string_view message = without_prefix(line);
  constexpr std::array beginnings = {"#", "raise ", "ignor", "if you "};
  const std::string start = small_letters(message.substr(0, 8));
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return start.starts_with(beginning); });
}

std::vector<bool> raised_lines(const LogText& log) {
  constexpr std::size_t longest_message = 15;
  std::vector<bool> raised(log.size());
  std::size_t left = 0;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string_view line = log.line(i);
    if (is_error_line(line)) {
      left = longest_message;
    } else if (left > 0 && (is_other_message(line) || is_progress_line(line) || is_talk(line))) {
      left = 0;
    } else if (left > 0) {
      --left;
    }
    raised[i] = left > 0;
  }
  return raised;
}

std::optional<std::uint64_t> number_following(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + words.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
  return parse_unsigned(
      rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size())));
}

}  // namespace berth
