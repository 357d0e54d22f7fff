#include "app/rank_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <vector>

#include "app/verb.h"
#include "base/owned_file.h"
#include "base/port.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/variables.h"
#include "diagnose/ranks/hang.h"
#include "record/run_ranks.h"
#include "run/tree.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

constexpr int looks = 10;
constexpr Duration between_looks = milliseconds(200);
constexpr std::size_t longest_table = std::size_t{16} << 20;
constexpr std::size_t longest_dump = std::size_t{64} << 20;

std::string waits_in(pid_t pid, const std::string& proc) {
  const auto text = read_proc_file(fmt::format("{}/{}/wchan", proc, pid));
  // "0": it runs, or we may not know.
  return text && *text != "0" ? std::string(trimmed(*text)) : std::string();
}

void look_at(const Rank& rank, const std::string& proc, bool is_first, RankSeen& seen) {
  seen.has_ended = rank.ended.has_value();
  seen.exit = rank.exit;
  if (seen.has_ended || !rank.process) return;
  const auto stat = read_process_stat(rank.process->pid, proc);
  if (!stat || stat->id != *rank.process) {
    seen.state = '?';
    return;
  }
  const std::string now = waits_in(rank.process->pid, proc);
  if (is_first) seen = {.rank = rank.rank, .state = stat->state, .waits_in = now};
  if (stat->state != seen.state) seen.state = '?';
  if (now != seen.waits_in) seen.waits_in.clear();
}

/// Whether one of these has a socket of these open.
bool has_one_of(const std::vector<ProcessId>& processes, const std::vector<std::uint64_t>& inodes,
                const std::string& proc) {
  for (const ProcessId& process : processes) {
    std::error_code error;
    const auto open = fmt::format("{}/{}/fd", proc, process.pid);
    for (std::filesystem::directory_iterator at(open, error), end; !error && at != end;
         at.increment(error)) {
      const std::string target = read_link(at->path().string()).value_or("");
      if (!target.starts_with("socket:[")) continue;
      const auto inode = parse_unsigned(std::string_view(target).substr(8, target.size() - 9));
      if (inode && std::ranges::binary_search(inodes, *inode)) return true;
    }
  }
  return false;
}

void add_meeting(const RunRanks& table, const std::string& proc, std::vector<RankSeen>& ranks) {
  if (table.master_port < 1 || table.master_port > 65535) return;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto& process = table.ranks[i].process;
    if (!process || ranks[i].has_ended) continue;
    std::vector<std::uint64_t> inodes;
    bool was_read = false;
    for (const char* name : {"tcp", "tcp6"}) {
      const auto text =
          read_file(fmt::format("{}/{}/net/{}", proc, process->pid, name), longest_table);
      if (!text) continue;
      was_read = true;
      const auto more = sockets_at_port(*text, static_cast<std::uint16_t>(table.master_port));
      inodes.insert(inodes.end(), more.begin(), more.end());
    }
    if (!was_read) continue;
    std::ranges::sort(inodes);
    auto processes = descendants_of(process->pid, proc);
    processes.push_back(*process);
    ranks[i].has_met = has_one_of(processes, inodes, proc);
  }
}

void add_cards(Context& context, const RunRecord& run, std::vector<RankSeen>& ranks) {
  if (run.manifest.given.devices.empty()) return;
  Wanted wanted(Depth::placement);
  wanted.add<&Device::power_draw, &Device::power_limit>();
  const auto snapshot = context.look(wanted);
  if (!snapshot || snapshot->simulated) return;  // what a simulated card does is invented
  for (std::size_t i = 0; i < ranks.size() && i < run.manifest.given.devices.size(); ++i) {
    const Device* device = find_device(run.manifest.given.devices[i].id, *snapshot);
    if (device == nullptr) continue;
    if (device->utilization_gpu.get())
      ranks[i].utilization = device->utilization_gpu.get()->count();
    const auto draw = device->power_draw.get();
    const auto limit = device->power_limit.get();
    if (draw && limit && limit->count() > 0) {
      ranks[i].power = static_cast<double>(draw->count()) / static_cast<double>(limit->count());
    }
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
  if (runs) add_cards(context, run, seen);
  if (runs) add_meeting(*table, proc, seen);
  return find_rank_hang(seen, dumps_of(run, seen.size()), run.manifest.id);
}

namespace {

/// What the kernel says of a process, a line each.
std::string told_by_proc(pid_t pid, const std::string& proc) {
  const auto stat = read_process_stat(pid, proc);
  if (!stat) return {};
  std::string text = fmt::format("  {}: {}", tr("state"), stat->state);
  if (const std::string where = waits_in(pid, proc); !where.empty()) {
    text += ", " + trf("waits in {}", printable(where));
  }
  text += "\n";
  if (const auto stack = read_proc_file(fmt::format("{}/{}/stack", proc, pid))) {
    for (const std::string_view line : split(*stack, '\n')) {
      if (!line.empty()) text += "  " + printable(line) + "\n";
    }
  }
  return text;
}

/// Its interpreter prints its stack when it gets SIGABRT.
bool has_faulthandler(pid_t pid, const std::string& proc) {
  const auto environment = read_proc_file(fmt::format("{}/{}/environ", proc, pid));
  const auto stat = read_process_stat(pid, proc);
  if (!environment || !stat || !stat->comm.starts_with("python")) return false;
  for (const std::string_view one : split(*environment, '\0')) {
    if (one.starts_with("PYTHONFAULTHANDLER=") && one.size() > 19) return true;
  }
  return false;
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
  const std::string path = context.variable("PATH").value_or(default_search_path);
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
    print(told_by_proc(process.pid, proc));
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
