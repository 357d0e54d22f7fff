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
      .meaning = sentence("Nothing puts the driver's files and libraries into a container. What "
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

/// Every engine refuses the whole file for one field, and says only "unresolvable CDI devices".
Findings cdi_file_refused(const Examined& host) {
  const auto& tools = host.facts.container_tools;
  if (!tools) return {};
  Finding finding{
      .rule = "cdi_file_refused",
      .severity = Severity::warning,
      .title = sentence("container engines refuse a file that describes devices (CDI)"),
      .meaning = sentence("An engine takes none of such a file's devices, and says no more than "
                          "\"unresolvable CDI devices\"."),
      .steps = {{sentence("have it written anew by the toolkit that is installed now"),
                 "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"}}};
  for (const CdiSpec& spec : tools->cdi.specs) {
    if (!spec.unknown_field.empty()) {
      finding.evidence.push_back(
          sentence("{}: no version of CDI has the field {}", spec.path, spec.unknown_field));
    } else if (needs_more_than_it_says(spec)) {
      finding.evidence.push_back(sentence("{}: cdiVersion says {}, and the field {} needs {}",
                                          spec.path, spec.version, spec.needed_by, spec.needs));
    }
  }
  for (const std::string& problem : tools->cdi.problems) {
    finding.evidence.push_back(sentence("not read: {}", problem));
  }
  if (finding.evidence.empty()) return {};
  return {std::move(finding)};
}

/// The newest version of CDI that an engine takes: seen with Debian's podman 4.3.1 and docker
/// 26.1.5.
struct EngineCdi {
  std::string_view engine;
  std::string_view before;  // that version of the engine
  std::string_view newest;
};
constexpr EngineCdi cdi_of_engines[] = {{"podman", "4.4", "0.5.0"}, {"docker", "27", "0.7.0"}};

Findings cdi_file_too_new(const Examined& host) {
  const auto& tools = host.facts.container_tools;
  if (!tools) return {};
  Finding finding{
      .rule = "cdi_file_too_new",
      .severity = Severity::warning,
      .title = sentence("a file that describes devices (CDI) is too new for an engine here"),
      .meaning = sentence("An engine takes none of such a file's devices, and says no more than "
                          "\"unresolvable CDI devices\"."),
      .steps = {{sentence("use a newer engine, or write the file with an older toolkit"), ""}}};
  for (const auto& [engine, version] : tools->versions) {
    for (const EngineCdi& known : cdi_of_engines) {
      if (known.engine != engine || !is_older_version(version, known.before)) continue;
      for (const CdiSpec& spec : tools->cdi.specs) {
        if (!is_older_version(known.newest, spec.version)) continue;
        finding.evidence.push_back(
            spec.needed_by.empty()
                ? sentence("{}: cdiVersion is {}, and {} {} takes {} at most", spec.path,
                           spec.version, engine, version, known.newest)
                : sentence("{}: cdiVersion is {} (the field {} needs {}), and {} {} takes {} at "
                           "most",
                           spec.path, spec.version, spec.needed_by, spec.needs, engine, version,
                           known.newest));
      }
    }
  }
  if (finding.evidence.empty()) return {};
  return {std::move(finding)};
}

Findings container_without_lease(const Examined& host) {
  if (host.facts.containers_left.empty()) return {};
  Finding finding{.rule = "container_without_lease",
                  .severity = Severity::warning,
                  .title = sentence("a container of a run that berth no longer keeps lives on"),
                  .meaning = sentence("The run's keeper and its heir were killed. Its cards count "
                                      "as free to berth as far as nothing is seen on them.")};
  for (const ContainerLeft& left : host.facts.containers_left) {
    finding.evidence.push_back(
        sentence("container {} of {} was started by run {}", left.id, left.engine, left.run));
    finding.steps.push_back({sentence("end it"), "berth stop " + left.run});
  }
  return {std::move(finding)};
}

Findings container_without_record(const Examined& host) {
  if (host.facts.containers_unrecorded.empty()) return {};
  Finding finding{
      .rule = "container_without_record",
      .severity = Severity::warning,
      .title = sentence("a container has the label of a run without a lease and without a record"),
      .meaning = sentence("The record was removed, or is another user's. Anybody can set a label: "
                          "by that alone berth ends no container.")};
  for (const ContainerTools::Labelled& one : host.facts.containers_unrecorded) {
    const std::string id = one.id.substr(0, 12);
    finding.evidence.push_back(
        sentence("container {} of {} has the label of run {}", id, one.engine, printable(one.run)));
    finding.steps.push_back({sentence("see what it does, and whose it is"),
                             one.engine + " inspect " + shell_quoted(id)});
  }
  return {std::move(finding)};
}

Findings image_sets_devices(const Examined& host) {
  const auto& tools = host.facts.container_tools;
  if (!tools || tools->images.empty()) return {};
  Finding finding{
      .rule = "image_sets_devices",
      .severity = Severity::hint,
      .title = sentence("an image sets CUDA_VISIBLE_DEVICES for its containers"),
      .meaning = sentence("A container counts the cards that it was given from 0. A list in its "
                          "image hides the others from every program in it."),
      .steps = {{sentence("leave the line ENV CUDA_VISIBLE_DEVICES out of its Dockerfile"), ""}}};
  for (const ContainerTools::Image& image : tools->images) {
    finding.evidence.push_back(sentence("{}: image {} has CUDA_VISIBLE_DEVICES=\"{}\"",
                                        image.engine, image.name, image.value));
  }
  return {std::move(finding)};
}

}  // namespace

std::span<const DoctorRule> containers_rules() {
  static constexpr DoctorRule rules[] = {
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
       .needs = HostPart::driver | HostPart::kernel,
       .reports =
           {{"container_toolkit_missing_here", "hint, with a doubt",
             "the driver has a card, docker, containerd or podman is used here (its socket, "
             "docker's daemon, containerd, podman's containers of the user's own), no nvidia-ctk "
             "or nvidia-container-runtime in PATH, the usual places or the engines' settings, no "
             "CDI description of NVIDIA's in /etc/cdi or /var/run/cdi; not in a container or WSL. "
             "Whether docker's settings name a runtime nvidia does not matter",
             "the toolkit, then `nvidia-ctk`"}}},
      {.find = cdi_file_refused,
       .reports =
           {{"cdi_file_refused", "warning",
             "a file in /etc/cdi or /var/run/cdi that is not YAML or JSON, has a field of no "
             "version of CDI, or one newer than its cdiVersion",
             "`nvidia-ctk cdi generate`"}}},
      {.find = cdi_file_too_new,
       .reports = {{"cdi_file_too_new", "warning",
                    "cdiVersion above what an engine takes that answered here: podman before 4.4 "
                    "0.5.0, docker before 27 0.7.0",
                    "a newer engine"}}},
      {.find = container_without_lease,
       .reports = {{"container_without_lease", "warning",
                    "the record of an ended run names a container whose first process lives, in a "
                    "control group of that name",
                    "`berth stop`"}}},
      {.find = container_without_record,
       .reports = {{"container_without_record", "warning",
                    "an engine that answers within 5 s runs a container with the label of a run "
                    "that has no lease and no record of the caller's",
                    "`docker inspect`"}}},
      {.find = image_sets_devices,
       .reports = {{"image_sets_devices", "hint",
                    "ENV CUDA_VISIBLE_DEVICES in one of the first 64 images of an engine that "
                    "answers within 5 s",
                    "its Dockerfile without that line"}}},
  };
  return rules;
}

}  // namespace berth::doctor
