// How a command line, or a shell's text, reads: wrappers before a program, programs given as text.

#include "run/command_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace berth {

namespace {
/// Programs that start the one behind their own words.
struct Wrapper {
  std::string_view name;
  std::string_view letters;    // of options whose value may be the next word
  std::string_view options{};  // the same in long form
  std::size_t arguments = 0;   // before the program
};
constexpr auto wrappers = std::to_array<Wrapper>({
    {"sudo", "CDRTUghprtu", "--user --group --host --prompt --chdir --chroot --close-from"},
    {"doas", "Cu"},
    {"env", "CSu", "--unset --chdir --split-string"},
    {"nice", "n", "--adjustment"},
    {"ionice", "cn", "--class --classdata"},
    {"nohup", ""},
    {"time", "fo", "--format --output"},
    {"timeout", "ks", "--kill-after --signal", 1},
    {"stdbuf", "eio", "--input --output --error"},
    {"setsid", ""},
    {"exec", "a"},
    {"taskset", "", "", 1},
    {"chrt", "DPT", "--sched-runtime --sched-period --sched-deadline", 1},
    {"numactl", "CNimpw", "--physcpubind --cpunodebind --interleave --membind --preferred"},
});

constexpr auto elsewhere = std::to_array<StartsElsewhere>({
    {.name = "docker", .containers = true, .takes_gpus = true},
    {.name = "podman", .containers = true, .takes_gpus = true},
    {.name = "nerdctl", .containers = true, .takes_gpus = true},
    {.name = "apptainer", .containers = true, .descends = true},
    {.name = "singularity", .containers = true, .descends = true},
    {.name = "enroot", .containers = true, .descends = true},
    {.name = "kubectl", .containers = true},
    {.name = "srun"},
    {.name = "sbatch"},
    {.name = "systemd-run"},
    {.name = "at"},
    {.name = "batch"},
});

/// Whether the value of this wrapper's option is the next word: "-n", "-En"; not "-n5", "--n=5".
bool takes_next(const Wrapper& wrapper, std::string_view word) {
  if (word.starts_with("--")) {
    const auto options = split(wrapper.options, ' ');
    return std::ranges::find(options, word) != options.end();
  }
  return word.find_first_of(wrapper.letters, 1) == word.size() - 1;
}

/// Where the words behind a wrapper's own begin.
std::size_t behind(const Wrapper& wrapper, const Words& words, std::size_t at) {
  std::size_t arguments = wrapper.arguments;
  for (; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word.size() > 1 && word.starts_with('-')) {
      if (takes_next(wrapper, word)) ++at;
    } else if (!is_assignment_word(word)) {
      if (arguments == 0) break;
      --arguments;
    }
  }
  return at;
}

/// One word of short options. Says whether -c is in it, and what code follows in the same word.
/// Also says whether the next word is its value.
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

}  // namespace

std::string_view name_of_program(std::string_view word) {
  return word.substr(word.rfind('/') + 1);  // npos + 1 is 0
}

bool is_assignment_word(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::ranges::all_of(word.substr(0, equals), is_word_character);
}

Interpreter interpreter_of(std::string_view word) {
  const std::string_view name = name_of_program(word);
  if (name.starts_with("python") || name.starts_with("pypy")) return Interpreter::python;
  constexpr std::array<std::string_view, 6> shells = {"sh", "bash", "dash", "zsh", "ksh", "ash"};
  const bool is_shell = std::ranges::find(shells, name) != shells.end();
  return is_shell ? Interpreter::shell : Interpreter::none;
}

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

std::vector<Words> commands_in(std::string_view text) {
  std::vector<Words> commands(1);
  std::string word;
  char quote = 0;
  bool in_word = false;
  const auto end_word = [&] {
    if (std::exchange(in_word, false)) commands.back().push_back(std::exchange(word, {}));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      if (text[++i] != '\n') word += text[i];  // else the line goes on
      in_word = in_word || text[i] != '\n';
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == '#' && !in_word) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (std::string_view("\n;&|()").find(c) != std::string_view::npos) {
      end_word();
      if (!commands.back().empty()) commands.emplace_back();
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else {
      word += c;
      in_word = true;
    }
  }
  end_word();
  return commands;
}

std::vector<std::size_t> programs_in(const Words& words) {
  std::vector<std::size_t> places;
  std::size_t at = 0;
  while (at < words.size() && is_assignment_word(words[at])) ++at;
  while (at < words.size()) {
    places.push_back(at);
    const auto wrapper = std::ranges::find(wrappers, name_of_program(words[at]), &Wrapper::name);
    if (wrapper == wrappers.end()) break;
    at = behind(*wrapper, words, at + 1);
  }
  return places;
}

std::vector<std::string> programs_started_by(const Words& command) {
  std::vector<std::string> programs;
  const auto add = [&](const Words& words) {
    for (const std::size_t at : programs_in(words)) {
      programs.emplace_back(name_of_program(words[at]));
    }
  };
  add(command);
  for (std::size_t at = 0; at < command.size(); ++at) {
    if (interpreter_of(command[at]) != Interpreter::shell) continue;
    for (const Words& words : commands_in(code_for(command, at).value_or(""))) add(words);
  }
  return programs;
}

const StartsElsewhere* starts_elsewhere(std::string_view program) {
  const auto found = std::ranges::find(elsewhere, program, &StartsElsewhere::name);
  return found == elsewhere.end() ? nullptr : &*found;
}

}  // namespace berth
