// `berth queue`: who waits for what and why, who starts when, and what is gathered for which
// waiter.

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
    const QueueAsked asked{.policy = policy, .is_policy_unread = !rules && !context.replay()};
    print(json_ ? queue_json(*snapshot, asked, idle, planned)
                : render_queue(*snapshot, asked, idle, context.out_uncut()));
    if (!json_ && !context.replay()) {
      print(render_planned(planned, context.out_uncut()));
      const auto state = place_of_runs(context);
      const auto runs = state ? list_runs(*state) : Result<RunList>(RunList());
      for (const RunRecord& run : runs ? runs->runs : std::vector<RunRecord>()) {
        if (const std::string line = waiting_without_place(run, *snapshot); !line.empty()) {
          print(line + "\n");
        }
      }
      for (const std::string& line :
           said_by_slurm(context, runs ? runs->runs : std::vector<RunRecord>())) {
        print(line + "\n");
      }
    }
    return exit_code::ok;
  }

 private:
  bool json_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_queue() { return std::make_unique<QueueVerb>(); }

}  // namespace berth
