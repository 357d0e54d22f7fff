// `berth queue`: the waiters, what each wants and why it waits, its start, what it gathers.

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/history_options.h"
#include "app/past_runs.h"
#include "app/planned_start.h"
#include "app/slurm_options.h"
#include "app/verb.h"
#include "view/queue_text.h"

namespace berth {

namespace {
class QueueVerb final : public Verb {
 public:
  void declare(Options& options) override { options.flag("--json", json_, "as JSON"); }
  int run(Context& context, const std::vector<std::string>&) override {
    const auto rules = context.policy();
    if (!rules) complain(rules.error().shown());
    const Policy* policy = rules && !context.replay() ? rules->get() : nullptr;
    const auto snapshot = context.look(Wanted(Depth::placement).add(Extra::leases));
    if (!snapshot) return report(snapshot.error());
    if (context.ledger_error()) return report(*context.ledger_error());
    std::vector<IdleRow> idle;
    if (!snapshot->waiters.empty()) {
      idle = idle_rows(*snapshot, idle_evidence(context, *snapshot), policy);
    }
    const auto planned = context.replay() ? std::vector<Planned>() : planned_here(context);
    const auto not_queued = runs_elsewhere(context, *snapshot);
    const QueueAsked asked{.policy = policy, .is_policy_unread = !rules && !context.replay()};
    if (json_) {
      print(queue_json(*snapshot, asked, idle, planned, not_queued));
      return exit_code::ok;
    }
    print(render_queue(*snapshot, asked, idle, context.out_uncut()));
    print(render_planned(planned, context.out_uncut()));
    for (const SaidOfRun& one : not_queued) print(one.line + "\n");
    return exit_code::ok;
  }

 private:
  /// The user's own that wait without a place in this queue. A recording has none.
  static std::vector<SaidOfRun> runs_elsewhere(Context& context, const Snapshot& snapshot) {
    const auto state = context.replay() ? std::nullopt : place_of_runs(context);
    const auto list = state ? list_runs(*state) : Result<RunList>(RunList());
    const auto runs = list ? list->runs : std::vector<RunRecord>();
    std::vector<SaidOfRun> said;
    for (const RunRecord& run : runs) {
      std::string line = waiting_without_place(run, snapshot);
      if (!line.empty()) said.push_back({run.manifest.id, std::move(line)});
    }
    std::ranges::move(said_by_slurm(context, runs), std::back_inserter(said));
    return said;
  }

  bool json_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_queue() { return std::make_unique<QueueVerb>(); }

}  // namespace berth
