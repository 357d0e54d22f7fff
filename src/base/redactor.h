#pragma once
// Redactor: makes text fit to be shown to strangers. Secrets become "***", the user's home "~",
// the machine "host". Other users become "user1", "user2" …: each the same name everywhere, one
// that nobody has. Names that are numbers stay: figures would change with them. It hides only what
// it knows: a person still reads the text before sending it.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret_values.h"

namespace berth {

class Redactor {
 public:
  struct Names {
    std::string home;                // one's own; empty: not known
    std::string user;                // one's own
    std::vector<std::string> hosts;  // names of the machine
    std::vector<std::string> users;  // others
  };
  explicit Redactor(const Names& names);

  /// The text with all of it replaced, line by line. Masks by name (base/secret_values.h). Masks by
  /// look: tokens of known makers, long hexadecimal numbers, private keys. Masks in URLs:
  /// user:password@, and all behind the host, but on a few hosts of documents.
  [[nodiscard]] std::string cleaned(std::string_view text);

  /// How often something was masked so far.
  [[nodiscard]] std::size_t secrets() const { return secrets_; }
  [[nodiscard]] std::size_t names() const { return replaced_names_; }

 private:
  [[nodiscard]] std::string cleaned_line(std::string_view line);
  [[nodiscard]] std::string without_secrets(std::string_view line);
  /// A text without names of secrets: what gives itself away by its look.
  [[nodiscard]] std::string without_tokens(std::string_view text);
  [[nodiscard]] std::string cleaned_word(std::string_view word);
  [[nodiscard]] std::string without_names(std::string_view line);

  using Replacement = std::pair<std::string, std::string>;
  /// The longest that stands there; nullptr: none.
  [[nodiscard]] const Replacement* replacement_at(std::string_view line, std::size_t at) const;

  /// By their first letter, longest first: "anna-lena" before "anna".
  std::map<char, std::vector<Replacement>> replacements_;
  std::size_t secrets_ = 0;
  std::size_t replaced_names_ = 0;
  bool in_private_key_ = false;
  SecretBelow below_;
};

}  // namespace berth
