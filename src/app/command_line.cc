#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "app/verb.h"
#include "app/words.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "serve/metrics.h"
#include "view/csv.h"
#include "view/paint.h"
#include "view/self_description.h"
#include "view/table.h"

namespace berth {

namespace {

// The layout of a verb's --help: options on the left, their meaning on the right. It is 80 columns
// wide in every language.
class HelpFormat final : public CLI::Formatter {
 public:
  HelpFormat(std::string_view examples, std::string words)
      : examples_(examples), words_(std::move(words)) {}

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    constexpr std::ptrdiff_t screen = 40;
    std::string full = help_with(app, name, CLI::AppFormatMode::All);
    if (mode == CLI::AppFormatMode::All || std::ranges::count(full, '\n') <= screen) return full;
    return help_with(app, name, mode) +
           trf("berth {} --help-all shows all options.", app->get_display_name().substr(6)) + "\n";
  }

  std::string make_description(const CLI::App* app) const override {
    std::string text = CLI::Formatter::make_description(app) + "\n";
    for (const std::string_view example : split(examples_, '\n')) {
      text += fmt::format("  {}\n", example);
    }
    return text + "\n";
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    constexpr int what_it_does = 30;
    const Style style{.width = 80};
    std::string left = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    const int taken = display_width(left);
    const std::string text = make_option_desc(option);
    if (taken + 1 < what_it_does) {
      left.append(static_cast<std::size_t>(what_it_does - taken), ' ');
      return wrapped(left, text, what_it_does, style);
    }
    return left + "\n" + wrapped(std::string(what_it_does, ' '), text, what_it_does, style);
  }

  std::string make_footer(const CLI::App* app) const override {
    if (app->get_footer().empty()) return "";
    return "\n" + wrapped("", app->get_footer(), 2, {.width = 80});
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    const std::size_t end = usage.find('\n');
    if (!words_.empty() && end != std::string::npos) usage.insert(end, " " + words_);
    return usage;
  }

 private:
  std::string help_with(const CLI::App* app, const std::string& name,
                        CLI::AppFormatMode mode) const {
    std::string text = make_description(app) + make_usage(app, name) + make_positionals(app);
    const std::vector<std::string> groups = app->get_groups();
    for (const std::string& group : groups) {
      const bool is_first = group == groups.front();
      const auto shown = app->get_options([&](const CLI::Option* option) {
        return option->get_group() == group && option->nonpositional() &&
               (mode == CLI::AppFormatMode::All || is_first || is_used_most(*option));
      });
      if (!group.empty() && !shown.empty()) text += make_group(group, false, shown);
    }
    text += "\n" + make_footer(app);
    return mode == CLI::AppFormatMode::All ? text + note_on_times(app) : text;
  }

  /// Where all is shown: on a screen there is no room for it.
  static std::string note_on_times(const CLI::App* app) {
    const auto times = app->get_options([](const CLI::Option* option) {
      const std::string form = option->get_type_name();
      return (form == "TIME" || form == "[TIME]") && !option->get_group().empty();
    });
    if (times.empty()) return "";
    return wrapped("",
                   std::string(tr("TIME is 90s, 5m, 2h or 1h30m. A number alone is seconds; "
                                  "--time and a reservation's --for refuse it.")),
                   2, {.width = 80});
  }

  /// Beside a verb's own.
  static bool is_used_most(const CLI::Option& option) {
    constexpr auto used_most = std::to_array<std::string_view>(
        {"--devices", "--memory", "--only", "--wait", "--or-cpu", "--detach", "--log", "--time",
         "--all", "--listen", "--tokens", "--join", "--partition"});
    return std::ranges::any_of(
        used_most, [&](std::string_view name) { return option.check_name(std::string(name)); });
  }

  std::string_view examples_;
  std::string words_;
};

/// The words that CLI11 itself puts into a help text.
void name_help_parts(CLI::App& app) {
  const auto formatter = app.get_formatter();
  const auto word = [&](const char* label, std::string_view shown) {
    formatter->label(label, std::string(shown));
  };
  word("Usage", tr("Usage"));
  word("Positionals", tr("Positionals"));
  word("OPTIONS", tr("OPTIONS"));
  word("REQUIRED", tr("REQUIRED"));
  const std::string group(tr("Options"));
  app.option_defaults()->group(group);
  app.get_help_ptr()->group(group);
}

/// The options of one verb, for parsing, --help, completions and the manual.
std::unique_ptr<CLI::App> declare_options(const VerbEntry& entry, Verb& verb,
                                          GlobalOptions& globals) {
  auto app = std::make_unique<CLI::App>(std::string(tr(entry.summary)),
                                        "berth " + std::string(entry.name));
  app->set_help_flag("-h,--help", std::string(tr("show this and exit")));
  app->set_help_all_flag("--help-all", std::string(tr("show all options and exit")))->group("");
  if (verb.takes_command()) app->prefix_command();
  app->footer(verb.notes());
  app->formatter(std::make_shared<HelpFormat>(entry.examples, verb.words_in_usage()));
  name_help_parts(*app);
  Options options(*app);
  verb.declare(options);
  options.begin_group("Everywhere");
  options.filled_value(
      "--sim", globals.sim,
      "a simulated server: a built-in name or a file; alone: server-8xh100 (BERTH_SIM)", "NAME");
  options.filled_value("--replay", globals.replay,
                       "a snapshot or recording instead of this machine; - is stdin", "FILE");
  options.filled_value("--lang", globals.lang, "en or zh_CN (BERTH_LANG)", "LANGUAGE");
  return app;
}

VerbText describe(const VerbEntry& entry) {
  const std::unique_ptr<Verb> verb = entry.make();
  GlobalOptions globals;
  const auto app = declare_options(entry, *verb, globals);
  VerbText text{.name = std::string(entry.name),
                .summary = std::string(tr(entry.summary)),
                .takes_command = verb->takes_command()};
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    OptionText one{.what = option->get_description(),
                   .takes_value = option->get_items_expected_max() > 0,
                   .value = option->get_type_name()};
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    text.options.push_back(std::move(one));
  }
  return text;
}

std::vector<VerbText> describe_all() {
  std::vector<VerbText> all;
  for (const VerbEntry& entry : verbs()) all.push_back(describe(entry));
  return all;
}

std::string overview(const Style& style) {
  std::string text = trf(
      "berth {}: see every GPU, put each job on the right one, keep the record.\n", BERTH_VERSION);
  text += "\n";
  text += tr("Usage: berth [VERB] [OPTIONS]");
  text += "\n\n";
  static constexpr TableColumn columns[] = {{}, {.wraps = true}};
  std::vector<TableRow> rows;
  for (const VerbEntry& entry : verbs()) {
    rows.push_back({"  " + std::string(entry.name), own(tr(entry.summary), style)});
  }
  const Table table(columns, std::move(rows), 2, style);
  std::string_view group;
  std::size_t row = 0;
  for (const VerbEntry& entry : verbs()) {
    if (std::exchange(group, entry.group) != entry.group) {
      text += fmt::format("{}{}:\n", text.ends_with("\n\n") ? "" : "\n", tr(entry.group));
    }
    text += table.line(row++);
  }
  text += "\n";
  text += tr("berth VERB --help tells more. Try: berth demo");
  text += "\n";
  return text;
}

/// Splits "options -- command" or, without "--", leaves the command to CLI11's prefix rule.
struct SplitWords {
  std::vector<std::string> options;
  std::vector<std::string> command;
  bool separated = false;
};

SplitWords split_at_dashes(const std::vector<std::string>& words) {
  SplitWords split;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  split.options.assign(words.begin(), dashes);
  if (dashes != words.end()) {
    split.separated = true;
    split.command.assign(dashes + 1, words.end());
  }
  return split;
}

int refuse(const VerbEntry& entry, const Verb& verb, std::string_view mistake) {
  complain(trf("{}: {} (berth {} --help shows what it takes)", entry.name,
               Sentence(printable(mistake)).shown(), entry.name));
  return verb.usage_code();
}

/// " 2" of "--gpus 2" and of "--gpus=2": what is meant is then whole. Empty: no number follows.
std::string amount_after(const std::string& option, const std::vector<std::string>& left) {
  const auto is_amount = [](std::string_view word) {
    return !word.empty() && word.front() >= '0' && word.front() <= '9';
  };
  if (const std::size_t equals = option.find('='); equals != std::string::npos) {
    const std::string value = option.substr(equals + 1);
    return is_amount(value) ? " " + value : std::string();
  }
  const auto next = std::ranges::find(left, option) + 1;
  return next != left.end() && is_amount(*next) ? " " + *next : std::string();
}

/// Says that the verb does not take a word, and what was probably meant.
std::string not_taken(const CLI::App& app, const std::vector<std::string>& left) {
  const auto option =
      std::ranges::find_if(left, [](const std::string& word) { return word.starts_with('-'); });
  if (option == left.end()) return trf("it takes no word \"{}\"", left.front());
  std::vector<std::string> all;
  for (const CLI::Option* one : app.get_options()) {
    if (one->get_group().empty()) continue;
    for (const std::string& name : one->get_lnames()) all.push_back("--" + name);
    for (const std::string& name : one->get_snames()) all.push_back("-" + name);
  }
  const std::string typed = option->substr(0, option->find('='));
  std::string_view meant = option_called(typed);
  if (std::ranges::find(all, meant) == all.end()) meant = nearest_of(typed, all);
  if (meant.empty()) return trf("it has no option {}", typed);
  return trf("it has no option {}; did you mean {}?", typed,
             std::string(meant) + amount_after(*option, left));
}

/// Nothing: there is none.
std::optional<std::string> mistake_in_machine(const GlobalOptions& globals) {
  if (!globals.sim.empty() && !globals.replay.empty()) {
    return std::string(tr("--sim and --replay name two machines: give one"));
  }
  return mistake_in_server(globals.sim);
}

std::optional<std::string> mistake_in_globals(const GlobalOptions& globals) {
  if (!globals.lang.empty() && !is_known_language(globals.lang)) {
    return trf("--lang does not know \"{}\": there are en and zh_CN", printable(globals.lang));
  }
  return mistake_in_machine(globals);
}

void tell_unknown_language(const Context& context, const GlobalOptions& globals) {
  const std::string wanted = context.variable("BERTH_LANG").value_or("");
  if (!globals.lang.empty() || wanted.empty() || is_known_language(wanted)) return;
  complain(
      trf("BERTH_LANG is \"{}\", which is not known: there are en and zh_CN", printable(wanted)));
}

/// Whether it is this machine's driver that is going to be asked, in the language known by now.
bool is_about_this_machine(const Context& context, const std::vector<std::string>& words) {
  const auto changes_that = [](std::string_view word) {
    return word == "-h" || word.starts_with("--help") || word.starts_with("--sim") ||
           word.starts_with("--replay") || word.starts_with("--lang");
  };
  return !context.sources().simulated && std::ranges::none_of(words, changes_that);
}

/// A verb that only shows something goes on without the mistaken part of the configuration.
void tell_mistakes_in_config(const Context& context, const Verb& verb) {
  if (verb.decides_by_config()) return;
  for (const Error& mistake : context.config().mistakes) complain(mistake.shown());
}

int run_verb(Context& context, const VerbEntry& entry, std::vector<std::string> words) {
  if (entry.first == FirstAct::look && is_about_this_machine(context, words)) context.open_driver();
  const std::unique_ptr<Verb> verb = entry.make();
  if (verb->takes_words_as_they_are()) {
    const GlobalOptions globals = taken_globals(words);
    if (!globals.incomplete.empty()) {
      return refuse(entry, *verb, trf("{} needs a value behind it", globals.incomplete));
    }
    if (const auto mistake = mistake_in_globals(globals)) return refuse(entry, *verb, *mistake);
    context.apply(globals);
    tell_unknown_language(context, globals);
    tell_mistakes_in_config(context, *verb);
    return verb->run(context, words);
  }
  GlobalOptions globals;
  const std::unique_ptr<CLI::App> app = declare_options(entry, *verb, globals);
  SplitWords split =
      verb->takes_command() ? split_at_dashes(words) : SplitWords{.options = std::move(words)};
  split.options = with_optional_values(split.options, *app, *verb);
  try {
    std::reverse(split.options.begin(), split.options.end());  // as CLI11's vector parser wants it
    app->parse(split.options);
  } catch (const CLI::CallForHelp&) {
    print(app->help());
    return exit_code::ok;
  } catch (const CLI::CallForAllHelp&) {
    print(app->help("", CLI::AppFormatMode::All));
    return exit_code::ok;
  } catch (const CLI::ExtrasError&) {
    return refuse(entry, *verb, not_taken(*app, app->remaining()));
  } catch (const CLI::ParseError& mistake) {
    return refuse(entry, *verb, mistake.what());
  }
  std::vector<std::string> rest = app->remaining();
  if (!rest.empty() && rest.front().starts_with('-')) {
    return refuse(entry, *verb, not_taken(*app, rest));
  }
  if (split.separated) {
    if (!rest.empty() && !verb->takes_words_before_dashes()) {
      return refuse(entry, *verb, trf("unexpected word \"{}\" before --", rest.front()));
    }
    rest.insert(rest.end(), split.command.begin(), split.command.end());
  }
  if (const auto mistake = mistake_in_globals(globals)) return refuse(entry, *verb, *mistake);
  const CLI::Option* json = app->get_option_no_throw("--json");
  globals.for_programs = json != nullptr && json->count() > 0;
  context.apply(globals);
  tell_unknown_language(context, globals);
  tell_mistakes_in_config(context, *verb);
  const int code = verb->run(context, rest);
  const auto unwritten = verb->unwritten_code();
  return unwritten && !finish_output() ? *unwritten : code;
}

int tell_version() {
  print(fmt::format("berth {}\n", BERTH_VERSION));
  return exit_code::ok;
}

int tell_completions(const std::string& shell) {
  const std::string script = completion_script(shell, describe_all());
  if (script.empty()) {
    complain(tr("berth completion takes bash, zsh or fish"));
    return exit_code::usage;
  }
  print(script);
  return exit_code::ok;
}

std::string help_of_version() {
  return fmt::format("{}\n\n  berth version\n  berth --version\n\n{}\n", tr("which berth this is"),
                     tr("Usage: berth version"));
}

std::string help_of_completion() {
  std::string text(tr("what completes verbs and options in a shell"));
  text += "\n\n  source <(berth completion bash)\n  berth completion fish | source\n\n";
  text += tr("Usage: berth completion bash|zsh|fish");
  text += "\n\n";
  text +=
      tr("To have it in every shell: the one in ~/.bashrc, the other in\n"
         "~/.config/fish/config.fish. zsh reads it from a folder of its $fpath:\n"
         "berth completion zsh >FOLDER/_berth. The packages install all three.");
  return text + "\n";
}

/// The words beside the verbs, which take no options but help. Nothing: it is none of them.
std::optional<int> answer_beside_verbs(std::string_view name,
                                       const std::vector<std::string>& words) {
  if (name != "version" && name != "completion") return std::nullopt;
  const bool asks_for_help = std::ranges::any_of(words, [](const std::string& word) {
    return word == "--help" || word == "-h" || word == "--help-all";
  });
  if (asks_for_help) {
    print(name == "version" ? help_of_version() : help_of_completion());
    return exit_code::ok;
  }
  if (name == "version") return tell_version();
  return tell_completions(words.size() == 1 ? words.front() : "");
}

int refuse_verb(const std::string& name) {
  std::vector<std::string> all;
  for (const VerbEntry& entry : verbs()) all.emplace_back(entry.name);
  for (const char* word : {"help", "version", "completion"}) all.emplace_back(word);
  const std::string_view meant = nearest_of(name, all);
  if (meant.empty()) {
    complain(
        trf("there is no verb \"{}\"; berth --help lists them (to run a command: berth run -- "
            "{})",
            printable(name), printable(name)));
  } else {
    complain(trf("there is no verb \"{}\"; did you mean {}? (to run a command: berth run -- {})",
                 printable(name), meant, printable(name)));
  }
  return exit_code::usage;
}

}  // namespace

std::string Verb::words_in_usage() const {
  return takes_command() ? "-- " + std::string(tr("COMMAND")) + " ..." : std::string();
}

int run_command_line(Context& context, const std::vector<std::string>& arguments) {
  GlobalOptions by_environment;
  context.apply(by_environment);
  std::vector<std::string> words = arguments;
  const auto position = find_verb_position(words);
  if (position) {
    const std::string name = words[*position];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(*position));
    if (name == "help") {
      const VerbEntry* asked = words.empty() ? nullptr : find_verb(words.front());
      if (asked != nullptr) return run_verb(context, *asked, {"--help"});
      const std::string beside = words.empty() ? "" : words.front();
      if (const auto answered = answer_beside_verbs(beside, {"--help"})) return *answered;
      print(overview(context.out_uncut()));
      return exit_code::ok;
    }
    const VerbEntry* entry = find_verb(name);
    if (entry == nullptr) entry = find_verb(verb_called(name));
    if (entry != nullptr) return run_verb(context, *entry, std::move(words));
    if (const auto answered = answer_beside_verbs(name, words)) return *answered;
    return refuse_verb(name);
  }
  if (!words.empty()) {
    const std::string& first = words.front();
    if (first == "--help" || first == "-h") {
      print(overview(context.out_uncut()));
      return exit_code::ok;
    }
    if (first == "--version" || first == "-V") return tell_version();
    if (first == "--man") {
      print(manual_page(describe_all()));
      return exit_code::ok;
    }
    if (first == "--metrics-doc") {
      print(render_metrics_markdown() + serve::metrics_markdown());
      return exit_code::ok;
    }
    if (first == "--rules-doc") {
      print(rules_markdown());
      return exit_code::ok;
    }
    if (first == "--completions" && words.size() == 2) return tell_completions(words[1]);
  }
  return run_verb(context, *find_verb("status"), std::move(words));
}

}  // namespace berth
