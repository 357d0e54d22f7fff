// Whether a work tree differs from its commit, asked of git without letting the tree run anything.
// Its configuration may name programs: a file system monitor, filters, hooks. The tree may have
// come out of somebody's archive.

#include <algorithm>
#include <optional>

#include "base/process.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/variables.h"
#include "host_environment/gather.h"

namespace berth {

namespace {

/// Asks git in one tree, all questions together within `patience`.
class Git {
 public:
  Git(const std::string& root, const std::vector<std::string>& environment, Clock& clock,
      Duration patience)
      : root_(root),
        search_path_(search_path_in(environment)),
        // Without optional locks a background look does not get in the way of the user's own git.
        // Without protocols git does not fetch what a partial clone lacks.
        environment_(with_variables(environment, {{"GIT_OPTIONAL_LOCKS", "0"},
                                                  {"GIT_NO_LAZY_FETCH", "1"},
                                                  {"GIT_ALLOW_PROTOCOL", "none"},
                                                  {"GIT_TERMINAL_PROMPT", "0"}})),
        clock_(clock),
        deadline_(clock.now() + patience) {}

  /// What it prints; nothing: it failed, or with exit code 1, "there is none".
  std::optional<ChildAnswer> ask(const std::vector<std::string>& words) {
    std::vector<std::string> command = {"git", "-C", root_};
    for (const std::string& setting : settings_) {
      command.insert(command.end(), {"-c", setting});
    }
    command.insert(command.end(), words.begin(), words.end());
    auto answer = ask_child([&] { return become(command); }, clock_,
                            std::max(deadline_ - clock_.now(), Duration(0)), most_out);
    if (!answer || !answer->exit || answer->is_cut) return std::nullopt;
    return *std::move(answer);
  }
  void set(std::string setting) { settings_.push_back(std::move(setting)); }

  static constexpr std::size_t most_out = 4 << 20;

 private:
  int become(const std::vector<std::string>& command) const {
    reset_signals();
    (void)execute(command, environment_, search_path_);
    return 127;
  }

  std::string root_;
  std::string search_path_;
  std::vector<std::string> environment_;
  std::vector<std::string> settings_ = {"core.fsmonitor=", "core.hooksPath=/dev/null",
                                        "status.renames=false", "core.quotePath=false"};
  Clock& clock_;
  Instant deadline_;
};

/// Takes away what the configuration names as filters. Nothing: that cannot be done for sure.
std::optional<bool> take_filters_away(Git& git) {
  const auto listed = git.ask({"config", "-z", "--includes", "--name-only", "--get-regexp",
                               "^filter\\..*\\.(clean|smudge|process|required)$"});
  if (!listed || listed->exit->signal != 0 || listed->exit->code > 1) return std::nullopt;
  bool any = false;
  for (const std::string_view key : split(listed->out, '\0')) {
    if (key.empty()) continue;
    if (key.find('=') != key.npos) return std::nullopt;  // `-c` would take it for the value
    git.set(std::string(key) + (key.ends_with(".required") ? "=false" : "="));
    any = true;
  }
  return any;
}

/// The paths of files that are changed in the tree alone; nothing: something else differs too.
std::optional<std::vector<std::string>> changed_contents(std::string_view status) {
  std::vector<std::string> paths;
  for (const std::string_view entry : split(status, '\0')) {
    if (entry.empty()) continue;
    if (!entry.starts_with(" M ")) return std::nullopt;
    paths.emplace_back(entry.substr(3));
  }
  return paths;
}

/// Without its filter a file's content says nothing of whether it was changed.
bool are_all_filtered(Git& git, const std::vector<std::string>& paths) {
  constexpr std::size_t most_asked = 500;  // a command line is finite; one unfiltered decides
  std::vector<std::string> words = {"check-attr", "-z", "filter", "--"};
  words.insert(words.end(), paths.begin(),
               paths.begin() + static_cast<std::ptrdiff_t>(std::min(paths.size(), most_asked)));
  const auto attributes = git.ask(words);
  if (!attributes || *attributes->exit != Exit{}) return true;
  const auto fields = split(attributes->out, '\0');
  for (std::size_t at = 2; at < fields.size(); at += 3) {
    if (fields[at] == "unspecified" || fields[at] == "unset" || fields[at] == "set") return false;
  }
  return true;
}

}  // namespace

Reading<bool> is_git_dirty(const std::string& root, const std::vector<std::string>& environment,
                           Clock& clock) {
  const std::string path = search_path_in(environment);
  if (!find_executable("git", path)) return Absent::unsupported;
  Git git(root, environment, clock, std::chrono::seconds(2));
  const auto filtered = take_filters_away(git);
  if (!filtered) return Absent::failed;
  // A submodule has a configuration of its own: of it the commit alone is looked at.
  const auto status =
      git.ask({"status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty"});
  if (!status || *status->exit != Exit{}) return Absent::failed;
  if (status->out.empty()) return false;
  if (!*filtered) return true;
  const auto changed = changed_contents(status->out);
  if (!changed || !are_all_filtered(git, *changed)) return true;
  return Absent::unsupported;
}

}  // namespace berth
