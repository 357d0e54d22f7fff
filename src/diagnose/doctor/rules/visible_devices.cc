// Variables that hide devices or number them.

#include <algorithm>
#include <cstddef>

#include "base/sentence.h"
#include "diagnose/doctor/doctor.h"

namespace berth::doctor {

namespace {

/// The list as it was probably meant. Where the cards differ, its numbers need their order.
Finding::Step write_corrected(const Examined& host, const VisibleList& list) {
  const auto cards = working_gpus(host);
  const bool differ = std::ranges::any_of(
      cards, [&](const Device* card) { return card->name != cards.front()->name; });
  const bool is_counted = host.facts.variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID";
  return {sentence("write what was meant, of cards that are there and not somebody else's"),
          std::string("export ") + (differ && !is_counted ? "CUDA_DEVICE_ORDER=PCI_BUS_ID " : "") +
              "CUDA_VISIBLE_DEVICES=" + list.corrected};
}

Finding hidden_list(const Examined& host, const VisibleList& list) {
  Finding finding{
      .rule = "visible_devices_none",
      .severity = Severity::warning,
      .title = sentence("CUDA_VISIBLE_DEVICES hides every GPU from programs started here"),
      .evidence = {sentence("CUDA_VISIBLE_DEVICES=\"{}\"", list.value)},
      .meaning = sentence("CUDA programs find no device; frameworks go on with the CPU."),
      .steps = {{sentence("if that is not meant"), "unset CUDA_VISIBLE_DEVICES"}}};
  if (!list.corrected.empty()) finding.steps = {write_corrected(host, list)};
  finding.evidence.insert(finding.evidence.end(), list.remarks.begin(), list.remarks.end());
  return finding;
}

Finding broken_list(const Examined& host, const VisibleList& list) {
  Finding finding{
      .rule = "visible_devices_broken",
      .severity = Severity::warning,
      .title = sentence("CUDA_VISIBLE_DEVICES does not say what was meant"),
      .evidence = {sentence("CUDA_VISIBLE_DEVICES=\"{}\"", list.value)},
      .meaning = sentence("CUDA reads the list up to its first mistake, without a word."),
      .steps = {{sentence("write the numbers that nvidia-smi shows, or UUIDs"), ""}}};
  if (!list.corrected.empty()) finding.steps = {write_corrected(host, list)};
  finding.evidence.insert(finding.evidence.end(), list.remarks.begin(), list.remarks.end());
  return finding;
}

Findings visible_devices(const Examined& host) {
  if (!host.visible) return {};
  const VisibleList& list = *host.visible;
  if (!list.unclear.empty() && !list.corrected.empty()) return {broken_list(host, list)};
  if (!list.unclear.empty()) {
    return {
        {.rule = "visible_devices_unclear",
         .severity = Severity::hint,
         .title = sentence("which GPUs CUDA_VISIBLE_DEVICES names is a guess"),
         .evidence = {list.unclear},
         .meaning = sentence("The cards differ, and without CUDA_DEVICE_ORDER the numbers count "
                             "from the fastest."),
         .steps = {{sentence("count as nvidia-smi does, for good in ~/.profile"),
                    "export CUDA_DEVICE_ORDER=PCI_BUS_ID"}}}};
  }
  if (list.devices.empty()) return {hidden_list(host, list)};
  if (!list.remarks.empty()) return {broken_list(host, list)};
  return {};
}

Findings device_order_unknown(const Examined& host) {
  const auto order = host.facts.variable("CUDA_DEVICE_ORDER");
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

Findings cuda_order_differs(const Examined& host) {
  const auto& cuda = host.facts.cuda;
  if (cuda->devices.empty()) return {};
  // With a list of its own the order is what somebody asked for.
  if (host.visible) return {};
  std::vector<Sentence> evidence;
  for (std::size_t i = 0; i < cuda->devices.size(); ++i) {
    const Device* device = device_of(cuda->devices[i], host.snapshot);
    if (device == nullptr || !device->index || device->kind != DeviceKind::nvidia_gpu) return {};
    if (static_cast<std::size_t>(*device->index) == i) continue;
    evidence.push_back(
        sentence("cuda:{} is nvidia-smi's {} ({})", i, *device->index, cuda->devices[i].name));
  }
  if (evidence.empty()) return {};
  return {
      {.rule = "cuda_order_differs",
       .severity = Severity::hint,
       .title = sentence("CUDA numbers the GPUs in another order than nvidia-smi"),
       .evidence = std::move(evidence),
       .meaning = sentence("Without CUDA_DEVICE_ORDER, CUDA puts the fastest card first; a number "
                           "read in nvidia-smi then names another card in a program."),
       .steps = {{sentence("count as nvidia-smi does, for good in ~/.profile"),
                  "export CUDA_DEVICE_ORDER=PCI_BUS_ID"}}}};
}

}  // namespace

std::span<const DoctorRule> visible_devices_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = visible_devices,
       .needs = HostPart::driver,
       .reports = {{"visible_devices_none", "warning", "CUDA_VISIBLE_DEVICES leaves nothing",
                    "unset it; after a mistake the corrected line"},
                   {"visible_devices_broken", "warning",
                    "an entry ends the list, or is read in part (\"0 1\" is 0)",
                    "the corrected line: what was meant, is there and is nobody else's"},
                   {"visible_devices_unclear", "hint",
                    "numbers without CUDA_DEVICE_ORDER on different cards",
                    "CUDA_DEVICE_ORDER=PCI_BUS_ID"}}},
      {.find = device_order_unknown,
       .reports = {{"device_order_unknown", "hint",
                    "CUDA_DEVICE_ORDER is neither PCI_BUS_ID nor FASTEST_FIRST, and there are "
                    "several GPUs",
                    "CUDA_DEVICE_ORDER=PCI_BUS_ID"}}},
      {.find = cuda_order_differs,
       .needs = HostPart::driver | HostPart::cuda,
       .reports = {{"cuda_order_differs", "hint", "libcuda's order, joined with NVML's by UUID",
                    "CUDA_DEVICE_ORDER=PCI_BUS_ID"}}},
  };
  return rules;
}

}  // namespace berth::doctor
