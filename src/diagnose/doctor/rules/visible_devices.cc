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

}  // namespace berth::doctor
