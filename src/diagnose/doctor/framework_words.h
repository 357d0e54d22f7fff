#pragma once
// What a framework is asked in a process of its own.

#include <string_view>

namespace berth::doctor {

/// The expression in Python by which it tells whether it sees a GPU.
[[nodiscard]] std::string_view question_of(std::string_view name);

}  // namespace berth::doctor
