#include "view/self_description.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "diagnose/bottleneck/bottleneck.h"
#include "diagnose/doctor/doctor.h"
#include "diagnose/postmortem/catalogue.h"
#include "diagnose/postmortem/postmortem.h"
#include "health/rules.h"

namespace berth {

namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string bash_script(const std::vector<VerbText>& verbs) {
  std::string names;
  std::string cases;
  for (const VerbText& verb : verbs) {
    names += verb.name + " ";
    std::string options;
    for (const OptionText& option : verb.options) {
      for (const std::string& name : option.names) options += name + " ";
    }
    cases += "    " + verb.name + ") words=\"" + options + "\" ;;\n";
  }
  return "# bash completion for berth\n"
         "_berth() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} verb='' word words=''\n"
         "  local i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=${COMP_WORDS[i]}\n"
         "    case $verb:$word in\n"
         "      run:--)\n"
         "        _berth_command $((i + 1))\n"
         "        return ;;\n"
         "      :-*) ;;\n"
         "      :*) verb=$word ;;\n"
         "    esac\n"
         "  done\n"
         "  case $verb in\n"
         "    '') words=\"" +
         names + "--help --version\" ;;\n" + cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  case $verb:$current in run:-*) ;; run:*)\n"
         "    COMPREPLY+=($(compgen -A command -A file -- \"$current\")) ;;\n"
         "  esac\n"
         "}\n"
         "_berth_command() {\n"
         "  if declare -F _command_offset >/dev/null; then _command_offset \"$1\"; return; fi\n"
         "  COMPREPLY=($(compgen -A command -A file -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -F _berth berth\n";
}

std::string zsh_script(const std::vector<VerbText>& verbs) {
  const auto quoted = [](const std::string& text) {
    return replaced(replaced(replaced(text, "'", "'\\''"), "[", "("), "]", ")");
  };
  std::string verbs_list;
  std::string cases;
  for (const VerbText& verb : verbs) {
    verbs_list += "    '" + verb.name + ":" + replaced(quoted(verb.summary), ":", "\\:") + "'\n";
    cases += "    " + verb.name + ")\n      _arguments -S \\\n";
    for (const OptionText& option : verb.options) {
      for (const std::string& name : option.names) {
        cases += "        '" + name + "[" + quoted(option.what) + "]" +
                 (option.takes_value ? ":value:" : "") + "' \\\n";
      }
    }
    cases += verb.takes_command ? "        '*::command:_normal'\n      ;;\n"
                                : "        '*:argument:_files'\n      ;;\n";
  }
  return "#compdef berth\n"
         "local -a verbs\n"
         "verbs=(\n" +
         verbs_list +
         ")\n"
         "if (( CURRENT == 2 )); then\n"
         "  _describe verb verbs\n"
         "else\n"
         "  local verb=$words[2]\n"
         "  shift words; (( CURRENT-- ))\n"
         "  case $verb in\n" +
         cases +
         "  esac\n"
         "fi\n";
}

std::string fish_script(const std::vector<VerbText>& verbs) {
  const auto quoted = [](const std::string& text) {
    return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
  };
  std::string script = "complete -c berth -f\n";
  for (const VerbText& verb : verbs) {
    script += "complete -c berth -n __fish_use_subcommand -a " + verb.name + " -d " +
              quoted(verb.summary) + "\n";
    for (const OptionText& option : verb.options) {
      script += "complete -c berth -n '__fish_seen_subcommand_from " + verb.name + "'";
      for (const std::string& name : option.names) {
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.takes_value) script += " -r";
      script += " -d " + quoted(option.what) + "\n";
    }
    if (verb.takes_command) {
      script += "complete -c berth -n '__fish_seen_subcommand_from " + verb.name +
                "' -a '(__fish_complete_subcommand)'\n";
    }
  }
  return script;
}

std::string roff(const std::string& text) {
  std::string safe = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  if (!safe.empty() && (safe[0] == '.' || safe[0] == '\'')) safe.insert(0, "\\&");
  return safe;
}

/// Names as code, "`one`, `two`"; words that stand for names as they are.
std::string names_cell(const Reported& line) {
  return joined(names_in({&line, 1}), ", ", [](std::string_view name) {
    const bool is_name = name.find(' ') == std::string_view::npos;
    return is_name ? fmt::format("`{}`", name) : std::string(name);
  });
}

std::string between_marks(std::string_view part, std::string_view text) {
  return fmt::format("<!-- made by ./dev docs: {} -->\n\n{}\n<!-- end -->\n", part, text);
}

template <class Rule>
std::string table_of(std::string_view part, std::string_view head, const std::vector<Rule>& rules) {
  std::string table = fmt::format("{}\n|---|---|---|---|\n", head);
  for (const Rule& rule : rules) {
    for (const Reported& line : rule.reports) {
      if (line.names == nullptr) break;
      table += fmt::format("| {} |", names_cell(line));
      for (const char* column : line.columns) table += fmt::format(" {} |", column);
      table += "\n";
    }
  }
  return between_marks(part, table);
}

std::string catalogue_tables() {
  std::string tables;
  for (const LogFamily& family : log_catalogue()) {
    tables += fmt::format("{}**{}**\n\n| code | what it says | part |\n|---|---|---|\n",
                          tables.empty() ? "" : "\n", family.about);
    for (const LogEntry& entry : family.entries) {
      tables += fmt::format("| `{}` | {} | {} |\n", entry.code, entry.title, name_of(entry.part));
    }
  }
  return between_marks("the catalogue of error texts", tables);
}

}  // namespace

std::string completion_script(std::string_view shell, const std::vector<VerbText>& verbs) {
  if (shell == "bash") return bash_script(verbs);
  if (shell == "zsh") return zsh_script(verbs);
  if (shell == "fish") return fish_script(verbs);
  return {};
}

std::string manual_page(const std::vector<VerbText>& verbs) {
  std::string page =
      ".TH BERTH 1 \"\" \"berth " BERTH_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\nberth \\- see every GPU, put each job on the right one, keep the record\n"
      ".SH SYNOPSIS\n.B berth\n[\\fIverb\\fR] [\\fIoptions\\fR]\n.br\n"
      ".B berth run\n[\\fIoptions\\fR] \\-\\- \\fIcommand\\fR ...\n"
      ".SH DESCRIPTION\n"
      "Without a verb, berth shows every device of this machine, who is on it and who leases it.\n"
      "\\fBberth run\\fR starts a command on the right device, alone there, and keeps a record of "
      "what it was given and what it used. No server, database or root is needed.\n"
      ".SH VERBS\n";
  for (const VerbText& verb : verbs) {
    page += ".SS berth " + roff(verb.name) + "\n" + roff(verb.summary) + "\n";
    for (const OptionText& option : verb.options) {
      const std::string names = joined(
          option.names, ", ", [](const std::string& name) { return "\\fB" + roff(name) + "\\fR"; });
      page += ".TP\n" + names + (option.takes_value ? " \\fI" + roff(option.value) + "\\fR" : "") +
              "\n" + roff(option.what) + "\n";
    }
  }
  page +=
      ".SH EXIT STATUS\n"
      "\\fBberth run\\fR exits as its job did; 124 when no device came in time, 125 when berth "
      "itself failed, 126 and 127 when the command cannot be run or found, 128+n when a signal "
      "ended the job. Other verbs: 0 done, 1 failed, 2 wrong options, 124 no device free.\n"
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBBROWSER\\fR\nWhat \\fBberth serve\\fR opens its page in instead of xdg\\-open: "
      "commands "
      "with colons between them, their words ending at spaces, %s the address.\n"
      ".TP\n\\fBBERTH_SIM\\fR\nA simulated server: a built\\-in name (berth scenarios) or a file.\n"
      ".TP\n\\fBBERTH_LEDGER\\fR\nDirectory of the ledger instead of /run/berth or one's own.\n"
      ".TP\n\\fBBERTH_NVML\\fR\nThe NVML library instead of libnvidia\\-ml.so.1.\n"
      ".TP\n\\fBBERTH_LANG\\fR\nLanguage of words for people: en or zh_CN.\n"
      ".TP\n\\fBNO_COLOR\\fR, \\fBCLICOLOR=0\\fR\nNo colours.\n"
      ".TP\n\\fBCLICOLOR_FORCE\\fR\nColours also where no terminal shows them.\n"
      ".TP\n\\fBXDG_STATE_HOME\\fR\nRecords of runs go to berth/runs in it (default "
      "~/.local/state).\n"
      ".SH FILES\n"
      ".TP\n\\fI/run/berth\\fR\nThe ledger that all users share, made by \\fBberth setup\\fR.\n"
      ".TP\n\\fI/etc/berth/config.toml\\fR, \\fI~/.config/berth/config.toml\\fR, "
      "\\fIberth.toml\\fR\nThe configuration of the machine, the user and the project: "
      "\\fBberth config \\-\\-origin\\fR.\n"
      ".TP\n\\fI/var/tmp/berth\\-UID\\fR\nOne user's own ledger where there is no shared one.\n"
      ".SH SEE ALSO\n.BR nvidia\\-smi (1)\n";
  return page;
}

std::string rules_markdown() {
  return table_of("rules of doctor", "| rule | severity | evidence | what to try |",
                  doctor::all_rules()) +
         table_of("rules of health", "| code | state | evidence | what to try |",
                  health::all_rules()) +
         table_of("rules of explain", "| rule | what it says | evidence | what to change |",
                  bottleneck::all_rules()) +
         table_of("rules over a run", "| rule | severity | evidence | sure? |",
                  postmortem_rules()) +
         catalogue_tables();
}

}  // namespace berth
