#pragma once
// Where secrets stand in a line of text: the values behind telling names and options, tokens of
// known makers, the passwords of URLs. base/text.h masks commands with it, base/redactor.h reports.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

inline constexpr std::string_view secret_mask = "***";

/// [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Values of NAME=value, "name": "value", Name: value, --name value, curl -u user:value and of
/// headers, in the order of the line, none over another. In quotes they run to the closing quote;
/// at the beginning of a line (or of a text in quotes) to its end; otherwise to the next blank.
[[nodiscard]] std::vector<TextSpan> named_secrets(std::string_view line);

/// Words that begin as tokens of known makers do (hf_…, ghp_…, AKIA…, JWT), wherever they stand.
[[nodiscard]] std::vector<TextSpan> known_tokens(std::string_view text);

/// As random as keys are: 32 and more hexadecimal digits, or long with capitals, small letters and
/// digits.
[[nodiscard]] bool is_random_key(std::string_view word);

/// user:password of the URL whose "://" is at `scheme`, odd characters included; nothing: none.
[[nodiscard]] std::optional<TextSpan> url_credentials(std::string_view text, std::size_t scheme);

/// How the word behind an option is a secret; unless_prose: "token" is a word of sentences, too.
enum class NextWord : std::uint8_t { no, whole, behind_colon, unless_prose };
/// `before`: what stands before the option, with the program that it belongs to.
[[nodiscard]] NextWord secret_behind(std::string_view option, std::string_view before);

/// Where in a word like -pPASSWORD (sshpass, mysql) the password begins; nothing: in none.
[[nodiscard]] std::optional<std::size_t> attached_password(std::string_view word,
                                                           std::string_view before);

/// Long enough for a key, with a digit or a capital in it.
[[nodiscard]] bool is_no_prose(std::string_view word);

/// "1000:1000" is a user and a group.
[[nodiscard]] bool is_name_and_password(std::string_view word);

/// `text` with each span replaced by "***".
[[nodiscard]] std::string masked_spans(std::string_view text, const std::vector<TextSpan>& spans);

}  // namespace berth
