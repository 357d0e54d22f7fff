#pragma once
// What a framework is asked, and what it said of itself in a process of its own.

#include <string_view>

#include "diagnose/doctor/examined.h"

namespace berth::doctor {

/// Null: it was not asked, or was not reached.
[[nodiscard]] const FrameworkSaid* said_of(const PythonWorld& python, std::string_view name);
/// The expression in Python by which it tells whether it sees a GPU.
[[nodiscard]] std::string_view question_of(std::string_view name);

}  // namespace berth::doctor
