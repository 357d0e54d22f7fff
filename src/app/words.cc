#include "app/words.h"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/letters_apart.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/sim/scenario.h"
#include "probe/sources.h"

namespace berth {

namespace {

/// "--sim NAME" takes a word of its own; "--sim=NAME" does not.
bool is_global_with_value(std::string_view word) {
  return word == "--sim" || word == "--replay" || word == "--lang";
}

bool is_global(std::string_view word) {
  return is_global_with_value(word.substr(0, word.find('=')));
}

/// A "--sim" with no word behind it that could be a server's name, or that asks for none: "--sim=".
bool names_no_server(const std::vector<std::string>& words, std::size_t at) {
  if (words[at] == "--sim=") return true;
  if (words[at] != "--sim") return false;
  return at + 1 == words.size() || words[at + 1].starts_with('-');
}

std::string server_for_nobody() { return "--sim=" + std::string(sim::default_scenario); }

/// Whether the word behind it is its value.
bool takes_next_word(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = app.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0;
}

/// "--wait" of "--wait=", as a variable that is not set leaves it.
std::optional<std::string> option_without_value(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("--") || !word.ends_with('=')) return std::nullopt;
  std::string option = word.substr(0, word.size() - 1);
  return takes_next_word(app, option) ? std::optional(std::move(option)) : std::nullopt;
}

}  // namespace

const VerbEntry* find_verb(std::string_view name) {
  for (const VerbEntry& entry : known_verbs()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::optional<std::size_t> find_verb_position(std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool before_verb =
        words[i] == "--sim" && i + 1 < words.size() && find_verb(words[i + 1]) != nullptr;
    if (before_verb || names_no_server(words, i)) {
      words[i] = server_for_nobody();
    } else if (is_global_with_value(words[i])) {
      ++i;
    } else if (!is_global(words[i])) {
      return words[i].starts_with('-') ? std::nullopt : std::optional(i);
    }
  }
  return std::nullopt;
}

GlobalOptions taken_globals(std::vector<std::string>& words) {
  GlobalOptions globals;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (names_no_server(words, i)) words[i] = server_for_nobody();
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const bool value_follows = equals == std::string::npos;
    const bool lacks_value = value_follows ? i + 1 == words.size() || words[i + 1].empty()
                                           : equals + 1 == words[i].size();
    if (is_global_with_value(name) && lacks_value) {
      globals.incomplete = name;
      continue;
    }
    if (!is_global_with_value(name)) {
      others.push_back(words[i]);
      continue;
    }
    std::string& into = name == "--sim"      ? globals.sim
                        : name == "--replay" ? globals.replay
                                             : globals.lang;
    into = value_follows ? words[++i] : words[i].substr(equals + 1);
  }
  words = std::move(others);
  return globals;
}

std::optional<std::string> mistake_in_server(const std::string& sim) {
  if (sim.empty() || sim::builtin_scenario(sim)) return std::nullopt;
  // Any other trouble with a file is told when it is read.
  if (::access(sim.c_str(), F_OK) == 0 || errno != ENOENT) return std::nullopt;
  return trf(
      "--sim: there is no simulated server and no file \"{}\"; the servers are {}, and --sim= "
      "alone "
      "means {}",
      printable(sim), joined(builtin_scenarios(), ", ", &ScenarioName::name),
      sim::default_scenario);
}

namespace {
bool is_no_option(std::string_view word) {
  return !word.starts_with('-') || (word.size() > 1 && word[1] >= '0' && word[1] <= '9');
}
}  // namespace

std::vector<std::string> with_optional_values(const std::vector<std::string>& words,
                                              const CLI::App& app, const Verb& verb) {
  const std::vector<OptionalValue> optional_values = verb.optional_values();
  std::vector<std::string> complete;
  std::size_t i = 0;
  for (; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (verb.takes_command() && !word.starts_with('-')) break;
    if (names_no_server(words, i)) {
      complete.push_back(server_for_nobody());
      continue;
    }
    if (const auto option = option_without_value(app, word)) {
      complete.insert(complete.end(), {*option, std::string()});  // else the next word would be it
      continue;
    }
    complete.push_back(word);
    const auto optional = std::ranges::find(optional_values, word, &OptionalValue::option);
    if (optional != optional_values.end()) {
      const bool value_follows =
          i + 1 < words.size() &&
          (words[i + 1].empty() || parse_duration(words[i + 1]).has_value() ||
           (!verb.takes_command() && is_no_option(words[i + 1])));  // then it says what is wrong
      complete.emplace_back(value_follows ? words[++i] : std::string(optional->value_if_alone));
    } else if (takes_next_word(app, word) && i + 1 < words.size()) {
      complete.push_back(words[++i]);
    }
  }
  complete.insert(complete.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return complete;
}

namespace {

using Known = std::pair<std::string_view, std::string_view>;

constexpr std::array<Known, 7> verbs_elsewhere = {{
    {"squeue", "queue"},
    {"jobs", "runs"},
    {"kill", "stop"},
    {"scancel", "stop"},
    {"release", "stop"},
    {"watch", "top"},
    {"ls", "status"},
}};

constexpr std::array<Known, 9> options_elsewhere = {{
    {"--gpus", "-n"},
    {"--num-gpus", "-n"},
    {"--ngpus", "-n"},
    {"--gpus-per-node", "-n"},
    {"--mem", "--memory"},
    {"--gpu-memory", "--memory"},
    {"--timeout", "--time"},
    {"--device", "--only"},
    {"--exclude", "--except"},
}};

template <std::size_t Count>
std::string_view known_as(const std::array<Known, Count>& words, std::string_view typed) {
  const auto found = std::ranges::find(words, typed, &Known::first);
  return found == words.end() ? std::string_view() : found->second;
}

}  // namespace

std::string_view nearest_of(std::string_view typed, const std::vector<std::string>& words) {
  constexpr std::size_t longest = 64;
  if (typed.size() > longest) return {};
  const std::size_t letters = typed.size() - std::min(typed.find_first_not_of('-'), typed.size());
  // A third of what was typed, and of a short word one letter: "ps" is not "pick".
  std::size_t most = std::max<std::size_t>(letters / 3, letters > 2 ? 1 : 0);
  std::string_view best;
  for (const std::string& word : words) {
    const std::size_t apart = letters_apart(typed, word);
    if (apart > most || (apart == most && !best.empty())) continue;
    best = word;
    most = apart;
  }
  return best;
}

std::string_view verb_called(std::string_view typed) { return known_as(verbs_elsewhere, typed); }
std::string_view option_called(std::string_view typed) {
  return known_as(options_elsewhere, typed.substr(0, typed.find('=')));
}

}  // namespace berth
