#pragma once
// Command lines that no device is looked at for: what is wrong with them, in nvidia-smi's words
// where it has any, and what berth leaves to the real one.

#include <string>
#include <string_view>
#include <vector>

#include "smi/smi.h"

namespace berth::smi {

inline constexpr int bad_argument = 2;

/// This text and exit code, whatever there is.
[[nodiscard]] Request says(std::string text, int code);

[[nodiscard]] Request invalid(const std::vector<std::string>& argv);
[[nodiscard]] Request unknown_option(std::string_view word, const std::vector<std::string>& argv);
[[nodiscard]] Request without_value(std::string_view option);
/// `word` is nothing that the option `of` takes.
[[nodiscard]] Request not_an_option(std::string_view word, std::string_view of);

/// `what` changes a device.
[[nodiscard]] Request refused(const std::vector<std::string>& argv, std::string_view what);
/// `what` is shown by the real one alone.
[[nodiscard]] Request unavailable(const std::vector<std::string>& argv, std::string_view what);

}  // namespace berth::smi
