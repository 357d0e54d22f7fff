#pragma once
// Config: what is in force where nobody says otherwise, and who said it. A value may stand in the
// machine's file, the user's, the project's berth.toml, a variable or a flag. Each counts for more
// than those before it. The project's is for [request] alone. Pure: config_files.h reads the files.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "place/job_spec.h"
#include "place/policy.h"

namespace berth {

/// Who says a value, the weakest first.
enum class ConfigSource { machine, user, project, variable, flag };
/// "machine", "user", …: for programs.
[[nodiscard]] std::string_view name_of(ConfigSource source);

/// One thing that can be configured.
struct ConfigKey {
  std::string name;       // "ledger", "request.memory": a dot is a table of the file
  std::string_view form;  // of its value: "DIRECTORY"
  std::string_view help;  // goes through tr()
  const char* variable = nullptr;
  std::string_view flag;  // "--lang"
  /// The last file that may say it; nothing: no file may.
  std::optional<ConfigSource> last_file;
  /// invalid: says what is wrong with the text, not where it stands.
  Result<void> (*check)(std::string_view text) = nullptr;
  const JobKey* job = nullptr;  // instead of `check`: the member of a job that it is
};

/// In the order in which they are shown.
[[nodiscard]] std::span<const ConfigKey> config_keys();
/// The first of them, which variables may say. Each command reads these; the others are a job's.
[[nodiscard]] std::span<const ConfigKey> variable_keys();

/// What a file, or a flag of a job, may say for the value that holds if nobody says one.
inline constexpr std::string_view config_default = "default";

struct ConfigValue {
  std::string text;
  ConfigSource source = ConfigSource::machine;
  std::string origin;  // "/etc/berth/config.toml:3", "BERTH_LANG", "--lang"
};

struct ConfigFile {
  ConfigSource source = ConfigSource::machine;
  std::string path;
  bool is_there = false;
};

class Config {
 public:
  /// What a file says. What is wrong in it joins `mistakes`, what nobody knows `unknown`.
  void add_file(ConfigSource source, const std::string& path, std::string_view text);
  /// What the variables say, each by its name.
  template <class Variable>
  void add_variables(const Variable& variable) {
    for (const ConfigKey& key : variable_keys()) {
      if (const std::optional<std::string> text = variable(key.variable)) {
        add(key, {*text, ConfigSource::variable, key.variable});
      }
    }
  }
  /// What a flag says; nothing where it was not given.
  void add_flag(std::string_view name, const std::string& text);

  /// What the policy says of a user's job where nobody else says anything. `path`: its file.
  void add_rules(const UserRules& rules, const std::string& path);

  /// Takes back what is in force; `why` joins what is passed over.
  void pass_over(std::string_view name, Sentence why);

  /// What is in force; null: nobody says anything, and the default holds.
  [[nodiscard]] const ConfigValue* find(std::string_view name) const;
  /// The same as text, where it is not the default.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;

  std::vector<ConfigFile> files;  // that were looked for
  /// Each with its place; a program that decides by the configuration must not go on.
  std::vector<Error> mistakes;
  /// What is passed over, each with its place: words that this berth does not know, and what may
  /// not hold here.
  std::vector<Sentence> unknown;

 private:
  void add(const ConfigKey& key, ConfigValue value);

  std::map<std::string, ConfigValue, std::less<>> values_;
};

/// A job as the flags of one command and the configuration ask for it. `typed` has for each of
/// job_keys() its flag's text (empty: not given). An error begins with the file's place, or with
/// the key's `name` for who typed it.
[[nodiscard]] Result<JobSpec> job_of(const std::vector<std::string>& typed, const Config& config,
                                     std::string_view (*name)(const JobKey&) = shown_flag);

}  // namespace berth
