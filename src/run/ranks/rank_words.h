#pragma once
// How a job of several ranks is started. Has its command line, the place of each rank, and the
// variables that tell a rank its place. Pure.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/variables.h"
#include "place/job_spec.h"
#include "run/binding.h"

namespace berth {

/// Whether there is a program of this name.
using IsProgram = std::function<bool(const std::string& name)>;

/// The command that starts a job with ranks. If it is a script alone, Python starts it. With
/// RanksBy::torchrun, torchrun starts that script. With `several_nodes` it does not, as each node
/// has its own words. invalid: ranks cannot be started so.
[[nodiscard]] Result<std::vector<std::string>> command_with_ranks(const JobSpec& job,
                                                                  bool several_nodes,
                                                                  const IsProgram& is_program);

/// What the job's first process has to know, which starts the ranks and ends with them.
struct RankPlan {
  int ranks = 1;
  std::string record;  // the run's directory; empty: unrecorded
  /// One for each rank; empty: any CPU.
  std::vector<Binding> bindings;
  std::chrono::milliseconds grace{10'000};  // between TERM and KILL
  int warning_signal = 0;  // that the keeper sends the job alone, ahead of its time limit; 0: none
  /// Machines with as many ranks each. The first starts the others' by srun; all write into its
  /// record, which the machines share.
  int nodes = 1;
  int node = 0;
  /// One process is started on each node, torchrun, which starts and names that node's ranks.
  bool by_torchrun = false;
};
/// torchrun with its ranks of the plan's node, which meet all others at this place.
[[nodiscard]] std::vector<std::string> torchrun_on_node(const RankPlan& plan,
                                                        const std::vector<std::string>& command,
                                                        const std::string& master_address,
                                                        std::uint16_t master_port,
                                                        const IsProgram& is_program);
/// The words of that process: this berth's `ranks`, and the plan.
[[nodiscard]] std::vector<std::string> rank_launcher_words(const std::string& program,
                                                           const RankPlan& plan,
                                                           const std::vector<std::string>& command);
/// "0-3,8@1" for each, with slashes between; the other way round. Nothing: no such list.
[[nodiscard]] std::string bindings_text(const std::vector<Binding>& bindings);
[[nodiscard]] std::optional<std::vector<Binding>> bindings_in(std::string_view text);

/// srun hands this on to another node's `berth run`. It says which ranks that node's own are among.
inline constexpr std::string_view rank_node_variable = "BERTH_RANK_NODE";
struct RankNode {
  int node = 1;
  int nodes = 2;
  std::string record;  // of the run on the first node
  friend bool operator==(const RankNode&, const RankNode&) = default;
};
/// "1/2:/home/me/.local/state/berth/runs/ID"; the other way round. Nothing: no such thing.
[[nodiscard]] std::string rank_node_text(const RankNode& node);
[[nodiscard]] std::optional<RankNode> rank_node_in(std::string_view text);
[[nodiscard]] std::optional<RankNode> rank_node_of(const std::vector<std::string>& environment);

/// srun's words for the ranks of another node of the job's, and what they are started with.
[[nodiscard]] std::vector<std::string> words_on_node(const std::string& program,
                                                     const RankPlan& plan, int node,
                                                     const std::vector<std::string>& command,
                                                     const std::vector<std::string>& environment);
[[nodiscard]] std::vector<std::string> environment_on_node(
    const RankPlan& plan, int node, const std::vector<std::string>& environment,
    const std::string& master_address, std::uint16_t master_port);

/// How many machines this process was given to start ranks on: those of its Slurm job, else one.
[[nodiscard]] int nodes_given(const std::vector<std::string>& environment);
/// invalid: --nodes where no ranks are started, or of more machines than are given.
[[nodiscard]] Result<void> check_nodes(const JobSpec& job, int given);

struct PlaceAmongRanks {
  int rank = 0;
  int ranks = 1;  // on this node
  int nodes = 1;
  int node = 0;
  std::string master_address;
  std::uint16_t master_port = 0;
  std::string run;  // its id
};
/// RANK, WORLD_SIZE and their like, as torchrun has them.
[[nodiscard]] std::vector<Variable> place_variables(const PlaceAmongRanks& place);

/// Variables that every rank gets where its caller did not choose. They are for threads, output at
/// once, and signs of where a rank hangs. `record`: where dumps go; empty: nowhere. None changes
/// how ranks talk.
[[nodiscard]] std::vector<Variable> common_variables(const std::vector<std::string>& environment,
                                                     unsigned threads, const std::string& record);

}  // namespace berth
