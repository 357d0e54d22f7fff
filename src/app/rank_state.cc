#include "app/rank_state.h"

#include <fmt/format.h>

#include <csignal>
#include <vector>

#include "app/output.h"
#include "base/owned_file.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/variables.h"
#include "diagnose/ranks/hang.h"
#include "probe/procfs/process_state.h"
#include "record/run_ranks.h"
#include "run/tree.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

constexpr int looks = 10;
constexpr Duration between_looks = milliseconds(200);
constexpr std::size_t longest_dump = std::size_t{64} << 20;

void look_at(const Rank& rank, const std::string& proc, bool is_first, RankSeen& seen) {
  seen.has_ended = rank.ended.has_value();
  seen.exit = rank.exit;
  if (seen.has_ended || !rank.process) return;
  const auto state = kernel_state_of(*rank.process, proc);
  if (state) {
    note_look(seen, is_first, state->state, state->waits_in);
  } else {
    seen.state = '?';
  }
}

void add_meeting(const RunRanks& table, const std::string& proc, std::vector<RankSeen>& ranks) {
  if (table.master_port < 1 || table.master_port > 65535) return;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto& process = table.ranks[i].process;
    if (!process || ranks[i].has_ended) continue;
    std::vector<ProcessId> processes = {*process};
    for (const ProcessId& one : descendants_of(process->pid, proc)) processes.push_back(one);
    ranks[i].has_met =
        has_socket_at(processes, static_cast<std::uint16_t>(table.master_port), proc);
  }
}

void look_at_cards(Context& context, const RunRecord& run, std::vector<RankSeen>& ranks) {
  if (run.manifest.given.devices.empty()) return;
  Wanted wanted(Depth::placement);
  wanted.add<&Device::power_draw, &Device::power_limit>();
  if (const auto snapshot = context.look(wanted)) {
    add_cards(ranks, run.manifest.given.devices, *snapshot);
  }
}

std::map<int, FlightDump> dumps_of(const RunRecord& run, std::size_t ranks) {
  std::map<int, FlightDump> dumps;
  for (int rank = 0; static_cast<std::size_t>(rank) < ranks; ++rank) {
    const auto bytes =
        read_file_of(run.owner, run.directory, fmt::format("fr_{}", rank), longest_dump);
    auto dump =
        bytes ? read_flight_dump(*bytes) : Result<FlightDump>(std::unexpected(bytes.error()));
    if (dump) {
      dumps[rank] = *std::move(dump);
    } else if (dump.error().code() == ErrorCode::invalid) {
      complain(trf("the dump of rank {} is not read: {}", rank, dump.error().shown()));
    }
  }
  return dumps;
}

}  // namespace

std::optional<Finding> explain_ranks(Context& context, const RunRecord& run) {
  auto table = run_ranks_of(run);
  if (!table) return std::nullopt;
  const std::string& proc = context.sources().proc;
  std::vector<RankSeen> seen(table->ranks.size());
  const bool runs = run.state == RunState::running;
  for (int look = 0; look < (runs ? looks : 1); ++look) {
    if (look > 0) {
      context.clock().wait_until(context.clock().now() + between_looks);
      if (auto now = run_ranks_of(run); now && now->ranks.size() == seen.size()) table = now;
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      seen[i].rank = static_cast<int>(i);
      look_at(table->ranks[i], proc, look == 0, seen[i]);
    }
  }
  if (runs) look_at_cards(context, run, seen);
  if (runs) add_meeting(*table, proc, seen);
  return find_rank_hang(seen, dumps_of(run, seen.size()), run.manifest.id);
}

namespace {

/// What the kernel says of a process, a line each.
std::string told_by_proc(const ProcessId& process, const std::string& proc) {
  const auto state = kernel_state_of(process, proc);
  if (!state) return {};
  std::string text = fmt::format("  {}: {}", tr("state"), state->state);
  if (!state->waits_in.empty()) text += ", " + trf("waits in {}", printable(state->waits_in));
  text += "\n";
  for (const std::string& line : kernel_stack_of(process.pid, proc)) {
    text += "  " + printable(line) + "\n";
  }
  return text;
}

/// The main process of each rank, or of the job, with what to call it.
std::vector<std::pair<ProcessId, std::string>> processes_to_show(const RunRecord& run) {
  std::vector<std::pair<ProcessId, std::string>> shown;
  if (const auto ranks = run_ranks_of(run)) {
    for (const Rank& one : ranks->ranks) {
      if (one.process && !one.ended) shown.emplace_back(*one.process, trf("rank {}", one.rank));
    }
  } else if (run.manifest.job) {
    shown.emplace_back(*run.manifest.job, std::string(tr("the job")));
  }
  // The record's owner writes there what they like: nobody else's process is looked into.
  const auto is_strange = [&](const auto& one) {
    const auto living = identify_process(one.first.pid);
    return !living || *living != one.first || user_of(one.first.pid, "/proc") != run.owner.uid;
  };
  std::erase_if(shown, is_strange);
  return shown;
}

}  // namespace

void show_stacks(Context& context, const RunRecord& run) {
  const std::string path = context.search_path();
  const bool has_spy = find_executable("py-spy", path).has_value();
  const std::string proc = "/proc";
  std::vector<ProcessId> to_abort;
  for (const auto& [process, name] : processes_to_show(run)) {
    print(trf("{}, process {}:\n", name, process.pid));
    const auto spied =
        has_spy ? answer_of({"py-spy", "dump", "--pid", std::to_string(process.pid)},
                            context.environment(), path, context.clock(), std::chrono::seconds(15))
                : Result<ChildAnswer>(fail(ErrorCode::not_found, ""));
    if (spied && spied->exit && *spied->exit == Exit{}) {
      for (const std::string_view line : split(spied->out, '\n')) {
        if (!line.empty()) print("  " + printable(line) + "\n");
      }
      continue;
    }
    print(told_by_proc(process, proc));
    if (has_faulthandler(process.pid, proc)) to_abort.push_back(process);
  }
  (void)finish_output();
  if (to_abort.empty()) return;
  // All before any: the first that ends takes the others along.
  signal_all(to_abort, SIGABRT);
  complain(
      run_ranks_of(run)
          ? trf("Python's own stacks are in what each rank printed: berth logs {} --rank 0",
                run.manifest.id)
          : trf("Python's own stack is in what the job printed: berth logs {}", run.manifest.id));
}

}  // namespace berth
