#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings container_hides_devices(const Examined& host) {
  if (!is_container(host) || driver_works(host)) return {};
  const auto shown = host.world.variable("NVIDIA_VISIBLE_DEVICES");
  if (!shown || (*shown != "void" && *shown != "none" && !shown->empty())) return {};
  return {
      {.rule = "container_hides_devices",
       .severity = Severity::error,
       .title = sentence("this container was told to have no GPU"),
       .evidence = {sentence("NVIDIA_VISIBLE_DEVICES=\"{}\"", *shown)},
       .meaning = sentence("The container toolkit reads it when the container starts; changing it "
                           "inside does nothing."),
       .steps = {{sentence("start it again with the GPUs"),
                  "docker run -e NVIDIA_VISIBLE_DEVICES=all --gpus all …"}}}};
}

}  // namespace berth::doctor
