#pragma once
// What a verb takes on its command line. It is declared once for parsing, --help, completions and
// the manual. Behind it stands CLI11, whose headers take longer to compile than most verbs. So only
// options.cc and the few files that parse or describe a command line read them.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace berth {

/// `names` is "-i,--id", or a bare word for an argument without one. `what` is its meaning in
/// English: it goes through tr(), and --help says it. `form` is the value's name there ("TIME"). A
/// value that the command line does not give stays as it was. All that is referred to must outlive
/// the parsing.
class Options {
 public:
  /// `app` outlives this.
  explicit Options(CLI::App& app) : app_(app) {}

  /// The heading in --help of those declared from here on; English, goes through tr().
  void begin_group(std::string_view heading);

  void flag(const char* names, bool& into, std::string_view what);
  /// As text: "true", or what stands behind it (`--hold=false`).
  void flag(const char* names, std::string& into, std::string_view what);
  void value(const char* names, std::string& into, std::string_view what, const char* form);
  /// Taken to be refused in words of its verb, or typed by berth alone: no help shows it.
  void hidden_value(const char* names, std::string& into);
  void hidden_flag(const char* names, bool& into);
  /// As value(), and an empty one is refused: `--only "$GPUS"` with GPUS unset must not mean "any".
  void filled_value(const char* names, std::string& into, std::string_view what, const char* form);
  /// One that may be given several times, a value each time.
  void repeated(const char* names, std::vector<std::string>& into, std::string_view what,
                const char* form);
  void number(const char* names, int& into, std::string_view what, const char* form, int least,
              int most);
  void choice(const char* names, std::string& into, std::string_view what, const char* form,
              std::initializer_list<std::string> choices);

  /// A word that may be left out; an empty one, as an unset variable makes it, is refused.
  void word(const char* name, std::string& into, std::string_view what);
  /// Words that may be left out, any number of them.
  void words(const char* name, std::vector<std::string>& into, std::string_view what);
  void required_word(const char* name, std::string& into, std::string_view what, const char* form);
  void required_words(const char* name, std::vector<std::string>& into, std::string_view what);

 private:
  CLI::App& app_;
  std::string group_;
};

}  // namespace berth
