#include "diagnose/doctor/driver_parts.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings container_without_devices(const Examined& host) {
  if (!is_container(host) || driver_works(host) || !module_is_loaded(host)) return {};
  if (has_device_file(host, "/dev/nvidiactl")) return {};
  return {{.rule = "container_without_devices",
           .severity = Severity::error,
           .title = sentence("this container was started without the GPUs"),
           .evidence = {sentence("this is a container ({})", *host.world.container.get()),
                        sentence("the host has the nvidia driver {} loaded and there is no {} here",
                                 *host.world.kernel->module_version.get(), "/dev/nvidiactl")},
           .meaning = sentence("A container sees only the devices that it was started with."),
           .steps = {{sentence("start it with them; the host needs NVIDIA's container toolkit"),
                      "docker run --gpus all …"}}}};
}

}  // namespace berth::doctor
