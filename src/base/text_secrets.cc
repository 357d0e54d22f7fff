// Secrets in commands and variables, replaced before they reach a ledger, a record or a screen.

#include <algorithm>
#include <array>

#include "base/text.h"

namespace berth {

namespace {

constexpr std::string_view mask = "***";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-' || c == '.') c = '_';
  }
  return lower;
}

/// Values that are secrets by their own look, whatever they are called.
bool looks_like_a_token(std::string_view word) {
  constexpr std::array<std::string_view, 9> prefixes = {
      "hf_", "sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "AKIA", "eyJhbGciOi"};
  return word.size() >= 16 && std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) {
           return word.substr(0, prefix.size()) == prefix;
         });
}

/// "https://user:password@host/…" → "https://user:***@host/…".
std::string without_url_password(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return std::string(text);
  const std::size_t begin = scheme + 3;
  const std::size_t end = std::min(text.find_first_of("/?# ", begin), text.size());
  const std::size_t at = text.substr(0, end).rfind('@');
  if (at == std::string_view::npos || at < begin) return std::string(text);
  const std::size_t colon = text.find(':', begin);
  if (colon == std::string_view::npos || colon > at) {
    if (!looks_like_a_token(text.substr(begin, at - begin))) return std::string(text);
    return std::string(text.substr(0, begin)) + std::string(mask) + std::string(text.substr(at));
  }
  return std::string(text.substr(0, colon + 1)) + std::string(mask) + std::string(text.substr(at));
}

bool is_header_name(std::string_view text) {
  return !text.empty() && text.find_first_of(" =/\"'") == std::string_view::npos;
}

std::string masked_words(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ' ')) words.emplace_back(word);
  std::string joined;
  for (const std::string& word : masked_command(words)) joined += word + ' ';
  joined.pop_back();
  return joined;
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
  if (looks_like_a_token(text)) return std::string(mask);
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos && equals > 0) {
    const std::string_view value = text.substr(equals + 1);
    if (!value.empty() && (is_secret_name(text.substr(0, equals)) || looks_like_a_token(value))) {
      return std::string(text.substr(0, equals + 1)) + std::string(mask);
    }
  }
  const std::size_t colon = text.find(": ");  // "Authorization: Bearer …", "X-Api-Key: …"
  if (colon != std::string_view::npos && is_header_name(text.substr(0, colon)) &&
      is_secret_name(text.substr(0, colon))) {
    return std::string(text.substr(0, colon + 2)) + std::string(mask);
  }
  // A command within a word: sh -c "cd x && TOKEN=… python y".
  if (text.find(' ') != std::string_view::npos) return masked_words(text);
  return without_url_password(text);
}

std::vector<std::string> masked_command(const std::vector<std::string>& words) {
  std::vector<std::string> masked;
  masked.reserve(words.size());
  bool value_of_secret_option = false;
  for (const std::string& word : words) {
    const bool is_option = word.size() > 1 && word[0] == '-';
    if (value_of_secret_option && !is_option) {
      masked.emplace_back(mask);
      value_of_secret_option = false;
      continue;
    }
    masked.push_back(masked_text(word));
    value_of_secret_option =
        is_option && word.find('=') == std::string::npos && is_secret_name(word);
  }
  return masked;
}

}  // namespace berth
