#include "serve/tokens.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "serve/digest.h"

namespace berth::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t longest_file = 1 << 20;
constexpr Duration window = std::chrono::minutes(1);

bool is_name(std::string_view name) {
  constexpr std::size_t longest_name = 64;
  return !name.empty() && name.size() <= longest_name &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

Json json_of(const Token& token) {
  return {{"name", token.name},
          {"uid", token.uid ? Json(*token.uid) : Json(nullptr)},
          {"admin", token.admin},
          {"created_unix_ms", token.created.unix_ms},
          {"expires_unix_ms", token.expires ? Json(token.expires->unix_ms) : Json(nullptr)},
          {"sha256", token.sha256}};
}

enum class Digests { shown, hidden };

std::string text_of(const TokenStore& store, Digests digests) {
  Json list = Json::array();
  for (const Token& token : store.tokens()) {
    list.push_back(json_of(token));
    if (digests == Digests::hidden) list.back().erase("sha256");
  }
  const Json root = {{"berth_tokens", TokenStore::format_version}, {"tokens", std::move(list)}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The value of that key where it is a whole number from 0 to `most`.
std::optional<std::int64_t> number_at(const Json& object, const char* key, std::int64_t most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() &&
      found->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    return std::nullopt;
  }
  const auto number = found->get<std::int64_t>();
  return number >= 0 && number <= most ? std::optional(number) : std::nullopt;
}

std::string text_or_empty(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_null_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null();
}

/// Nothing: it lacks what a token must have. What cannot be understood is no token: it must not
/// become one without an end, or an administrator's.
std::optional<Token> token_from(const Json& object) {
  constexpr std::int64_t latest = 253'402'300'799'000;  // the end of the year 9999
  if (!object.is_object()) return std::nullopt;
  Token token{.name = text_or_empty(object, "name"),
              .uid = std::nullopt,
              .admin = false,
              .created = {},
              .expires = std::nullopt,
              .sha256 = text_or_empty(object, "sha256")};
  if (!is_name(token.name) || token.sha256.size() != sha256_hex("").size()) return std::nullopt;
  const auto admin = object.find("admin");
  if (admin == object.end() || !admin->is_boolean()) return std::nullopt;
  token.admin = admin->get<bool>();
  const auto uid = number_at(object, "uid", 0xffff'fffe);
  if (!uid && !is_null_at(object, "uid")) return std::nullopt;
  if (token.admin && uid) return std::nullopt;
  if (uid) token.uid = static_cast<uid_t>(*uid);
  const auto created = number_at(object, "created_unix_ms", latest);
  const auto expires = number_at(object, "expires_unix_ms", latest);
  if (!created || (!expires && !is_null_at(object, "expires_unix_ms"))) return std::nullopt;
  token.created = WallTime{*created};
  if (expires) token.expires = WallTime{*expires};
  return token;
}

}  // namespace

Result<void> TokenStore::add(Token token) {
  if (!is_name(token.name)) {
    return fail(ErrorCode::invalid, "\"" + printable(token.name) +
                                        "\" is no name for a token: letters, digits, \"-\", \"_\" "
                                        "and \".\", at most 64");
  }
  const bool taken = std::any_of(tokens_.begin(), tokens_.end(),
                                 [&](const Token& one) { return one.name == token.name; });
  if (taken) {
    return fail(ErrorCode::busy, "there is a token named " + token.name +
                                     " already: revoke it, or take another name");
  }
  tokens_.push_back(std::move(token));
  return {};
}

Result<void> TokenStore::revoke(std::string_view name) {
  const auto gone = std::erase_if(tokens_, [&](const Token& one) { return one.name == name; });
  if (gone == 0) {
    return fail(ErrorCode::not_found,
                "there is no token named " + printable(name) + ": berth token list shows them");
  }
  return {};
}

std::optional<Token> TokenStore::find(std::string_view secret, WallTime now) const {
  const std::string shown = sha256_hex(secret);
  const Token* found = nullptr;
  for (const Token& token : tokens_) {
    if (equal_in_constant_time(token.sha256, shown)) found = &token;
  }
  if (found == nullptr || (found->expires && *found->expires <= now)) return std::nullopt;
  return *found;
}

std::string to_json(const TokenStore& store) { return text_of(store, Digests::shown); }
std::string public_json(const TokenStore& store) { return text_of(store, Digests::hidden); }

Result<TokenStore> tokens_from_json(std::string_view text) {
  constexpr int deepest = 10;
  if (nesting_depth(text) > deepest) return fail(ErrorCode::invalid, "not a file of tokens");
  const Json root = Json::parse(text, nullptr, false);
  if (!root.is_object() || !root.contains("tokens") || !root["tokens"].is_array()) {
    return fail(ErrorCode::invalid, "not a file of tokens");
  }
  const auto version = number_at(root, "berth_tokens", 1'000'000);
  if (!version) return fail(ErrorCode::invalid, "not a file of tokens");
  if (*version > TokenStore::format_version) {
    return fail(ErrorCode::unsupported, "written by a newer berth: use that one");
  }
  TokenStore store;
  int number = 0;
  for (const Json& one : root["tokens"]) {
    ++number;
    auto token = token_from(one);
    if (!token) {
      return fail(ErrorCode::invalid, "token " + std::to_string(number) + " of it is none");
    }
    if (const auto added = store.add(std::move(*token)); !added) {
      return std::unexpected(added.error());
    }
  }
  return store;
}

Result<TokenStore> load_tokens(const std::string& path) {
  const auto fd = open_fd(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd && fd.error().code() == ErrorCode::not_found) return TokenStore();
  if (!fd) return std::unexpected(fd.error());
  struct stat facts{};
  if (::fstat(fd->get(), &facts) != 0) return fail_system("look at " + path, errno);
  if (!S_ISREG(facts.st_mode)) return fail(ErrorCode::invalid, path + " is no file");
  if ((facts.st_mode & 077) != 0) {
    return fail(ErrorCode::no_permission,
                path + " can be read or written by others: chmod 600 " + path);
  }
  const auto text = read_all(fd->get(), longest_file);
  if (!text) return std::unexpected(text.error());
  auto store = tokens_from_json(*text);
  if (!store) return std::unexpected(std::move(store).error().because(path));
  return store;
}

Result<void> save_tokens(const std::string& path, const TokenStore& store) {
  return write_file_atomically(path, to_json(store), 0600);
}

Result<std::string> make_secret() {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, 32> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return fail_system("get random bytes", errno);
  }
  std::string text = "berth_";
  unsigned held = 0;
  int bits = 0;
  for (const unsigned char byte : random) {
    held = (held << 8 | byte) & 0xffffU;
    for (bits += 8; bits >= 6;) {
      bits -= 6;
      text += digits[held >> bits & 63U];
    }
  }
  if (bits > 0) text += digits[held << (6 - bits) & 63U];
  return text;
}

std::optional<Duration> WrongTokens::note(const std::string& address, Instant now) {
  if (tries_.size() >= most_addresses && !tries_.contains(address)) {
    std::erase_if(tries_, [&](const auto& one) { return now - one.second.window_began >= window; });
    if (tries_.size() >= most_addresses) tries_.erase(tries_.begin());
  }
  Tries& tries = tries_[address];
  if (tries.count == 0 || now - tries.window_began >= window) {
    tries = {.window_began = now, .count = 0};
  }
  if (++tries.count <= most_tries) return std::nullopt;
  return tries.window_began + window - now;
}

}  // namespace berth::serve
