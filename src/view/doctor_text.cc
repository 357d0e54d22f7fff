#include "view/doctor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>

#include "base/text.h"
#include "base/tr.h"
#include "diagnose/doctor/gpu_speed.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "snapshot/questions.h"
#include "view/findings_text.h"
#include "view/paint.h"

namespace berth {

namespace {

// ------------------------------------------- what the tests of devices came to, a block per device

using compute::ProofEnd;
using compute::ProofOf;
using compute::ProofStep;

std::optional<double> rate_of(const GpuProof& test, ProofOf what) {
  const auto found = std::ranges::find(test.steps, what, &ProofStep::what);
  return found == test.steps.end() ? std::nullopt : found->per_second;
}

/// What a figure is to be held against.
std::string remark(const ProofStep& step, const GpuProof& test, const Device& device) {
  std::string text;
  if (const auto best = doctor::best_rate(step.what, device)) {
    text = trf("{} % of {} at best", static_cast<int>(100 * *step.per_second / *best),
               doctor::rate_text(step.what, *best));
  }
  if (step.what == ProofOf::multiply_cpu) {
    text = trf("{} threads, a simple kernel", test.cpu_threads);
  }
  const auto cpu = rate_of(test, ProofOf::multiply_cpu);
  if (step.what == ProofOf::multiply && cpu) {
    if (!text.empty()) text += ", ";
    text += trf("{:.0f} times the CPU", *step.per_second / *cpu);
  }
  return text;
}

std::string step_line(const ProofStep& step, const GpuProof& test, const Device& device,
                      const Style& style) {
  Line line(style);
  line.add("  ").cell(own(doctor::words_of(step).shown(), style), 38, Align::left);
  if (step.end == ProofEnd::passed && step.per_second) {
    line.cell(doctor::rate_text(step.what, *step.per_second), 13, Align::right);
    const std::string said = remark(step, test, device);
    if (!said.empty()) line.add("  ").add(own(said, style), Paint::dim);
    return line.text();
  }
  if (step.end == ProofEnd::passed) return line.add(outside(step.detail, style)).text();
  const std::string_view word = step.end == ProofEnd::wrong    ? tr("WRONG")
                                : step.end == ProofEnd::failed ? tr("refused")
                                                               : tr("no answer");
  return line.add(own(word, style), Paint::red).add("  ").add(outside(step.detail, style)).text();
}

std::string verdict(const GpuProof& test) {
  if (!test.left_out.empty()) return trf("not tested: {}", test.left_out.shown());
  const bool well = std::ranges::all_of(
      test.steps, [](const ProofStep& step) { return step.end == ProofEnd::passed; });
  return std::string(well ? tr("computes, and every result that was checked was right")
                          : tr("failed its test"));
}

std::string render_gpu_proofs(const Examined& host, const Style& style) {
  std::string text;
  for (const GpuProof& test : host.gpu_proofs) {
    const Device* device = find_device(test.device, host.snapshot);
    if (device == nullptr) continue;
    text += wrapped("",
                    outside(trf("GPU {}, {}: {}", index_or_id(*device),
                                device->name.get().value_or("?"), verdict(test)),
                            style),
                    2, style, Paint::bold);
    for (const ProofStep& step : test.steps) text += step_line(step, test, *device, style);
  }
  return text.empty() ? text : text + "\n";
}

// --------------------------------------------------------------------------------- the machine

/// "8 × NVIDIA H100 80GB HBM3, T4": the first has its whole name, the others a short one. So four
/// kinds of card still fit a line.
std::string cards_text(const std::vector<const Device*>& gpus) {
  std::map<std::string, int> counts;
  for (const Device* gpu : gpus) ++counts[gpu->name.get().value_or("?")];
  std::string text;
  for (const auto& [name, count] : counts) {
    const bool is_first = text.empty();
    if (!is_first) text += ", ";
    if (count > 1) text += std::to_string(count) + " × ";
    text += is_first ? std::string_view(name) : model_of(name);
  }
  return text;
}

/// Other makers' devices that a job can be given, of one runtime.
std::vector<const Device*> others_here(const Examined& host) {
  std::vector<const Device*> found;
  for (const Device& device : host.snapshot.devices) {
    const DeviceKindFacts& facts = facts_of(device.kind);
    if (is_of(Runtime::cuda, device) || !facts.is_supported || is_only_presence(device)) continue;
    if (device.parent || (!found.empty() && !is_of(facts_of(found.front()->kind).runtime, device)))
      continue;
    found.push_back(&device);
  }
  return found;
}

std::string driver_line(const Examined& host) {
  const auto gpus = doctor::working_gpus(host);
  const auto& driver = host.snapshot.host.software_of(Runtime::cuda).driver.get();
  if (!gpus.empty()) return trf("Driver {}: {}.", driver.value_or("?"), cards_text(gpus));
  if (const auto others = others_here(host); !others.empty()) {
    const auto& its = host.snapshot.host.software_of(facts_of(others.front()->kind).runtime).driver;
    return its.get() ? trf("Driver {}: {}.", *its.get(), cards_text(others))
                     : trf("The kernel's own driver: {}.", cards_text(others));
  }
  const bool has_card = std::ranges::any_of(
      host.snapshot.devices, [](const Device& device) { return is_of(Runtime::cuda, device); });
  if (has_card) return std::string(tr("An NVIDIA card is there and its driver does not answer."));
  if (doctor::unseen_because(host) != nullptr) {
    return std::string(tr("Whether there is an NVIDIA card could not be looked at."));
  }
  return std::string(tr("No NVIDIA card: programs here compute on the CPU."));
}

std::string cuda_line(const Examined& host) {
  const auto& cuda = host.snapshot.host.software_of(Runtime::cuda).runtime.get();
  if (const auto others = others_here(host); !cuda && !others.empty()) {
    const DeviceKindFacts& facts = facts_of(others.front()->kind);
    const auto& installed = host.snapshot.host.software_of(facts.runtime).runtime.get();
    return installed ? trf("{} {} is installed.", facts.runtime_name, *installed)
                     : trf("Which {} is installed cannot be told.", facts.runtime_name);
  }
  if (!cuda) return std::string(tr("Which CUDA the driver supports cannot be told."));
  const auto parts = two_part(*cuda);
  // PTX that a newer compiler made is the exception: the driver's own compiler refuses it.
  return trf("CUDA up to {}, builds of any {}.x but for newer PTX; no toolkit is needed.", *cuda,
             parts ? std::to_string(parts->major) : *cuda);
}

std::string framework_text(const FrameworkBuild& build, const PythonEnvironment& python) {
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
  const auto& python = host.facts.python;
  if (!python) {
    if (doctor::is_elsewhere(host) && host.facts.python_problem.empty()) {
      return std::string(
          tr("No Python, library or limit was looked at: the devices are not this machine's."));
    }
    return host.facts.python_problem.empty()
               ? std::string(tr("No Python was looked at."))
               : trf("No Python was looked at: {}", host.facts.python_problem.shown());
  }
  std::string text = joined(python->frameworks, tr("; "), [&](const FrameworkBuild& build) {
    return framework_text(build, *python);
  });
  if (text.empty() && !python->is_known()) {
    text = tr("whether torch, tensorflow or jax is there is not known");
  }
  if (text.empty()) text = tr("no torch, tensorflow or jax");
  // The folder of an environment says which interpreter it is.
  const bool is_inside = !python->environment.empty() &&
                         python->interpreter.starts_with(python->environment + "/bin/");
  return trf("Python {} ({}): {}.", python->version ? python->version->text() : "?",
             is_inside ? python->environment : python->interpreter, text);
}

/// The number nvidia-smi shows a device under; nothing: it shows none.
std::optional<int> index_of(const CudaDevice& cuda, const Snapshot& snapshot) {
  const Device* device = doctor::device_of(cuda, snapshot);
  return device == nullptr ? std::nullopt : device->index;
}

/// Which of nvidia-smi's numbers cuda:0, cuda:1, … have; nothing: nvidia-smi shows no such device.
using Numbers = std::vector<std::optional<int>>;

std::string number_text(std::optional<int> index) { return index ? std::to_string(*index) : "?"; }

/// One after the other, as on most machines.
bool is_in_turn(const Numbers& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i] || *numbers[i] != *numbers[0] + static_cast<int>(i)) return false;
  }
  return true;
}

/// In one line also of eight devices.
std::string numbers_text(const Numbers& numbers) {
  const std::string first = trf("cuda:{} is nvidia-smi's {}", 0, number_text(numbers.front()));
  if (numbers.size() == 1) return first;
  const std::size_t last = numbers.size() - 1;
  if (last == 1) {
    return first + std::string(tr(", ")) +
           trf("cuda:{} is nvidia-smi's {}", 1, number_text(numbers.back()));
  }
  if (is_in_turn(numbers)) {
    return trf("cuda:{} to cuda:{} are nvidia-smi's {} to {}", 0, last,
               number_text(numbers.front()), number_text(numbers.back()));
  }
  const std::string others = joined(numbers | std::views::drop(1), ", ", number_text);
  return first + std::string(tr(", ")) + trf("cuda:{} to cuda:{} are {}", 1, last, others);
}

std::string numbers_line(const Examined& host) {
  Numbers numbers;
  if (host.facts.cuda && host.facts.cuda->problem.empty()) {
    for (const CudaDevice& device : host.facts.cuda->devices) {
      numbers.push_back(index_of(device, host.snapshot));
    }
    return numbers.empty() ? std::string(tr("CUDA shows a program started here no device."))
                           : trf("Numbers: {}.", numbers_text(numbers));
  }
  if (host.visible && host.visible->unclear.empty()) {
    for (const DeviceId& id : host.visible->devices) {
      const Device* device = find_device(id, host.snapshot);
      numbers.push_back(device == nullptr ? std::nullopt : device->index);
    }
    return numbers.empty()
               ? std::string(tr("CUDA_VISIBLE_DEVICES shows a program started here no device."))
               : trf("Numbers, by CUDA_VISIBLE_DEVICES: {}.", numbers_text(numbers));
  }
  if (const auto others = others_here(host); !doctor::driver_works(host) && !others.empty()) {
    return trf("Numbers: those of {}, as {} takes them.",
               facts_of(others.front()->kind).runtime_name,
               facts_of(others.front()->kind).visible_variable);
  }
  if (!doctor::driver_works(host)) return std::string(tr("There are no GPU numbers to compare."));
  return std::string(
      tr("Numbers: not asked; CUDA_DEVICE_ORDER=PCI_BUS_ID makes CUDA's nvidia-smi's."));
}

/// The first of them that leave the line within 80 columns: a divided server has dozens.
std::string some_names(const std::vector<const Device*>& free) {
  constexpr std::size_t room = 52;
  const std::string all = doctor::names_of(free);
  if (all.size() <= room) return all;
  return all.substr(0, all.rfind(", ", room)) + ", …";
}

/// The devices that a job could be given: in this state or, without one, in any.
std::vector<const Device*> devices_that_are(std::optional<DeviceState> wanted,
                                            const Snapshot& snapshot) {
  std::vector<const Device*> found;
  for (const Device& device : snapshot.devices) {
    const DeviceState state = state_of(device, snapshot);
    if (!is_supported(device) || !device.index || state == DeviceState::divided) continue;
    if (!wanted || state == *wanted) found.push_back(&device);
  }
  return found;
}

std::string free_line(const Examined& host) {
  const std::size_t all = devices_that_are(std::nullopt, host.snapshot).size();
  const auto free = devices_that_are(DeviceState::free, host.snapshot);
  if (all == 0 && doctor::unseen_because(host) != nullptr) {
    return std::string(tr("What is free could not be looked at."));
  }
  if (all == 0) return std::string(tr("There is no GPU that could be free."));
  if (free.empty()) return trf("Free now: none of {}; `berth status` shows who has them.", all);
  return trf("Free now: {} of {} ({}).", free.size(), all, some_names(free));
}

/// Empty: none is.
std::string reserved_line(const Examined& host) {
  const auto reserved = devices_that_are(DeviceState::reserved, host.snapshot);
  if (reserved.empty()) return "";
  std::vector<std::string> users;
  for (const Device* device : reserved) {
    for (std::string& user : users_waiting_for(*device, host.snapshot)) {
      if (std::ranges::find(users, user) == users.end()) users.push_back(std::move(user));
    }
  }
  const std::string names = some_names(reserved);
  if (users.empty()) return trf("Reserved for earlier requests in the queue: GPU {}.", names);
  return trf("Reserved for earlier requests in the queue: GPU {} (for {}).", names,
             printable(joined(users, ", ")));
}

/// A list of devices in a variable, entry by entry.
std::string tokens_text(std::string_view variable, const std::optional<VisibleList>& list,
                        const Style& style) {
  if (!list) return "";
  std::string text =
      wrapped("", outside(fmt::format("{}=\"{}\":", variable, list->value), style), 2, style);
  for (const VisibleList::Token& token : list->tokens) {
    text += wrapped(
        "  ",
        outside(token.text, style) + own(tr(": "), style) + outside(token.meaning.shown(), style),
        4, style);
  }
  return text;
}

/// The result of reading a file of the working directory; empty: nobody asked.
std::string reading_text(const Examined& host) {
  if (!host.facts.directory) return "";
  const Reading<ReadSpeed>& reading = host.facts.directory->read_speed;
  if (!reading.get()) {
    if (reading.why() == Absent::not_sampled) return "";
    return std::string(reading.why() == Absent::unsupported
                           ? tr("Reading: the working directory has no file that can be read.")
                           : tr("Reading: a file of the working directory was not read in time."));
  }
  const ReadSpeed& speed = *reading.get();
  const std::string told = trf("Reading: {} of {} at {} MB/s.", short_size(speed.bytes), speed.file,
                               fmt::format("{:.1f}", speed.megabytes_per_second()));
  const auto& cached = speed.cached.get();
  if (!cached) {
    return told + " " +
           std::string(tr("How much of it was in memory before cannot be told: it may say nothing "
                          "of the disk."));
  }
  const int percent = static_cast<int>(*cached * 100);
  return told + " " +
         (*cached > 0.5
              ? trf("{} % of it was in memory before: it tells nothing of the disk.", percent)
              : trf("{} % of it was in memory before. A part may have come from a cache of the "
                    "disk's or a server's.",
                    percent));
}

/// The lines below the five, where there is more to say.
std::string remarks_text(const Examined& host, const Style& style) {
  std::string text = tokens_text("NVIDIA_VISIBLE_DEVICES", host.given, style) +
                     tokens_text("CUDA_VISIBLE_DEVICES", host.visible, style);
  const std::string read = reading_text(host);
  if (!read.empty()) text += wrapped("", own(outside(read, style), style), 2, style);
  // Else the line about Python says so.
  if (doctor::is_elsewhere(host) && host.facts.python) {
    text +=
        wrapped("",
                own(tr("Of the machine itself (driver files, libraries, limits) nothing was looked "
                       "at: the devices are not this machine's."),
                    style),
                2, style, Paint::dim);
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string render_doctor(const Examined& host, const Findings& findings, const Style& style) {
  std::string text = simulated_line(host.snapshot.simulated, style);
  for (const std::string& line : {driver_line(host), cuda_line(host), framework_line(host),
                                  numbers_line(host), free_line(host), reserved_line(host)}) {
    if (!line.empty()) text += wrapped("", own(outside(line, style), style), 2, style);
  }
  text += remarks_text(host, style);
  text += "\n" + render_gpu_proofs(host, style);
  if (findings.empty() && doctor::is_elsewhere(host) && !host.gpu_proofs.empty()) {
    return text + own(tr("Nothing was tested: the test needs a real GPU."), style) + "\n";
  }
  if (findings.empty()) return text + own(tr("Nothing found to be wrong."), style) + "\n";
  return text + render_findings(findings, style);
}

}  // namespace berth
