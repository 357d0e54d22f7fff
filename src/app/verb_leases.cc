// `berth leases`: leases with their holders, and the waiters.

#include <optional>

#include "app/verb.h"
#include "view/leases_text.h"

namespace berth {

namespace {
class LeasesVerb final : public Verb {
 public:
  void declare(Options& options) override { options.flag("--json", json_, "as JSON"); }
  int run(Context& context, const std::vector<std::string>&) override {
    std::optional<LedgerPlace> place;
    if (!context.replay()) {  // a recording has its own
      auto here = context.ledger_place();
      if (!here) return report(here.error());
      place = *std::move(here);
    }
    const auto snapshot = context.look(Depth::state);
    if (!snapshot) return report(snapshot.error());
    if (context.ledger_error()) return report(*context.ledger_error());
    print(json_ ? leases_json(*snapshot, place) + "\n"
                : render_leases(*snapshot, place, context.out_uncut()));
    return exit_code::ok;
  }

 private:
  bool json_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_leases() { return std::make_unique<LeasesVerb>(); }

}  // namespace berth
