#pragma once
// The program describes itself. Completions and the manual page are made from the declarations that
// parse the command line (app/command_line.cc). So they cannot lag behind it.

#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct OptionText {
  std::vector<std::string> names;  // "-n", "--devices"
  std::string what;
  bool takes_value = false;
  std::string value;  // its name in --help: "SIZE"
};

struct VerbText {
  std::string name;
  std::string summary;
  std::vector<OptionText> options;
  bool takes_command = false;
};

/// For bash, zsh or fish; empty: another shell.
[[nodiscard]] std::string completion_script(std::string_view shell,
                                            const std::vector<VerbText>& verbs);
[[nodiscard]] std::string manual_page(const std::vector<VerbText>& verbs);

/// The tables of doc/EXPLAIN.md, made of the rules' own rows. Each stands between lines that name
/// it, as in doc/EXPLAIN.md. In English whatever the language.
[[nodiscard]] std::string rules_markdown();

}  // namespace berth
