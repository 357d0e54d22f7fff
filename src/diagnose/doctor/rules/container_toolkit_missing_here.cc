#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

Finding::Step tell_engine(const std::string& engine) {
  if (engine == "podman") {
    return {sentence("then describe the GPUs for podman"),
            "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"};
  }
  return {
      sentence("then tell {} of it, and start {} again when no container minds", engine, engine),
      "sudo nvidia-ctk runtime configure --runtime=" + engine};
}

}  // namespace

Findings container_toolkit_missing_here(const Examined& host) {
  const auto& tools = host.world.container_tools;
  const auto& inside = host.world.container.get();
  if (!tools || !inside || !inside->empty() || !driver_works(host)) return {};
  // In WSL the engine is mostly Docker Desktop's, in a machine of its own with its own toolkit.
  if (!host.world.kernel || host.world.kernel->is_wsl) return {};
  if (tools->engines.empty() || !tools->toolkit.empty() || !tools->cdi_spec.empty()) return {};
  Finding finding{
      .rule = "container_toolkit_missing_here",
      .severity = Severity::hint,
      .title = sentence("containers get no GPU here"),
      .meaning = sentence("Nothing puts the driver's files and libraries into a container: what "
                          "runs in one computes on the CPU, and `--gpus all` is refused."),
      .steps = {{sentence("install the package nvidia-container-toolkit, from NVIDIA's repository "
                          "where the system has none"),
                 ""}},
      .doubt = sentence("the toolkit may lie where berth does not look; distrobox and apptainer do "
                        "without it")};
  for (const ContainerTools::Engine& engine : tools->engines) {
    finding.evidence.push_back(sentence("{} is used here ({})", engine.name, engine.path));
    finding.steps.push_back(tell_engine(engine.name));
  }
  finding.evidence.push_back(sentence(
      "there is neither nvidia-ctk nor nvidia-container-runtime, and no file of NVIDIA's in "
      "/etc/cdi or /var/run/cdi"));
  return {std::move(finding)};
}

}  // namespace berth::doctor
