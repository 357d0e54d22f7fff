#pragma once
// Words for people. The English text is the key; po/zh_CN.po holds its translation and is compiled
// into the binary. JSON, CSV, metrics, smi output and exit codes never pass through here. What is
// noticed in one place and shown in another is a Sentence (base/sentence.h).
//
//   print(tr("nobody waits"));
//   print(trf("{} of {} devices are free", free, all));   // checked at compile time in English
//
// Only app/ chooses the language: where a verb begins, English where --json asks for it, and anew
// where somebody changes it in `berth top`. view/, top/ and app/ translate; what is below them
// passes on sentences (tools/check_po.py).

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace berth {

enum class Language { english, simplified_chinese };

/// `--lang`, else BERTH_LANG, else the locale's name ("zh_CN.UTF-8"); what is unknown is English.
[[nodiscard]] Language language_from_name(std::string_view name);
/// Whether berth speaks it.
[[nodiscard]] bool is_known_language(std::string_view name);

/// Chooses the language for the whole process: the main thread alone, also later (`berth top`).
void set_language(Language language);
[[nodiscard]] Language current_language();

/// Words are in this language on this thread, as long as it lives: a server speaks the asker's.
class LanguageHere {
 public:
  explicit LanguageHere(Language language);
  ~LanguageHere();
  LanguageHere(const LanguageHere&) = delete;
  LanguageHere& operator=(const LanguageHere&) = delete;
};

/// The text in the chosen language; itself where there is no translation.
[[nodiscard]] std::string_view tr(std::string_view english);

/// Marks a text of a constant table as a key of the catalogue: it goes through tr() where it is
/// shown.
[[nodiscard]] constexpr std::string_view as_key(const char* english) { return english; }

namespace detail {
[[nodiscard]] std::string format_translated(std::string_view english, fmt::format_args args);
/// In English where the translation's placeholders do not fit.
[[nodiscard]] std::string format_as(std::string_view translated, std::string_view english,
                                    fmt::format_args args);
}  // namespace detail

template <class... Args>
[[nodiscard]] std::string trf(fmt::format_string<Args...> english, Args&&... args) {
  const fmt::string_view text = english;
  return detail::format_translated({text.data(), text.size()}, fmt::make_format_args(args...));
}

}  // namespace berth
