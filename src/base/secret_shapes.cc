// Secrets by their shape: tokens, URLs, options of well-known programs.

#include <algorithm>
#include <array>
#include <cctype>

#include "base/secret_values.h"
#include "base/text.h"

namespace berth {

namespace {

bool is_token_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

/// "hf_model_weights_only": words, not random letters.
bool is_words(std::string_view text) {
  bool separated = false;
  for (const char c : text) {
    if (c == '_' || c == '-' || c == '.') {
      separated = true;
    } else if (std::islower(static_cast<unsigned char>(c)) == 0) {
      return false;
    }
  }
  return separated;
}

/// How long the token at the beginning of `text` is; 0: there is none.
std::size_t token_length(std::string_view text) {
  static constexpr auto prefixes = std::to_array<std::string_view>(
      {"hf_",         "sk-",    "sk_",   "ghp_",  "gho_",   "ghs_", "ghu_",   "ghr_",
       "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-",  "AKIA", "ASIA",   "AIza",
       "eyJ",         "npm_",   "pypi-", "r8_",   "nvapi-", "gsk_", "dop_v1_"});
  constexpr std::size_t shortest = 16;
  for (const std::string_view prefix : prefixes) {
    if (!text.starts_with(prefix)) continue;
    const auto end = std::ranges::find_if_not(text, is_token_character);
    const auto length = static_cast<std::size_t>(end - text.begin());
    const bool random = !is_words(text.substr(prefix.size(), length - prefix.size()));
    return length >= shortest && random ? length : 0;
  }
  return 0;
}

/// Keys of Weights & Biases, hashes, machine ids: 32 and more hexadecimal digits in a row.
bool is_long_hexadecimal(std::string_view word) {
  return word.size() >= 32 && std::ranges::all_of(word, [](char c) {
           return std::isxdigit(static_cast<unsigned char>(c)) != 0;
         });
}

/// As random as a key is: long, with capitals, small letters and digits.
bool is_mixed(std::string_view word) {
  if (word.size() < 32 || word.starts_with("GPU-") || word.starts_with("MIG-")) return false;
  std::array<int, 3> kinds{};
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isdigit(byte) != 0) {
      ++kinds[0];
    } else if (std::isupper(byte) != 0) {
      ++kinds[1];
    } else if (std::islower(byte) != 0) {
      ++kinds[2];
    } else if (c != '_' && c != '-' && c != '+' && c != '/' && c != '=') {
      return false;
    }
  }
  return kinds[0] >= 3 && kinds[1] >= 4 && kinds[2] >= 4;
}

/// A secret access key of AWS.
bool is_aws_secret(std::string_view word) {
  constexpr std::size_t length = 40;
  constexpr std::ptrdiff_t few = 8;
  return word.size() == length && word.front() != '/' &&
         std::ranges::all_of(word,
                             [](char c) {
                               return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                                      c == '/' || c == '+';
                             }) &&
         std::ranges::any_of(word, is_digit) &&
         std::ranges::count_if(word, [](unsigned char c) { return std::isupper(c) != 0; }) >= few &&
         std::ranges::count_if(word, [](unsigned char c) { return std::islower(c) != 0; }) >= few;
}

/// "my API " ends in the word "api".
bool ends_in_word(std::string_view text, std::string_view word) {
  const std::string_view end = trimmed(text);
  return end.size() >= word.size() &&
         equals_ignoring_case(end.substr(end.size() - word.size()), word);
}

/// Where the code that colours a terminal ends that begins at `at`; npos: none does.
std::size_t end_of_colour(std::string_view text, std::size_t at) {
  static constexpr auto spelled =
      std::to_array<std::string_view>({"x1b[", "x1B[", "u001b[", "u001B[", "033[", "e["});
  std::size_t begin = text.npos;
  if (text[at] == '\x1b' && text.substr(at + 1).starts_with('[')) {
    begin = at + 2;
  } else if (text[at] == '\\') {
    // In JSON a backslash has one of its own.
    const std::size_t word = std::min(text.find_first_not_of('\\', at), text.size());
    for (const std::string_view one : spelled) {
      if (text.substr(word).starts_with(one)) begin = word + one.size();
    }
  }
  if (begin == text.npos) return text.npos;
  const std::size_t end = text.find_first_not_of("0123456789;:", begin);
  return end != text.npos && (text[end] == 'm' || text[end] == 'K') ? end + 1 : text.npos;
}

}  // namespace

std::string without_colours(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = std::min(text.find_first_of("\x1b\\", i), text.size());
    plain += text.substr(i, begin - i);
    i = begin;
    if (i == text.size()) break;
    const std::size_t end = end_of_colour(text, i);
    if (end != text.npos) {
      i = end;
      continue;
    }
    // Backslashes that no colour follows stay, all of them at once.
    const std::size_t run = text[i] == '\\' ? text.find_first_not_of('\\', i) : i + 1;
    const std::size_t next = std::min(run, text.size());
    plain += text.substr(i, next - i);
    i = next;
  }
  return plain;
}

std::vector<TextSpan> hook_secrets(std::string_view text) {
  static constexpr auto hooks = std::to_array<std::string_view>(
      {"://hooks.slack.com/", "://discord.com/api/webhooks/", "://discordapp.com/api/webhooks/",
       ".webhook.office.com/", "://open.feishu.cn/open-apis/bot/",
       "://open.larksuite.com/open-apis/bot/", "://api.telegram.org/bot",
       "://hooks.zapier.com/hooks/"});
  std::vector<TextSpan> found;
  for (std::size_t scheme = text.find("://"); scheme != text.npos;
       scheme = text.find("://", scheme + 3)) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'`\\<>", scheme), text.size());
    const std::string_view url = text.substr(scheme, end - scheme);
    for (const std::string_view hook : hooks) {
      const std::size_t at = url.find(hook);
      if (at == url.npos || at + hook.size() == url.size()) continue;
      found.push_back({scheme + at + hook.size(), end});
      break;
    }
    scheme = std::max(scheme, end - 3);
  }
  return found;
}

bool is_random_key(std::string_view word) {
  // Each name of a path is judged by itself.
  if (word.starts_with('/') || word.starts_with("./") || word.starts_with("~/")) {
    return std::ranges::any_of(split(word, '/'), [](std::string_view part) {
      return is_long_hexadecimal(part) || is_mixed(part);
    });
  }
  return is_long_hexadecimal(word) || is_mixed(word) || is_aws_secret(word);
}

std::vector<TextSpan> known_tokens(std::string_view text) {
  std::vector<TextSpan> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || (std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0 &&
                                   text[i - 1] != '_');
    const std::size_t length = begins ? token_length(text.substr(i)) : 0;
    if (length == 0) continue;
    found.push_back({i, i + length});
    i += length - 1;
  }
  return found;
}

std::optional<TextSpan> url_credentials(std::string_view text, std::size_t scheme) {
  const std::size_t begin = scheme + 3;
  // Bounded: a text of nothing but "://" would be read anew for each.
  constexpr std::size_t longest = 4096;
  const std::string_view rest = text.substr(begin, longest);
  const std::string_view url = rest.substr(0, rest.find_first_of(" \t\n\"'`"));
  const std::size_t slash = std::min(url.find_first_of("/?#"), url.size());
  std::size_t at = url.substr(0, slash).rfind('@');
  if (at == url.npos) {
    // A password with a slash in it; "host:8080/a@b" is none.
    const std::size_t colon = url.substr(0, slash).find(':');
    if (colon == url.npos) return std::nullopt;
    const std::string_view port = url.substr(colon + 1, slash - colon - 1);
    if (!std::ranges::all_of(port, is_digit)) at = url.rfind('@');
  }
  if (at == url.npos) return std::nullopt;
  return TextSpan{begin, begin + at};
}

NextWord secret_behind(std::string_view option, std::string_view before) {
  if (option.starts_with("-")) {
    if (option.find_first_of("=:") != option.npos) return NextWord::no;
    static constexpr auto users =
        std::to_array<std::string_view>({"-u", "-U", "--user", "--proxy-user"});
    if (std::ranges::find(users, option) != users.end() && before.find("curl") != before.npos) {
      return NextWord::behind_colon;
    }
    if (option == "-p") {
      const bool login =
          before.find("login") != before.npos || before.find("sshpass") != before.npos;
      return login ? NextWord::whole : NextWord::no;
    }
    const NameTells tells = name_tells(option);
    if (tells == NameTells::nothing) return NextWord::no;
    return tells == NameTells::secret ? NextWord::whole : NextWord::by_value;
  }
  const std::string small = small_letters(option);
  static constexpr auto words =
      std::to_array<std::string_view>({"bearer", "basic", "login", "token", "apikey"});
  if (std::ranges::find(words, small) != words.end()) return NextWord::unless_prose;
  // A line of .netrc.
  const bool netrc =
      small == "password" && (trimmed(before).empty() || before.find("login ") != before.npos);
  if (netrc) return NextWord::whole;
  const bool key =
      small == "key" && (ends_in_word(before, "api") || ends_in_word(before, "access"));
  return key || is_secret_name(option) ? NextWord::behind_is : NextWord::no;
}

std::optional<std::size_t> attached_password(std::string_view word, std::string_view before) {
  if (word.size() <= 2 || !word.starts_with("-p")) return std::nullopt;
  const bool takes = before.find("sshpass") != before.npos || before.find("mysql") != before.npos;
  return takes ? std::optional<std::size_t>(2) : std::nullopt;
}

bool is_no_prose(std::string_view word) {
  constexpr std::size_t shortest = 6;
  return word.size() >= shortest && std::ranges::any_of(word.substr(1), [](char c) {
           return is_digit(c) || std::isupper(static_cast<unsigned char>(c)) != 0;
         });
}

bool is_name_and_password(std::string_view word) {
  return word.find(':') != word.npos &&
         std::ranges::any_of(word, [](char c) { return c != ':' && !is_digit(c); });
}

std::string masked_spans(std::string_view text, const std::vector<TextSpan>& spans) {
  std::string masked;
  std::size_t at = 0;
  for (const TextSpan& span : spans) {
    masked += text.substr(at, span.begin - at);
    masked += secret_mask;
    at = span.end;
  }
  return masked + std::string(text.substr(std::min(at, text.size())));
}

}  // namespace berth
