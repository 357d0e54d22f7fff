#include "app/support_parts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "app/past_runs.h"
#include "app/progress.h"
#include "app/server_paths.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/user_name.h"
#include "record/run_record.h"
#include "run/own_processes.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_kind_rows.h"
#include "snapshot/json.h"

namespace berth {

namespace {

constexpr auto look_patience = std::chrono::seconds(30);
constexpr auto log_patience = std::chrono::seconds(10);
constexpr std::size_t runs_shown = 3;
/// Before it is cleaned and shortened: the snapshot of a large machine has to be whole to be read.
constexpr std::size_t most_of_a_part = 64 << 20;

/// Variables that change what a GPU program does.
bool matters(std::string_view name) {
  static constexpr auto prefixes = std::to_array<std::string_view>(
      {"BERTH_", "CUDA",        "GPU_",   "TORCH",       "PYTORCH_", "XLA_", "TF_", "JAX_",
       "HF_",    "WANDB_",      "OMP_",   "LD_",         "PYTHON",   "XDG_", "LC_", "CONDA_",
       "LANG",   "VIRTUAL_ENV", "SLURM_", "KUBERNETES_", "DOCKER_",  "AWS_", "TERM"});
  const std::string entry = std::string(name) + "=";
  const auto is_one = [&](std::string_view beginning) { return entry.starts_with(beginning); };
  return std::ranges::find(told_variables, name) != told_variables.end() ||
         std::ranges::any_of(prefixes, is_one) || std::ranges::any_of(variable_beginnings, is_one);
}

class Gatherer {
 public:
  Gatherer(Context& context, const SupportQuestion& question)
      : context_(context), question_(question), environment_(context.environment()) {
    // In English for its reader, in whatever language it was made.
    std::erase_if(environment_,
                  [](const std::string& entry) { return entry.starts_with("BERTH_LANG="); });
    environment_.emplace_back("BERTH_LANG=en");
    search_path_ = context.search_path();
  }

  std::vector<SupportPart> all() && {
    add_version();
    add_system();
    add_own("doctor", {"doctor"});
    add_own("health", {"health"});
    add_own("snapshot", {"status", "--json"});
    // To be read by a person: a line for each key.
    if (const auto snapshot = snapshot_from_json(parts_.back().text)) {
      parts_.back().text = to_json(*snapshot, JsonLayout::indented);
    }
    add_own("leases", {"leases"});
    add_own_processes();
    add_variables();
    add_settings();
    add_runs();
    if (!question_.log_of.empty()) add_own("log", {"logs", question_.log_of});
    if (is_this_machine()) add_logs();
    return std::move(parts_);
  }

 private:
  [[nodiscard]] bool is_this_machine() const {
    return !context_.sources().simulated && !context_.replay();
  }

  void add(std::string name, std::string origin, std::string text, std::string problem = "") {
    parts_.push_back({std::move(name), std::move(origin), std::move(text), std::move(problem)});
  }

  /// What a command says, its errors below its answer.
  void add_command(const std::string& name, const std::string& origin,
                   const std::vector<std::string>& command, Duration time) {
    const auto answer =
        answer_of(command, environment_, search_path_, clock_, time, most_of_a_part);
    if (!answer) return add(name, origin, "", answer.error().message());
    std::string text = answer->out;
    if (!answer->err.empty()) text += "[stderr]\n" + answer->err;
    if (!answer->exit) {
      return add(name, origin, std::move(text),
                 "it did not answer within " +
                     short_duration(std::chrono::duration_cast<std::chrono::milliseconds>(time)));
    }
    const int code = shell_exit_code(*answer->exit);
    // Many codes are an answer of their own (doctor's, health's): only silence is a failure.
    const bool silent = code != 0 && text.empty();
    if (code != 0 && !silent) text += "[exit code " + std::to_string(code) + "]\n";
    std::string problem = answer->is_cut ? "it said more than fits: the rest is left out" : "";
    if (silent) problem = "exit code " + std::to_string(code);
    add(name, origin, std::move(text), std::move(problem));
  }

  void add_own(const std::string& name, std::vector<std::string> words) {
    std::vector<std::string> command = {link_to_program};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), question_.global.begin(), question_.global.end());
    words.insert(words.begin(), "berth");
    add_command(name, shell_joined(words), command, look_patience);
  }

  void add_version() {
    add("berth", "the program itself",
        std::string("version ") + BERTH_VERSION + "\ncompiler " + __VERSION__ + "\n");
  }

  void add_system() {
    std::string text;
    struct utsname names{};
    if (::uname(&names) == 0) {
      text += std::string(names.sysname) + " " + names.release + " " + names.machine + "\n" +
              names.version + "\n";
    }
    for (const char* path : {"/etc/os-release", "/proc/driver/nvidia/version", "/proc/cmdline"}) {
      const auto file = read_file(path, 1 << 16);
      text += std::string("-- ") + path + "\n" + (file ? *file : file.error().message() + "\n");
    }
    add("system", "uname, /etc/os-release, /proc/driver/nvidia/version, /proc/cmdline",
        std::move(text));
  }

  void add_own_processes() {
    const auto state = place_of_runs(context_);
    const auto list = state ? list_runs(*state) : Result<RunList>(RunList());
    const auto answer = waits_of_own_processes(
        context_.read_ledger(), list ? list->runs : std::vector<RunRecord>(), context_.clock());
    const std::string name = "processes";
    const std::string origin = "/proc, of your processes of berth";
    if (!answer) return add(name, origin, "", answer.error().message());
    add(name, origin, answer->out.empty() && answer->exit ? "none is there\n" : answer->out,
        answer->exit ? "" : "it did not answer in time: the rest is left out");
  }

  void add_variables() {
    std::vector<std::string> lines;
    for (const std::string& entry : context_.environment()) {
      if (matters(entry.substr(0, entry.find('=')))) lines.push_back(entry);
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines) {
      // One line each: the second line of a value would have lost its name.
      for (const char c : line) text += c == '\n' ? std::string("\\n") : std::string(1, c);
      text += '\n';
    }
    add("variables", "of your environment, those that GPU programs read", std::move(text));
  }

  void add_settings() {
    std::vector<std::string> paths = {context_.machine_configuration() + "/serve.toml"};
    if (const auto own = context_.config_directory()) paths.push_back(*own + "/serve.toml");
    for (const ConfigFile& file : context_.config().files) paths.push_back(file.path);
    for (const std::string& path : paths) {
      const auto file = read_file(path);
      add("settings", path, file ? *file : "", file ? "" : file.error().message());
    }
  }

  void add_runs() {
    add_own("runs", {"runs"});
    const auto state = place_of_runs(context_);
    if (!state) return;
    const auto list = list_runs(*state);
    if (!list) return add("run", *state, "", list.error().message());
    for (std::size_t i = 0; i < std::min(list->runs.size(), runs_shown); ++i) {
      add("run", "record " + list->runs[i].manifest.id, to_json(list->runs[i]));
    }
  }

  void add_logs() {
    add_command("server log", "journalctl -u berth-serve.service",
                {"journalctl", "-u", "berth-serve.service", "-n", "100", "--no-pager"},
                log_patience);
    add_command("user's server log", "journalctl --user -u berth-serve.service",
                {"journalctl", "--user", "-u", "berth-serve.service", "-n", "100", "--no-pager"},
                log_patience);
    add_command("kernel log", "journalctl -k, lines of the devices' drivers",
                {"journalctl", "-k", "-b", "--grep=" + log_expression(), "-n", "100", "--no-pager"},
                log_patience);
  }

  Context& context_;
  const SupportQuestion& question_;
  ProgressClock clock_{context_, std::string(tr("gathering the parts of the file"))};
  std::vector<std::string> environment_;
  std::string search_path_;
  std::vector<SupportPart> parts_;
};

/// Users whom a snapshot or the ledger names, also without an account here.
void add_users_of(const std::vector<Claim>& claims, const std::vector<Waiter>& waiters,
                  std::set<std::string>& users) {
  for (const Claim& claim : claims) users.insert(claim.user);
  for (const Waiter& waiter : waiters) users.insert(waiter.user);
}

void add_users_of_password_file(std::set<std::string>& users) {
  const auto passwd = read_file("/etc/passwd");
  if (!passwd) return;
  for (const PasswdEntry& user : users_in_passwd(*passwd)) {
    if (is_person(user.uid)) users.emplace(user.name);
  }
}

void add_users_of_runs(const Context& context, std::set<std::string>& users) {
  const auto state = place_of_runs(context);
  if (!state) return;
  const auto list = list_runs(*state);
  if (!list) return;
  for (const auto& run : list->runs) users.insert(run.manifest.user);
}

std::optional<Snapshot> snapshot_in(const std::vector<SupportPart>& parts) {
  for (const SupportPart& part : parts) {
    if (part.name != "snapshot") continue;
    if (auto snapshot = snapshot_from_json(part.text)) return std::move(*snapshot);
  }
  return std::nullopt;
}

}  // namespace

std::vector<SupportPart> gather_support(Context& context, const SupportQuestion& question) {
  return Gatherer(context, question).all();
}

bool has_snapshot(const std::vector<SupportPart>& parts) { return snapshot_in(parts).has_value(); }

Redactor::Names names_to_replace(Context& context, const std::vector<SupportPart>& parts) {
  Redactor::Names names{.home = context.variable("HOME").value_or(""),
                        .user = local_user_name(::getuid())};
  struct utsname system{};
  if (::uname(&system) == 0) names.hosts.emplace_back(system.nodename);
  std::set<std::string> users;
  add_users_of_password_file(users);
  add_users_of_runs(context, users);
  const LedgerView ledger = context.read_ledger();
  add_users_of(ledger.claims, ledger.waiters, users);
  if (const auto snapshot = snapshot_in(parts)) {
    for (const HostProcess& process : snapshot->processes) {
      if (const auto& user = process.user.get()) users.insert(*user);
    }
    add_users_of(snapshot->claims, snapshot->waiters, users);
    if (const auto& host = snapshot->host.name.get()) names.hosts.push_back(*host);
  }
  names.users.assign(users.begin(), users.end());
  return names;
}

}  // namespace berth
