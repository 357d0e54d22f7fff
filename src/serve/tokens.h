#pragma once
// Tokens: words that prove who a user is where no Unix socket can. A token is shown once, when it
// is made. The file keeps its SHA-256, so a reader of the file learns none. One broken entry makes
// the whole file unusable. 256 random bits need no slow hash: nobody tries them all.

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "serve/workers.h"

namespace berth::serve {

struct Token {
  std::string name;
  /// The user that it stands for. Nothing, and no administrator: it lets a request in, and shows
  /// what everybody may see.
  std::optional<uid_t> uid;
  bool admin = false;
  WallTime created;
  std::optional<WallTime> expires;
  std::string sha256;  // hexadecimal
  friend bool operator==(const Token&, const Token&) = default;
};

class TokenStore {
 public:
  static constexpr int format_version = 1;

  [[nodiscard]] const std::vector<Token>& tokens() const { return tokens_; }
  /// busy: the name is taken. invalid: not a name.
  [[nodiscard]] Result<void> add(Token token);
  /// not_found: there is none of that name.
  [[nodiscard]] Result<void> revoke(std::string_view name);
  /// The token that this is; nothing: none, or it has expired. Compares with every one, each in
  /// constant time.
  [[nodiscard]] std::optional<Token> find(std::string_view secret, WallTime now) const;

 private:
  std::vector<Token> tokens_;
};

[[nodiscard]] std::string to_json(const TokenStore& store);
/// The same without what they are recognised by, for people and programs.
[[nodiscard]] std::string public_json(const TokenStore& store);
/// invalid: not such a file, or a newer one; says where.
[[nodiscard]] Result<TokenStore> tokens_from_json(std::string_view text);

/// An absent file is an empty store. no_permission where others than its owner can read it.
[[nodiscard]] Result<TokenStore> load_tokens(const std::string& path);
[[nodiscard]] Result<void> save_tokens(const std::string& path, const TokenStore& store);

/// "berth_" and 256 bits of the kernel's randomness.
[[nodiscard]] Result<std::string> make_secret();

/// The tokens as their file says now. The file may lie on a disk that hangs, so a thread of its own
/// reads it. Until it has been read, the tokens are those before.
class TokenWatch {
 public:
  /// Reads the file at once: nothing is served before. Nothing: there is no home to keep tokens in.
  explicit TokenWatch(std::optional<std::string> file);

  /// Reads it again, once the reading before has come back.
  void look_again();
  /// As last read; none where that failed.
  [[nodiscard]] TokenStore tokens() const;
  /// What is wrong with the file, once per mistake.
  [[nodiscard]] std::optional<Sentence> take_mistake();

 private:
  /// The values that cross between the threads.
  struct Shared {
    mutable std::mutex mutex;  // guards all below
    TokenStore tokens;
    Sentence mistake;  // empty: none
    bool is_reading = false;
  };
  static void read(const std::string& file, Shared& shared);

  std::optional<std::string> file_;
  Sentence said_;  // the mistake that was told last
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  Workers reader_{1};
};

/// Counts wrong tokens by the address they came from. The right one is taken from anybody at any
/// time. An address that goes on with wrong ones is told when to come back. The log says it once.
class WrongTokens {
 public:
  /// One more; how long to stay away, where it was one too many.
  [[nodiscard]] std::optional<Duration> note(const std::string& address, Instant now);

 private:
  struct Tries {
    Instant window_began{};
    int count = 0;
  };
  static constexpr int most_tries = 10;
  static constexpr std::size_t most_addresses = 1024;
  std::map<std::string, Tries> tries_;
};

}  // namespace berth::serve
