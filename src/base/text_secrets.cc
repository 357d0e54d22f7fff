// Secrets in commands and variables, replaced before they reach a ledger, a record or a screen.

#include <algorithm>
#include <array>

#include "base/secret_values.h"
#include "base/text.h"

namespace berth {

namespace {

/// Of a command, where the program is whose options tell: sshpass, curl, docker login.
constexpr std::size_t longest_before = 4096;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-' || c == '.') c = '_';
  }
  return lower;
}

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

bool is_secret_name(std::string_view name) {
  constexpr std::array<std::string_view, 14> telling = {
      "password", "passwd",     "passphrase",  "secret",     "token",  "api_key", "apikey",
      "auth",     "credential", "private_key", "access_key", "cookie", "bearer",  "_pwd"};
  // Words that hold one of those and are no secrets.
  constexpr std::array<std::string_view, 9> harmless = {"tokeniz",    "tokens",    "max_token",
                                                        "num_token",  "token_id",  "token_len",
                                                        "token_type", "per_token", "author"};
  // ACCOUNT_KEY, as variables are called; "sort_key" is a setting.
  if (name.ends_with("_KEY")) return true;
  std::string lower = lower_case(name);
  if (lower.find("authoriz") != std::string::npos) return true;
  if (lower.ends_with("_pass") || lower == "pass") return true;
  for (const std::string_view word : harmless) {
    for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word)) {
      lower.replace(at, word.size(), " ");
    }
  }
  return std::any_of(telling.begin(), telling.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

std::string masked_text(std::string_view text) {
  std::string masked = without_private_key(text);
  masked = masked_spans(masked, named_secrets(masked));
  masked = masked_spans(masked, known_tokens(masked));
  return without_url_passwords(masked);
}

std::vector<std::string> masked_command(const std::vector<std::string>& words) {
  std::vector<std::string> masked;
  masked.reserve(words.size());
  std::string before;
  NextWord next = NextWord::no;
  for (const std::string& word : words) {
    const bool is_option = word.size() > 1 && word[0] == '-';
    const NextWord here = is_option ? NextWord::no : next;
    if (here == NextWord::whole) {
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
    if (before.size() < longest_before) before += word + ' ';
  }
  return masked;
}

}  // namespace berth
