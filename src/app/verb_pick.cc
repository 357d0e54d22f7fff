// `berth pick`: which devices a job would get, as a line for a script. Claims nothing.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "app/run_options.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/variables.h"
#include "host_environment/environment.h"
#include "host_environment/machine_side.h"
#include "place/visible_devices.h"
#include "run/container/plan.h"
#include "run/container/toolkit.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"
#include "view/placement_text.h"

namespace berth {

namespace {

std::string exports_of(const std::vector<Variable>& variables) {
  std::string lines;
  for (const auto& [name, value] : variables) lines += "export " + name + "=" + value + "\n";
  return lines;
}

/// What keeps a job from every device, as `berth run --cpu` would start it.
std::string without_devices(const std::string& format, const std::vector<Variable>& settings) {
  if (format == "env") return exports_of(settings);
  const bool is_for_container = format == "docker" || format == "cdi";
  return is_for_container ? joined(words_for_no_card(), " ") + "\n" : "-1\n";
}

std::vector<const Device*> found_in(const Snapshot& snapshot, const std::vector<DeviceId>& ids) {
  std::vector<const Device*> devices;
  for (const DeviceId& id : ids) {
    if (const Device* device = find_device(id, snapshot)) devices.push_back(device);
  }
  return devices;
}

/// Whether an engine's toolkit gives them (--gpus, CDI).
bool are_given_by_toolkit(const std::vector<DeviceId>& ids, const Snapshot& snapshot) {
  return std::ranges::all_of(found_in(snapshot, ids),
                             [](const Device* device) { return is_given_by_toolkit(*device); });
}

/// For other makers' devices: their files, which need no quotes.
Result<std::string> container_words(const std::string& format, const std::vector<DeviceId>& ids,
                                    const Snapshot& snapshot) {
  if (format == "cdi") {
    return std::unexpected(
        Error(ErrorCode::unsupported, "--format cdi has no name for these; use --format docker"));
  }
  const auto files = files_for_container(found_in(snapshot, ids));
  if (!files) {
    return std::unexpected(Error(
        ErrorCode::unsupported,
        "which files give a container these devices is not known; use the runtime of their maker"));
  }
  std::string words;
  for (const std::string& file : *files)
    words += (words.empty() ? "--device " : " --device ") + file;
  return words + "\n";
}

/// By the names that the engines' files have, as `berth run` does; by UUID where these do not know
/// all. No file names a simulated card.
std::string cdi_words(const std::vector<DeviceId>& devices, const Snapshot& snapshot,
                      const std::string& root) {
  std::optional<std::vector<std::string>> names;
  if (!snapshot.simulated) {
    names = cdi_names(devices, snapshot, read_cdi_specs(usual_cdi_folders(), root).specs);
  }
  if (!names) {
    names.emplace();
    for (const Device* device : found_in(snapshot, devices)) {
      names->push_back(fmt::format("{}={}", facts_of(device->kind).cdi_kind, device->id.text()));
    }
  }
  std::string words;
  for (const std::string& name : *names)
    words += (words.empty() ? "--device " : " --device ") + name;
  return words + "\n";
}

/// "0,2" for the shell, or what docker and CDI want to be told.
Result<std::string> in_format(const std::string& format, const Placement& placement,
                              const std::string& asked_for, const Snapshot& snapshot,
                              const std::string& root) {
  std::vector<DeviceId> devices;
  for (const Choice& choice : placement.chosen) devices.push_back(choice.device);
  if (format == "json") return placement_json(placement, asked_for, snapshot) + "\n";
  if (format == "env") {
    auto variables = visible_variables(devices, VisibleFormat::indices, snapshot);
    if (!variables) return std::unexpected(std::move(variables).error());
    std::string lines = exports_of(*variables);
    for (const std::string& name : removed_variables(devices, snapshot)) {
      lines += "unset " + name + "\n";
    }
    return lines;
  }
  const bool is_for_container = format == "docker" || format == "cdi";
  if (is_for_container && !are_given_by_toolkit(devices, snapshot)) {
    return container_words(format, devices, snapshot);
  }
  const bool by_index = format == "indices";
  auto list = write_visible_devices(
      devices, by_index ? VisibleFormat::indices : VisibleFormat::uuids, snapshot);
  if (!list) return std::unexpected(std::move(list).error());
  // Both forms are one or more words for `docker run`. The inner quotes keep docker's CSV reader
  // from taking a comma for its own. The outer ones keep the inner ones from the shell. Without a
  // comma neither is needed. Then the words are right in $(…) too, where no shell takes quotes off.
  if (format == "docker" && devices.size() == 1) return "--gpus device=" + *list + "\n";
  if (format == "docker") return "--gpus '\"device=" + *list + "\"'\n";
  if (format == "cdi") return cdi_words(devices, snapshot, root);
  return *list + "\n";
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
                             : without_devices(format(), settings));
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
