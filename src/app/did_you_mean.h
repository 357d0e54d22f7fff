#pragma once
// What a user meant by an unknown word. It is another tool's word for the same thing, or the
// nearest word by its letters.

#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// The nearest of these words. Empty: none is so near that it was meant.
[[nodiscard]] std::string_view nearest_of(std::string_view typed,
                                          const std::vector<std::string>& words);

/// The verb that does what this word asks for, as people know it from kill, squeue, jobs, watch.
/// Empty: no such word.
[[nodiscard]] std::string_view verb_called(std::string_view typed);

/// The option of `berth run` and `pick` that other tools call so: "--gpus" is "-n". Empty: none.
[[nodiscard]] std::string_view option_called(std::string_view typed);

}  // namespace berth
