#include "base/secret_values.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace berth {

namespace {

bool is_quote(char c) { return c == '"' || c == '\''; }
bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

std::string_view without_dashes(std::string_view name) {
  while (!name.empty() && name.front() == '-') name.remove_prefix(1);
  return name;
}

/// Values that say that there is none, or that somebody masked it.
bool says_nothing(std::string_view value) {
  static constexpr auto words =
      std::to_array<std::string_view>({"null", "true", "false", "True", "False", "None", "***", "{",
                                       "}", ">", ">-", "|", "|-", ""});
  while (!value.empty() && (value.back() == ',' || value.back() == '}' || is_blank(value.back()))) {
    value.remove_suffix(1);
  }
  return std::ranges::find(words, value) != words.end();
}

/// "0.5," of a list.
std::string_view without_ending(std::string_view value) {
  while (!value.empty() && std::string_view(",;}])").find(value.back()) != value.npos) {
    value.remove_suffix(1);
  }
  return value;
}

/// Headers whose value has blanks and semicolons of its own.
bool is_secret_header(std::string_view name) {
  const std::string small = small_letters(without_dashes(name));
  return small.ends_with("cookie") || small.ends_with("authorization");
}

/// Names in the query of a URL that mean nothing elsewhere.
bool is_secret_query(std::string_view name) {
  const std::string small = small_letters(name);
  return small == "key" || small == "sig" || small.ends_with("signature");
}

/// Where the quote at `open` is closed; npos: nowhere.
std::size_t closing_quote(std::string_view line, std::size_t open) {
  for (std::size_t i = open + 1; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == line[open]) {
      return i;
    }
  }
  return line.npos;
}

/// One pass over a line, with the quotes that it is in.
class NamedSecrets {
 public:
  explicit NamedSecrets(std::string_view line) : line_(line) {}

  std::vector<TextSpan> found() && {
    while (at_ < line_.size()) {
      const char c = line_[at_];
      if ((c == '=' || c == ':') && judges_sign()) continue;
      if (begins_word() && judges_word()) continue;
      if (c == '\\') {
        at_ += 2;
        continue;
      }
      if (quote_ != 0 ? c == quote_ : opens_quote()) {
        quote_ = quote_ != 0 ? '\0' : c;
        region_ = quote_ != 0 ? at_ + 1 : 0;
      }
      ++at_;
    }
    return std::move(found_);
  }

 private:
  /// How a name stands before its sign.
  struct Name {
    std::string_view text;
    std::size_t begin = 0;
    bool quoted = false;   // "name":
    bool escaped = false;  // \"name\":
  };

  struct Value {
    TextSpan span;
    std::size_t next = 0;  // behind it and its closing quote
  };

  /// An apostrophe within a word opens nothing.
  [[nodiscard]] bool opens_quote() const {
    if (line_[at_] == '"') return true;
    if (line_[at_] != '\'') return false;
    return at_ == 0 || is_blank(line_[at_ - 1]) ||
           std::string_view("=:([{,").find(line_[at_ - 1]) != std::string_view::npos;
  }

  [[nodiscard]] bool begins_word() const {
    if (is_blank(line_[at_]) || is_quote(line_[at_])) return false;
    return at_ == 0 || is_blank(line_[at_ - 1]) || is_quote(line_[at_ - 1]);
  }

  [[nodiscard]] Name name_before(std::size_t sign) const {
    std::size_t end = sign;
    while (end > 0 && is_blank(line_[end - 1])) --end;
    Name name;
    if (end > 0 && (is_quote(line_[end - 1]) || line_[end - 1] == ']')) {
      name.quoted = is_quote(line_[end - 1]);
      while (end > 0 && (is_quote(line_[end - 1]) || line_[end - 1] == ']')) --end;
      name.escaped = name.quoted && end > 0 && line_[end - 1] == '\\';
      while (end > 0 && line_[end - 1] == '\\') --end;
    }
    name.begin = end;
    while (name.begin > 0 && is_name_character(line_[name.begin - 1])) --name.begin;
    name.text = line_.substr(name.begin, end - name.begin);
    return name;
  }

  [[nodiscard]] NameTells told_by(const Name& name) const {
    const std::string_view before = line_.substr(0, name.begin);
    if (before.ends_with("?") || before.ends_with("&")) {
      if (is_secret_query(name.text)) return NameTells::secret;
    }
    // The host of a URL with a port.
    if (before.ends_with("//") && line_[at_] == ':') return NameTells::nothing;
    return name_tells(name.text);
  }

  /// Nothing but the name before the sign, or the word with which shells and lists set it.
  [[nodiscard]] bool begins_text(const Name& name) const {
    const std::size_t from = std::min(region_, name.begin);
    const std::string_view before = trimmed(line_.substr(from, name.begin - from));
    static constexpr auto words =
        std::to_array<std::string_view>({"export", "set", "ENV", "declare -x", "-", "+", ">"});
    if (std::ranges::find(words, before) != words.end()) return true;
    const bool touches = name.begin == from || !is_blank(line_[name.begin - 1]);
    return before.empty() || (touches && std::ranges::none_of(before, is_blank));
  }

  bool judges_sign() {
    const Name name = name_before(at_);
    const std::string_view rest = line_.substr(at_);
    if (name.text.empty() || rest.starts_with("://") || rest.starts_with("::")) return false;
    const NameTells tells = told_by(name);
    if (tells == NameTells::nothing) return false;
    std::size_t begin = at_ + 1;
    while (begin < line_.size() && (line_[begin] == '=' || line_[begin] == '>')) ++begin;
    while (begin < line_.size() && is_blank(line_[begin])) ++begin;
    if (name.quoted && !name.escaped) {
      // Whatever quotes came before: here is none open.
      quote_ = '\0';
      region_ = 0;
    }
    if (begin >= line_.size() || (line_[begin] == '{' && name.quoted)) return false;
    const bool header = line_[at_] == ':' && is_secret_header(name.text);
    const bool whole = tells == NameTells::secret && !name.quoted && begins_text(name);
    const Value value = value_at(begin, name.quoted, header || whole);
    return is_secret_value(tells, without_ending(text_of(value.span))) && take(value);
  }

  /// --token VALUE, Bearer VALUE, curl -u NAME:VALUE.
  bool judges_word() {
    std::size_t end = at_;
    while (end < line_.size() && !is_blank(line_[end]) && !is_quote(line_[end]) &&
           line_[end] != '\\') {
      ++end;
    }
    const std::string_view word = line_.substr(at_, end - at_);
    // What tells stands near; a line may be megabytes long.
    constexpr std::size_t farthest = 4096;
    const std::size_t from = at_ > farthest ? at_ - farthest : 0;
    const std::string_view before = line_.substr(from, at_ - from);
    if (const auto password = attached_password(word, before)) {
      return take(value_at(at_ + *password, false, false));
    }
    NextWord kind = secret_behind(word, before);
    if (kind == NextWord::no) return false;
    if (const std::size_t behind = behind_is(end); behind != end && !word.starts_with('-')) {
      kind = NextWord::unless_prose;
      end = behind;
    } else if (kind == NextWord::behind_is) {
      return false;
    }
    const char open = quote_;
    std::size_t begin = end;
    if (line_.substr(begin).starts_with("\\\"")) {
      begin += 2;
    } else if (begin < line_.size() && line_[begin] == quote_) {
      quote_ = '\0';
      ++begin;
    }
    while (begin < line_.size() && (is_blank(line_[begin]) || line_[begin] == ',')) ++begin;
    Value value;
    // Before a sign it is a name, which judges_sign() reads.
    constexpr std::string_view no_value = "-=:";
    if (begin > end && begin < line_.size() && no_value.find(line_[begin]) == no_value.npos) {
      value = value_at(begin, false, false);
    }
    if (kind == NextWord::behind_colon) {
      const std::string_view text = text_of(value.span);
      value.span.begin =
          is_name_and_password(text) ? value.span.begin + text.find(':') + 1 : value.span.end;
    }
    const bool prose = kind == NextWord::unless_prose && !is_no_prose(text_of(value.span));
    const bool data = kind == NextWord::by_value &&
                      !is_secret_value(name_tells(word), without_ending(text_of(value.span)));
    const bool taken = !prose && !data && take(value);
    if (!taken) quote_ = open;
    return taken;
  }

  /// Behind the " is" of "the password is …"; `end`: none stands there.
  [[nodiscard]] std::size_t behind_is(std::size_t end) const {
    for (const std::string_view verb : {" is", " was"}) {
      const std::string_view rest = line_.substr(end);
      const bool whole = rest.size() > verb.size() && is_blank(rest[verb.size()]);
      if (rest.starts_with(verb) && whole) return end + verb.size();
    }
    return end;
  }

  [[nodiscard]] Value value_at(std::size_t begin, bool quoted_name, bool to_end) const {
    if (line_.substr(begin).starts_with("\\\"")) {
      const std::size_t close = std::min(line_.find("\\\"", begin + 2), line_.size());
      return {{begin + 2, close}, std::min(close + 2, line_.size())};
    }
    if (is_quote(line_[begin]) && (quoted_name || line_[begin] != quote_)) {
      const std::size_t close = closing_quote(line_, begin);
      if (close == line_.npos) return {{begin + 1, line_.size()}, line_.size()};
      const bool ends =
          close + 1 == line_.size() || is_blank(line_[close + 1]) || is_quote(line_[close + 1]) ||
          std::string_view(",;]}):&|\\").find(line_[close + 1]) != std::string_view::npos;
      if (ends) return {{begin + 1, close}, close + 1};
    }
    std::size_t end = end_of_text(begin);
    if (!to_end) end = end_of_word(begin, end, quoted_name);
    return {{begin, end}, end};
  }

  /// The end of the quoted text around `begin`, or of the line.
  [[nodiscard]] std::size_t end_of_text(std::size_t begin) const {
    if (quote_ == '\0') return line_.size();
    for (std::size_t i = begin; i < line_.size(); ++i) {
      if (line_[i] == '\\') {
        ++i;
      } else if (line_[i] == quote_) {
        return i;
      }
    }
    return line_.size();
  }

  [[nodiscard]] std::size_t end_of_word(std::size_t begin, std::size_t most, bool in_json) const {
    for (std::size_t i = begin; i < most; ++i) {
      if (is_blank(line_[i])) return i;
      if (in_json && std::string_view(",}]").find(line_[i]) != std::string_view::npos) return i;
      if (!is_quote(line_[i])) continue;
      const std::size_t close = closing_quote(line_, i);
      if (close < most) i = close;
    }
    return most;
  }

  [[nodiscard]] std::string_view text_of(TextSpan span) const {
    return line_.substr(span.begin, span.end - span.begin);
  }

  bool take(const Value& value) {
    if (value.span.end <= value.span.begin || says_nothing(text_of(value.span))) return false;
    found_.push_back(value.span);
    at_ = std::max(value.next, at_ + 1);
    return true;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::size_t region_ = 0;  // where the text in quotes begins that at_ is in, or the line
  char quote_ = '\0';       // the quote that is open
  std::vector<TextSpan> found_;
};

}  // namespace

std::vector<TextSpan> named_secrets(std::string_view line) { return NamedSecrets(line).found(); }

}  // namespace berth
