#include "run/ranks/rank_words.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "run/command_words.h"
#include "run/container/command.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

bool is_python(std::string_view word) { return name_of_program(word).starts_with("python"); }

/// The words behind the interpreter, as torchrun takes them: a script or `-m MODULE`.
std::vector<std::string> words_for_torchrun(const std::vector<std::string>& command) {
  if (!is_python(command.front())) {
    std::vector<std::string> words = command;
    words.insert(words.begin(), "--no_python");
    return words;
  }
  auto begin = command.begin() + 1;
  while (begin != command.end() && *begin == "-u") ++begin;  // torchrun gives it that itself
  return {begin, command.end()};
}

/// With underscores, which its every version reads.
std::vector<std::string> torchrun(const std::vector<std::string>& options, int ranks,
                                  const std::vector<std::string>& command,
                                  const IsProgram& is_program) {
  std::vector<std::string> words = {"torchrun"};
  if (!is_program("torchrun")) {
    const std::string python = is_python(command.front()) ? command.front() : "python3";
    words = {python, "-m", "torch.distributed.run"};
  }
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(fmt::format("--nproc_per_node={}", ranks));
  const auto rest = words_for_torchrun(command);
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

}  // namespace

Result<std::vector<std::string>> command_with_ranks(const JobSpec& job, bool several_nodes,
                                                    const IsProgram& is_program) {
  std::vector<std::string> command = job.command;
  if (command.empty() || job.ranks_by == RanksBy::nobody) return command;
  const auto container = read_container_command(command);
  if (!container || *container) {
    return fail(ErrorCode::invalid,
                "--ddp cannot start ranks in a container of their own each: leave it out, and "
                "start them inside by torchrun");
  }
  if (command.front().ends_with(".py") && !is_program(command.front())) {
    command.insert(command.begin(), is_program("python") ? "python" : "python3");
  }
  if (job.ranks_by == RanksBy::berth || several_nodes) return command;
  // Its store takes a port that the kernel chooses.
  return torchrun({"--standalone"}, job.request.devices, command, is_program);
}

std::vector<std::string> torchrun_on_node(const RankPlan& plan,
                                          const std::vector<std::string>& command,
                                          const std::string& master_address,
                                          std::uint16_t master_port, const IsProgram& is_program) {
  return torchrun({fmt::format("--nnodes={}", plan.nodes), fmt::format("--node_rank={}", plan.node),
                   "--master_addr=" + master_address, fmt::format("--master_port={}", master_port)},
                  plan.ranks, command, is_program);
}

std::vector<std::string> rank_launcher_words(const std::string& program, const RankPlan& plan,
                                             const std::vector<std::string>& command) {
  std::vector<std::string> words = {program, "ranks", fmt::format("--count={}", plan.ranks),
                                    fmt::format("--grace={}ms", plan.grace.count())};
  if (plan.warning_signal != 0) words.push_back(fmt::format("--warning={}", plan.warning_signal));
  if (plan.nodes > 1) words.push_back(fmt::format("--node={}/{}", plan.node, plan.nodes));
  if (plan.by_torchrun) words.emplace_back("--by=torchrun");
  if (!plan.record.empty()) words.push_back("--record=" + plan.record);
  if (!plan.bindings.empty()) words.push_back("--cpus=" + bindings_text(plan.bindings));
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string rank_node_text(const RankNode& node) {
  return fmt::format("{}/{}:{}", node.node, node.nodes, node.record);
}

std::optional<RankNode> rank_node_in(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::size_t slash = text.find('/');
  if (colon == std::string_view::npos || slash > colon) return std::nullopt;
  const auto node = parse_unsigned(text.substr(0, slash));
  const auto nodes = parse_unsigned(text.substr(slash + 1, colon - slash - 1));
  const std::string record(text.substr(colon + 1));
  constexpr std::uint64_t most = 1024;
  if (!node || !nodes || *node >= *nodes || *nodes > most) return std::nullopt;
  if (!record.empty() && !record.starts_with('/')) return std::nullopt;
  return RankNode{
      .node = static_cast<int>(*node), .nodes = static_cast<int>(*nodes), .record = record};
}

std::optional<RankNode> rank_node_of(const std::vector<std::string>& environment) {
  const auto given = value_of(environment, rank_node_variable);
  return given ? rank_node_in(*given) : std::nullopt;
}

std::vector<std::string> words_on_node(const std::string& program, const RankPlan& plan, int node,
                                       const std::vector<std::string>& command,
                                       const std::vector<std::string>& environment) {
  // Slurm gives the step the job's cards of that node, and all of the job's CPUs there.
  std::vector<std::string> words = {"srun", "--nodes=1", "--ntasks=1",
                                    fmt::format("--relative={}", node), "--unbuffered"};
  // Slurm 22.05 and newer do not hand it on from the batch step.
  if (const auto cpus = value_of(environment, "SLURM_CPUS_PER_TASK")) {
    words.push_back("--cpus-per-task=" + *cpus);
  }
  words.insert(words.end(), {program, "run", plan.by_torchrun ? "--ddp=torchrun" : "--ddp", "-n",
                             std::to_string(plan.ranks)});
  const std::string run = value_of(environment, "BERTH_RUN").value_or("");
  if (!run.empty()) words.push_back(fmt::format("--name={} node {}", run, node));
  if (plan.bindings.empty()) words.emplace_back("--no-bind");
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> environment_on_node(const RankPlan& plan, int node,
                                             const std::vector<std::string>& environment,
                                             const std::string& master_address,
                                             std::uint16_t master_port) {
  std::vector<std::string> there = with_variables(
      environment, {{"MASTER_ADDR", master_address},
                    {"MASTER_PORT", std::to_string(master_port)},
                    {std::string(rank_node_variable),
                     rank_node_text({.node = node, .nodes = plan.nodes, .record = plan.record})}});
  // Variables that make a process this run's, with this node's lease and cards.
  constexpr std::array<std::string_view, 5> own = {"BERTH_RUN", "BERTH_LEASE", "BERTH_MARKS",
                                                   "BERTH_SUBMITTED", "SLURM_JOB_GPUS"};
  std::erase_if(there, [&](const std::string& one) {
    const std::string_view name = std::string_view(one).substr(0, one.find('='));
    return contains(own, name) || contains(choosing_variables(), name);
  });
  return there;
}

int nodes_given(const std::vector<std::string>& environment) {
  constexpr std::uint64_t most = 1 << 20;
  const auto nodes = parse_unsigned(value_of(environment, "SLURM_JOB_NUM_NODES").value_or(""));
  return nodes && *nodes > 0 && *nodes < most ? static_cast<int>(*nodes) : 1;
}

Result<void> check_nodes(const JobSpec& job, int given) {
  if (job.nodes == 1) return {};
  if (job.ranks_by == RanksBy::nobody) {
    return fail(ErrorCode::invalid,
                "--nodes is for --ddp, which starts ranks on each node: add --ddp");
  }
  if (given == 1) {
    return fail(ErrorCode::invalid,
                "--nodes is for Slurm, which gives the machines: add --on slurm");
  }
  if (given < job.nodes) {
    return fail(ErrorCode::invalid, "--nodes {} is more than Slurm gave this job: it has {}",
                job.nodes, given);
  }
  return {};
}

std::string bindings_text(const std::vector<Binding>& bindings) {
  return joined(bindings, "/", [](const Binding& one) {
    return number_list(one.cpus) + (one.node ? fmt::format("@{}", *one.node) : "");
  });
}

std::optional<std::vector<Binding>> bindings_in(std::string_view text) {
  std::vector<Binding> bindings;
  if (text.empty()) return bindings;
  for (const std::string_view part : split(text, '/')) {
    const auto ends = split(part, '@');
    auto cpus = numbers_in_list(ends.front());
    const auto node = ends.size() == 2 ? parse_unsigned(ends[1]) : std::nullopt;
    constexpr std::uint64_t most_nodes = 1024;
    if (!cpus || cpus->back() >= CPU_SETSIZE || ends.size() > 2 ||
        (ends.size() == 2 && (!node || *node >= most_nodes))) {
      return std::nullopt;
    }
    bindings.push_back({.cpus = *std::move(cpus),
                        .node = node ? std::optional(static_cast<int>(*node)) : std::nullopt});
  }
  return bindings;
}

std::vector<Variable> place_variables(const PlaceAmongRanks& place) {
  return {{"RANK", std::to_string(place.node * place.ranks + place.rank)},
          {"LOCAL_RANK", std::to_string(place.rank)},
          {"WORLD_SIZE", std::to_string(place.nodes * place.ranks)},
          {"LOCAL_WORLD_SIZE", std::to_string(place.ranks)},
          {"GROUP_RANK", std::to_string(place.node)},
          {"GROUP_WORLD_SIZE", std::to_string(place.nodes)},
          {"MASTER_ADDR", place.master_address},
          {"MASTER_PORT", std::to_string(place.master_port)},
          {"TORCHELASTIC_RUN_ID", place.run}};
}

std::vector<Variable> common_variables(const std::vector<std::string>& environment,
                                       unsigned threads, const std::string& record) {
  std::vector<Variable> variables = {{"OMP_NUM_THREADS", std::to_string(threads)},
                                     {"PYTHONUNBUFFERED", "1"},
                                     {"PYTHONFAULTHANDLER", "1"}};
  if (!record.empty()) {
    // PyTorch's flight recorder, by its names before 2.9 and since. It keeps the last operations
    // and writes them into the record when one times out.
    const std::string dumps = record + "/fr_";
    for (const char* name : {"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"}) {
      variables.emplace_back(name, "2000");
    }
    variables.emplace_back("TORCH_NCCL_DUMP_ON_TIMEOUT", "1");
    for (const char* name : {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}) {
      variables.emplace_back(name, dumps);
    }
  }
  std::erase_if(variables,
                [&](const Variable& one) { return value_of(environment, one.first).has_value(); });
  return variables;
}

}  // namespace berth
