// `berth topo`: how the devices are joined, and which of them would be given together.

#include "app/run_options.h"
#include "app/verb.h"
#include "view/topology_text.h"

namespace berth {

namespace {
class TopoVerb final : public Verb {
 public:
  void declare(Options& options) override {
    request_.declare(options, MayWait::no);
    options.flag("--json", json_, "as JSON");
  }
  [[nodiscard]] bool decides_by_config() const override { return true; }
  [[nodiscard]] std::vector<OptionalValue> optional_values() const override {
    return RequestOptions::optional_values();
  }
  int run(Context& context, const std::vector<std::string>&) override {
    auto job = request_.job(context);
    if (!job) return report(job.error(), exit_code::usage);
    if (!request_.has("devices")) job->request.devices = 2;
    Wanted wanted = wanted_for(*job);
    wanted.add(Detail::pci_path).add(Detail::cpu_affinity).add<&Device::name>();
    const auto policy = context.policy();
    if (!policy) return report(policy.error(), exit_code::berth_failed);
    auto looked = context.look_without_claims(wanted);
    if (!looked) return report(looked.error());
    const auto found = considered(context, *job, *std::move(looked));
    if (context.ledger_error()) return report(*context.ledger_error());
    if (!found) return report(found.error());
    print(json_ ? topology_json(found->snapshot, found->request, found->placement)
                : render_topology(found->snapshot, found->request, found->placement,
                                  context.out_uncut()));
    return exit_code::ok;
  }

 private:
  RequestOptions request_;
  bool json_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_topo() { return std::make_unique<TopoVerb>(); }

}  // namespace berth
