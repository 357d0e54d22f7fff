// `berth demo`: a guided look. Everything it shows is this same program, started again as a user
// would start it, so the demonstration cannot drift from the real thing.

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "app/verb.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/sim/builtin.h"

namespace berth {

namespace {

/// A directory for the demonstration's ledger and records; gone afterwards.
class ScratchDirectory {
 public:
  static Result<ScratchDirectory> make(const std::string& parent) {
    std::string path = parent + "/berth-demo-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return fail_system("create " + path, errno);
    return ScratchDirectory(path);
  }
  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;  // what is left is in the temporary directory and says whose it is
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Starts this program again with other words and waits for it.
class Steps {
 public:
  Steps(const Context& context, std::vector<std::string> extra_environment) {
    for (const std::string& entry : context.environment()) {
      const std::string name = entry.substr(0, entry.find('='));
      // The demonstration starts from a clean slate, whatever the shell it is called from says.
      if (name.starts_with("BERTH_") && name != "BERTH_LANG") continue;
      if (name == "CUDA_VISIBLE_DEVICES" || name == "XDG_STATE_HOME") continue;
      environment_.push_back(entry);
    }
    for (std::string& entry : extra_environment) environment_.push_back(std::move(entry));
  }

  void say(std::string_view words) const {
    print("\n");
    print(words);
    print("\n");
  }

  /// Shows the command as one would type it, then runs it. False: it could not be started or was
  /// interrupted.
  bool show(const std::vector<std::string>& words) const {
    print("$ berth");
    for (const std::string& word : words) print(" " + shell_quoted(word));
    print("\n");
    return run(words);
  }

  bool run(const std::vector<std::string>& words) const {
    std::fflush(stdout);
    std::vector<std::string> command = {"berth"};
    command.insert(command.end(), words.begin(), words.end());
    const auto child = fork_process([&] {
      command[0] = "/proc/self/exe";
      const Error failure = execute(command, environment_, "");
      complain(failure.message());
      return exit_code::cannot_execute;
    });
    if (!child) return false;
    const auto end = reap(*child);
    return end && end->signal == 0;
  }

 private:
  std::vector<std::string> environment_;
};

class DemoVerb final : public Verb {
 public:
  void declare(Options&) override {}

  int run(Context& context, const std::vector<std::string>&) override {
    const bool asked_for_simulation = context.sources().simulated.has_value();
    if (!asked_for_simulation) {
      const auto snapshot = context.look(Depth::state);
      if (!snapshot) return report(snapshot.error());
      const bool has_device =
          std::any_of(snapshot->devices.begin(), snapshot->devices.end(),
                      [](const Device& device) { return device.unusable_because.empty(); });
      if (has_device) return look_around(context);
      print(
          tr("This machine has no device that a job could be given, so here is a simulated "
             "server with eight."));
      print("\n");
    }
    return simulated_tour(context);
  }

 private:
  static int look_around(Context& context) {
    const Steps steps(context, {});
    steps.say(tr("1. Every device and who is on it:"));
    bool whole = steps.show({"status"});
    steps.say(tr("2. Which one a job would get now, and why not the others (nothing is taken):"));
    whole = whole && steps.show({"pick", "--dry-run"});
    steps.say(tr("3. Who has been promised what:"));
    whole = whole && steps.show({"leases"});
    steps.say(tr("To start a job on the right device, alone there: berth run -- python train.py"));
    return whole ? exit_code::ok : exit_code::failed;
  }

  static int simulated_tour(Context& context) {
    const std::string scenario =
        context.sources().simulated.value_or(std::string(sim::default_scenario));
    const auto scratch = ScratchDirectory::make(context.variable("TMPDIR").value_or("/tmp"));
    if (!scratch) return report(scratch.error());
    const Steps steps(context,
                      {"BERTH_SIM=" + scenario, "BERTH_LEDGER=" + scratch->path() + "/ledger",
                       "XDG_STATE_HOME=" + scratch->path()});
    // Ctrl-C ends the step that is running (it has the terminal too) and the tour, tidily.
    // A handler, not "ignore": exec would pass that on to the steps.
    std::signal(SIGINT, [](int) {});
    const bool whole = tour(steps);
    steps.run({"stop", "--all", "--quiet", "--grace", "0s"});
    return whole ? exit_code::ok : exit_code::failed;
  }

  static bool tour(const Steps& steps) {
    steps.say(tr("1. Every device and who is on it:"));
    if (!steps.show({"status"})) return false;
    steps.say(tr("2. Two jobs, each placed where it fits; they run in the background:"));
    const std::vector<std::string> job = {"sh", "-c", "sleep 4"};
    if (!steps.show(with_job({"run", "--detach", "-n", "4"}, job))) return false;
    if (!steps.show(with_job({"run", "--detach", "--memory", "10G"}, job))) return false;
    if (!steps.show({"leases"})) return false;
    steps.say(tr("3. A third wants more than is left. It waits, says for whom, and then starts:"));
    if (!steps.show(
            with_job({"run", "--wait=15s", "-n", "4"},
                     {"sh", "-c", "echo \"the job sees $CUDA_VISIBLE_DEVICES\"; sleep 1.5"}))) {
      return false;
    }
    steps.say(tr("4. What ran, what it was given, what it used:"));
    if (!steps.show({"runs"})) return false;
    if (!steps.show({"show", "last"})) return false;
    steps.say(
        tr("That was a simulation. On a GPU server: berth, then berth run -- python train.py"));
    return true;
  }

  static std::vector<std::string> with_job(std::vector<std::string> words,
                                           const std::vector<std::string>& job) {
    words.emplace_back("--");
    words.insert(words.end(), job.begin(), job.end());
    return words;
  }
};

}  // namespace

std::unique_ptr<Verb> make_demo() { return std::make_unique<DemoVerb>(); }

}  // namespace berth
