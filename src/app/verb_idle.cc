// `berth idle`: held and unused devices, their holders, since when, and how sure that is.

#include "app/history_options.h"
#include "app/verb.h"

namespace berth {

namespace {
class IdleVerb final : public Verb {
 public:
  void declare(Options& options) override { options.flag("--json", json_, "as JSON"); }
  int run(Context& context, const std::vector<std::string>&) override {
    const auto rules = context.policy();
    if (!rules) complain(rules.error().shown());
    const Policy* policy = rules && !context.replay() ? rules->get() : nullptr;
    const auto snapshot = context.look(Depth::everything, Relations::all);
    if (!snapshot) return report(snapshot.error());
    if (context.ledger_error()) return report(*context.ledger_error());
    const IdleEvidence evidence = idle_evidence(context, *snapshot);
    const auto rows = idle_rows(*snapshot, evidence, policy);
    print(json_ ? idle_json(rows, evidence, *snapshot)
                : render_idle(rows, evidence, *snapshot, context.out_uncut()));
    return exit_code::ok;
  }

 private:
  bool json_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_idle() { return std::make_unique<IdleVerb>(); }

}  // namespace berth
