// `berth demo`: a guided tour. Each step starts this same program as a user would start it. So the
// demonstration cannot drift from the real thing.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>

#include "app/verb.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/scratch_directory.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/variables.h"
#include "probe/sim/scenario.h"
#include "snapshot/device_kind.h"
#include "view/placement_text.h"

namespace berth {

namespace {

/// The ending signals that were ignored when we were started, such as SIGHUP under nohup. Blocking
/// an ignored signal would deliver it.
std::vector<int> ignored_endings() {
  std::vector<int> ignored;
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) {
    if (is_ignored(signal)) ignored.push_back(signal);
  }
  return ignored;
}

/// Starts this program again with other words and waits for it. Meanwhile ending signals are noted
/// and passed on. So a demonstration that is ended ends what it has begun.
class Steps {
 public:
  static Result<Steps> begin() {
    std::vector<int> ignored = ignored_endings();
    auto signals = SignalQueue::open();
    if (!signals) return std::unexpected(std::move(signals).error());
    if (auto ours = adopt_orphans(); !ours) return std::unexpected(std::move(ours).error());
    return Steps(std::move(*signals), std::move(ignored));
  }

  /// What the steps find in their environment, and the words that each has behind its verb.
  void give(std::vector<std::string> environment, std::vector<std::string> words = {}) {
    environment_ = std::move(environment);
    words_ = std::move(words);
  }

  void say(std::string_view words) const {
    print("\n");
    print(words);
    print("\n");
  }

  /// Shows the command as one would type it, then runs it. False: it could not be started, or it or
  /// we were asked to end.
  bool show(std::vector<std::string> words) {
    words.insert(words.begin() + 1, words_.begin(), words_.end());
    print("$ berth");
    for (const std::string& word : words) print(" " + shell_quoted(word));
    print("\n");
    const bool arrived = std::fflush(stdout) == 0;
    note_signals(std::nullopt);
    if (!arrived || ended_by_ != 0) return false;
    const auto child = start(words, false);
    return child && wait_for(*child) && ended_by_ == 0;
  }

  /// In silence, and out of reach of the terminal's keys: a second Ctrl-C must not keep it from
  /// tidying up. Then waits for the last of what the steps have left running: it still writes.
  void tidy(const std::vector<std::string>& words, Clock& clock) {
    if (const auto child = start(words, true)) (void)reap(*child);
    const Instant deadline = clock.now() + std::chrono::seconds(10);
    while (const auto end = reap_if_ended(any_child)) {
      if (*end) continue;
      if (clock.now() >= deadline) return;
      (void)wait_readable({signals_.descriptor()}, std::chrono::milliseconds(100));
      note_signals(std::nullopt);
    }
  }

  /// The signal that asked us to end; 0: none has.
  [[nodiscard]] int ended_by() const { return ended_by_; }

 private:
  static constexpr pid_t any_child = -1;  // of waitpid(2)

  Steps(SignalQueue signals, std::vector<int> ignored)
      : signals_(std::move(signals)), ignored_(std::move(ignored)) {}

  [[nodiscard]] Result<pid_t> start(const std::vector<std::string>& words, bool apart) const {
    std::vector<std::string> command = {link_to_program};
    command.insert(command.end(), words.begin(), words.end());
    return fork_process([&] {
      if (apart) (void)start_session();
      if (apart) (void)close_standard_streams();
      signals_.restore_original();
      const Error failure = execute(command, environment_, "");
      complain(failure.shown());
      return exit_code::cannot_execute;
    });
  }

  /// False: a signal ended it.
  bool wait_for(pid_t child) {
    while (true) {
      while (const auto change = next_child_change()) {  // also of what earlier steps left running
        if (change->pid != child || change->what != ChildChange::What::ended) continue;
        // The reader of our output went away, and this child noticed.
        if (change->exit.signal == SIGPIPE) ended_by_ = SIGPIPE;
        return change->exit.signal == 0;
      }
      (void)wait_readable({signals_.descriptor()}, std::nullopt);
      note_signals(child);
    }
  }

  void note_signals(std::optional<pid_t> child) {
    while (const auto signal = signals_.next()) {
      if (signal->number == SIGTSTP) stop_self(SIGTSTP);
      if (!ends_us(signal->number)) continue;
      ended_by_ = signal->number;
      // A key on the terminal has reached the step as well, and twice it would mean more.
      const bool key =
          signal->from_kernel && (signal->number == SIGINT || signal->number == SIGQUIT);
      if (child && !key) pass_on(*child, signal->number);
    }
  }

  static void pass_on(pid_t child, int signal) {
    if (const auto step = identify_process(child)) (void)send_signal(*step, signal);
  }

  [[nodiscard]] bool ends_us(int signal) const {
    constexpr std::array endings = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    return std::find(endings.begin(), endings.end(), signal) != endings.end() &&
           std::find(ignored_.begin(), ignored_.end(), signal) == ignored_.end();
  }

  SignalQueue signals_;
  std::vector<int> ignored_;
  std::vector<std::string> environment_;
  std::vector<std::string> words_;
  int ended_by_ = 0;
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
      print(why_none(*snapshot));
    }
    return simulated_tour(context);
  }

 private:
  /// What is wrong with the devices, and what to do. Empty: there are none at all.
  static std::string why_none(const Snapshot& snapshot) {
    std::string text;
    for (const Device& device : snapshot.devices) {
      const std::string name = device.name.get().value_or(device.id.text());
      text += trf("{}: {}", printable(name), printable(device.unusable_because.shown())) + "\n";
    }
    const Problem* silent = why_devices_are_unknown(snapshot);
    if (silent == nullptr) return text;
    text += printable(silent->message.shown()) + "\n";
    if (!silent->remedy.empty()) text += printable(silent->remedy.shown()) + "\n";
    return text;
  }

  /// With what this look was asked for: the same driver, the same ledger, the same devices.
  static int look_around(Context& context) {
    std::vector<std::string> same_words;
    if (context.replay()) same_words = {"--replay", *context.replay()};
    auto steps = Steps::begin();
    if (!steps) return report(steps.error());
    steps->give(with_variables(context.environment(), {language()}), same_words);
    const bool whole = look_around(*steps);
    if (steps->ended_by() != 0) return end_like({.signal = steps->ended_by()});
    return whole ? exit_code::ok : exit_code::failed;
  }

  static bool look_around(Steps& steps) {
    steps.say(tr("1. Every device and who is on it:"));
    if (!steps.show({"status"})) return false;
    steps.say(tr("2. Which one a job would get now, and why not the others (nothing is taken):"));
    if (!steps.show({"pick", "--dry-run"})) return false;
    steps.say(tr("3. Who has been promised what:"));
    if (!steps.show({"leases"})) return false;
    steps.say(tr("To start a job on the right device, alone there: berth run -- python train.py"));
    return true;
  }

  static int simulated_tour(Context& context) {
    // Signals first: between the directory and its end nothing may end us unnoticed.
    auto steps = Steps::begin();
    if (!steps) return report(steps.error());
    const auto whole = tour_in_scratch(context, *steps);
    if (steps->ended_by() != 0) return end_like({.signal = steps->ended_by()});
    if (!whole) return report(whole.error());
    return *whole ? exit_code::ok : exit_code::failed;
  }

  static Result<bool> tour_in_scratch(Context& context, Steps& steps) {
    const auto parent = context.variable("TMPDIR");
    // For the demonstration's ledger and records.
    const auto scratch =
        ScratchDirectory::make((parent.value_or("").empty() ? "/tmp" : *parent) + "/berth-demo");
    if (!scratch) return std::unexpected(scratch.error());
    const std::string server =
        context.sources().simulated.value_or(std::string(sim::default_scenario));
    steps.give(with_variables(clean_slate(context), {language(),
                                                     {"BERTH_SIM", server},
                                                     {"BERTH_LEDGER", scratch->path() + "/ledger"},
                                                     {"XDG_STATE_HOME", scratch->path()}}));
    const bool whole =
        tour(steps, of_server(server)) && (!context.stdout_is_terminal() || show_page(steps));
    steps.tidy({"stop", "--all", "--quiet", "--grace", "0s"}, context.clock());
    return whole;
  }

  /// The simulated tour is the same whatever the shell it is called from says.
  static std::vector<std::string> clean_slate(const Context& context) {
    std::vector<std::string> environment = context.environment();
    std::erase_if(environment, [](std::string_view entry) {
      return entry.starts_with("BERTH_") ||
             contains(choosing_variables(), entry.substr(0, entry.find('=')));
    });
    return environment;
  }

  /// What the tour says of the devices that its jobs are given.
  struct Toured {
    const DeviceKindFacts* kind = &device_kinds().front();
    bool has_other_kinds = false;
    std::string held = "2";  // a device that somebody is on
  };
  static Toured of_server(const std::string& server) {
    Toured toured;
    const auto scenario = sim::load_scenario(server);
    if (!scenario) return toured;  // the steps will say so
    const Snapshot& base = scenario->base;
    std::vector<std::string_view> words;
    for (const Device& device : base.devices) {
      const DeviceKindFacts& facts = facts_of(device.kind);
      if (!is_given_unasked(device) || facts.visible_variable.empty()) continue;
      if (words.empty()) toured.kind = &facts;
      if (!contains(words, facts.word)) words.push_back(facts.word);
    }
    toured.has_other_kinds = words.size() > 1;
    const auto is_held = [&](const Device& device) {
      return device.index && !device.parent && !processes_on(device.id, base).empty();
    };
    const auto usual = std::ranges::find_if(base.devices, [&](const Device& device) {
      return is_held(device) && std::to_string(*device.index) == toured.held;
    });
    const auto held =
        usual != base.devices.end() ? usual : std::ranges::find_if(base.devices, is_held);
    if (held != base.devices.end()) toured.held = std::to_string(*held->index);
    return toured;
  }

  /// --lang was for us; the steps are to speak the same.
  static Variable language() {
    const bool chinese = current_language() == Language::simplified_chinese;
    return {"BERTH_LANG", chinese ? "zh_CN" : "en"};
  }

  static bool tour(Steps& steps, const Toured& toured) {
    const DeviceKindFacts& facts = *toured.kind;
    const auto run = [&](std::vector<std::string> words, const std::vector<std::string>& job) {
      if (toured.has_other_kinds)
        words.insert(words.begin() + 1, {"--kind", std::string(facts.word)});
      return steps.show(with_job(std::move(words), job));
    };
    steps.say(tr("1. Every device and who is on it:"));
    if (!steps.show({"status"})) return false;
    steps.say(tr("2. Two jobs, each placed where it fits; they run in the background:"));
    const std::vector<std::string> job = {"sh", "-c", "sleep 4"};
    const std::vector<std::string> fails = {
        "sh", "-c", "echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; exit 1"};
    if (!run({"run", "--detach", "-n", toured.has_other_kinds ? "1" : "4"}, job)) return false;
    if (!run({"run", "--detach", "--memory", "10G"}, job)) return false;
    if (!steps.show({"leases"})) return false;
    steps.say(tr("3. A third wants more than is left. It waits, says for whom, and then starts:"));
    const std::string tells =
        fmt::format("echo \"the job sees ${}\"; sleep 1.5", facts.visible_variable);
    if (!run({"run", "--wait=15s", "-n", toured.has_other_kinds ? "1" : "4"}, {"sh", "-c", tells}))
      return false;
    steps.say(tr("4. What ran, what it was given, what it used:"));
    if (!steps.show({"runs"})) return false;
    if (!steps.show({"show", "last"})) return false;
    steps.say(tr("5. A job that dies, and why; a GPU that is held, and why it is idle:"));
    if (!run({"run", "--detach"}, fails)) return false;
    if (!steps.show({"wait", "last"})) return false;
    if (!steps.show({"explain", "last"})) return false;
    if (!steps.show({"explain", toured.held, "--seconds", "1"})) return false;
    steps.say(
        tr("That was a simulation. On a GPU server: berth, then berth run -- python train.py"));
    return true;
  }

  /// On a terminal the page stays until Ctrl-C. A server that runs here keeps its port and socket.
  static bool show_page(Steps& steps) {
    steps.say(tr("6. A server that has been used for four weeks, as a page, live, until Ctrl-C:"));
    return steps.show(
        {"serve", "--sim", "month-8xh100", "--listen", "127.0.0.1:0", "--socket", "none"});
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
