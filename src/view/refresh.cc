#include "view/refresh.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/text.h"
#include "base/tr.h"
#include "view/paint.h"
#include "view/values.h"

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

std::string over_line(std::string_view line) { return fmt::format("\r{}\033[K", line); }

std::string progress_bar(double share) {
  constexpr int width = 20;
  const int full = std::isfinite(share) ? static_cast<int>(std::clamp(share, 0.0, 1.0) * width) : 0;
  std::string bar = "[";
  for (int i = 0; i < width; ++i) bar += i < full ? '#' : '.';
  return bar + "]";
}

std::string render_progress(std::optional<double> share, Duration taken, std::string_view what,
                            const Style& style) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(taken).count();
  const std::string text =
      share ? progress_bar(*share) + " " + std::string(what) : trf("{}: {} s", what, seconds);
  // The last column stays free: a terminal would begin a new line there.
  return cut_to_width(own(text, style), std::max(1, style.width - 1), !style.utf8);
}

}  // namespace berth
