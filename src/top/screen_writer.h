#pragma once
// From one screen to the next: the bytes that make a terminal which shows `before` show `now`, and
// only those. The one file of the live view that knows escape sequences.

#include <string>
#include <string_view>

#include "top/screen.h"

namespace berth::top {

/// Nothing known of what the terminal shows (`before` null, or of another size): all is written.
[[nodiscard]] std::string changes(const Screen* before, const Screen& now, Theme theme);

/// The other screen, no cursor, no line wrap, mouse presses and pastes told apart.
[[nodiscard]] std::string_view enter_sequence();
/// Undoes it, in one write that a signal handler can make.
[[nodiscard]] std::string_view leave_sequence();

}  // namespace berth::top
