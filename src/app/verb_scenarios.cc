// `berth scenarios`: the built-in simulated servers, for --sim.

#include "app/verb.h"
#include "base/tr.h"

namespace berth {

namespace {
class ScenariosVerb final : public Verb {
 public:
  void declare(Options&) override {}
  int run(Context&, const std::vector<std::string>&) override {
    for (const ScenarioName& scenario : builtin_scenarios()) {
      print(fmt::format("{:<16}  {}\n", scenario.name, tr(scenario.what)));
    }
    return exit_code::ok;
  }
};
}  // namespace

std::unique_ptr<Verb> make_scenarios() { return std::make_unique<ScenariosVerb>(); }

}  // namespace berth
