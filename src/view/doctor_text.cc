#include "view/doctor_text.h"

#include <algorithm>
#include <map>

#include "base/tr.h"
#include "snapshot/questions.h"
#include "view/findings_text.h"
#include "view/gpu_proof_text.h"
#include "view/paint.h"

namespace berth {

namespace {

/// "8 × NVIDIA H100 80GB HBM3, 1 × NVIDIA T4".
std::string cards_text(const std::vector<const Device*>& gpus) {
  std::map<std::string, int> counts;
  for (const Device* gpu : gpus) ++counts[gpu->name.get().value_or("?")];
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += ", ";
    text += (count > 1 ? std::to_string(count) + " × " : "") + name;
  }
  return text;
}

std::string driver_line(const Examined& host) {
  const auto gpus = doctor::working_gpus(host);
  const auto& driver = host.snapshot.host.driver_version.get();
  if (!gpus.empty()) return trf("Driver {}: {}.", driver.value_or("?"), cards_text(gpus));
  const bool has_card = std::ranges::any_of(host.snapshot.devices, [](const Device& device) {
    return device.kind == DeviceKind::nvidia_gpu;
  });
  if (has_card) return std::string(tr("An NVIDIA card is there and its driver does not answer."));
  if (doctor::unseen_because(host) != nullptr) {
    return std::string(tr("Whether there is an NVIDIA card could not be looked at."));
  }
  return std::string(tr("No NVIDIA card: programs here compute on the CPU."));
}

std::string cuda_line(const Examined& host) {
  const auto& cuda = host.snapshot.host.cuda_version_supported.get();
  if (!cuda) return std::string(tr("Which CUDA the driver supports cannot be told."));
  const auto parts = two_part(*cuda);
  return trf(
      "CUDA up to {}, and programs built with any {}.x; nothing needs to be installed for that.",
      *cuda, parts ? std::to_string(parts->major) : *cuda);
}

std::string framework_text(const FrameworkBuild& build, const PythonWorld& python) {
  const auto& cuda = build.cuda.get();
  const std::string name = build.name + " " + build.version;
  const auto said = std::ranges::find(python.said.frameworks, build.name, &FrameworkSaid::name);
  const bool asked = said != python.said.frameworks.end() && said->sees_gpu;
  if (asked && *said->sees_gpu) return trf("{} sees {} GPUs", name, said->devices.value_or(0));
  if (build.is_rocm) return trf("{} is built for AMD's GPUs", name);
  if (cuda && !*cuda) return trf("{} is built without CUDA", name);
  if (asked) return trf("{} sees no GPU", name);
  if (!cuda) return trf("{} does not say what it is built for", name);
  return trf("{} is built for CUDA {} (not asked)", name, (*cuda)->text());
}

std::string framework_line(const Examined& host) {
  const auto& python = host.world.python;
  if (!python) {
    return host.world.python_problem.empty()
               ? std::string(tr("No Python was looked at."))
               : trf("No Python was looked at: {}", tr_composed(host.world.python_problem));
  }
  std::string text;
  for (const FrameworkBuild& build : python->frameworks) {
    if (!text.empty()) text += "; ";
    text += framework_text(build, *python);
  }
  if (text.empty()) text = tr("neither torch nor tensorflow nor jax");
  return trf("In {} (Python {}): {}.", python->interpreter,
             python->version ? python->version->text() : "?", text);
}

/// The number nvidia-smi shows a device under; nothing: it shows none.
std::optional<int> index_of(const CudaDevice& cuda, const Snapshot& snapshot) {
  const Device* device = doctor::device_of(cuda, snapshot);
  return device == nullptr ? std::nullopt : device->index;
}

std::string numbers_line(const Examined& host) {
  std::string text;
  const auto add = [&](std::size_t cuda, std::optional<int> index) {
    if (!text.empty()) text += ", ";
    text += trf("cuda:{} is nvidia-smi's {}", cuda, index ? std::to_string(*index) : "?");
  };
  if (host.world.cuda && host.world.cuda->problem.empty()) {
    const auto& devices = host.world.cuda->devices;
    for (std::size_t i = 0; i < devices.size(); ++i) add(i, index_of(devices[i], host.snapshot));
    return text.empty() ? std::string(tr("CUDA shows a program started here no device."))
                        : trf("Numbers: {}.", text);
  }
  if (host.visible && host.visible->unclear.empty()) {
    for (std::size_t i = 0; i < host.visible->devices.size(); ++i) {
      const Device* device = find_device(host.visible->devices[i], host.snapshot);
      add(i, device == nullptr ? std::nullopt : device->index);
    }
    return text.empty()
               ? std::string(tr("CUDA_VISIBLE_DEVICES shows a program started here no device."))
               : trf("Numbers, by CUDA_VISIBLE_DEVICES: {}.", text);
  }
  if (!doctor::driver_works(host)) return std::string(tr("There are no GPU numbers to compare."));
  return std::string(tr(
      "Numbers: CUDA's were not asked; with CUDA_DEVICE_ORDER=PCI_BUS_ID they are nvidia-smi's."));
}

std::string free_line(const Examined& host) {
  int all = 0;
  std::vector<const Device*> free;
  for (const Device& device : host.snapshot.devices) {
    const bool counts =
        device.kind == DeviceKind::nvidia_gpu || device.kind == DeviceKind::nvidia_mig;
    const DeviceState state = state_of(device, host.snapshot);
    if (!counts || !device.index || state == DeviceState::divided) continue;
    ++all;
    if (state == DeviceState::free) free.push_back(&device);
  }
  if (all == 0 && doctor::unseen_because(host) != nullptr) {
    return std::string(tr("What is free could not be looked at."));
  }
  if (all == 0) return std::string(tr("There is no GPU that could be free."));
  if (free.empty()) return trf("Free now: none of {}; `berth status` shows who has them.", all);
  return trf("Free now: {} of {} ({}).", free.size(), all, doctor::names_of(free));
}

/// CUDA_VISIBLE_DEVICES, entry by entry.
std::string tokens_text(const Examined& host, const Style& style) {
  if (!host.visible) return "";
  std::string text = wrapped(
      "", outside(trf("CUDA_VISIBLE_DEVICES=\"{}\":", host.visible->value), style), 2, style);
  for (const VisibleList::Token& token : host.visible->tokens) {
    text += wrapped("  ", outside(token.text + ": " + token.meaning, style), 4, style);
  }
  return text;
}

}  // namespace

std::string render_doctor(const Examined& host, const Findings& findings, const Style& style) {
  std::string text;
  if (host.snapshot.simulated) {
    // Never translated: the mark on a screenshot must be understood by everybody.
    text += Line(style)
                .add("SIMULATED " + outside(*host.snapshot.simulated, style), Paint::yellow)
                .text();
  }
  for (const std::string& line : {driver_line(host), cuda_line(host), framework_line(host),
                                  numbers_line(host), free_line(host)}) {
    text += wrapped("", own(outside(line, style), style), 2, style);
  }
  text += tokens_text(host, style);
  if (!host.world.kernel) {
    text +=
        wrapped("",
                own(tr("Of the machine itself (driver files, libraries, limits) nothing was looked "
                       "at: the devices are not this machine's."),
                    style),
                2, style, Paint::dim);
  }
  text += "\n" + render_gpu_proofs(host, style);
  if (findings.empty()) return text + own(tr("Nothing found to be wrong."), style) + "\n";
  return text + render_findings(findings, style);
}

}  // namespace berth
