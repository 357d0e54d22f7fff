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
#include "host_environment/gather_host_facts.h"
#include "place/visible_devices.h"
#include "place/visible_others.h"
#include "run/container/left.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"
#include "view/doctor_text.h"
#include "view/findings_text.h"

namespace berth {

namespace {

Sentence named(const Device& device) {
  return sentence("GPU {}, {} ({})", device.index ? std::to_string(*device.index) : "–",
                  device.name.get().value_or("?"), device.id.text());
}

/// What an entry names by itself.
Sentence meaning_alone(const std::string& entry, DeviceOrder order, const Snapshot& snapshot) {
  const auto alone = parse_visible_devices(entry, order, snapshot);
  if (!alone) return sentence("not to be told: the cards differ");
  const Device* device =
      alone->devices.empty() ? nullptr : find_device(alone->devices.front(), snapshot);
  return device != nullptr ? named(*device) : sentence("no device");
}

std::optional<Sentence> new_remark(const VisibleDevices& now, const VisibleDevices& before) {
  for (const Sentence& remark : now.remarks) {
    if (std::ranges::find(before.remarks, remark) == before.remarks.end()) return remark;
  }
  return std::nullopt;
}

/// What each entry names, up to the one that ends the list.
std::vector<VisibleList::Token> tokens_of(const std::string& list, DeviceOrder order,
                                          const Snapshot& snapshot) {
  std::vector<VisibleList::Token> tokens;
  if (trimmed(list).empty()) return tokens;
  std::string read;       // with the entries before
  VisibleDevices before;  // what those came to
  bool has_ended = false;
  for (const std::string_view part : split(list, ',')) {
    const std::string entry(trimmed(part));
    VisibleList::Token token{.text = "\"" + entry + "\"",
                             .meaning = sentence("not read: the list had ended")};
    if (!has_ended) {
      read += (tokens.empty() ? "" : ",") + entry;
      // A mistake is one in every order.
      const auto so_far = parse_visible_devices(read, DeviceOrder::pci_bus_id, snapshot);
      const auto mistake = so_far && so_far->devices.size() <= before.devices.size()
                               ? new_remark(*so_far, before)
                               : std::nullopt;
      has_ended = mistake.has_value();
      token.meaning = mistake ? *mistake : meaning_alone(entry, order, snapshot);
      if (so_far) before = *so_far;
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::optional<VisibleList> visible_list(const Context& context, const Snapshot& snapshot) {
  const DeviceKindFacts& cuda = facts_of(DeviceKind::nvidia_gpu);
  const auto value = context.variable(std::string(cuda.visible_variable).c_str());
  if (!value) return std::nullopt;
  const auto order = context.variable(std::string(cuda.order_variable).c_str());
  const DeviceOrder meant =
      order == cuda.order_value ? DeviceOrder::pci_bus_id : DeviceOrder::fastest_first;
  VisibleList list{.value = *value};
  const std::string user = local_user_name(::geteuid());
  const auto parsed = parse_visible_devices(value, meant, snapshot, user);
  if (parsed) {
    list.devices = parsed->devices;
    list.remarks = parsed->remarks;
    // A user that hides all devices on purpose has made no mistake.
    if (!hides_devices_on_purpose(*value)) list.corrected = parsed->corrected;
  } else {
    list.unclear = parsed.error().said();
    // A mistake is one in every order; its correction counts as nvidia-smi does.
    const auto counted = parse_visible_devices(value, DeviceOrder::pci_bus_id, snapshot, user);
    if (counted && !hides_devices_on_purpose(*value)) {
      list.remarks = counted->remarks;
      list.corrected = counted->corrected;
    }
  }
  list.tokens = tokens_of(*value, meant, snapshot);
  return list;
}

/// Those of other makers' variables that are set, as their runtimes read them.
std::vector<OtherVariable> other_variables(const Context& context, const Snapshot& snapshot) {
  std::vector<OtherVariable> found;
  const auto has = [&](Runtime runtime) {
    return std::ranges::any_of(snapshot.devices,
                               [&](const Device& device) { return is_of(runtime, device); });
  };
  const auto add = [&](const char* name, const VisibleDevices& read) {
    found.push_back({.name = name,
                     .list = {.value = context.variable(name).value_or(""),
                              .devices = read.devices,
                              .remarks = read.remarks}});
  };
  const auto rocr = context.variable("ROCR_VISIBLE_DEVICES");
  if (rocr && has(Runtime::rocm)) {
    add("ROCR_VISIBLE_DEVICES", parse_rocr_visible_devices(*rocr, snapshot));
  }
  const auto hip = context.variable("HIP_VISIBLE_DEVICES");
  const auto cuda = context.variable("CUDA_VISIBLE_DEVICES");
  const auto behind = [&](const char* name, const VisibleSettings& settings) {
    const auto left = devices_left_by(settings, snapshot);
    VisibleDevices of_rocm;
    for (const DeviceId& id : left && *left ? (*left)->devices : std::vector<DeviceId>()) {
      const Device* device = find_device(id, snapshot);
      if (device != nullptr && is_of(Runtime::rocm, *device)) of_rocm.devices.push_back(id);
    }
    // Those of ROCR's own list are told with that.
    const std::size_t known = rocr ? parse_rocr_visible_devices(*rocr, snapshot).remarks.size() : 0;
    if (left && *left && (*left)->remarks.size() > known) {
      of_rocm.remarks.assign((*left)->remarks.begin() + static_cast<std::ptrdiff_t>(known),
                             (*left)->remarks.end());
    }
    add(name, of_rocm);
  };
  if (hip && has(Runtime::rocm)) behind("HIP_VISIBLE_DEVICES", {.rocr = rocr, .hip = hip});
  if (cuda && hip.value_or("").empty() && has(Runtime::rocm) && !has(Runtime::cuda)) {
    behind("CUDA_VISIBLE_DEVICES", {.cuda = cuda, .rocr = rocr});
  }
  const auto mask = context.variable("ZE_AFFINITY_MASK");
  if (mask && has(Runtime::level_zero)) {
    add("ZE_AFFINITY_MASK", parse_affinity_mask(*mask, snapshot));
  }
  const auto ascend = context.variable("ASCEND_RT_VISIBLE_DEVICES");
  if (ascend && has(Runtime::cann)) {
    add("ASCEND_RT_VISIBLE_DEVICES", parse_ascend_visible_devices(*ascend, snapshot));
  }
  return found;
}

const Device* device_by_uuid(std::string_view beginning, const Snapshot& snapshot) {
  for (const Device& device : snapshot.devices) {
    if (device.uuid.get() && device.uuid.get()->starts_with(beginning)) return &device;
  }
  return nullptr;
}

/// What an entry of NVIDIA_VISIBLE_DEVICES asks NVIDIA's container toolkit for. Its numbers are the
/// host's, which cannot be seen from inside.
Sentence given_by(std::string_view entry, const Snapshot& snapshot) {
  if (entry == "all") return sentence("every GPU of the host");
  if (entry == "none" || entry == "void" || entry.empty()) {
    return sentence("no GPU by this variable");
  }
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) {
    const Device* device = device_by_uuid(entry, snapshot);
    return device == nullptr ? sentence("no device that is shown here") : named(*device);
  }
  const std::size_t colon = entry.find(':');
  const auto card = parse_unsigned(entry.substr(0, colon));
  if (card && colon == entry.npos) {
    return sentence("the host's GPU {}; in here numbers begin with 0 again", *card);
  }
  const auto instance = card ? parse_unsigned(entry.substr(colon + 1)) : std::nullopt;
  if (instance) return sentence("MIG instance {} of the host's GPU {}", *instance, *card);
  return sentence("neither a number of the host's nor a UUID");
}

std::optional<VisibleList> given_list(const Context& context, const Examined& host) {
  const auto value = context.variable("NVIDIA_VISIBLE_DEVICES");
  if (!value || *value == "all" || !doctor::is_container(host)) return std::nullopt;
  VisibleList list{.value = *value};
  for (const std::string_view part : split(*value, ',')) {
    const std::string entry(trimmed(part));
    list.tokens.push_back({.text = "\"" + entry + "\"", .meaning = given_by(entry, host.snapshot)});
  }
  return list;
}

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
    host.visible = visible_list(context, host.snapshot);
    host.others = other_variables(context, host.snapshot);
    host.given = given_list(context, host);
    if (gpu_test_) {
      auto tests = prove_gpus(context, host.snapshot, {.devices = devices_, .force = force_});
      if (!tests) return report(tests.error(), could_not_look);
      host.gpu_proofs = std::move(*tests);
    }
    const Findings findings = examine(host);
    // What is not this machine is marked as such.
    for (const char* door : {"BERTH_ROOT", "BERTH_CUDA"}) {
      const auto value = context.variable(door);
      if (value && !host.snapshot.simulated) {
        host.snapshot.simulated = std::string(door) + "=" + *value;
      }
    }
    print(json_  ? doctor_json(host, findings)
          : fix_ ? render_fixes(findings, context.out())
                 : render_doctor(host, findings, context.out()));
    // The test that was asked for did not run: that is not "nothing wrong".
    if (gpu_test_ && host.gpu_proofs.empty()) {
      complain(tr("no GPU was tested: there is none here"));
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
