// `berth pick`: which devices a job would get, as a line for a script. Claims nothing.

#include <cstdio>
#include <string>
#include <vector>

#include "app/run_options.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "host_environment/environment.h"
#include "host_environment/machine_side.h"
#include "run/container/device_words.h"
#include "view/placement_text.h"

namespace berth {

namespace {

Result<std::string> in_format(const std::string& format, const Placement& placement,
                              const std::string& asked_for, const Snapshot& snapshot,
                              const std::string& root) {
  if (format == "json") return placement_json(placement, asked_for, snapshot) + "\n";
  return devices_in_format(format, devices_of(placement.chosen), snapshot, root);
}

class PickVerb final : public Verb {
 public:
  void declare(Options& options) override {
    request_.declare(options, MayWait::no);
    options.choice("--format", format_,
                   "indices, uuids, env, json, docker (several may be in quotes, for eval) or cdi. "
                   "Where the answer is the CPU (--cpu, --or-cpu): -1, for docker and cdi what "
                   "gives a container no card",
                   "FORM", {"indices", "uuids", "env", "json", "docker", "cdi"});
    options.flag("--json", json_, "same as --format json");
  }

  [[nodiscard]] bool decides_by_config() const override { return true; }
  [[nodiscard]] std::vector<OptionalValue> optional_values() const override {
    return RequestOptions::optional_values();
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("pick runs nothing; to run it: berth run -- {}", rest.front()));
      return exit_code::usage;
    }
    if (const auto mistake = request_.mistake_in_patience()) {
      return report(*mistake, exit_code::usage);
    }
    auto job = request_.job(context);
    if (!job) return report(job.error(), exit_code::usage);
    if (job->where == RunWhere::cpu) return answer_cpu(context, {}, *job, unlooked(context));
    const auto policy = context.policy();
    if (!policy) return report(policy.error(), exit_code::berth_failed);
    auto looked = context.look_without_claims(wanted_for(*job));
    if (!looked) return report(looked.error());
    const auto found = considered(context, *job, *std::move(looked));
    if (context.ledger_error()) return report(*context.ledger_error());
    if (!found) return report(found.error(), exit_code::usage);
    job->request = found->request;
    return answer(context, found->placement, *job, found->snapshot);
  }

 private:
  int answer(const Context& context, const Placement& placement, const JobSpec& job,
             const Snapshot& snapshot) const {
    if (request_.dry_run() || !placement.satisfied()) {
      const std::string reasons = render_placement(placement, job.request, snapshot, context.err());
      std::fwrite(reasons.data(), 1, reasons.size(), stderr);
    }
    if (!placement.satisfied()) {
      if (job.where == RunWhere::gpu_or_cpu) return answer_cpu(context, placement, job, snapshot);
      if (format() == "json") {
        print(placement_json(placement, as_typed(job), snapshot) + "\n");
      }
      return exit_code::no_device;
    }
    const auto text = in_format(format(), placement, as_typed(job), snapshot,
                                context.variable("BERTH_ROOT").value_or(""));
    if (!text) return report(text.error());
    print(*text);
    if (text->find('\'') != text->npos) say_whose_quotes(context);
    say_simulated(snapshot.simulated);
    complain(
        tr("picked, not claimed: another job may take it first; berth run claims what it picks"));
    return exit_code::ok;
  }

  /// As `berth run --cpu`, which looks at no device, and so cannot be kept by one.
  static Snapshot unlooked(const Context& context) {
    Snapshot snapshot;
    snapshot.simulated = context.sources().simulated;
    return snapshot;
  }

  int answer_cpu(const Context& context, const Placement& placement, const JobSpec& job,
                 const Snapshot& snapshot) const {
    const auto settings = cpu_only_settings(context.environment(), threads_of_a_job(""));
    print(format() == "json" ? placement_json(placement, as_typed(job), snapshot, settings) + "\n"
                             : no_device_in_format(format(), settings));
    say_simulated(snapshot.simulated);
    complain(job.where == RunWhere::cpu ? tr("picked the CPU: --cpu asks for no device")
                                        : tr("no device: picked the CPU, as --or-cpu says"));
    return exit_code::ok;
  }

  void say_whose_quotes(const Context& context) const {
    if (format() != "docker" || context.stdout_is_terminal()) return;
    complain(
        tr("the quotes are for a shell to take off: docker run $(berth pick) passes them on. Use "
           "eval, or --format cdi, which has none"));
  }

  [[nodiscard]] std::string format() const { return json_ ? "json" : format_; }

  RequestOptions request_;
  std::string format_ = "indices";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_pick() { return std::make_unique<PickVerb>(); }

}  // namespace berth
