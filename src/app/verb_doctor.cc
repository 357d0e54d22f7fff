// `berth doctor`: what stands between a user's programs and this machine's GPUs.

#include <unistd.h>

#include <algorithm>

#include "app/gpu_proof.h"
#include "app/past_runs.h"
#include "app/progress.h"
#include "app/records.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/user_name.h"
#include "diagnose/doctor/doctor.h"
#include "diagnose/doctor/visible_lists.h"
#include "host_environment/gather_host_facts.h"
#include "run/container/left.h"
#include "view/doctor_text.h"
#include "view/findings_text.h"

namespace berth {

namespace {

class DoctorVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.flag("--json", json_, "as JSON");
    options.flag("--fix", fix_, "print the commands that cure what was found; runs none of them");
    options.filled_value("--python", python_,
                         "look at this interpreter or environment instead of the one in use",
                         "PATH");
    options.flag("--no-import", no_import_, "run nothing of the environment: read its files only");
    options.flag("--read-test", read_test_,
                 "read a part of one file of the working directory and say how fast");
    options.flag("--gpu-test", gpu_test_,
                 "let each device compute and copy for some seconds and check every result");
    options.filled_value("-i,--id", devices_, "with --gpu-test: these alone (index, UUID, PCI)",
                         "LIST");
    options.flag("--force", force_, "with --gpu-test: also where somebody is on the device");
  }
  [[nodiscard]] int usage_code() const override { return could_not_look; }
  [[nodiscard]] std::optional<int> unwritten_code() const override { return could_not_look; }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("doctor takes no word \"{}\"", printable(rest.front())));
      return could_not_look;
    }
    if (!gpu_test_ && (force_ || !devices_.empty())) {
      complain(tr("doctor: -i and --force belong to --gpu-test"));
      return could_not_look;
    }
    if (read_test_ && (context.sources().simulated || context.replay())) {
      complain(tr("doctor: --read-test is of this machine, and the devices are not"));
      return could_not_look;
    }
    auto snapshot = context.look(Wanted(Depth::details).add(Extra::sleepers), Relations::none);
    if (!snapshot) return report(snapshot.error(), could_not_look);
    Examined host{.snapshot = std::move(*snapshot)};
    host.facts = facts_of_host(context, doctor::driver_works(host));
    if (!python_.empty() && !host.facts.python) {
      complain(host.facts.python_problem.shown());
      return could_not_look;
    }
    const auto value_of = [&](const char* name) { return context.variable(name); };
    const VisibleSettings settings = visible_settings_in(value_of);
    host.visible = doctor::visible_list(settings, host.snapshot, local_user_name(::geteuid()));
    host.others = other_variables(settings, host.snapshot);
    host.given = doctor::given_list(value_of("NVIDIA_VISIBLE_DEVICES"), host);
    if (gpu_test_) {
      auto tests = prove_gpus(context, host.snapshot, {.devices = devices_, .force = force_});
      if (!tests) return report(tests.error(), could_not_look);
      host.gpu_proofs = std::move(*tests);
    }
    const Findings findings = examine(host);
    // What is not this machine is marked as such.
    for (const char* variable : {"BERTH_ROOT", "BERTH_CUDA"}) {
      const auto value = context.variable(variable);
      if (value && !host.snapshot.simulated) {
        host.snapshot.simulated = std::string(variable) + "=" + *value;
      }
    }
    print(json_  ? doctor_json(host, findings)
          : fix_ ? render_fixes(findings, context.out())
                 : render_doctor(host, findings, context.out()));
    // The test that was asked for did not run: that is not "nothing wrong".
    if (gpu_test_ && host.gpu_proofs.empty()) {
      complain(host.snapshot.devices.empty()
                   ? tr("no GPU was tested: there is none here")
                   : tr("no GPU was tested: there is none here that CUDA could compute on"));
      return could_not_look;
    }
    if (gpu_test_ && doctor::is_elsewhere(host)) {
      complain(
          tr("no GPU was tested: the test needs a real GPU, and these are not this machine's"));
      return could_not_look;
    }
    const auto worst = worst_of(findings);
    return worst ? static_cast<int>(*worst) : exit_code::ok;
  }

 private:
  static std::vector<ContainerTools::Labelled> unrecorded(Context& context,
                                                          const HostFacts& facts) {
    const auto state = place_of_runs(context);
    const std::vector<Claim> claims = context.read_ledger().claims;
    std::vector<ContainerTools::Labelled> found;
    for (const ContainerTools::Labelled& one : facts.container_tools->labelled) {
      const bool is_name = one.run.find('/') == std::string::npos;
      const bool is_recorded =
          state && is_name && read_run(runs_directory(*state) + "/" + one.run).has_value();
      const bool has_lease = std::ranges::find(claims, one.run, &Claim::run) != claims.end();
      if (!is_recorded && !has_lease) found.push_back(one);
    }
    return found;
  }

  [[nodiscard]] HostFacts facts_of_host(Context& context, bool driver_answers) const {
    HostFactsQuestion question{.environment = context.environment(),
                               .working_directory = read_link("/proc/self/cwd").value_or("."),
                               .python = python_};
    question.is_own_machine = !context.sources().simulated && !context.replay();
    question.may_import = !no_import_;
    question.may_read_files = read_test_;
    question.driver_answers = driver_answers;
    // For tests: another root of the system's paths, another libcuda.
    question.root = context.variable("BERTH_ROOT").value_or("");
    if (const auto library = context.variable("BERTH_CUDA")) question.cuda_library = *library;
    ProgressClock clock(context, std::string(tr("examining this machine")));
    HostFacts facts = gather_host_facts(question, clock);
    for (const LeftContainer& left : containers_left(context)) {
      facts.containers_left.push_back({.run = left.run.manifest.id,
                                       .engine = left.container.engine,
                                       .id = short_container_id(left.container.id)});
    }
    if (facts.container_tools) facts.containers_unrecorded = unrecorded(context, facts);
    return facts;
  }

  bool json_ = false;
  bool fix_ = false;
  bool no_import_ = false;
  bool read_test_ = false;
  bool gpu_test_ = false;
  bool force_ = false;
  std::string devices_;
  std::string python_;
};

}  // namespace

std::unique_ptr<Verb> make_doctor() { return std::make_unique<DoctorVerb>(); }

}  // namespace berth
