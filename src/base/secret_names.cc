// Which names tell of a secret, and what behind them is none after all.

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "base/ids.h"
#include "base/secret_values.h"
#include "base/text.h"

namespace berth {

namespace {

bool is_capital_letter(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
char small_letter(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// "logger.wandb_key", "--wandb-key", "AccountKey": each word of it, in small letters.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool separates = std::string_view("-_.").find(name[i]) != std::string_view::npos;
    const bool begins = i > 0 && is_capital_letter(name[i]) && !is_capital_letter(name[i - 1]);
    if ((separates || begins) && !parts.back().empty()) parts.emplace_back();
    if (!separates) parts.back() += small_letter(name[i]);
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

/// Words that tell wherever in a name they stand.
bool holds_telling_word(std::string lower) {
  static constexpr auto telling = std::to_array<std::string_view>(
      {"password", "passwd", "passphrase", "secret", "token", "api_key", "apikey", "auth",
       "credential", "private_key", "access_key", "cookie", "bearer", "_pwd"});
  // Words that hold one of those and are no secrets.
  static constexpr auto harmless =
      std::to_array<std::string_view>({"tokeniz", "tokens", "max_token", "num_token", "token_id",
                                       "token_len", "token_type", "per_token", "author"});
  if (lower.find("authoriz") != std::string::npos) return true;
  for (const std::string_view word : harmless) {
    for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word)) {
      lower.replace(at, word.size(), " ");
    }
  }
  return std::ranges::any_of(
      telling, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

/// Whose key it is: of a service, or of what is locked.
bool is_owner_of_keys(std::string_view word) {
  static constexpr auto owners = std::to_array<std::string_view>(
      {"account",    "anthropic",   "aws",          "azure",    "clearml", "cohere",
       "comet",      "deepseek",    "encrypt",      "gcp",      "gemini",  "gh",
       "encryption", "decryption",  "github",       "gitlab",   "google",  "groq",
       "hf",         "huggingface", "kaggle",       "license",  "licence", "mistral",
       "mlflow",     "neptune",     "ngc",          "nvidia",   "openai",  "pinecone",
       "s3",         "replicate",   "serper",       "signing",  "slack",   "storage",
       "swanlab",    "tavily",      "subscription", "together", "wandb",   "openrouter"});
  return contains(owners, word);
}

/// "sort_key", "image_key": columns and settings.
bool is_key_of_data(std::string_view word) {
  static constexpr auto words = std::to_array<std::string_view>(
      {"answer", "audio",    "batch",    "cache",   "caption",   "chosen",  "class",  "column",
       "data",   "feature",  "field",    "foreign", "group",     "hash",    "hot",    "id",
       "image",  "index",    "input",    "join",    "label",     "loss",    "map",    "message",
       "metric", "model",    "monitor",  "output",  "partition", "primary", "prompt", "public",
       "query",  "question", "rejected", "reply",   "response",  "row",     "sample", "sequence",
       "sort",   "state",    "target",   "text",    "time",      "value",   "video"});
  return contains(words, word);
}

bool is_access_to_code(std::string_view word) {
  static constexpr auto words =
      std::to_array<std::string_view>({"ado", "azure", "devops", "gh", "git", "github", "gitlab"});
  return contains(words, word);
}

/// What ends in "key": nobody knows of all whose they are, but what is data.
NameTells key_tells(std::string_view owner, bool is_option) {
  if (is_owner_of_keys(owner)) return NameTells::secret;
  if (is_key_of_data(owner)) return NameTells::nothing;
  return is_option ? NameTells::unless_data : NameTells::nothing;
}

/// By the last word of the name, which says what it is.
NameTells last_part_tells(const std::vector<std::string>& parts, bool is_option) {
  static constexpr auto secrets =
      std::to_array<std::string_view>({"jwt", "passcode", "pw", "sshpass"});
  static constexpr auto files = std::to_array<std::string_view>({"creds", "cred", "pwd"});
  static constexpr auto addresses = std::to_array<std::string_view>(
      {"dsn", "webhook", "connstr", "connectionstring", "connection_string", "conn_str",
       "webhook_url", "hook_url", "webhook_uri"});
  static constexpr auto options = std::to_array<std::string_view>({"pat", "pin", "sas", "session"});
  if (parts.empty()) return NameTells::nothing;
  const std::string& last = parts.back();
  const std::string before = parts.size() > 1 ? parts[parts.size() - 2] : std::string();
  if (contains(secrets, last)) return NameTells::secret;
  if (contains(files, last)) return NameTells::unless_path;
  if (contains(addresses, last) || contains(addresses, before + "_" + last)) {
    return NameTells::unless_data;
  }
  if (last == "pat" && is_access_to_code(before)) return NameTells::secret;
  if (contains(options, last)) return is_option ? NameTells::unless_data : NameTells::nothing;
  if (last == "key") return key_tells(before, is_option);
  const bool glued = last.ends_with("key") && is_owner_of_keys(last.substr(0, last.size() - 3));
  return glued ? NameTells::secret : NameTells::nothing;
}

/// "token_accuracy", "auth_loss": of what they measure only numbers are known.
bool is_measure(const std::vector<std::string>& parts) {
  if (parts.size() < 2 || std::ranges::all_of(parts.back(), is_digit)) return false;
  if (holds_telling_word(parts.back())) return false;
  // "api_key" tells as a whole alone.
  const auto last_two = std::span(parts).last(2);
  return holds_telling_word(last_two.front()) || !holds_telling_word(joined(last_two, "_"));
}

bool is_file_path(std::string_view value) {
  static constexpr auto begins = std::to_array<std::string_view>({"/", "./", "../", "~/", "$"});
  static constexpr auto ends = std::to_array<std::string_view>(
      {".pem", ".key", ".crt", ".json", ".yaml", ".yml", ".txt", ".pub"});
  const bool looks =
      std::ranges::any_of(begins, [&](auto word) { return value.starts_with(word); }) ||
      std::ranges::any_of(ends, [&](auto word) { return value.ends_with(word); });
  return looks && value.find_first_of("@ ") == value.npos && !is_random_key(value);
}

bool is_numeric(std::string_view value) {
  return !value.empty() &&
         is_digit(value[value.find_first_not_of("+-.") == value.npos
                            ? 0
                            : value.find_first_not_of("+-.")]) &&
         value.find_first_not_of("0123456789+-.,:eE") == value.npos;
}

/// "text", "observation.images.top", "*.py".
bool is_word_of_data(std::string_view value) {
  constexpr std::size_t longest = 40;
  if (value.size() <= longest &&
      value.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-./") == std::string_view::npos) {
    return true;
  }
  return value.find_first_not_of('*') != value.npos && value.find('*') != value.npos;
}

}  // namespace

NameTells name_tells(std::string_view name) {
  const bool is_option = name.starts_with('-');
  while (name.starts_with('-')) name.remove_prefix(1);
  // Nobody calls a value by more; a command may hold megabytes in one word.
  constexpr std::size_t longest = 1024;
  if (name.size() > longest) name.remove_prefix(name.size() - longest);
  // ACCOUNT_KEY, as variables are called; "sort_key" is a setting.
  if (name.ends_with("_KEY")) return NameTells::secret;
  const std::vector<std::string> parts = parts_of(name);
  std::string lower = small_letters(name);
  std::ranges::replace_if(lower, [](char c) { return c == '-' || c == '.'; }, '_');
  if (lower.ends_with("_pass") || lower == "pass") return NameTells::secret;
  if (holds_telling_word(lower)) {
    return is_measure(parts) ? NameTells::unless_number : NameTells::secret;
  }
  const NameTells tells = last_part_tells(parts, is_option);
  // Each of four and more figures may be one that somebody types at a door.
  return tells == NameTells::unless_data && parts.back() == "pin" ? NameTells::unless_short : tells;
}

bool is_secret_name(std::string_view name) { return name_tells(name) == NameTells::secret; }

bool is_secret_value(NameTells tells, std::string_view value) {
  constexpr std::size_t shortest_pin = 4;
  const bool pin = value.size() >= shortest_pin && std::ranges::all_of(value, is_digit);
  const std::string_view bare = trimmed(value);
  switch (tells) {
    case NameTells::nothing:
      return false;
    case NameTells::secret:
      return true;
    case NameTells::unless_path:
      return !is_file_path(bare);
    case NameTells::unless_number:
      return !is_numeric(bare);
    case NameTells::unless_short:
      return pin || (!is_numeric(bare) && !is_word_of_data(bare));
    case NameTells::unless_data:
      return !is_numeric(bare) && !is_word_of_data(bare) && !is_file_path(bare) && bare != "True" &&
             bare != "False" && bare != "None";
  }
  return true;
}

// Secrets that stand below their name, as YAML writes long values and lists.

namespace {

bool is_of_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-.\"'").find(c) != std::string_view::npos;
}

/// "user: x", "user:"
bool is_entry(std::string_view line) {
  const std::size_t colon = line.find(':');
  return colon != line.npos && std::ranges::all_of(line.substr(0, colon), is_of_a_name) &&
         (colon + 1 == line.size() || line[colon + 1] == ' ');
}

}  // namespace

std::optional<TextSpan> SecretBelow::found_in(std::string_view line) {
  std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == line.npos) return std::nullopt;
  const bool is_item = line.substr(begin).starts_with("- ");
  if (column_ && (begin > *column_ || (begin == *column_ && is_item && !is_block_))) {
    if (is_item && !is_block_) begin = std::min(line.find_first_not_of(' ', begin + 1), begin + 2);
    if (is_block_ || !is_entry(trimmed(line.substr(begin)))) return TextSpan{begin, line.size()};
  }
  look_for_name(line);
  return std::nullopt;
}

void SecretBelow::look_for_name(std::string_view line) {
  column_.reset();
  std::size_t begin = line.find_first_not_of(" \t");
  while (line.substr(begin).starts_with("- ")) begin += 2;
  const std::string_view entry = trimmed(line.substr(begin));
  const std::size_t colon = entry.find(':');
  if (colon == entry.npos || !is_entry(entry)) return;
  // "password: >-": a block, whatever its lines look like.
  const std::string_view sign = trimmed(entry.substr(colon + 1));
  is_block_ = sign.starts_with('>') || sign.starts_with('|');
  if (!sign.empty() && (!is_block_ || sign.find_first_not_of("+-0123456789", 1) != sign.npos)) {
    return;
  }
  std::string_view name = entry.substr(0, colon);
  while (!name.empty() && (name.front() == '"' || name.front() == '\'')) name.remove_prefix(1);
  while (!name.empty() && (name.back() == '"' || name.back() == '\'')) name.remove_suffix(1);
  if (name_tells(name) != NameTells::nothing) column_ = begin;
}

std::vector<TextSpan> secrets_below(std::string_view text) {
  std::vector<TextSpan> found;
  SecretBelow below;
  std::size_t begin = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto span = below.found_in(line)) {
      found.push_back({begin + span->begin, begin + span->end});
    }
    begin += line.size() + 1;
  }
  return found;
}

// Secrets in commands and variables, replaced before they reach a ledger, a record or a screen.

namespace {

/// How much of a command is searched for the program: sshpass, curl, docker login.
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

std::string mark_line(std::int64_t unix_ms, std::string_view text) {
  return "@" + std::to_string(unix_ms) + " " + printable(masked_text(text)) + "\n";
}

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
