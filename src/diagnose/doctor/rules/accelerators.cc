// What keeps programs from devices of makers other than NVIDIA. It may be their files, their
// container, or a build of PyTorch for another maker.

#include <algorithm>
#include <optional>

#include "base/sentence.h"
#include "base/text.h"
#include "diagnose/doctor/doctor.h"
#include "snapshot/device_kind.h"

namespace berth::doctor {

namespace {

constexpr std::string_view kfd = "/dev/kfd";

bool has_any(Runtime runtime, const Examined& host) { return !devices_of(runtime, host).empty(); }

bool has_file_like(std::string_view beginning, const Examined& host) {
  return std::ranges::any_of(host.facts.device_files, [&](const DeviceFile& file) {
    return file.path.starts_with(beginning);
  });
}

/// By what programs of a runtime reach its devices.
std::vector<std::string_view> files_of(const DeviceKindFacts& facts) {
  std::vector<std::string_view> files(facts.further_files.begin(), facts.further_files.end());
  if (!facts.card_file.empty()) files.push_back(facts.card_file);
  return files;
}

/// The first row of each runtime but CUDA.
std::vector<const DeviceKindFacts*> other_runtimes() {
  std::vector<const DeviceKindFacts*> found;
  for (const DeviceKindFacts& facts : device_kinds()) {
    const bool is_other = facts.runtime != Runtime::none && facts.runtime != Runtime::cuda;
    if (is_other && speaks_for_runtime(facts)) found.push_back(&facts);
  }
  return found;
}

std::vector<std::string> example_files(const DeviceKindFacts& facts) {
  const auto known = files_of(facts);
  std::vector<std::string> files(known.begin(), known.end());
  if (!facts.card_file.empty()) files.back() += 'N';
  return files;
}

/// The command that starts a container with the devices, as the makers' documents say.
std::string container_words(const DeviceKindFacts& facts,
                            const std::vector<const Device*>& devices) {
  std::string words = "docker run";
  const auto files = files_for_container(devices);
  // Where a driver tells no file's number: one as an example.
  for (const std::string& file : files ? *files : example_files(facts)) {
    words += " --device " + file;
  }
  return words + " …";
}

Findings container_without_accelerators(const Examined& host) {
  if (!is_container(host)) return {};
  Findings findings;
  for (const DeviceKindFacts* facts : other_runtimes()) {
    const auto devices = devices_of(facts->runtime, host);
    if (devices.empty()) continue;
    Finding finding{
        .rule = "container_without_accelerators",
        .severity = Severity::error,
        .title = sentence("this container was started without {}'s devices",
                          facts_of(devices.front()->kind).vendor),
        .evidence = {sentence("this is a container ({})", *host.facts.container.get())},
        .meaning = sentence("A container sees only the devices that it was started with."),
        .steps = {{sentence("start it with them"), container_words(*facts, devices)}}};
    for (const std::string_view file : files_of(*facts)) {
      if (has_file_like(file, host)) continue;
      finding.evidence.push_back(sentence("the bus has {} devices, and there is no {} here",
                                          devices.size(), std::string(file) + "…"));
    }
    if (finding.evidence.size() > 1) findings.push_back(std::move(finding));
  }
  return findings;
}

Findings kfd_missing(const Examined& host) {
  if (is_container(host) || !has_any(Runtime::rocm, host) || has_file_like(kfd, host)) return {};
  return {{.rule = "kfd_missing",
           .severity = Severity::warning,
           .title = sentence("ROCm's programs find no device: there is no {}", kfd),
           .evidence = {sentence("the amdgpu driver has devices, and there is no {}", kfd)},
           .meaning = sentence("Graphics work without it; computing by ROCm does not."),
           .steps = {{sentence("see why the driver has not made it"),
                      "sudo dmesg | grep -i kfd | tail"}}}};
}

Findings render_forbidden(const Examined& host) {
  std::vector<std::string_view> wanted;
  for (const DeviceKindFacts* facts : other_runtimes()) {
    if (!has_any(facts->runtime, host)) continue;
    const auto files = files_of(*facts);
    wanted.insert(wanted.end(), files.begin(), files.end());
  }
  for (const DeviceFile& file : host.facts.device_files) {
    const bool is_theirs = std::ranges::any_of(
        wanted, [&](std::string_view beginning) { return file.path.starts_with(beginning); });
    if (!is_theirs || file.access != FileAccess::forbidden) continue;
    Finding finding{
        .rule = "render_forbidden",
        .severity = Severity::error,
        .title = sentence("you may not open the devices' files"),
        .evidence = {sentence("{} is {}, and you may not open it", file.path, file.mode)},
        .meaning = sentence("To a program that may not open it there seems to be no "
                            "device.")};
    const std::string group = "$(stat -c %G " + file.path + ")";
    if (file.mode.ends_with(":0")) {
      finding.steps = {
          {sentence("have the driver's udev rules give it to a group: it is root's"), ""}};
    } else {
      finding.steps = {
          {sentence("have yourself added to its group"), "sudo usermod -aG " + group + " $USER"},
          {sentence("then log in again; until then in one shell"), "newgrp " + group}};
    }
    return {std::move(finding)};
  }
  return {};
}

Findings used_memory_hidden(const Examined& host) {
  for (const Device& device : host.snapshot.devices) {
    const std::string_view why = used_is_hidden_because(device);
    if (why.empty()) continue;
    return {{.rule = "used_memory_hidden",
             .severity = Severity::hint,
             .title = sentence("how much memory is used of {}'s cards is not told to you",
                               facts_of(device.kind).vendor),
             .evidence = {sentence("some processes' files cannot be seen"), Sentence(why)},
             .meaning = sentence("berth gives no job such a card: somebody may be on it."),
             .steps = {{sentence("look as root"), "sudo berth"}}}};
  }
  return {};
}

// ------------------------------------------------------------------------------- PyTorch's builds

const std::string* package(std::string_view name, const PythonEnvironment& python) {
  for (const auto& [one, version] : python.packages) {
    if (one == name) return &version;
  }
  return nullptr;
}

/// What a build of PyTorch computes on; nothing: the CPU, or no file says.
std::optional<Runtime> runtime_of(const FrameworkBuild& torch, const PythonEnvironment& python) {
  if (const auto built_for = other_runtime_of(torch)) return built_for;
  for (const DeviceKindFacts* facts : other_runtimes()) {
    if (package(facts->torch.package, python) != nullptr) return facts->runtime;
  }
  if (torch.cuda.get().value_or(std::nullopt)) return Runtime::cuda;
  return std::nullopt;
}

/// For a machine without NVIDIA's GPUs. With them the rules of CUDA's builds judge.
Findings torch_of_another_maker(const Examined& host) {
  const PythonEnvironment& python = *host.facts.python;
  const FrameworkBuild* torch = python.framework("torch");
  if (torch == nullptr || driver_works(host)) return {};
  const auto runtimes = other_runtimes();
  const auto here = std::ranges::find_if(runtimes, [&](const DeviceKindFacts* one) {
    return !one->torch.how_to_get.empty() && has_any(one->runtime, host);
  });
  if (here == runtimes.end()) return {};
  const std::string_view maker = facts_of(devices_of((*here)->runtime, host).front()->kind).vendor;
  const auto built_for = runtime_of(*torch, python);
  if (built_for && has_any(*built_for, host)) return {};
  if (!built_for && !torch->cuda.get()) return {};  // no file says what it was built for
  Finding finding{
      .rule = "torch_of_another_maker",
      .severity = Severity::error,
      .title = built_for
                   ? sentence("this torch was built for {}, and the devices here are {}'s",
                              facts_of(*built_for).runtime_name, maker)
                   : sentence("this torch was built for the CPU alone, and the devices here are "
                              "{}'s",
                              maker),
      .evidence = {sentence("{} {} ({})", torch->name, torch->version, torch->cuda_source)},
      .meaning = sentence("It finds no device, and everything runs on the CPU."),
      .steps = {{Sentence((*here)->torch.how_to_get), ""}}};
  return {std::move(finding)};
}

/// "2.1.0.post6" and "2.1.0" belong together.
std::string release_of(std::string_view version) {
  std::string release;
  int parts = 0;
  for (const std::string_view part : split(version.substr(0, version.find('+')), '.')) {
    if (!parse_unsigned(part) || ++parts > 3) break;
    release += (release.empty() ? "" : ".") + std::string(part);
  }
  return release;
}

Findings torch_npu_differs(const Examined& host) {
  const PythonEnvironment& python = *host.facts.python;
  const FrameworkBuild* torch = python.framework("torch");
  const std::string* npu = package("torch_npu", python);
  if (torch == nullptr || npu == nullptr || release_of(*npu) == release_of(torch->version))
    return {};
  return {{.rule = "torch_npu_differs",
           .severity = Severity::error,
           .title = sentence("torch_npu and torch are of different versions"),
           .evidence = {sentence("torch_npu {}, torch {}", *npu, torch->version)},
           .meaning = sentence("Each torch_npu is built for one version of torch; with another it "
                               "cannot be imported, or crashes."),
           .steps = {{sentence("install both of one version"),
                      "pip install 'torch==" + release_of(*npu) + "'"}}}};
}

}  // namespace

std::span<const DoctorRule> accelerators_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = container_without_accelerators,
       .needs = HostPart::kernel,
       .reports = {{"container_without_accelerators", "error",
                    "a container, devices of AMD, Intel or Huawei on the bus, and no file of them",
                    "the options of docker run that give them"}}},
      {.find = kfd_missing,
       .needs = HostPart::kernel,
       .reports = {{"kfd_missing", "warning", "amdgpu has devices, and there is no /dev/kfd",
                    "the kernel log"}}},
      {.find = render_forbidden,
       .needs = HostPart::kernel,
       .reports = {{"render_forbidden", "error",
                    "the mode of /dev/kfd, a render node or Ascend's files, and whose group it is",
                    "join the group"}}},
      {.find = used_memory_hidden,
       .reports = {{"used_memory_hidden", "hint",
                    "a card of Intel's, whose driver tells used memory to CAP_PERFMON alone, and "
                    "processes that may not be seen",
                    "look as root"}}},
      {.find = torch_of_another_maker,
       .needs = HostPart::python,
       .reports = {{"torch_of_another_maker", "error",
                    "what torch was built for (CUDA, ROCm, XPU, torch_npu, the CPU), and whose "
                    "devices are here",
                    "the build for them"}}},
      {.find = torch_npu_differs,
       .needs = HostPart::python,
       .reports = {{"torch_npu_differs", "error", "the versions of torch_npu and torch",
                    "both of one version"}}},
  };
  return rules;
}

}  // namespace berth::doctor
