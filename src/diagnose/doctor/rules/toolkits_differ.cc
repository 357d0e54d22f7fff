#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings toolkits_differ(const Examined& host) {
  const auto& libraries = host.world.libraries;
  if (!libraries || !libraries->nvcc_in_path) return {};
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
                               "from the other; programs that are built do not mind."),
           .steps = {{sentence("put the one that is meant first in PATH and name it in CUDA_HOME"),
                      "export CUDA_HOME=" + shell_quoted(libraries->toolkit) +
                          " PATH=" + shell_quoted(libraries->toolkit) + "/bin:$PATH"}}}};
}

}  // namespace berth::doctor
