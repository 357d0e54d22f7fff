#pragma once
// Where secrets stand in a line of text. They are values behind telling names and options, tokens
// of known makers, and passwords of URLs. base/text.h masks commands with it, base/redactor.h
// reports.

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

/// What the name of an option, a variable or a key says of its value. An option has its dashes:
/// "--key" takes a secret more often than "key:" in a log does.
enum class NameTells : std::uint8_t {
  nothing,
  secret,
  unless_path,    // --creds FILE
  unless_number,  // token_accuracy=0.9
  unless_short,   // --pin: figures are one from four on
  unless_data     // --key: no number, path, true, false or word in small letters
};
[[nodiscard]] NameTells name_tells(std::string_view name);
[[nodiscard]] bool is_secret_value(NameTells tells, std::string_view value);

/// Without the codes that colour a terminal, as bytes or spelled out (\x1b[33m, \u001b[0m).
[[nodiscard]] std::string without_colours(std::string_view text);

/// What follows the host in the address of a hook (Slack, Discord, Teams, Feishu, Telegram).
/// Anybody with it may write there.
[[nodiscard]] std::vector<TextSpan> hook_secrets(std::string_view text);

/// Values of NAME=value, "name": "value", Name: value, --name value, curl -u user:value and of
/// headers, in the order of the line, none over another. In quotes they run to the closing quote.
/// At the beginning of a line (or of a quoted text) they run to its end. Otherwise they run to the
/// next blank.
[[nodiscard]] std::vector<TextSpan> named_secrets(std::string_view line);

/// Follows the lines of a text to find values that stand below their name ("api_key:" and the value
/// deeper in the next line, "password: >" and a block, lists).
class SecretBelow {
 public:
  /// What in this line, the next of the text, belongs to a secret named above.
  [[nodiscard]] std::optional<TextSpan> found_in(std::string_view line);

 private:
  void look_for_name(std::string_view line);

  std::optional<std::size_t> column_;  // of the name
  bool is_block_ = false;
};
/// The same of all lines of a text.
[[nodiscard]] std::vector<TextSpan> secrets_below(std::string_view text);

/// Words that begin as tokens of known makers do (hf_…, ghp_…, AKIA…, JWT), wherever they stand.
[[nodiscard]] std::vector<TextSpan> known_tokens(std::string_view text);

/// As random as keys are: 32 and more hexadecimal digits, or long with capitals, small letters and
/// digits.
[[nodiscard]] bool is_random_key(std::string_view word);

/// user:password of the URL whose "://" is at `scheme`, odd characters included; nothing: none.
[[nodiscard]] std::optional<TextSpan> url_credentials(std::string_view text, std::size_t scheme);

/// How the word behind an option is a secret; unless_prose: "token" is a word of sentences, too.
/// by_value: as name_tells() says of the option; behind_is: "the password is …".
enum class NextWord : std::uint8_t { no, whole, by_value, behind_colon, unless_prose, behind_is };
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
