// `berth isolate --check`: what a job can do here once `berth run --isolate` isolates it.

#include <unistd.h>

#include "app/verb.h"
#include "base/fd.h"
#include "base/tr.h"
#include "config/config_files.h"
#include "run/isolate_check.h"
#include "view/isolate_text.h"

namespace berth {

namespace {

class IsolateVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.flag("--check", check_, "try what a job does, in a process that is isolated");
    options.flag("--json", json_, "as JSON");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!check_ || !rest.empty()) {
      complain(
          tr("isolate: write `berth isolate --check`; a job is isolated by `berth run --isolate "
             "-- COMMAND`"));
      return exit_code::usage;
    }
    if (context.sources().simulated || context.replay()) {
      complain(
          tr("isolate looks at this machine, and no simulated or recorded one: leave --sim and "
             "--replay out"));
      return exit_code::usage;
    }
    auto looked = context.look_without_claims(Depth::placement);
    IsolationQuestion question{.snapshot = looked ? *std::move(looked) : Snapshot(),
                               .program = own_program().value_or("berth"),
                               .environment = context.environment()};
    for (const auto& folder : {read_link("/proc/self/cwd").value_or(""),
                               context.variable("HOME").value_or(""), std::string("/tmp")}) {
      if (folder.starts_with('/')) question.folders.push_back(folder == "/" ? "" : folder);
    }
    if (const auto library = context.variable("BERTH_CUDA")) question.cuda_library = *library;
    const IsolationReport report = check_isolation(question, context.clock());
    const PolicyPlaces places = context.policy_places();
    if (::geteuid() == places.owner) {
      const auto noted = note_isolation_check(context.machine_configuration(), report.is_well());
      if (!noted) complain(noted.error().shown());
    }
    print(json_ ? isolation_json(report) + "\n" : render_isolation(report));
    return report.is_well() ? exit_code::ok : exit_code::failed;
  }

 private:
  bool check_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_isolate() { return std::make_unique<IsolateVerb>(); }

}  // namespace berth
