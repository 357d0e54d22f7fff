#pragma once
// A child that is asked something, heard while it speaks, and given up when it is enough.

#include <functional>
#include <string_view>

#include "base/process.h"

namespace berth {

/// What the waiting parent does meanwhile.
struct WhileAsked {
  std::function<void(std::string_view piece)> on_err;  // null: it hears all at the end
  std::function<bool()> is_enough;                     // asked often; true: its time is over
};
/// ask_child(), with that.
[[nodiscard]] Result<ChildAnswer> hear_child(const std::function<int()>& body, Clock& clock,
                                             Duration patience, const WhileAsked& meanwhile,
                                             std::size_t most_out = usual_answer);

}  // namespace berth
