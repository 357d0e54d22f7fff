#pragma once
// The picture of a state: a pure function of it, of the history, and of the terminal's abilities.

#include "top/history.h"
#include "top/model.h"
#include "top/screen.h"
#include "view/style.h"

namespace berth::top {

/// `style`: characters and local time; its width and colour are not used. Any size is drawn
/// without failing, down to nothing. `screen`: one whose memory is used again; what it showed is
/// forgotten.
[[nodiscard]] Screen render(const State& state, const History& history, const Style& style,
                            Screen screen = Screen());

}  // namespace berth::top
