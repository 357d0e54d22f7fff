#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

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

}  // namespace

Findings toolkit_of_another_major(const Examined& host) {
  if (!host.world.libraries || !host.world.python) return {};
  const FrameworkBuild* torch = host.world.python->framework("torch");
  const auto cuda = torch != nullptr ? torch->cuda.get().value_or(std::nullopt) : std::nullopt;
  const auto compiler = compiler_of(*host.world.libraries);
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

}  // namespace berth::doctor
