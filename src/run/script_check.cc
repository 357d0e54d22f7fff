// Does a script choose its devices itself, over our heads?

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "run/run.h"

namespace berth {

namespace {
constexpr std::string_view variable = "CUDA_VISIBLE_DEVICES";

/// The line's code: nothing of a comment; of a notebook's line, which is a string of JSON, what the
/// shell gets ("!export X=0") or the notebook's own word ("%env X=0").
std::string_view code_in(std::string_view line) {
  std::string_view text = trimmed(line);
  if (text.starts_with("\"!") || text.starts_with("\"%")) text.remove_prefix(1);
  if (text.starts_with('!')) text.remove_prefix(1);
  return text.starts_with('#') ? std::string_view() : trimmed(text);
}

/// Whether what follows is the text of a string, or a comment.
bool is_no_code(std::string_view before) {
  char quote = 0;
  char last = ' ';
  for (const char c : before) {
    if (quote == 0 && c == '#' && (last == ' ' || last == '\t')) return true;
    if (quote == 0 && (c == '"' || c == '\'') && last != '\\') {
      quote = c;
    } else if (c == quote && last != '\\') {
      quote = 0;
    }
    last = c;
  }
  return quote != 0;
}

/// `os.environ["CUDA_VISIBLE_DEVICES"] = …`; a comparison (==) sets nothing, nor does its own
/// value.
bool is_python_subscript(std::string_view before, std::string_view after) {
  if (before.empty() || after.empty()) return false;
  const char quote = before.back();
  if ((quote != '"' && quote != '\'') || after.front() != quote) return false;
  const std::string_view left = trimmed(before.substr(0, before.size() - 1));
  const std::string_view right = trimmed(after.substr(1));
  if (!right.starts_with(']')) return false;
  const std::string_view rest = trimmed(right.substr(1));
  if (!left.ends_with("environ[") || !rest.starts_with('=') || rest.starts_with("==")) return false;
  return rest.substr(0, rest.find(';')).find(variable) == std::string_view::npos;
}

bool is_call(std::string_view before) {
  if (before.empty()) return false;
  const std::string_view left = trimmed(before.substr(0, before.size() - 1));  // without the quote
  return left.ends_with("putenv(");
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_assignment_word(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::ranges::all_of(word.substr(0, equals), is_name_character);
}

/// Whether an assignment may follow this word, the last of these.
bool takes_assignments(std::string_view word, std::string_view words) {
  if (word == "-x") return words.ends_with("declare -x") || words.ends_with("typeset -x");
  constexpr std::array<std::string_view, 12> starts = {
      "export", "env", "%env", "%set_env", "then", "do", "else", "time", "exec", "{", "nohup", "!"};
  return std::ranges::find(starts, word) != starts.end();
}

/// `X=0 python …`, `A=1 X=0 python …`, `export X=0`, `env X=0 …`; not `-eX=0` or "${X=0}".
bool is_shell_assignment(std::string_view before, std::string_view after) {
  if (!after.starts_with('=') || after.starts_with("==") || is_no_code(before)) return false;
  const std::string_view value = after.substr(1, after.find_first_of(" \t;&|)", 1) - 1);
  if (value.find(variable) != std::string_view::npos) return false;
  constexpr std::string_view separators = ";&|(`";
  std::string_view left = before;
  for (;;) {
    const std::string_view words = trimmed(left);
    if (words.empty() || separators.find(words.back()) != std::string_view::npos) return true;
    if (words.size() == left.size()) return false;  // in the middle of a word
    const std::size_t end = words.find_last_of(" \t;&|(`");
    const std::string_view word = words.substr(end + 1);  // npos + 1 is 0
    if (!is_assignment_word(word)) return takes_assignments(word, words);
    left = words.substr(0, words.size() - word.size());
  }
}

bool sets_devices(std::string_view line) {
  constexpr std::size_t longest_line = 8192;  // of a longer one: no line that a person wrote
  const std::string_view code = line.substr(0, longest_line);
  for (std::size_t at = code.find(variable); at != std::string_view::npos;
       at = code.find(variable, at + 1)) {
    const std::string_view before = code.substr(0, at);
    const std::string_view after = code.substr(at + variable.size());
    if (is_python_subscript(before, after) || is_call(before) ||
        is_shell_assignment(before, after)) {
      return true;
    }
  }
  return false;
}

// ------------------------------------------------------------------------- the command's own words

using Words = std::vector<std::string>;
constexpr std::size_t words_looked_at = 24;  // what follows are the program's own

std::string_view name_of_program(std::string_view word) {
  return word.substr(word.rfind('/') + 1);  // npos + 1 is 0
}

enum class Interpreter { none, shell, python };
Interpreter interpreter_of(std::string_view word) {
  const std::string_view name = name_of_program(word);
  if (name.starts_with("python") || name.starts_with("pypy")) return Interpreter::python;
  constexpr std::array<std::string_view, 6> shells = {"sh", "bash", "dash", "zsh", "ksh", "ash"};
  const bool is_shell = std::ranges::find(shells, name) != shells.end();
  return is_shell ? Interpreter::shell : Interpreter::none;
}

/// One word of options in short form: whether it says -c, what of the text stands in it already,
/// and whether the next word is its value.
struct ShortOptions {
  bool has_code = false;
  bool runs_module = false;
  bool takes_next = false;
  std::string_view code;
};
ShortOptions short_options_in(std::string_view word, Interpreter interpreter) {
  ShortOptions read;
  const bool python = interpreter == Interpreter::python;
  for (std::size_t i = 1; i < word.size(); ++i) {
    const char option = word[i];
    const std::string_view rest = word.substr(i + 1);
    if (option == 'c') {
      read.has_code = true;
      if (!python) continue;  // a shell's -c may be followed by more options
      read.code = rest;
      return read;
    }
    if (python && option == 'm') read.runs_module = true;
    const bool has_value = python ? option == 'W' || option == 'X' : option == 'o' || option == 'O';
    if (has_value) read.takes_next = rest.empty() || !python;
    if (python && (has_value || read.runs_module)) return read;
  }
  return read;
}

/// The program text that the interpreter at `at` is given by -c.
std::optional<std::string_view> code_for(const Words& words, std::size_t at) {
  const Interpreter interpreter = interpreter_of(words[at]);
  if (interpreter == Interpreter::none) return std::nullopt;
  bool has_code = false;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool is_option = word.starts_with('-') || word.starts_with('+');
    if (!is_option || word == "-" || word == "--") {
      return has_code ? std::optional(word) : std::nullopt;
    }
    if (word.starts_with("--")) continue;
    const ShortOptions read = short_options_in(word, interpreter);
    if (read.runs_module) return std::nullopt;
    if (!read.code.empty()) return read.code;
    has_code = has_code || read.has_code;
    if (read.has_code && interpreter == Interpreter::python) {
      return i + 1 < words.size() ? std::optional<std::string_view>(words[i + 1]) : std::nullopt;
    }
    if (read.takes_next) ++i;
  }
  return std::nullopt;
}

bool sets_text_devices(std::string_view text) {
  return find_visible_devices_assignment(text).has_value();
}

/// Whether `env` at `at` is told to set the variable.
bool env_sets_devices(const Words& words, std::size_t at) {
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "-S" || word == "--split-string") {
      return i + 1 < words.size() && sets_text_devices(words[i + 1]);
    }
    if (word == "-u" || word == "--unset" || word == "-C" || word == "--chdir") {
      ++i;
    } else if (!word.starts_with('-')) {
      if (!is_assignment_word(word)) return false;
      if (word.substr(0, word.find('=')) == variable) return true;
    }
  }
  return false;
}

/// What of the command sets the devices: "env", "bash -c".
std::optional<std::string> setter_among(const Words& words) {
  for (std::size_t at = 0; at < std::min(words.size(), words_looked_at); ++at) {
    const std::string_view name = name_of_program(words[at]);
    if (name == "env" && env_sets_devices(words, at)) return "env";
    const auto code = code_for(words, at);
    if (code && sets_text_devices(*code)) return std::string(name) + " -c";
  }
  return std::nullopt;
}

std::optional<ScriptLine> assignment_in_file(const std::string& path, bool& is_script) {
  constexpr off_t small_file = 256 << 10;
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  if (facts.st_size > small_file) return std::nullopt;
  const auto text = read_file(path, small_file);
  if (!text || text->find('\0') != std::string::npos) return std::nullopt;
  is_script = true;
  return find_visible_devices_assignment(*text);
}
}  // namespace

std::optional<ScriptLine> find_visible_devices_assignment(std::string_view text) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view code = code_in(line);
    if (sets_devices(code)) return ScriptLine{.number = number, .text = printable(code)};
  }
  return std::nullopt;
}

std::optional<std::string> warning_about_devices_set_by(const std::vector<std::string>& command,
                                                        const std::string& executable) {
  // A wrapper's argument may be a script, too; further on, what follows a script are its arguments.
  constexpr std::size_t words_that_may_be_wrappers = 4;
  bool seen_script = false;
  for (std::size_t at = 0; at < std::min(command.size(), words_looked_at); ++at) {
    const std::string& word = command[at];
    if (word.starts_with('-') || (seen_script && at >= words_that_may_be_wrappers)) continue;
    const auto line = assignment_in_file(at == 0 ? executable : word, seen_script);
    if (!line) continue;
    return trf(
        "{} sets the visible devices itself in line {} ({}): it may use other devices than "
        "those it is given; remove that line",
        printable(word), line->number, line->text);
  }
  if (const auto setter = setter_among(command)) {
    return trf(
        "the command sets CUDA_VISIBLE_DEVICES itself ({}): it may use other devices than those "
        "it is given; leave that out",
        printable(*setter));
  }
  return std::nullopt;
}

}  // namespace berth
