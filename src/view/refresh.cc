#include "view/refresh.h"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "base/text.h"
#include "base/tr.h"
#include "view/paint.h"

namespace berth {

namespace {

std::vector<std::string_view> lines_of(std::string_view picture) {
  if (picture.ends_with('\n')) picture.remove_suffix(1);
  if (picture.empty()) return {};
  return split(picture, '\n');
}

}  // namespace

std::string fit_to_height(std::string_view picture, int rows, const Style& style) {
  const auto lines = lines_of(picture);
  // The cursor waits under the picture, which takes a row too.
  const std::size_t room = rows > 1 ? static_cast<std::size_t>(rows) - 1 : 1;
  if (rows <= 0 || lines.size() <= room) return std::string(picture);
  std::string text;
  for (std::size_t i = 0; i + 1 < room; ++i) text += std::string(lines[i]) + "\n";
  const std::size_t hidden = lines.size() - (room - 1);
  return text + Line(style)
                    .add(own(trf("{} more lines (a taller window shows them)", hidden), style),
                         Paint::yellow)
                    .text();
}

std::string redraw(std::string_view picture, const std::optional<std::string>& before) {
  const auto now = lines_of(picture);
  const auto old = before ? lines_of(*before) : std::vector<std::string_view>{};
  std::string out = before ? "" : "\033[2J";
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before && i < old.size() && old[i] == now[i]) continue;
    out += fmt::format("\033[{};1H{}\033[K", i + 1, now[i]);
  }
  // Under the last line, with what an earlier, longer picture left there cleared.
  return out + fmt::format("\033[{};1H\033[J", now.size() + 1);
}

}  // namespace berth
