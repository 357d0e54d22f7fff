#pragma once
// Command lines that are answered without a look at devices. What is wrong with them, in
// nvidia-smi's words where it has any. And what berth leaves to the real one.

#include <string>
#include <string_view>
#include <vector>

#include "smi/smi.h"

namespace berth::smi {

inline constexpr int bad_argument = 2;

/// This text and exit code, whatever there is.
[[nodiscard]] SmiRequest says(std::string text, int code);

[[nodiscard]] SmiRequest invalid(const std::vector<std::string>& argv);
[[nodiscard]] SmiRequest unknown_option(std::string_view word,
                                        const std::vector<std::string>& argv);
[[nodiscard]] SmiRequest without_value(std::string_view option);
/// `word` is nothing that the option `of` takes.
[[nodiscard]] SmiRequest not_an_option(std::string_view word, std::string_view of);

/// `what` changes a device.
[[nodiscard]] SmiRequest refused(const std::vector<std::string>& argv, std::string_view what);
/// `what` is shown by the real one alone.
[[nodiscard]] SmiRequest unavailable(const std::vector<std::string>& argv, std::string_view what);

}  // namespace berth::smi
