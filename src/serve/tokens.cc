#include "serve/tokens.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/json_archive.h"
#include "base/text.h"
#include "serve/digest.h"

namespace berth::serve {

namespace {

constexpr std::size_t longest_token_file = 1 << 20;
constexpr Duration window = std::chrono::minutes(1);

bool is_name(std::string_view name) {
  constexpr std::size_t longest_name = 64;
  return !name.empty() && name.size() <= longest_name &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

/// A row that cannot be understood is no token. It must not become one without an end, or an
/// administrator's.
bool is_token(const Token& token) {
  constexpr std::int64_t latest = 253'402'300'799'000;  // the end of the year 9999
  const auto is_time = [](WallTime time) { return time.unix_ms >= 0 && time.unix_ms <= latest; };
  return is_name(token.name) && token.sha256.size() == sha256_hex("").size() &&
         !(token.admin && token.uid) && token.uid != static_cast<uid_t>(-1) &&
         is_time(token.created) && is_time(token.expires.value_or(WallTime{}));
}

}  // namespace

// Found by the namespace of what it walks, hence not in the nameless one.
static void walk(Archive& archive, Token& token) {
  archive.member("name", token.name, Form::required);
  archive.member("uid", token.uid);
  archive.member("admin", token.admin, Form::required);
  archive.member("created_unix_ms", token.created, Form::required);
  archive.member("expires_unix_ms", token.expires);
  archive.member("sha256", token.sha256, Form::sparse);
  if (archive.is_reading() && !is_token(token)) archive.mistake(sentence("no token"));
}

static void walk(Archive& archive, std::vector<Token>& tokens, int& version) {
  archive.member("berth_tokens", version, Form::required);
  if (version < 0) archive.mistake(sentence("no version"));
  if (version <= TokenStore::format_version) {
    archive.member("tokens", tokens, Form::required);
  }
}

static std::string text_of(std::vector<Token> tokens) {
  int version = TokenStore::format_version;
  return write_json(JsonLayout::narrow, [&](Archive& archive) { walk(archive, tokens, version); }) +
         "\n";
}

Result<void> TokenStore::add(Token token) {
  if (!is_name(token.name)) {
    return fail(
        ErrorCode::invalid,
        "\"{}\" is no name for a token: letters, digits, \"-\", \"_\" and \".\", at most 64",
        printable(token.name));
  }
  const bool taken = std::any_of(tokens_.begin(), tokens_.end(),
                                 [&](const Token& one) { return one.name == token.name; });
  if (taken) {
    return fail(ErrorCode::busy,
                "there is a token named {} already: revoke it, or take another name", token.name);
  }
  tokens_.push_back(std::move(token));
  return {};
}

Result<void> TokenStore::revoke(std::string_view name) {
  const auto gone = std::erase_if(tokens_, [&](const Token& one) { return one.name == name; });
  if (gone == 0) {
    return fail(ErrorCode::not_found, "there is no token named {}: berth token list shows them",
                printable(name));
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

std::string to_json(const TokenStore& store) { return text_of(store.tokens()); }
std::string public_json(const TokenStore& store) {
  std::vector<Token> tokens = store.tokens();
  for (Token& token : tokens) token.sha256.clear();
  return text_of(std::move(tokens));
}

Result<TokenStore> tokens_from_json(std::string_view text) {
  std::vector<Token> tokens;
  int version = 0;
  const auto read = read_json(text, [&](Archive& archive) { walk(archive, tokens, version); });
  if (version > TokenStore::format_version) {
    return fail(ErrorCode::unsupported, "written by a newer berth: use that one");
  }
  if (!read && tokens.empty()) return fail(ErrorCode::invalid, "not a file of tokens");
  // The last that was begun.
  if (!read) {
    return fail(ErrorCode::invalid, "token {} of it is none", tokens.size());
  }
  TokenStore store;
  for (Token& token : tokens) {
    if (const auto added = store.add(std::move(token)); !added) {
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
  if (::fstat(fd->get(), &facts) != 0) return fail_system(errno, "look at {}", path);
  if (!S_ISREG(facts.st_mode)) return fail(ErrorCode::invalid, "{} is no file", path);
  if ((facts.st_mode & 077) != 0) {
    return fail(ErrorCode::no_permission, "{} can be read or written by others: chmod 600 {}", path,
                path);
  }
  const auto text = read_all(fd->get(), longest_token_file);
  if (!text) return std::unexpected(text.error());
  auto store = tokens_from_json(*text);
  if (!store) return std::unexpected(std::move(store).error().at(path));
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
    return fail_system(errno, "get random bytes");
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

TokenWatch::TokenWatch(std::optional<std::string> file) : file_(std::move(file)) {
  if (file_) read(*file_, *shared_);
}

void TokenWatch::read(const std::string& file, Shared& shared) {
  auto tokens = load_tokens(file);
  const std::lock_guard lock(shared.mutex);
  shared.mistake = tokens ? Sentence() : tokens.error().said();
  // Until a mistake is mended no token is right.
  shared.tokens = tokens ? std::move(*tokens) : TokenStore{};
  shared.is_reading = false;
}

void TokenWatch::look_again() {
  if (!file_) return;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_reading) return;
  shared_->is_reading = reader_.give([shared = shared_, file = *file_] { read(file, *shared); });
}

TokenStore TokenWatch::tokens() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->tokens;
}

std::optional<Sentence> TokenWatch::take_mistake() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->mistake == said_) return std::nullopt;
  said_ = shared_->mistake;
  if (said_.empty()) return std::nullopt;
  return said_;
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
