#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings container_without_compute(const Examined& host) {
  if (!is_container(host)) return {};
  const auto abilities = host.world.variable("NVIDIA_DRIVER_CAPABILITIES");
  if (!abilities || abilities->empty()) return {};
  for (const std::string_view one : split(*abilities, ',')) {
    if (one == "all" || one == "compute") return {};
  }
  return {{.rule = "container_without_compute",
           .severity = Severity::error,
           .title = sentence("this container was started without CUDA's libraries"),
           .evidence = {sentence("NVIDIA_DRIVER_CAPABILITIES=\"{}\" lacks compute", *abilities)},
           .meaning = sentence("nvidia-smi works and libcuda.so.1 is not there."),
           .steps = {{sentence("start it again with them"),
                      "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility --gpus all …"}}}};
}

}  // namespace berth::doctor
