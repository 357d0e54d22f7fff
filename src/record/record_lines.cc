#include "record/record_lines.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "base/sentence.h"
#include "base/text.h"

namespace berth {

namespace {

/// Whole lines of a text; what follows the last line break was torn by a crash.
std::vector<std::string_view> whole_lines(std::string_view text) {
  const std::size_t last = text.rfind('\n');
  if (last == std::string_view::npos) return {};
  return split(text.substr(0, last), '\n');
}

/// The time in "@1763690001500 epoch=1".
std::optional<std::int64_t> own_time(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (!line.starts_with('@') || space == line.npos) return std::nullopt;
  return parse_signed(line.substr(1, space - 1));
}

bool lies_between(std::int64_t at, WallTime earliest, WallTime latest) {
  constexpr std::int64_t tolerance_ms = 2000;
  using Limits = std::numeric_limits<std::int64_t>;  // a stranger's time may be any number
  return at >= std::max(earliest.unix_ms, Limits::min() + tolerance_ms) - tolerance_ms &&
         at <= std::min(latest.unix_ms, Limits::max() - tolerance_ms) + tolerance_ms;
}

}  // namespace

std::vector<Mark> parse_marks(std::string_view text, const MarkTimes& times) {
  std::vector<Mark> marks;
  std::uint64_t end_of_line = 0;
  // Both lists are walked once: days of samples and millions of marks are no product.
  auto first = times.seen.begin();
  for (const std::string_view line : whole_lines(text)) {
    end_of_line += line.size() + 1;
    while (first != times.seen.end() && first->bytes < end_of_line) ++first;
    if (trimmed(line).empty()) continue;
    const WallTime earliest = first == times.seen.begin() ? times.before_all : std::prev(first)->at;
    const WallTime latest = first == times.seen.end() ? times.after_all : first->at;
    const auto at = own_time(line);
    const bool exact = at && lies_between(*at, earliest, latest);
    const std::string_view words = at ? line.substr(line.find(' ') + 1) : line;
    // Jobs write the file, too, and older programs wrote what they were given.
    marks.push_back(
        {.at = exact ? WallTime{*at} : latest, .exact = exact, .text = masked_text(words)});
  }
  return marks;
}

std::vector<RunEvent> parse_events(std::string_view text) {
  std::vector<RunEvent> events;
  for (const std::string_view line : whole_lines(text)) {
    const std::size_t first = line.find(' ');
    const std::size_t second = first == line.npos ? first : line.find(' ', first + 1);
    const auto at = parse_signed(line.substr(0, first));
    if (!at || second == line.npos) continue;
    events.push_back({.at = {*at},
                      .kind = std::string(line.substr(first + 1, second - first - 1)),
                      .text = Sentence(line.substr(second + 1))});
  }
  return events;
}

}  // namespace berth
