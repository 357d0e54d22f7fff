// CUDA toolkits: they matter to those alone who compile something here, as frameworks bring
// their own.

#include "base/text.h"
#include "diagnose/doctor/cuda_tables.h"
#include "diagnose/doctor/doctor.h"

namespace berth::doctor {

namespace {

Findings toolkit_newer_than_driver(const Examined& host) {
  const auto& libraries = host.facts.libraries;
  const auto& driver = host.snapshot.host.software_of(Runtime::cuda).driver.get();
  if (!libraries->nvcc_version || !driver) return {};
  const auto needs = driver_needs(*libraries->nvcc_version);
  if (!needs || !is_older_version(*driver, needs->runs)) return {};
  return {
      {.rule = "toolkit_newer_than_driver",
       .severity = Severity::warning,
       .title = sentence("what nvcc compiles does not run with this driver"),
       .evidence = {sentence("{} is of CUDA {}", libraries->nvcc, libraries->nvcc_version->text()),
                    sentence("the driver is {}; CUDA {} runs from {} on (its toolkit came with {})",
                             *driver, libraries->nvcc_version->text(), needs->runs, needs->own)},
       .meaning = sentence("Frameworks bring their own CUDA and do not mind; extensions and "
                           "programs compiled here do."),
       .steps = {
           {sentence("put an older toolkit first in PATH, or have the driver updated"), ""}}}};
}

Findings cuda_home_missing(const Examined& host) {
  const auto& libraries = host.facts.libraries;
  if (!libraries->home || libraries->home->is_there) return {};
  const CudaHome& home = *libraries->home;
  return {{.rule = "cuda_home_missing",
           .severity = Severity::hint,
           .title = sentence("{} names a folder that is not there", home.variable),
           .evidence = {sentence("{} is {}", home.variable, home.folder)},
           .meaning = sentence("Building an extension stops because no nvcc is found there; "
                               "programs that are built do not mind."),
           .steps = {
               {sentence("unset it, or name a toolkit that is there"), "unset " + home.variable}}}};
}

/// What a build here would compile with: CUDA_HOME goes before PATH. The nvcc that berth found
/// below /usr/local/cuda is nobody's choice.
struct Compiler {
  std::string where;
  TwoPart version;
};

std::optional<Compiler> compiler_of(const Libraries& libraries) {
  if (libraries.home && libraries.home->is_there) {
    if (!libraries.home->version) return std::nullopt;
    return Compiler{libraries.home->variable + "=" + libraries.home->folder,
                    *libraries.home->version};
  }
  if (!libraries.nvcc_in_path || !libraries.nvcc_version) return std::nullopt;
  return Compiler{libraries.nvcc, *libraries.nvcc_version};
}

Findings toolkit_of_another_major(const Examined& host) {
  const FrameworkBuild* torch = host.facts.python->framework("torch");
  const auto cuda = torch != nullptr ? torch->cuda.get().value_or(std::nullopt) : std::nullopt;
  const auto compiler = compiler_of(*host.facts.libraries);
  if (!cuda || !compiler || compiler->version.major == cuda->major) return {};
  return {
      {.rule = "toolkit_of_another_major",
       .severity = Severity::hint,
       .title = sentence("extensions for this torch cannot be built with the toolkit here"),
       .evidence = {sentence("{} {} was built for CUDA {} ({})", torch->name, torch->version,
                             cuda->text(), torch->cuda_source),
                    sentence("{} is of CUDA {}", compiler->where, compiler->version.text())},
       .meaning = sentence("It matters to nothing else: torch brings its own CUDA. Building one "
                           "(flash-attn, an extension of your own) stops with \"The detected CUDA "
                           "version (…) mismatches\"."),
       .steps = {{sentence("before building, name a toolkit of CUDA {}.x in CUDA_HOME and first in "
                           "PATH",
                           cuda->major),
                  "ls -d /usr/local/cuda*"}}}};
}

Findings toolkits_differ(const Examined& host) {
  const auto& libraries = host.facts.libraries;
  if (!libraries->nvcc_in_path) return {};
  const auto& compiler = libraries->nvcc_version;
  const auto& folder = libraries->toolkit_version;
  if (!compiler || !folder || compiler->major == folder->major) return {};
  // CUDA_HOME says which is meant, and nvcc is of that one.
  const auto& home = libraries->home;
  if (home && home->version && home->version->major == compiler->major) return {};
  return {{.rule = "toolkits_differ",
           .severity = Severity::hint,
           .title = sentence("nvcc and /usr/local/cuda are of different toolkits"),
           .evidence = {sentence("{} is of CUDA {}", libraries->nvcc, compiler->text()),
                        sentence("{} is of CUDA {}", libraries->toolkit, folder->text())},
           .meaning = sentence("A build may take the compiler from one and headers and libraries "
                               "from the other. Programs that are built do not mind."),
           .steps = {{sentence("put the one that is meant first in PATH and name it in CUDA_HOME"),
                      "export CUDA_HOME=" + shell_quoted(libraries->toolkit) +
                          " PATH=" + shell_quoted(libraries->toolkit) + "/bin:$PATH"}}}};
}

}  // namespace

std::span<const DoctorRule> toolkits_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = toolkit_newer_than_driver,
       .needs = HostPart::driver | HostPart::libraries,
       .reports = {{"toolkit_newer_than_driver", "warning",
                    "nvcc's CUDA wants a newer driver than there is",
                    "an older toolkit, a newer driver"}}},
      {.find = cuda_home_missing,
       .needs = HostPart::libraries,
       .reports = {{"cuda_home_missing", "hint",
                    "CUDA_HOME (else CUDA_PATH) names no folder; matters for building alone",
                    "unset it"}}},
      {.find = toolkit_of_another_major,
       .needs = HostPart::python | HostPart::libraries,
       .reports = {{"toolkit_of_another_major", "hint",
                    "torch's CUDA and that of CUDA_HOME, else of the nvcc in PATH, differ in the "
                    "major version; matters for building extensions alone",
                    "a toolkit of torch's"}}},
      {.find = toolkits_differ,
       .needs = HostPart::libraries,
       .reports = {{"toolkits_differ", "hint",
                    "the nvcc in PATH and /usr/local/cuda differ in the major version; matters for "
                    "building alone",
                    "put one first"}}},
  };
  return rules;
}

}  // namespace berth::doctor
