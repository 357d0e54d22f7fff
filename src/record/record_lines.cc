#include "record/record_lines.h"

#include "base/text.h"

namespace berth {

namespace {

/// Whole lines of a text; what follows the last line break was torn by a crash.
std::vector<std::string_view> whole_lines(std::string_view text) {
  const std::size_t last = text.rfind('\n');
  if (last == std::string_view::npos) return {};
  return split(text.substr(0, last), '\n');
}

/// "@1763690001500 epoch=1": with the time at which it was written.
std::optional<Mark> mark_with_time(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (!line.starts_with('@') || space == line.npos) return std::nullopt;
  const auto at = parse_signed(line.substr(1, space - 1));
  if (!at) return std::nullopt;
  return Mark{.at = {*at}, .text = std::string(line.substr(space + 1))};
}

}  // namespace

std::vector<Mark> parse_marks(std::string_view text, const std::vector<MarksSeen>& seen,
                              WallTime after_all) {
  std::vector<Mark> marks;
  std::uint64_t end_of_line = 0;
  // Both lists are walked once: days of samples and millions of marks are no product.
  auto first = seen.begin();
  for (const std::string_view line : whole_lines(text)) {
    end_of_line += line.size() + 1;
    while (first != seen.end() && first->bytes < end_of_line) ++first;
    if (trimmed(line).empty()) continue;
    if (auto mark = mark_with_time(line)) {
      marks.push_back(std::move(*mark));
    } else {
      marks.push_back({.at = first == seen.end() ? after_all : first->at,
                       .exact = false,
                       .text = std::string(line)});
    }
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
                      .text = std::string(line.substr(second + 1))});
  }
  return events;
}

}  // namespace berth
