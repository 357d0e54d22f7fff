// The container this is, and those that are started here.

#include "base/text.h"
#include "diagnose/doctor/doctor.h"

namespace berth::doctor {

namespace {

Findings container_without_devices(const Examined& host) {
  if (!is_container(host) || driver_works(host) || !module_is_loaded(host)) return {};
  if (has_device_file(host, "/dev/nvidiactl")) return {};
  return {{.rule = "container_without_devices",
           .severity = Severity::error,
           .title = sentence("this container was started without the GPUs"),
           .evidence = {sentence("this is a container ({})", *host.facts.container.get()),
                        sentence("the host has the nvidia driver {} loaded and there is no {} here",
                                 *host.facts.kernel->module_version.get(), "/dev/nvidiactl")},
           .meaning = sentence("A container sees only the devices that it was started with."),
           .steps = {{sentence("start it with them; the host needs NVIDIA's container toolkit"),
                      "docker run --gpus all …"}}}};
}

Findings container_hides_devices(const Examined& host) {
  if (!is_container(host) || driver_works(host)) return {};
  const auto shown = host.facts.variable("NVIDIA_VISIBLE_DEVICES");
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

Findings container_without_compute(const Examined& host) {
  if (!is_container(host)) return {};
  const auto abilities = host.facts.variable("NVIDIA_DRIVER_CAPABILITIES");
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

Finding::Step tell_engine(const std::string& engine) {
  if (engine == "podman") {
    return {sentence("then describe the GPUs for podman"),
            "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"};
  }
  return {
      sentence("then tell {} of it, and start {} again when no container minds", engine, engine),
      "sudo nvidia-ctk runtime configure --runtime=" + engine};
}

Findings container_toolkit_missing_here(const Examined& host) {
  const auto& tools = host.facts.container_tools;
  const auto& inside = host.facts.container.get();
  if (!tools || !inside || !inside->empty()) return {};
  // In WSL the engine is mostly Docker Desktop's, in a machine of its own with its own toolkit.
  if (host.facts.kernel->is_wsl) return {};
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

}  // namespace

std::span<const Rule> containers_rules() {
  static constexpr Rule rules[] = {
      {.find = container_without_devices,
       .reports = {{"container_without_devices", "error",
                    "a container, the host's module loaded, no device files",
                    "start it with the GPUs"}}},
      {.find = container_hides_devices,
       .reports = {{"container_hides_devices", "error",
                    "NVIDIA_VISIBLE_DEVICES is void, none or empty in a container",
                    "start it with all"}}},
      {.find = container_without_compute,
       .reports = {{"container_without_compute", "error",
                    "NVIDIA_DRIVER_CAPABILITIES lacks compute", "start it with compute,utility"}}},
      {.find = container_toolkit_missing_here,
       .needs = Part::driver | Part::kernel,
       .reports =
           {{"container_toolkit_missing_here", "hint, with a doubt",
             "the driver has a card, docker, containerd or podman is used here (its socket, "
             "docker's daemon, containerd, podman's containers of the user's own), no nvidia-ctk "
             "or nvidia-container-runtime in PATH, the usual places or the engines' settings, no "
             "CDI description of NVIDIA's in /etc/cdi or /var/run/cdi; not in a container or WSL. "
             "Whether docker's settings name a runtime nvidia does not matter",
             "the toolkit, then `nvidia-ctk`"}}},
  };
  return rules;
}

}  // namespace berth::doctor
