#include "view/progress.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/tr.h"
#include "view/paint.h"
#include "view/values.h"

namespace berth {

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

std::string_view clear_to_end_of_line() { return "\033[K"; }

}  // namespace berth
