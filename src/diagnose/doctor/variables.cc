// Variables that hide devices or slow programs down.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

Finding hidden_list(const VisibleList& list) {
  Finding finding{
      .rule = "visible_devices_none",
      .severity = Severity::warning,
      .title = sentence("CUDA_VISIBLE_DEVICES hides every GPU from programs started here"),
      .evidence = {sentence("CUDA_VISIBLE_DEVICES=\"{}\"", list.value)},
      .meaning = sentence("CUDA programs find no device; frameworks go on with the CPU."),
      .steps = {{sentence("if that is not meant"), "unset CUDA_VISIBLE_DEVICES"}}};
  for (const std::string& remark : list.remarks) finding.evidence.push_back(Sentence(remark, {}));
  return finding;
}

Finding broken_list(const VisibleList& list) {
  Finding finding{
      .rule = "visible_devices_broken",
      .severity = Severity::warning,
      .title = sentence("CUDA_VISIBLE_DEVICES does not say what was meant"),
      .evidence = {sentence("CUDA_VISIBLE_DEVICES=\"{}\"", list.value)},
      .meaning = sentence("CUDA reads the list up to its first mistake, without a word."),
      .steps = {{sentence("write the numbers that nvidia-smi shows, or UUIDs"),
                 "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0"}}};
  for (const std::string& remark : list.remarks) finding.evidence.push_back(Sentence(remark, {}));
  return finding;
}

struct OldName {
  std::string_view old;
  std::string_view now;
};
// torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp since 2.2: the old names are still read, with a
// warning.
constexpr std::array<OldName, 4> old_names = {{
    {"NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT"},
    {"NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ASYNC_ERROR_HANDLING"},
    {"NCCL_DESYNC_DEBUG", "TORCH_NCCL_DESYNC_DEBUG"},
    {"NCCL_ENABLE_TIMING", "TORCH_NCCL_ENABLE_TIMING"},
}};

/// The interfaces that NCCL_SOCKET_IFNAME allows: "^lo" all but, "=eth0" exactly, "eth" beginnings.
bool names_an_interface(std::string_view value, const std::vector<std::string>& interfaces) {
  if (value.starts_with('^')) return true;
  const bool exact = value.starts_with('=');
  if (exact) value.remove_prefix(1);
  for (const std::string_view whole : split(value, ',')) {
    const std::string_view wanted = trimmed(whole.substr(0, whole.find(':')));
    for (const std::string& one : interfaces) {
      if (exact ? one == wanted : one.starts_with(wanted)) return true;
    }
  }
  return false;
}

}  // namespace

Findings visible_devices(const Examined& host) {
  if (!host.visible || !driver_works(host)) return {};
  const VisibleList& list = *host.visible;
  if (!list.unclear.empty()) {
    return {
        {.rule = "visible_devices_unclear",
         .severity = Severity::hint,
         .title = sentence("which GPUs CUDA_VISIBLE_DEVICES names is a guess"),
         .evidence = {Sentence(list.unclear, {})},
         .meaning = sentence("The cards differ, and without CUDA_DEVICE_ORDER the numbers count "
                             "from the fastest."),
         .steps = {{sentence("count as nvidia-smi does, for good in ~/.profile"),
                    "export CUDA_DEVICE_ORDER=PCI_BUS_ID"}}}};
  }
  if (list.devices.empty()) return {hidden_list(list)};
  if (!list.remarks.empty()) return {broken_list(list)};
  return {};
}

Findings device_order_unknown(const Examined& host) {
  const auto order = host.world.variable("CUDA_DEVICE_ORDER");
  // The only GPU has the same number in every order.
  if (!order || order->empty() || working_gpus(host).size() < 2) return {};
  if (*order == "PCI_BUS_ID" || *order == "FASTEST_FIRST") return {};
  return {
      {.rule = "device_order_unknown",
       .severity = Severity::hint,
       .title = sentence("CUDA_DEVICE_ORDER has a word that CUDA does not know"),
       .evidence = {sentence("{}={}", "CUDA_DEVICE_ORDER", *order)},
       .meaning = sentence("CUDA knows PCI_BUS_ID and FASTEST_FIRST, spelt exactly so; with any "
                           "other word its numbers need not be nvidia-smi's."),
       .steps = {{sentence("count as nvidia-smi does, for good in ~/.profile"),
                  "export CUDA_DEVICE_ORDER=PCI_BUS_ID"}}}};
}

Findings container_hides_devices(const Examined& host) {
  if (!is_container(host) || driver_works(host)) return {};
  const auto shown = host.world.variable("NVIDIA_VISIBLE_DEVICES");
  if (!shown || (*shown != "void" && *shown != "none" && !shown->empty())) return {};
  return {
      {.rule = "container_hides_devices",
       .severity = Severity::error,
       .title = sentence("this container was told to have no GPU"),
       .evidence = {sentence("NVIDIA_VISIBLE_DEVICES=\"{}\"", *shown)},
       .meaning = sentence("The container toolkit reads it when the container starts; changing it "
                           "inside does nothing."),
       .steps = {{sentence("start it again with the GPUs"),
                  "docker run -e NVIDIA_VISIBLE_DEVICES=all --gpus all …"}}}};
}

Findings container_without_compute(const Examined& host) {
  if (!is_container(host)) return {};
  const auto abilities = host.world.variable("NVIDIA_DRIVER_CAPABILITIES");
  if (!abilities || abilities->empty() || *abilities == "all" ||
      abilities->find("compute") != std::string::npos) {
    return {};
  }
  return {{.rule = "container_without_compute",
           .severity = Severity::error,
           .title = sentence("this container was started without CUDA's libraries"),
           .evidence = {sentence("NVIDIA_DRIVER_CAPABILITIES=\"{}\" lacks compute", *abilities)},
           .meaning = sentence("nvidia-smi works and libcuda.so.1 is not there."),
           .steps = {{sentence("start it again with them"),
                      "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility --gpus all …"}}}};
}

Findings nccl_slow_settings(const Examined& host) {
  std::vector<Sentence> slow;
  const bool several = working_gpus(host).size() > 1;
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"}) {
    const auto value = host.world.variable(name);
    // Without InfiniBand nothing is lost by doing without.
    const bool has_ib = std::ranges::any_of(
        host.world.interfaces, [](const std::string& one) { return one.starts_with("ib"); });
    if (std::string_view(name) == "NCCL_IB_DISABLE" && !has_ib) continue;
    if (value && *value == "1" && several) slow.push_back(sentence("{}={}", name, *value));
  }
  if (slow.empty()) return {};
  return {
      {.rule = "nccl_slow_settings",
       .severity = Severity::hint,
       .title = sentence("NCCL may not use its fast ways"),
       .evidence = std::move(slow),
       .meaning = sentence("Set to get past a fault, these make every exchange between GPUs slower "
                           "for good."),
       .steps =
           {{sentence("see whether it works without; NCCL then says which way it takes"),
             "env -u NCCL_P2P_DISABLE -u NCCL_SHM_DISABLE -u NCCL_IB_DISABLE NCCL_DEBUG=INFO …"}},
       .doubt = sentence("there may be a good reason on this machine")}};
}

Findings nccl_interface_missing(const Examined& host) {
  const auto interface = host.world.variable("NCCL_SOCKET_IFNAME");
  if (!interface || interface->empty() || host.world.interfaces.empty() ||
      names_an_interface(*interface, host.world.interfaces)) {
    return {};
  }
  return {{.rule = "nccl_interface_missing",
           .severity = Severity::error,
           .title = sentence("NCCL is told to use a network interface that is not there"),
           .evidence = {sentence("NCCL_SOCKET_IFNAME={}", *interface)},
           .meaning = sentence("It fails with \"no socket interface found\"."),
           .steps = {{sentence("see what there is"), "ip -br link"}}}};
}

Findings nccl_old_names(const Examined& host) {
  std::vector<Sentence> evidence;
  std::string command;
  for (const OldName& one : old_names) {
    if (!host.world.variable(one.old) || host.world.variable(one.now)) continue;
    evidence.push_back(sentence("{} is called {} now", one.old, one.now));
    if (!command.empty()) command += " && ";
    command += fmt::format("export {}=\"${}\" && unset {}", one.now, one.old, one.old);
  }
  const FrameworkBuild* torch = host.world.python ? host.world.python->framework("torch") : nullptr;
  const auto release = torch != nullptr ? two_part(torch->version) : std::nullopt;
  if (evidence.empty() || !release || *release < TwoPart{2, 2}) return {};
  return {{.rule = "nccl_old_names",
           .severity = Severity::hint,
           .title = sentence("variables with names that PyTorch has given up"),
           .evidence = std::move(evidence),
           .meaning = sentence("torch {} still reads them, with a warning; later ones need not.",
                               torch->version),
           .steps = {{sentence("give them the names that they have now"), command}}}};
}

Findings launch_blocking(const Examined& host) {
  const auto value = host.world.variable("CUDA_LAUNCH_BLOCKING");
  if (!value || *value != "1") return {};
  return {
      {.rule = "launch_blocking",
       .severity = Severity::hint,
       .title = sentence("CUDA_LAUNCH_BLOCKING=1 makes the CPU wait for every kernel"),
       .evidence = {sentence("{}={}", "CUDA_LAUNCH_BLOCKING", *value)},
       .meaning = sentence("Good for finding the line of an error, and slow for everything else."),
       .steps = {{sentence("when the error is found"), "unset CUDA_LAUNCH_BLOCKING"}}}};
}

}  // namespace berth::doctor
