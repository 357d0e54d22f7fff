#include "run/ranks/other_nodes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "base/variables.h"
#include "host_environment/environment.h"

namespace berth {

namespace {
constexpr std::size_t longest_table = std::size_t{1} << 20;
constexpr std::size_t longest_signals = std::size_t{1} << 16;
}  // namespace

Result<void> OtherNodes::start(const std::vector<std::string>& command,
                               const std::vector<std::string>& environment,
                               const std::function<bool()>& before_exec, RunRanks& table) {
  const std::string program = own_program().value_or("berth");
  const auto port = static_cast<std::uint16_t>(table.master_port);
  for (int node = 1; node < plan_.nodes; ++node) {
    const auto child = fork_process([&] {
      if (!before_exec()) return 0;
      const auto words = words_on_node(program, plan_, node, command, environment);
      const Error error =
          execute(words, environment_on_node(plan_, node, environment, table.master_address, port),
                  search_path_in(environment));
      (void)write_all(STDERR_FILENO, "berth: " + printable(error.message()) + "\n");
      return 127;
    });
    if (!child) return std::unexpected(child.error());
    (void)::setpgid(*child, *child);
    nodes_.push_back({.number = node, .srun = *child});
    for (int rank = 0; rank < plan_.ranks && !plan_.by_torchrun; ++rank) {
      table.ranks.push_back({.rank = node * plan_.ranks + rank, .node = fmt::format("#{}", node)});
    }
  }
  return {};
}

bool OtherNodes::take_end(pid_t pid, const Exit& exit) {
  const auto node = std::ranges::find(nodes_, pid, &Node::srun);
  if (node == nodes_.end()) return false;
  node->end = exit;
  return true;
}

bool OtherNodes::is_any_alive() const {
  return std::ranges::any_of(nodes_, [](const Node& node) { return !node.end; });
}

void OtherNodes::signal(int number) const {
  if (!is_any_alive()) return;
  if (number == SIGKILL) {
    for (const Node& node : nodes_) {
      if (!node.end) (void)signal_child(node.srun, SIGTERM);
    }
    return;
  }
  if (plan_.record.empty()) return;
  constexpr int append = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  const auto file = open_fd(plan_.record + "/" + std::string(signals_to_nodes), append, 0600);
  if (file) (void)write_all(file->get(), fmt::format("{}\n", number));
}

bool OtherNodes::read_into(RunRanks& table) {
  bool is_new = false;
  for (Node& node : nodes_) {
    if (plan_.record.empty()) return false;
    auto text = read_file(plan_.record + "/" + ranks_file_of_node(node.number), longest_table);
    if (!text || *text == node.read) continue;
    node.read = *std::move(text);
    auto theirs = run_ranks_from_json(node.read);
    if (!theirs) continue;
    is_new = true;
    for (Rank& one : theirs->ranks) {
      if (one.rank >= plan_.ranks) break;
      one.rank += node.number * plan_.ranks;
      one.process.reset();  // a number of that machine's
      one.node = theirs->node;
      table.ranks[static_cast<std::size_t>(one.rank)] = one;
    }
    if (!theirs->failed_first || *theirs->failed_first >= plan_.ranks) continue;
    node.failed_first = node.number * plan_.ranks + *theirs->failed_first;
    node.failed_with = theirs->ranks[static_cast<std::size_t>(*theirs->failed_first)].exit;
  }
  return is_new;
}

std::optional<OtherNodes::Failure> OtherNodes::failure() const {
  for (const Node& node : nodes_) {
    if (node.failed_first) {
      return Failure{.rank = node.failed_first, .node = node.number, .exit = node.failed_with};
    }
  }
  for (const Node& node : nodes_) {
    if (node.end && *node.end != Exit{}) {
      return Failure{.node = node.number, .exit = *node.end};
    }
  }
  return std::nullopt;
}

std::vector<int> SignalsFromFirstNode::next() {
  std::vector<int> numbers;
  const auto text = read_file(record_ + "/" + std::string(signals_to_nodes), longest_signals);
  if (!text || text->size() <= read_) return numbers;
  const std::size_t end = text->rfind('\n') + 1;
  if (end <= read_) return numbers;
  for (const std::string_view line :
       split(std::string_view(*text).substr(read_, end - read_), '\n')) {
    const auto number = parse_unsigned(line);
    if (number && *number >= 1 && *number < 64) numbers.push_back(static_cast<int>(*number));
  }
  read_ = end;
  return numbers;
}

std::string node_name(const std::vector<std::string>& environment) {
  if (const auto name = value_of(environment, "SLURMD_NODENAME")) return *name;
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.substr(0, name.find('\0'));
}

}  // namespace berth
