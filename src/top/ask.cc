// What is done to other people's processes: who may, and the question before it.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "snapshot/questions.h"
#include "top/model.h"

namespace berth::top {

namespace {

Target target_of(const UseRow& row) {
  return {.process = row.key().process,
          .user = row.process->user.get().value_or(""),
          .command = command_text(row)};
}

/// Whether nobody on this machine is behind it: of a simulated server only the jobs of leases are.
bool is_made_up(const HostProcess& process, const Snapshot& snapshot) {
  return snapshot.simulated && std::ranges::none_of(snapshot.claims, [&](const Claim& claim) {
           return claim.job == process.id;
         });
}

/// Why nothing may be done to this process; empty: it may be asked for.
std::string refusal(const UseRow& row, const State& state) {
  const Viewer& viewer = state.viewer;
  const pid_t pid = row.use->pid;
  if (viewer.replay) return std::string(tr("a recording: nobody can be signalled in it"));
  if (row.process != nullptr && is_elsewhere(*row.process, state.seen->snapshot.host)) {
    return trf("{} is the driver's number: no process here is known to be that one", pid);
  }
  if (row.process != nullptr && is_made_up(*row.process, state.seen->snapshot)) {
    return trf("process {} is simulated: there is nobody to signal", pid);
  }
  if (row.process == nullptr || row.process->id.start_ticks == 0) {
    return trf("process {} has gone, or cannot be told from a later one with its number", pid);
  }
  if (viewer.uid == 0) return {};
  const auto& uid = row.process->uid.get();
  if (!uid) return trf("whose process {} is could not be read; it is left alone", pid);
  if (*uid != viewer.uid) {
    return trf("process {} belongs to {}: only they and root may do that", pid,
               row.process->user.get().value_or(std::to_string(*uid)));
  }
  return {};
}

/// The marked processes, else the selected one. Each appears once, even if it uses several devices.
std::vector<const UseRow*> chosen_rows(const State& state) {
  std::vector<const UseRow*> rows;
  const auto add = [&](const UseRow& row) {
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const UseRow* other) {
      return other->key().process == row.key().process;
    });
    if (!known) rows.push_back(&row);
  };
  for (const UseRow& row : state.rows) {
    if (state.marked.contains(row.key())) add(row);
  }
  const UseRow* selected = selected_row(state);
  if (state.marked.empty() && selected != nullptr) add(*selected);
  return rows;
}

/// The targets; nothing: one is refused, and why has been said.
std::optional<std::vector<Target>> targets(State& state) {
  if (state.viewer.read_only) {
    say(state, std::string(tr("this was started with --read-only: nothing is changed from here")),
        false);
    return std::nullopt;
  }
  const auto rows = chosen_rows(state);
  if (rows.empty()) {
    say(state, std::string(tr("no process is selected")), false);
    return std::nullopt;
  }
  std::vector<Target> chosen;
  for (const UseRow* row : rows) {
    std::string why = refusal(*row, state);
    if (!why.empty()) {
      say(state, std::move(why), false);
      return std::nullopt;
    }
    chosen.push_back(target_of(*row));
  }
  return chosen;
}

std::string whom(const std::vector<Target>& chosen) {
  const Target& first = chosen.front();
  const std::string one = trf("process {} of {} ({})", first.process.pid, first.user,
                              cut_to_width(printable(first.command), 40, false));
  if (chosen.size() == 1) return one;
  return trf("{} processes, first {}", chosen.size(), one);
}

void ask(State& state, std::string text, Command if_yes) {
  state.question = Question{.text = std::move(text), .if_yes = std::move(if_yes)};
  state.mode = Mode::question;
}

}  // namespace

void say(State& state, std::string text, bool good) {
  constexpr std::int64_t shown_for_ms = 6000;
  state.message =
      Message{.text = std::move(text), .good = good, .until = {state.now.unix_ms + shown_for_ms}};
}

void ask_for_signal(State& state, int signal, const std::string& name) {
  state.mode = Mode::browse;
  auto chosen = targets(state);
  if (!chosen) return;
  std::string text = trf("send {} to {}?", name, whom(*chosen));
  ask(state, std::move(text), SendSignal{.to = std::move(*chosen), .signal = signal, .name = name});
}

void ask_for_nice(State& state, int nice) {
  state.mode = Mode::browse;
  auto chosen = targets(state);
  if (!chosen) return;
  std::string text = trf("set the nice value of {} to {}?", whom(*chosen), nice);
  ask(state, std::move(text), Renice{.to = std::move(*chosen), .nice = nice});
}

}  // namespace berth::top
