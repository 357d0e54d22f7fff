#pragma once
// A file that the user asked for by name. It is written whole or not at all, and replaces nothing
// unasked.

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

/// `keep_unless_forced` keeps it as well; the verb has --force, and what is said names it.
enum class Existing { keep, keep_unless_forced, replace };

/// busy: there is such a file already and it is to be kept; what to do about it is said. The file
/// appears when it is whole: a full disk leaves none behind.
[[nodiscard]] Result<void> write_output(const std::string& path, std::string_view bytes,
                                        Existing existing);

/// Whether write_output() would fail, whatever the bytes are. It is asked before the time is spent
/// to make them. Examples: a file in the way, a folder that is missing or may not be made.
[[nodiscard]] Result<void> check_output(const std::string& path, Existing existing);

}  // namespace berth
