#pragma once
// A file that a Windows shell or editor wrote is UTF-16 with a byte order mark: PowerShell's > and
// "save as Unicode". Without the mark nothing is guessed: its bytes are then taken as they are.

#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

/// How much of a file's beginning tells its encoding.
inline constexpr std::size_t byte_order_mark_length = 3;

/// The end of a file as UTF-8, without the mark. `beginning`: the file's first bytes, which tell
/// the encoding. `left_out`: bytes of the file before `end`, 0: it is whole. Half of a character at
/// either end is left out, a surrogate without its other half becomes U+FFFD.
[[nodiscard]] std::string as_utf8(std::string end, std::string_view beginning,
                                  std::uint64_t left_out);

}  // namespace berth
