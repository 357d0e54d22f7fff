// Does a script choose its devices itself, over our heads?

#include <array>

#include "base/text.h"
#include "run/run.h"

namespace berth {

namespace {
constexpr std::string_view variable = "CUDA_VISIBLE_DEVICES";

std::string_view before_comment(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.starts_with('#') ? std::string_view() : text;
}

/// The last character before the name's quote or the name itself, blanks skipped.
bool is_python_subscript(std::string_view before, std::string_view after) {
  // os.environ["CUDA_VISIBLE_DEVICES"] = …; a comparison (==) sets nothing.
  if (before.empty() || after.empty()) return false;
  const char quote = before.back();
  if ((quote != '"' && quote != '\'') || after.front() != quote) return false;
  const std::string_view left = trimmed(before.substr(0, before.size() - 1));
  const std::string_view right = trimmed(after.substr(1));
  if (!right.starts_with(']')) return false;
  const std::string_view rest = trimmed(right.substr(1));
  return left.ends_with("environ[") && rest.starts_with('=') && !rest.starts_with("==");
}

bool is_call(std::string_view before) {
  if (before.empty()) return false;
  const std::string_view left = trimmed(before.substr(0, before.size() - 1));  // without the quote
  return left.ends_with("putenv(");
}

bool is_shell_assignment(std::string_view before, std::string_view after) {
  if (!after.starts_with('=') || after.starts_with("==")) return false;
  // At the start of a command: `X=0 python …`, `export X=0`, `env X=0 …`; not `-eX=0` or "${X=0}".
  const std::string_view left = trimmed(before);
  for (const std::string_view word :
       {"export", "env", "declare -x", "&&", "||", ";", "then", "do"}) {
    if (left.ends_with(word)) return before.size() != left.size() || word == ";";
  }
  return left.empty();
}
}  // namespace

std::optional<ScriptLine> find_visible_devices_assignment(std::string_view text) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view code = before_comment(line);
    const std::size_t at = code.find(variable);
    if (at == std::string_view::npos) continue;
    const std::string_view before = code.substr(0, at);
    const std::string_view after = code.substr(at + variable.size());
    if (is_python_subscript(before, after) || is_call(before) ||
        is_shell_assignment(before, after)) {
      return ScriptLine{.number = number, .text = printable(code)};
    }
  }
  return std::nullopt;
}

}  // namespace berth
