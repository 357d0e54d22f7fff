#include "run/ranks/rank_launcher.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <span>
#include <utility>

#include "base/port.h"
#include "base/signals.h"
#include "base/text.h"
#include "host_environment/machine_side.h"
#include "record/record_writer.h"
#include "run/ranks/other_nodes.h"
#include "run/ranks/rank_output.h"
#include "run/run.h"
#include "run/tree.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

constexpr Duration busy_pause = milliseconds(50);
constexpr Duration idle_pause = milliseconds(250);

bool failed(const Exit& exit) { return exit.signal != 0 || exit.code != 0; }

class RankLauncher {
 public:
  RankLauncher(const RankPlan& plan, const std::vector<std::string>& command,
               const std::vector<std::string>& environment, Clock& clock,
               const std::function<void(const RankNews&)>& tell)
      : plan_(plan),
        command_(command),
        environment_(environment),
        clock_(clock),
        tell_(tell),
        output_(STDOUT_FILENO),
        others_(plan),
        from_first_(plan.record) {}

  Result<Exit> run() {
    if (auto ready = prepare(); !ready) return std::unexpected(std::move(ready).error());
    for (int rank = 0; rank < started_here(); ++rank) {
      if (auto started = start(rank); !started) {
        end_all(SIGKILL);
        return std::unexpected(std::move(started).error());
      }
    }
    if (is_first_node() && plan_.nodes > 1) {
      if (auto started = start_others(); !started) {
        end_all(SIGKILL);
        return std::unexpected(std::move(started).error());
      }
    }
    write_table();
    Duration pause = busy_pause;
    while (is_any_alive()) {
      (void)wait_readable({signals_->descriptor()}, pause);
      take_signals();
      take_ends();
      hear_other_nodes();
      pause =
          output_.pass_on() || output_.has_more() ? busy_pause : std::min(pause * 2, idle_pause);
      if (deadline_ && clock_.now() >= *deadline_) kill_the_rest();
    }
    if (table_.failed_first) end_what_they_left();
    finish_output();
    return exit_;
  }

 private:
  Result<void> prepare() {
    std::optional<std::uint16_t> wanted;
    if (const auto chosen = value_of(environment_, "MASTER_PORT")) {
      const auto number = parse_unsigned(*chosen);
      if (!number || *number < 1 || *number > 65535) {
        return fail(ErrorCode::invalid,
                    "MASTER_PORT=\"{}\" is no TCP port: unset it, and a free one is taken",
                    printable(*chosen));
      }
      wanted = static_cast<std::uint16_t>(*number);
    }
    if (is_first_node()) {
      if (auto held = take_port(wanted); !held) return held;
    } else {
      port_.number = wanted.value_or(0);  // the first node holds it
    }
    auto signals = SignalQueue::open();
    if (!signals) return std::unexpected(std::move(signals).error());
    signals_.emplace(*std::move(signals));
    outlive(SIGPIPE);
    (void)adopt_orphans();  // so that what a rank leaves behind is found
    if (plan_.nodes > 1) table_.node = node_name(environment_);
    table_.master_address =
        value_of(environment_, "MASTER_ADDR").value_or(plan_.nodes > 1 ? table_.node : "127.0.0.1");
    table_.master_port = port_.number;
    const unsigned ranks = static_cast<unsigned>(plan_.ranks);
    table_.variables =
        common_variables(environment_, std::max(threads_of_a_job("") / ranks, 1U), plan_.record);
    for (int rank = 0; rank < started_here(); ++rank) {
      const Binding* binding = binding_of(rank);
      table_.ranks.push_back(
          {.rank = rank, .cpus = binding == nullptr ? "" : number_list(binding->cpus)});
    }
    return {};
  }

  Result<void> take_port(std::optional<std::uint16_t> wanted) {
    auto held = hold_port(wanted);
    if (!held && wanted && held.error().code() == ErrorCode::busy) {
      return fail(ErrorCode::busy,
                  "TCP port {} (MASTER_PORT) is taken, perhaps by another job. `ss -ltnp` names "
                  "its process. Unset MASTER_PORT, and a free one is taken",
                  *wanted);
    }
    if (!held) return std::unexpected(std::move(held).error());
    port_ = *std::move(held);
    return {};
  }

  [[nodiscard]] bool is_first_node() const { return plan_.node == 0; }
  [[nodiscard]] int started_here() const { return plan_.by_torchrun ? 1 : plan_.ranks; }

  [[nodiscard]] const Binding* binding_of(int rank) const {
    if (plan_.by_torchrun) return nullptr;
    const auto at = static_cast<std::size_t>(rank);
    return at < plan_.bindings.size() ? &plan_.bindings[at] : nullptr;
  }

  /// Among the ranks of all nodes, of one of this node's.
  [[nodiscard]] int number_of(int rank) const { return plan_.node * plan_.ranks + rank; }

  [[nodiscard]] std::string log_of(int rank) const {
    return plan_.record.empty() ? "" : plan_.record + "/" + rank_log_name(number_of(rank));
  }

  Result<void> start(int rank) {
    Fd out;
    if (!plan_.record.empty() && !plan_.by_torchrun) {
      constexpr int append = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
      auto made = open_fd(log_of(rank), append, 0600);
      if (!made) return std::unexpected(std::move(made).error());
      auto read = open_fd(log_of(rank), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
      if (!read) return std::unexpected(std::move(read).error());
      out = *std::move(made);
      output_.add(number_of(rank), *std::move(read));
    }
    const pid_t launcher = ::getpid();
    const auto child = fork_process([&] { return become_rank(rank, out.get(), launcher); });
    if (!child) return std::unexpected(child.error());
    // Here too: a signal for it may come before it has run.
    (void)::setpgid(*child, *child);
    Rank& entry = table_.ranks[static_cast<std::size_t>(rank)];
    entry.process = identify_process(*child).value_or(ProcessId{.pid = *child});
    pids_.push_back(*child);
    return {};
  }

  int become_rank(int rank, int out, pid_t launcher) {
    (void)::setpgid(0, 0);
    if (!die_with_parent(launcher)) return 0;
    connect(rank, out, is_first_node());
    if (const Binding* binding = binding_of(rank)) bind_to(*binding);
    std::vector<Variable> variables = table_.variables;
    std::vector<std::string> command = command_;
    const std::string path = search_path_in(environment_);
    if (plan_.by_torchrun) {
      command = torchrun_on_node(
          plan_, command_, table_.master_address, port_.number,
          [&](const std::string& name) { return find_executable(name, path).has_value(); });
    } else {
      const auto place = place_variables({.rank = rank,
                                          .ranks = plan_.ranks,
                                          .nodes = plan_.nodes,
                                          .node = plan_.node,
                                          .master_address = table_.master_address,
                                          .master_port = port_.number,
                                          .run = value_of(environment_, "BERTH_RUN").value_or("")});
      variables.insert(variables.end(), place.begin(), place.end());
    }
    signals_->restore_original();
    const Error error = execute(command, with_variables(environment_, variables), path);
    (void)write_all(STDERR_FILENO, "berth: " + printable(error.message()) + "\n");
    return exit_code_of_no_start(error.code() == ErrorCode::not_found
                                     ? error
                                     : Error(ErrorCode::no_permission, error.said()));
  }

  /// Input from a pipe or a file has one reader: rank 0 of the first node. A terminal has none, as
  /// a process group of its own may not read from it.
  static void connect(int rank, int out, bool is_first_node) {
    if (out >= 0) {
      (void)::dup2(out, STDOUT_FILENO);
      (void)::dup2(out, STDERR_FILENO);
    }
    if (rank == 0 && is_first_node && ::isatty(STDIN_FILENO) == 0) return;
    if (const auto nothing = open_fd("/dev/null", O_RDONLY)) {
      (void)::dup2(nothing->get(), STDIN_FILENO);
    }
  }

  // --- other nodes -------------------------------------------------------------------------------

  Result<void> start_others() {
    const pid_t launcher = ::getpid();
    const auto before_exec = [&] {
      (void)::setpgid(0, 0);
      if (!die_with_parent(launcher)) return false;
      connect(1, -1, true);
      signals_->restore_original();
      return true;
    };
    return others_.start(command_, environment_, before_exec, table_);
  }

  void hear_other_nodes() {
    if (!is_first_node()) {
      for (const int number : from_first_.next()) {
        is_end_wanted_ = is_end_wanted_ || number != SIGCONT;
        end_all(number);
      }
      return;
    }
    if (plan_.nodes == 1 || clock_.now() < next_look_) return;
    next_look_ = clock_.now() + idle_pause;
    if (others_.read_into(table_)) write_table();
    const auto failure = others_.failure();
    if (!failure || failed(exit_)) return;
    exit_ = failure->exit;
    if (is_stopped()) return;
    table_.failed_first = failure->rank;
    if (plan_.by_torchrun) {
      tell_(TorchrunFailed{.node = failure->node, .exit = failure->exit});
    } else if (failure->rank) {
      const Rank& rank = table_.ranks[static_cast<std::size_t>(*failure->rank)];
      tell_(RankFailed{.rank = rank, .log = log_of(rank.rank)});
    } else {
      tell_(RankNodeFailed{.node = failure->node, .exit = failure->exit});
    }
    end_the_others();
  }

  // --- signals -----------------------------------------------------------------------------------

  void take_signals() {
    while (const auto signal = signals_->next()) {
      const int number = signal->number;
      if (number == SIGCHLD || number == SIGWINCH || number == SIGURG) continue;
      const bool ends =
          number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
      is_end_wanted_ = is_end_wanted_ || ends;
      have_ranks_got(*signal) ? others_.signal(number) : end_all(number);
      if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) stop_self(number);
    }
  }

  /// `berth stop` on this machine signals every process of the run, and so does the keeper: all but
  /// its warning.
  bool have_ranks_got(const ArrivedSignal& signal) {
    if (signal.number != SIGTERM) return false;
    const auto asked = plan_.record.empty() ? std::nullopt : stop_request_in(plan_.record);
    if (asked) return asked->from == StopFrom::here;
    if (signal.from_kernel || signal.sender != ::getppid()) return false;
    return plan_.warning_signal != SIGTERM || std::exchange(is_warned_, true);
  }

  void end_all(int signal) const {
    others_.signal(signal);
    for (std::size_t i = 0; i < pids_.size(); ++i) {
      if (!table_.ranks[i].ended) (void)signal_child(pids_[i], signal);
    }
  }

  // --- ends --------------------------------------------------------------------------------------

  [[nodiscard]] bool is_any_alive() const {
    const auto own = std::span(table_.ranks).first(pids_.size());
    return others_.is_any_alive() ||
           std::ranges::any_of(own, [](const Rank& one) { return !one.ended; });
  }

  void take_ends() {
    bool any = false;
    while (const auto change = next_child_change()) {
      if (change->what != ChildChange::What::ended) continue;
      if (others_.take_end(change->pid, change->exit)) {
        next_look_ = {};  // what it wrote last
        continue;
      }
      const auto at = std::ranges::find(pids_, change->pid) - pids_.begin();
      if (static_cast<std::size_t>(at) == pids_.size()) continue;  // it was a rank's
      on_end(table_.ranks[static_cast<std::size_t>(at)], change->exit);
      any = true;
    }
    if (any) write_table();
  }

  void on_end(Rank& rank, const Exit& exit) {
    rank.ended = clock_.wall_now();
    rank.exit = exit;
    if (!failed(exit) || failed(exit_)) return;
    exit_ = exit;
    if (is_stopped()) return;
    table_.failed_first = rank.rank;
    Rank named = rank;
    named.rank = number_of(rank.rank);
    // The first node names it for all.
    if (is_first_node() && plan_.by_torchrun) {
      tell_(TorchrunFailed{.node = plan_.node, .exit = exit});
    } else if (is_first_node()) {
      tell_(RankFailed{.rank = named, .log = log_of(rank.rank)});
    }
    end_the_others();
  }

  /// Then each ends in its own time.
  [[nodiscard]] bool is_stopped() const {
    return is_end_wanted_ || (!plan_.record.empty() && stop_request_in(plan_.record));
  }

  void end_the_others() {
    if (!is_any_alive()) return;
    end_all(SIGTERM);
    end_all(SIGCONT);  // a stopped one could not end
    deadline_ = clock_.now() + plan_.grace;
  }

  void kill_the_rest() {
    RanksKilled killed;
    for (const Rank& one : table_.ranks) {
      if (!one.ended && !plan_.by_torchrun) killed.ranks.push_back(number_of(one.rank));
    }
    tell_(killed);
    deadline_.reset();
    end_all(SIGKILL);
  }

  /// Workers of ranks that failed wait for them in vain.
  void end_what_they_left() {
    const auto left = [] { return descendants_of(::getpid(), "/proc"); };
    if (left().empty()) return;
    signal_all(left(), SIGTERM);
    const Instant deadline = clock_.now() + plan_.grace;
    while (!left().empty()) {
      if (clock_.now() >= deadline) signal_all(left(), SIGKILL);
      (void)wait_readable({signals_->descriptor()}, busy_pause);
      take_signals();
      take_ends();
      if (clock_.now() >= deadline + plan_.grace) return;  // stuck in the kernel: the keeper's
    }
  }

  // --- what is kept and shown --------------------------------------------------------------------

  void write_table() {
    if (plan_.record.empty() || is_unrecorded_ || plan_.by_torchrun) return;
    const std::string name =
        is_first_node() ? std::string(record_file::ranks) : ranks_file_of_node(plan_.node);
    const auto written =
        write_file_atomically(plan_.record + "/" + name, run_ranks_to_json(table_), 0600);
    if (written) return;
    is_unrecorded_ = true;
    tell_(RanksUnrecorded{written.error().said()});
  }

  /// Waits, as any job does, for the reader of its last output. It does not wait if its end is
  /// wanted.
  void finish_output() {
    output_.finish();
    while (output_.has_more() && !is_end_wanted_) {
      (void)output_.pass_on();
      if (!output_.has_more()) return;
      (void)wait_readable({signals_->descriptor()}, busy_pause);
      take_signals();
    }
    (void)output_.pass_on();
  }

  const RankPlan& plan_;
  const std::vector<std::string>& command_;
  const std::vector<std::string>& environment_;
  Clock& clock_;
  const std::function<void(const RankNews&)>& tell_;
  HeldPort port_;
  std::optional<SignalQueue> signals_;
  RankOutput output_;
  RunRanks table_;           // of all nodes; this one's ranks stand first
  std::vector<pid_t> pids_;  // by rank, of this node
  OtherNodes others_;
  SignalsFromFirstNode from_first_;
  Instant next_look_{};  // at what other nodes wrote
  Exit exit_;            // of the first that failed
  bool is_end_wanted_ = false;
  bool is_warned_ = false;
  bool is_unrecorded_ = false;
  std::optional<Instant> deadline_;  // when those that were asked to end are killed
};

}  // namespace

Result<Exit> run_ranks(const RankPlan& plan, const std::vector<std::string>& command,
                       const std::vector<std::string>& environment, Clock& clock,
                       const std::function<void(const RankNews&)>& tell) {
  return RankLauncher(plan, command, environment, clock, tell).run();
}

}  // namespace berth
