#pragma once
// What a command's words start, as far as they tell. Finds the program behind `sudo` or `env A=B`,
// and the text that `bash -c` runs. Knows the programs that do their work elsewhere. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

using Words = std::vector<std::string>;

/// Without its folder.
[[nodiscard]] std::string_view name_of_program(std::string_view word);
/// "A=B"
[[nodiscard]] bool is_assignment_word(std::string_view word);

enum class Interpreter { none, shell, python };
[[nodiscard]] Interpreter interpreter_of(std::string_view word);
/// The program text that the interpreter at `at` is given by -c.
[[nodiscard]] std::optional<std::string_view> code_for(const Words& words, std::size_t at);

/// The words of each simple command in a shell's text, without quotes and comments. Reads only what
/// can be read without being a shell.
[[nodiscard]] std::vector<Words> commands_in(std::string_view text);

/// Where the programs of a simple command stand: its wrappers, and last what they start.
[[nodiscard]] std::vector<std::size_t> programs_in(const Words& words);
/// The names of them, and of those in the text that a shell among them is given.
[[nodiscard]] std::vector<std::string> programs_started_by(const Words& command);

/// A program whose work is done by processes that are not its children, or see other files.
struct StartsElsewhere {
  std::string_view name;
  bool containers = false;  // neither its environment nor its libraries go along
  bool takes_gpus = false;  // by --gpus, --device and their like
  bool descends = false;    // what it starts is its child all the same
};
/// Looked up by a program's name. Null: it starts nothing elsewhere, as far as is known.
[[nodiscard]] const StartsElsewhere* starts_elsewhere(std::string_view program);

}  // namespace berth
