#include "config/config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/tr.h"
#include "config/toml.h"

namespace berth {

namespace {

constexpr std::string_view request_table = "request.";

Result<void> check_language(std::string_view text) {
  if (text == "en" || text == "zh_CN") return {};
  return fail(ErrorCode::invalid, "\"{}\" is no language; write en or zh_CN", printable(text));
}

Result<void> check_path(std::string_view text) {
  if (text.starts_with('/')) return {};
  return fail(ErrorCode::invalid, "\"{}\" is no whole path; write one that begins with /",
              printable(text));
}

std::vector<ConfigKey> made_keys() {
  const auto of_berth = variable_keys();
  std::vector<ConfigKey> keys(of_berth.begin(), of_berth.end());
  for (const JobKey& job : job_keys()) {
    if (!job.is_for_all) continue;
    keys.push_back({.name = std::string(request_table) + std::string(job.name),
                    .form = *job.form == '\0' ? "true|false" : job.form,
                    .help = job.help,
                    .flag = shown_flag(job),
                    .last_file = ConfigSource::project,
                    .job = &job});
  }
  return keys;
}

const ConfigKey* find_key(std::string_view name) {
  const auto keys = name.starts_with(request_table) ? config_keys() : variable_keys();
  const auto found = std::ranges::find(keys, name, &ConfigKey::name);
  return found == keys.end() ? nullptr : &*found;
}

Result<void> check(const ConfigKey& key, std::string_view text) {
  if (text.empty()) return fail(ErrorCode::invalid, "its value is empty");
  if (text == config_default) return {};
  if (key.job == nullptr) return key.check(text);
  JobSpec job;
  return key.job->parse(text, job);
}

/// A file on its way into a Config.
struct FileReader {
  Config& config;
  ConfigSource source;
  const std::string& path;

  [[nodiscard]] std::string place(const toml::node& node) const {
    return fmt::format("{}:{}", path, node.source().begin.line);
  }
  void refuse(const toml::node& node, const std::string& name, const Error& why) const {
    config.mistakes.push_back(Error(why).at(name).at(place(node)));
  }
  void tell_unknown(const toml::node& node, const std::string& name) const {
    std::vector<std::string_view> known;
    for (const ConfigKey& key : config_keys()) known.push_back(key.name);
    config.unknown.push_back(no_such_key(place(node), name, known, "berth config"));
  }
  /// Nothing: it is wrong, which has been told.
  [[nodiscard]] std::optional<ConfigValue> value_of(const toml::node& node,
                                                    const ConfigKey& key) const {
    if (!key.last_file || *key.last_file < source) {
      refuse(node, key.name,
             {ErrorCode::no_permission,
              key.last_file ? sentence("this file may not say it; write it into the user's "
                                       "or the machine's config.toml")
                            : sentence("no file may say it; use {}", key.variable)});
      return std::nullopt;
    }
    const auto text = text_of(node);
    if (!text) {
      refuse(node, key.name,
             Error(ErrorCode::invalid, "a text, a number or a list of them is wanted"));
      return std::nullopt;
    }
    if (const auto right = check(key, *text); !right) {
      refuse(node, key.name, right.error());
      return std::nullopt;
    }
    return ConfigValue{*text, source, place(node)};
  }
};

}  // namespace

std::string_view name_of(ConfigSource source) {
  switch (source) {
    case ConfigSource::machine:
      return "machine";
    case ConfigSource::user:
      return "user";
    case ConfigSource::project:
      return "project";
    case ConfigSource::variable:
      return "variable";
    case ConfigSource::flag:
      return "flag";
  }
  return "";
}

std::span<const ConfigKey> variable_keys() {
  static const std::array<ConfigKey, 4> keys = {{
      {.name = "language",
       .form = "LANGUAGE",
       .help = as_key("the language of words for people: en or zh_CN; else the locale's"),
       .variable = "BERTH_LANG",
       .flag = "--lang",
       .last_file = ConfigSource::user,
       .check = check_language},
      {.name = "ledger",
       .form = "DIRECTORY",
       .help = as_key("where leases are kept; else the machine's, else the user's own"),
       .variable = "BERTH_LEDGER",
       .last_file = ConfigSource::user,
       .check = check_path},
      {.name = "nvml_library",
       .form = "FILE",
       .help = as_key("the driver's library, where it is not found by itself"),
       .variable = "BERTH_NVML",
       .last_file = ConfigSource::user,
       .check = check_path},
      {.name = "simulated",
       .form = "NAME",
       .help = as_key("the simulated server that is shown instead of this machine"),
       .variable = "BERTH_SIM",
       .flag = "--sim"},
  }};
  return keys;
}

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = made_keys();
  return keys;
}

void Config::add(const ConfigKey& key, ConfigValue value) {
  if (!value.text.empty()) values_.insert_or_assign(key.name, std::move(value));
}

void Config::add_flag(std::string_view name, const std::string& text) {
  const ConfigKey* key = find_key(name);
  BERTH_CHECK(key != nullptr && !key->flag.empty(), "a flag is of a key in the table");
  add(*key, {text, ConfigSource::flag, std::string(key->flag)});
}

void Config::add_rules(const UserRules& rules, const std::string& path) {
  const auto add_one = [&](std::string_view name, const std::optional<std::string>& text) {
    const ConfigKey* key = find_key(name);
    BERTH_CHECK(key != nullptr, "a rule of jobs is a key in the table");
    if (text && find(name) == nullptr) add(*key, {*text, ConfigSource::machine, path});
  };
  add_one("request.memory", rules.memory);
  add_one("request.time", rules.time);
  add_one("request.prefer", rules.prefer);
}

void Config::pass_over(std::string_view name, Sentence why) {
  if (const auto found = values_.find(name); found != values_.end()) values_.erase(found);
  unknown.push_back(std::move(why));
}

void Config::add_file(ConfigSource source, const std::string& path, std::string_view text) {
  const auto parsed = parse_toml(text);
  if (!parsed) return mistakes.push_back(Error(parsed.error()).at(path));
  const FileReader reader{*this, source, path};
  const auto take = [&](const std::string& name, const toml::node& node) {
    const ConfigKey* key = find_key(name);
    if (key == nullptr) return reader.tell_unknown(node, name);
    if (auto value = reader.value_of(node, *key)) add(*key, std::move(*value));
  };
  for (const auto& [name, node] : *parsed) {
    const std::string outer(name.str());
    const toml::table* table = node.as_table();
    if (table == nullptr || table->empty()) {
      take(outer, node);
    } else {
      for (const auto& [inner, value] : *table) take(outer + "." + std::string(inner.str()), value);
    }
  }
}

const ConfigValue* Config::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::string> Config::text(std::string_view name) const {
  const ConfigValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  const bool is_in_file = value->source <= ConfigSource::project;
  if (is_in_file && value->text == config_default) return std::nullopt;
  return value->text;
}

Result<JobSpec> job_of(const std::vector<std::string>& typed, const Config& config,
                       std::string_view (*name)(const JobKey&)) {
  const auto keys = job_keys();
  BERTH_CHECK(typed.size() == keys.size(), "each key has its text, empty or not");
  JobSpec job;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ConfigValue* said = config.find(std::string(request_table) + std::string(keys[i].name));
    const bool is_typed = !typed[i].empty();
    const std::string text = is_typed ? typed[i] : said != nullptr ? said->text : std::string();
    if (text.empty() || text == config_default) continue;
    if (auto parsed = keys[i].parse(text, job); !parsed) {
      const std::string_view place = is_typed ? name(keys[i]) : said->origin;
      return std::unexpected(std::move(parsed).error().at(place));
    }
  }
  if (auto settled = settle(job); !settled) return std::unexpected(std::move(settled).error());
  return job;
}

}  // namespace berth
