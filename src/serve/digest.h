#pragma once
// SHA-256 and comparison in constant time, from OpenSSL.

#include <string>
#include <string_view>

namespace berth::serve {

/// 64 digits, lower case.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// As a browser is told a hash.
[[nodiscard]] std::string sha256_base64(std::string_view bytes);

/// Takes as long whatever the texts say. So an answer's delay tells nothing of them. Texts of
/// different length differ at once.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace berth::serve
