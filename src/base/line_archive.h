#pragma once
// "key=value" lines of what a walk() names (base/archive.h): files that grow by lines, and that a
// stranger may have written.
//
// Values are texts and whole numbers; one below 0 is read as wrong. Each item of a list has a line.
// An object of numbers is one line's words. Control characters and '%' are "%XX". What is absent,
// and an empty text that is no item, has no line.

#include <functional>
#include <string>
#include <string_view>

#include "base/archive.h"

namespace berth {

[[nodiscard]] std::string write_lines(const std::function<void(Archive&)>& walk);

/// Of a member that has several lines the last counts. A key that `walk` does not ask for is
/// ignored, and so is a value of the wrong type: an optional member is then absent. A last line
/// without its end was being written when its writer died.
void read_lines(std::string_view text, const std::function<void(Archive&)>& walk);

}  // namespace berth
