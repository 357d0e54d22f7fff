// Does a command choose its devices itself, over our heads? By a variable, or for a container.

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "run/command_words.h"
#include "run/container/toolkit.h"
#include "run/run.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {
/// A variable that chooses devices, in a text.
struct Mention {
  std::size_t at;
  std::string_view variable;
};
std::optional<Mention> first_mention(std::string_view text, std::size_t from = 0) {
  std::optional<Mention> first;
  for (const std::string_view variable : choosing_variables()) {
    const std::size_t at = text.find(variable, from);
    if (at != text.npos && (!first || at < first->at)) first = {.at = at, .variable = variable};
  }
  return first;
}

/// The line's code, without comments. A notebook's line is a string of JSON. Of that it gives the
/// shell's part ("!export X=0"), or the notebook's own word ("%env X=0").
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
  return !first_mention(rest.substr(0, rest.find(';')));
}

bool is_call(std::string_view before) {
  if (before.empty()) return false;
  const std::string_view left = trimmed(before.substr(0, before.size() - 1));  // without the quote
  return left.ends_with("putenv(");
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
  if (first_mention(value)) return false;
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

using Variables = std::span<const std::string_view>;

bool sets_devices(std::string_view line, Variables variables) {
  constexpr std::size_t longest_line = 8192;  // of a longer one: no line that a person wrote
  const std::string_view code = line.substr(0, longest_line);
  for (auto one = first_mention(code); one; one = first_mention(code, one->at + 1)) {
    const std::string_view before = code.substr(0, one->at);
    const std::string_view after = code.substr(one->at + one->variable.size());
    if (!contains(variables, one->variable)) continue;
    if (is_python_subscript(before, after) || is_call(before) ||
        is_shell_assignment(before, after)) {
      return true;
    }
  }
  return false;
}

// ------------------------------------------------------------------------- the command's own words

constexpr std::size_t words_looked_at = 24;  // what follows are the program's own

bool sets_text_devices(std::string_view text, Variables variables) {
  return find_visible_devices_assignment(text, variables).has_value();
}

/// Whether `env` at `at` is told to set such a variable.
bool env_sets_devices(const Words& words, std::size_t at, Variables variables) {
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "-S" || word == "--split-string") {
      return i + 1 < words.size() && sets_text_devices(words[i + 1], variables);
    }
    if (word == "-u" || word == "--unset" || word == "-C" || word == "--chdir") {
      ++i;
    } else if (!word.starts_with('-')) {
      if (!is_assignment_word(word)) return false;
      if (contains(variables, word.substr(0, word.find('=')))) return true;
    }
  }
  return false;
}

/// The word of the command that sets the devices: "env", "bash -c".
std::optional<std::string> setter_among(const Words& words, Variables variables) {
  for (std::size_t at = 0; at < std::min(words.size(), words_looked_at); ++at) {
    const std::string_view name = name_of_program(words[at]);
    if (name == "env" && env_sets_devices(words, at, variables)) return "env";
    const auto code = code_for(words, at);
    if (code && sets_text_devices(*code, variables)) return std::string(name) + " -c";
  }
  return std::nullopt;
}

// ------------------------------------------------------------------------------------- containers

/// Where the program stands that starts containers with GPUs.
std::optional<std::size_t> container_tool_in(const Words& words) {
  for (const std::size_t at : programs_in(words)) {
    const StartsElsewhere* one = starts_elsewhere(name_of_program(words[at]));
    if (one != nullptr && one->takes_gpus) return at;
  }
  return std::nullopt;
}

/// `value` of an option that gives a container GPUs; not one that takes them from it, nor from a
/// variable of ours.
bool gives_gpus(std::string_view option, std::string_view value) {
  // --gpus "device=$CUDA_VISIBLE_DEVICES" in a shell's text.
  const auto one = first_mention(value);
  const std::string_view before = value.substr(0, one ? one->at : 0);
  if (before.ends_with('$') || before.ends_with("${")) return false;
  return asks_for_cards(option, value);
}

/// `-e CUDA_VISIBLE_DEVICES`, also with its own value written out: what the container has too much
/// is hidden from the program.
bool hands_variable_on(std::string_view option, std::string_view value) {
  if (option != "-e" && option != "--env") return false;
  // What --gpus gives no other's variable hides.
  const std::string_view variable = facts_of(unnamed_vendor).visible_variable;
  return value == variable ||
         (value.starts_with(variable) && value.find('$') != std::string_view::npos);
}

/// The option by which this `run` chooses GPUs for its container, as it was typed.
std::optional<std::string> gpu_option_in(const Words& words, std::size_t from) {
  constexpr std::array<std::string_view, 5> options = {"--gpus", "--device", "--runtime", "-e",
                                                       "--env"};
  std::optional<std::string> found;
  for (std::size_t at = from; at < words.size(); ++at) {
    const std::string_view word = words[at];
    const std::size_t equals = word.find('=');
    const bool whole = word.starts_with("--") && equals != std::string_view::npos;
    const std::string_view option = whole ? word.substr(0, equals) : word;
    if (!contains(options, option) || (!whole && at + 1 >= words.size())) continue;
    const std::string_view value = whole ? word.substr(equals + 1) : std::string_view(words[++at]);
    if (hands_variable_on(option, value)) return std::nullopt;
    if (!found && gives_gpus(option, value)) {
      found = std::string(option) + (whole ? "=" : " ") + std::string(value);
    }
  }
  return found;
}

/// Where the tool's command stands, after the tool's own options. The end: there is none.
std::size_t container_act_in(const Words& words, std::size_t at) {
  while (at < words.size() && (words[at].starts_with('-') || words[at] == "container")) {
    constexpr std::array<std::string_view, 8> with_value = {
        "-c", "--context", "-H", "--host", "-l", "--log-level", "-n", "--namespace"};
    at += contains(with_value, words[at]) ? 2 : 1;
  }
  return at;
}

bool acts_on_started(const Words& words, std::size_t at) {
  if (words[at] == "exec" || words[at] == "start") return true;
  if (words[at] != "compose") return false;
  constexpr std::array<std::string_view, 4> starting = {"up", "run", "start", "exec"};
  return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(),
                     [&](const std::string& word) { return contains(starting, word); });
}

/// Whether nobody told it of the run's devices, and nothing is put in (run/container/plan.h).
bool is_left_alone(const Words& words, bool is_put_in) {
  return !is_put_in && std::ranges::none_of(words, [](const std::string& word) {
    return word.find("VISIBLE_DEVICES") != word.npos || first_mention(word) ||
           word.starts_with("$(berth");
  });
}

/// A command that starts a container, or works in one, with GPUs of its own choice.
std::optional<ScriptWarning> warning_about_container(const Words& words, bool in_text) {
  const auto tool = container_tool_in(words);
  if (!tool) return std::nullopt;
  const std::string name(name_of_program(words[*tool]));
  const std::size_t at = container_act_in(words, *tool + 1);
  if (at >= words.size()) return std::nullopt;
  const std::string act = name + " " + words[at];
  const bool starts_anew = words[at] == "run" || words[at] == "create";
  if (!starts_anew && !acts_on_started(words, at)) return std::nullopt;
  using What = ScriptWarning::What;
  if (!starts_anew) return ScriptWarning{.what = What::container_entered, .by = act, .tool = name};
  const auto option = gpu_option_in(words, at + 1);
  if (!option && !is_left_alone(words, !in_text && *tool == 0)) return std::nullopt;
  if (!option) return ScriptWarning{.what = What::container_entered, .by = act, .tool = name};
  return ScriptWarning{.what = What::container_started, .by = act + " " + *option, .tool = name};
}

std::optional<ScriptWarning> warning_about_container_in_text(std::string_view text) {
  for (const Words& command : commands_in(text)) {
    if (auto warning = warning_about_container(command, true)) return warning;
  }
  return std::nullopt;
}

/// In the command's own words, or in the text that a shell among them is given.
std::optional<ScriptWarning> warning_about_container_among(const Words& words) {
  if (auto warning = warning_about_container(words, false)) return warning;
  for (std::size_t at = 0; at < std::min(words.size(), words_looked_at); ++at) {
    if (interpreter_of(words[at]) != Interpreter::shell) continue;
    const auto code = code_for(words, at);
    if (code) return warning_about_container_in_text(*code);
  }
  return std::nullopt;
}

// ------------------------------------------------------------------------------- texts of scripts

std::optional<std::string> text_of_script(const std::string& path) {
  constexpr off_t small_file = 256 << 10;
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  if (facts.st_size > small_file) return std::nullopt;
  auto text = read_file(path, small_file);
  if (!text || text->find('\0') != std::string::npos) return std::nullopt;
  return *std::move(text);
}

/// By its first line, or by its name.
bool is_shell_script(std::string_view name, std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return name.ends_with(".sh") || (first.starts_with("#!") && first.find("sh") != first.npos);
}

bool is_python_script(std::string_view name, std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return name.ends_with(".py") || (first.starts_with("#!") && first.find("python") != first.npos);
}

/// A script or the command's own words set one of these.
std::optional<ScriptWarning> warning_about_setting(const std::vector<std::string>& command,
                                                   const std::string& executable,
                                                   Variables variables, bool with_containers) {
  // A wrapper's argument may be a script, too; further on, what follows a script are its arguments.
  constexpr std::size_t words_that_may_be_wrappers = 4;
  using What = ScriptWarning::What;
  bool seen_script = false;
  for (std::size_t at = 0; at < std::min(command.size(), words_looked_at); ++at) {
    const std::string& word = command[at];
    if (word.starts_with('-') || (seen_script && at >= words_that_may_be_wrappers)) continue;
    const auto text = text_of_script(at == 0 ? executable : word);
    seen_script = seen_script || text;
    if (!text) continue;
    if (auto line = find_visible_devices_assignment(*text, variables)) {
      return ScriptWarning{
          .what = What::script_sets_devices, .script = word, .line = *std::move(line)};
    }
    if (!with_containers || !is_shell_script(word, *text)) continue;
    if (auto warning = warning_about_container_in_text(*text)) {
      warning->script = word;
      return warning;
    }
  }
  if (const auto setter = setter_among(command, variables)) {
    return ScriptWarning{.what = What::command_sets_devices, .by = *setter};
  }
  return std::nullopt;
}
}  // namespace

std::optional<ScriptLine> find_visible_devices_assignment(
    std::string_view text, std::span<const std::string_view> variables) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view code = code_in(line);
    if (sets_devices(code, variables)) return ScriptLine{.number = number, .text = printable(code)};
  }
  return std::nullopt;
}

std::optional<ScriptWarning> warning_about_devices_set_by(const std::vector<std::string>& command,
                                                          const std::string& executable) {
  const std::array variables = {facts_of(unnamed_vendor).visible_variable};
  auto warning = warning_about_setting(command, executable, variables, true);
  return warning ? warning : warning_about_container_among(command);
}

std::optional<ScriptWarning> warning_about_variables_of(const std::vector<DeviceId>& devices,
                                                        const Snapshot& snapshot,
                                                        const std::vector<std::string>& command,
                                                        const std::string& search_path) {
  std::vector<std::string_view> variables;
  for (const DeviceId& id : devices) {
    const Device* device = find_device(id, snapshot);
    if (device == nullptr) continue;
    const DeviceKindFacts& facts = facts_of(device->kind);
    std::vector<std::string_view> names = {facts.visible_variable, facts.second_variable,
                                           facts.earlier_variable};
    names.insert(names.end(), facts.removed_variables.begin(), facts.removed_variables.end());
    for (const std::string_view name : names) {
      const bool is_said = name.empty() || name == facts_of(unnamed_vendor).visible_variable;
      if (!is_said && !contains(variables, name)) variables.push_back(name);
    }
  }
  if (variables.empty() || command.empty()) return std::nullopt;
  const auto executable = find_executable(command.front(), search_path);
  return executable ? warning_about_setting(command, *executable, variables, false) : std::nullopt;
}

std::optional<ScriptWarning> warning_about_characters_in(const std::vector<std::string>& command,
                                                         const std::string& executable) {
  constexpr std::array<std::string_view, 3> launchers = {"torchrun", "accelerate", "deepspeed"};
  bool runs_python = false;
  for (std::size_t at = 0; at < std::min(command.size(), words_looked_at); ++at) {
    const std::string& word = command[at];
    // `-m pip …` and `-c …` run no script that is named here.
    const bool runs_module = runs_python && word == "-m" && at + 1 < command.size();
    if (runs_module && !command[at + 1].starts_with("torch.distributed.")) return std::nullopt;
    if (code_for(command, at)) return std::nullopt;
    const auto text = word.starts_with('-') || (at > 0 && !runs_python)
                          ? std::nullopt
                          : text_of_script(at == 0 ? executable : word);
    if (text && is_python_script(word, *text)) {
      auto found = find_character_python_refuses(*text);
      if (!found) return std::nullopt;
      return ScriptWarning{.what = ScriptWarning::What::character_refused,
                           .script = word,
                           .line = *std::move(found)};
    }
    runs_python = runs_python || interpreter_of(word) == Interpreter::python ||
                  contains(launchers, name_of_program(word));
  }
  return std::nullopt;
}

}  // namespace berth
