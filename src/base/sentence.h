#pragma once
// Sentence: words for people. Its values are known where it is noticed; its language is chosen
// where it is shown. JSON takes the English, a terminal the chosen language. Errors, problems,
// events and findings are made of them.
//
//   Sentence said = sentence("{} of {} threads wait for the disk", waiting, all);

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace berth {

class Archive;

class Sentence {
 public:
  Sentence() = default;
  /// English: a key of the catalogue, or what another process composed (a record, a server's
  /// answer, a library).
  explicit Sentence(std::string_view english) : text_(english) {}
  /// `english` is the catalogue's key, each of its "{}" stands for one value.
  Sentence(std::string_view english, std::vector<Sentence> values)
      : text_(english), values_(std::move(values)) {}
  /// A name or a number, the same in every language.
  [[nodiscard]] static Sentence as_is(std::string text);

  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] std::string english() const;
  /// In the chosen language, English where there is no translation (base/sentence_shown.cc).
  [[nodiscard]] std::string shown() const;
  /// Part of a longer sentence, which the catalogue has whole: "open {}" of "cannot open {}: {}".
  [[nodiscard]] Sentence within(std::string_view before, Sentence after) &&;
  /// Equal words are equal: a sentence that was read back equals the written one.
  friend bool operator==(const Sentence& a, const Sentence& b) {
    return a.english() == b.english();
  }

 private:
  friend void put(Archive& archive, Sentence& said);
  static void put_at(Archive& archive, Sentence& said, int depth);

  std::string text_;
  std::vector<Sentence> values_;  // in the order of the "{}"
  bool is_as_it_is_ = false;
};

[[nodiscard]] inline bool operator==(const Sentence& said, std::string_view english) {
  return said.english() == english;
}

/// A text has the English. The probe's wire has words and values apart, so that nothing there has
/// to be recognised from its text.
void put(Archive& archive, Sentence& said);

namespace detail {
/// A literal with exactly as many "{}" as there are values; beside them braces are doubled, as
/// fmt's.
template <class... Args>
struct SentenceKey {
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is meant to become one
  consteval SentenceKey(const char* text) : english(text) {
    std::size_t places = 0;
    for (std::size_t i = 0; i < english.size(); ++i) {
      if (english[i] != '{' && english[i] != '}') continue;
      if (english[i] == '{' && english[i + 1] == '}') {
        ++places;
        ++i;
      } else if (sizeof...(Args) > 0) {
        if (english[i] != english[i + 1]) throw "only {} may stand here";
        ++i;
      }
    }
    if (places != sizeof...(Args)) throw "as many values as {}";
  }
  std::string_view english;
};

template <class T>
[[nodiscard]] Sentence as_value(const T& value) {
  if constexpr (std::is_same_v<T, Sentence>) {
    return value;
  } else {
    return Sentence::as_is(fmt::format("{}", value));
  }
}
}  // namespace detail

template <class... Args>
[[nodiscard]] Sentence sentence(detail::SentenceKey<std::type_identity_t<Args>...> english,
                                const Args&... values) {
  return {english.english, {detail::as_value(values)...}};
}

}  // namespace berth
