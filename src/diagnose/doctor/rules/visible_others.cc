// The visible-devices variables of makers other than NVIDIA, which their runtimes read otherwise
// than CUDA does.

#include <algorithm>

#include "base/sentence.h"
#include "base/text.h"
#include "diagnose/doctor/doctor.h"
#include "snapshot/device_kind.h"

namespace berth::doctor {

namespace {

constexpr std::string_view rocr = "ROCR_VISIBLE_DEVICES";
constexpr std::string_view hip = "HIP_VISIBLE_DEVICES";
constexpr std::string_view cuda = "CUDA_VISIBLE_DEVICES";
constexpr std::string_view mask = "ZE_AFFINITY_MASK";

/// Null: it is not set, or speaks of devices of which berth knows no runtime.
const VisibleVariable* set_variable(std::string_view name, const Examined& host) {
  const auto at = std::ranges::find_if(host.others, [&](const VisibleVariable& one) {
    return one.name == name && one.of->runtime != Runtime::none;
  });
  return at == host.others.end() ? nullptr : &*at;
}

Sentence as_set(const VisibleVariable& one) { return sentence("{}=\"{}\"", one.name, one.value); }

Finding::Step unset(std::string_view variable) {
  return {sentence("if that is not meant"), "unset " + std::string(variable)};
}

bool is_none(const VisibleVariable& one) {
  const std::string_view value = trimmed(one.value);
  return value.empty() || value == "-1";
}

/// The variable that HIP reads: its own, or CUDA's if its own is not set or empty.
const VisibleVariable* second_of_rocm(const Examined& host) {
  for (const std::string_view name : {hip, cuda}) {
    const VisibleVariable* one = set_variable(name, host);
    if (one != nullptr && !one->value.empty()) return one;
  }
  return nullptr;
}

Findings rocm_variables_disagree(const Examined& host) {
  const VisibleVariable* first = set_variable(rocr, host);
  const VisibleVariable* second = second_of_rocm(host);
  if (first == nullptr || second == nullptr || is_none(*first) || is_none(*second)) return {};
  const bool leaves_none = second->read.devices.empty();
  if (!leaves_none && second->read.devices == first->read.devices) return {};  // as berth sets them
  return {{.rule = "rocm_variables_disagree",
           .severity = leaves_none ? Severity::error : Severity::hint,
           .title = leaves_none ? sentence("two variables together leave ROCm no device")
                                : sentence("two variables choose ROCm's devices"),
           .evidence = {as_set(*first), as_set(*second)},
           .meaning = sentence("{} comes first. {} then numbers what is left, from 0 on.", rocr,
                               second->name),
           .steps = {{sentence("name the devices by the first alone"),
                      "unset " + std::string(second->name)}}}};
}

Findings rocm_hidden(const Examined& host) {
  for (const std::string_view name : {rocr, hip, cuda}) {
    const VisibleVariable* list = set_variable(name, host);
    if (list == nullptr || !is_none(*list)) continue;
    if (name != rocr && list->value.empty()) continue;  // HIP reads that as all
    return {{.rule = "rocm_hidden",
             .severity = Severity::warning,
             .title = sentence("{} hides every device from ROCm's programs", name),
             .evidence = {as_set(*list)},
             .meaning = sentence("PyTorch and others then compute on the CPU."),
             .steps = {unset(name)}}};
  }
  return {};
}

Findings devices_hidden(const Examined& host) {
  Findings findings;
  for (const VisibleVariable& one : host.others) {
    const bool has_rule = one.of->runtime == Runtime::none || one.of->runtime == Runtime::rocm;
    if (has_rule || one.is_as_unset || !is_none(one)) continue;
    findings.push_back(
        {.rule = "devices_hidden",
         .severity = Severity::warning,
         .title = sentence("{} hides every device from {}'s programs", one.name, one.of->vendor),
         .evidence = {as_set(one)},
         .meaning = sentence("PyTorch and others then compute on the CPU."),
         .steps = {unset(one.name)}});
  }
  return findings;
}

Findings empty_hides_nothing(const Examined& host) {
  Findings findings;
  for (const std::string_view name : {hip, mask}) {
    const VisibleVariable* list = set_variable(name, host);
    if (list == nullptr || !list->value.empty()) continue;
    const std::string hides = std::string(name) + "=-1";
    findings.push_back({.rule = "empty_hides_nothing",
                        .severity = Severity::hint,
                        .title = sentence("{} is empty, and that hides no device", name),
                        .evidence = {as_set(*list)},
                        .meaning = sentence("Its runtime reads an empty value as if it were not "
                                            "set; -1 hides all."),
                        .steps = {{sentence("to hide all devices"), "export " + hides},
                                  {sentence("else"), "unset " + std::string(name)}}});
  }
  return findings;
}

Findings cuda_is_hips(const Examined& host) {
  const VisibleVariable* list = set_variable(cuda, host);
  // A list that hides all is the other rule's. With ROCR's list both are told.
  if (list == nullptr || is_none(*list) || set_variable(rocr, host) != nullptr) return {};
  return {{.rule = "cuda_variable_is_hips",
           .severity = Severity::hint,
           .title = sentence("{} chooses AMD's devices here", cuda),
           .evidence = {as_set(*list), sentence("{} is not set or empty", hip)},
           .meaning = sentence("HIP reads it where its own variable says nothing."),
           .steps = {{sentence("say it by ROCm's own variable"),
                      "unset " + std::string(cuda) + "; export " + std::string(rocr) + "=" +
                          shell_quoted(list->value)}}}};
}

bool has_uuid_of_its_own(const Device& device, const Snapshot& snapshot) {
  const auto& uuid = device.uuid.get();
  return uuid && std::ranges::count_if(snapshot.devices, [&](const Device& one) {
                   return one.uuid.get() == *uuid && !is_only_presence(one) &&
                          (one.parent || !device.parent);
                 }) == 1;
}

Findings rocm_uuid_shared(const Examined& host) {
  const auto is_blind = [&](const Device& device) {
    return is_of(Runtime::rocm, device) && !has_uuid_of_its_own(device, host.snapshot);
  };
  if (std::ranges::none_of(host.snapshot.devices, is_blind)) return {};
  Findings findings;
  for (const std::string_view name : {rocr, hip}) {
    const VisibleVariable* list = set_variable(name, host);
    if (list == nullptr || small_letters(list->value).find("gpu-") == std::string::npos) continue;
    findings.push_back(
        {.rule = "rocm_uuid_shared",
         .severity = list->read.devices.empty() ? Severity::error : Severity::warning,
         .title = sentence("{} names devices by a UUID that is not one device's", name),
         .evidence = {as_set(*list)},
         .meaning = sentence("All partitions of a card have one UUID, and an MI300A's is 0. A UUID "
                             "that fits several, or none, ends the list."),
         .steps = {{sentence("write the numbers that `berth` shows"), ""}}});
  }
  return findings;
}

Findings visible_list_broken(const Examined& host) {
  Findings findings;
  for (const VisibleVariable& one : host.others) {
    // How a list of plain numbers is read, berth does not know: it says nothing of it.
    if (one.read.remarks.empty() || one.of->list_syntax == ListSyntax::numbers) continue;
    Finding finding{
        .rule = "visible_list_broken",
        .severity = Severity::warning,
        .title = sentence("{} does not say what was meant", one.name),
        .evidence = {as_set(one)},
        .meaning = sentence("Its runtime reads the rest as best it can, without a word."),
        .steps = {{sentence("write numbers that are there, ascending and without blanks"), ""}}};
    for (const Sentence& remark : one.read.remarks) finding.evidence.push_back(remark);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

std::span<const DoctorRule> visible_others_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = rocm_variables_disagree,
       .reports = {{"rocm_variables_disagree", "error where nothing is left, else hint",
                    "ROCR_VISIBLE_DEVICES, and HIP's or CUDA's, which number what it leaves",
                    "unset the second"}}},
      {.find = rocm_hidden,
       .reports = {{"rocm_hidden", "warning",
                    "ROCR_VISIBLE_DEVICES is empty or -1, or HIP's or CUDA's is -1", "unset it"}}},
      {.find = devices_hidden,
       .reports = {{"devices_hidden", "warning",
                    "Level Zero's list is -1, or Ascend's is empty or -1", "unset it"}}},
      {.find = empty_hides_nothing,
       .reports = {{"empty_hides_nothing", "hint",
                    "HIP_VISIBLE_DEVICES or ZE_AFFINITY_MASK is empty, which is all devices",
                    "-1, or unset it"}}},
      {.find = cuda_is_hips,
       .reports = {{"cuda_variable_is_hips", "hint",
                    "CUDA_VISIBLE_DEVICES where all GPUs are AMD's, and HIP's says nothing",
                    "ROCR_VISIBLE_DEVICES"}}},
      {.find = rocm_uuid_shared,
       .reports = {{"rocm_uuid_shared", "error where nothing is left, else warning",
                    "a UUID in ROCR's or HIP's list, where partitions share one or it is 0",
                    "numbers"}}},
      {.find = visible_list_broken,
       .reports = {{"visible_list_broken", "warning",
                    "an entry of ROCR's, HIP's, Level Zero's or Ascend's list is no device, or "
                    "does not ascend",
                    "numbers that are there"}}},
  };
  return rules;
}

}  // namespace berth::doctor
