#pragma once
// Sentence: words for people whose values are known where they are noticed and whose language is
// chosen where they are shown. JSON takes the English, a terminal the chosen language; nothing has
// to recognise a sentence from its text.
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

class Sentence {
 public:
  Sentence() = default;
  /// `english` is the catalogue's key, each of its "{}" stands for one value. Without values it may
  /// also be composed already ("12 of 20 rows …"): tr_composed() then finds its key.
  Sentence(std::string_view english, std::vector<std::string> values)
      : key_(english), values_(std::move(values)) {}

  /// Value number `place` is a sentence too, and follows the language.
  void put(std::size_t place, Sentence value) {
    places_.push_back(place);
    inner_.push_back(std::move(value));
  }

  [[nodiscard]] bool empty() const { return key_.empty(); }
  [[nodiscard]] std::string english() const;
  /// In the chosen language, English where there is no translation.
  [[nodiscard]] std::string shown() const;
  friend bool operator==(const Sentence&, const Sentence&) = default;

 private:
  /// The values as text, those that are sentences by `said`.
  [[nodiscard]] std::vector<std::string> values(std::string (Sentence::*said)() const) const;

  std::string key_;
  std::vector<std::string> values_;  // empty where a sentence stands
  std::vector<std::size_t> places_;  // of the values that are sentences
  std::vector<Sentence> inner_;      // what stands there
};

namespace detail {
/// A literal with exactly as many "{}" as there are values and no other braces.
template <class... Args>
struct SentenceKey {
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is meant to become one
  consteval SentenceKey(const char* text) : english(text) {
    std::size_t places = 0;
    for (std::size_t i = 0; i < english.size(); ++i) {
      if (english[i] == '}' && (i == 0 || english[i - 1] != '{')) throw "a } alone";
      if (english[i] != '{') continue;
      if (i + 1 == english.size() || english[i + 1] != '}') throw "only {} may stand here";
      ++places;
    }
    if (places != sizeof...(Args)) throw "as many values as {}";
  }
  std::string_view english;
};
}  // namespace detail

template <class... Args>
[[nodiscard]] Sentence sentence(detail::SentenceKey<std::type_identity_t<Args>...> english,
                                const Args&... values) {
  [[maybe_unused]] const auto text = []<class T>(const T& value) {
    if constexpr (std::is_same_v<T, Sentence>) {
      return std::string();
    } else {
      return fmt::format("{}", value);
    }
  };
  Sentence said(english.english, {text(values)...});
  [[maybe_unused]] std::size_t place = 0;
  [[maybe_unused]] const auto put = [&]<class T>(const T& value) {
    if constexpr (std::is_same_v<T, Sentence>) said.put(place, value);
    ++place;
  };
  (put(values), ...);
  return said;
}

}  // namespace berth
