// Secrets in commands and variables, replaced before they reach a ledger, a record or a screen.

#include <algorithm>

#include "base/secret_values.h"
#include "base/text.h"

namespace berth {

namespace {

/// Of a command, where the program is whose options tell: sshpass, curl, docker login.
constexpr std::size_t longest_before = 4096;

/// "https://user:password@host/…" → "https://user:***@host/…", every URL of the text.
std::string without_url_passwords(std::string_view text) {
  std::vector<TextSpan> passwords;
  for (std::size_t at = text.find("://"); at != text.npos; at = text.find("://", at + 3)) {
    auto password = url_credentials(text, at);
    if (!password) continue;
    const std::string_view found = text.substr(password->begin, password->end - password->begin);
    // A user alone is no secret; a token in its place would have been seen.
    const std::size_t colon = found.find(':');
    if (colon == found.npos) continue;
    password->begin += colon + 1;
    at = std::max(at, password->end) - 3;
    passwords.push_back(*password);
  }
  return masked_spans(text, passwords);
}

std::string without_private_key(std::string_view text) {
  const std::size_t begin = text.find("-----BEGIN ");
  if (begin == text.npos || text.find("PRIVATE KEY", begin) == text.npos) return std::string(text);
  return std::string(text.substr(0, begin)) + std::string(secret_mask);
}

}  // namespace

std::string masked_text(std::string_view text) {
  // Between a name and its value a colour would hide both.
  const std::string plain = without_colours(text);
  std::string masked = without_private_key(plain);
  if (text.find('\n') != text.npos) masked = masked_spans(masked, secrets_below(masked));
  masked = masked_spans(masked, hook_secrets(masked));
  masked = masked_spans(masked, named_secrets(masked));
  masked = masked_spans(masked, known_tokens(masked));
  masked = without_url_passwords(masked);
  return masked == plain ? std::string(text) : masked;
}

std::vector<std::string> masked_command(const std::vector<std::string>& words) {
  std::vector<std::string> masked;
  masked.reserve(words.size());
  std::string before;
  NextWord next = NextWord::no;
  NameTells tells = NameTells::nothing;  // the option before
  for (const std::string& word : words) {
    const bool is_option = word.size() > 1 && word[0] == '-';
    const NextWord here = is_option ? NextWord::no : next;
    if (here == NextWord::whole || (here == NextWord::by_value && is_secret_value(tells, word))) {
      masked.emplace_back(secret_mask);
    } else if (here == NextWord::behind_colon && is_name_and_password(word)) {
      masked.push_back(word.substr(0, word.find(':') + 1).append(secret_mask));
    } else if (const auto password = attached_password(word, before)) {
      masked.push_back(word.substr(0, *password).append(secret_mask));
    } else {
      masked.push_back(masked_text(word));
    }
    // A word of prose ("token") tells of a secret in a line of text, not between arguments.
    next = is_option ? secret_behind(word, before) : NextWord::no;
    tells = name_tells(word);
    if (before.size() < longest_before) before += word + ' ';
  }
  return masked;
}

}  // namespace berth
