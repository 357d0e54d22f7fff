// `berth scenarios`: the built-in simulated servers, for --sim.

#include "app/verb.h"
#include "base/tr.h"
#include "view/table.h"

namespace berth {

namespace {
class ScenariosVerb final : public Verb {
 public:
  void declare(Options&) override {}
  int run(Context& context, const std::vector<std::string>&) override {
    static constexpr TableColumn columns[] = {{.least = 16}, {.wraps = true}};
    const Style style = context.out_uncut();
    std::vector<TableRow> rows;
    for (const ScenarioName& scenario : builtin_scenarios()) {
      rows.push_back({std::string(scenario.name), own(tr(scenario.what), style)});
    }
    print(Table(columns, std::move(rows), 2, style).rows_text());
    return exit_code::ok;
  }
};
}  // namespace

std::unique_ptr<Verb> make_scenarios() { return std::make_unique<ScenariosVerb>(); }

}  // namespace berth
