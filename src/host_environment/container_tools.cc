// What starts containers here, and NVIDIA's container toolkit, by the files that are there.

#include <algorithm>

#include "base/fd.h"
#include "base/process.h"
#include "host_environment/machine_side.h"

namespace berth {

namespace {

struct EngineSign {
  std::string_view engine;
  std::string_view path;
};

/// One of an engine is enough. Two programs are no sign: Fedora installs podman for everybody, and
/// docker without its daemon asks another machine.
constexpr EngineSign engine_signs[] = {
    {"docker", "/run/docker.sock"},
    {"docker", "/var/run/docker.sock"},
    {"docker", "/usr/bin/dockerd"},
    {"podman", "/run/podman/podman.sock"},
    {"containerd", "/run/containerd/containerd.sock"},
    {"containerd", "/run/k3s/containerd/containerd.sock"},
    {"containerd", "/usr/bin/containerd"},
};

/// The older packages have no nvidia-ctk; each of these comes with what gives containers the GPUs.
constexpr std::string_view toolkit_programs[] = {"nvidia-ctk", "nvidia-container-runtime",
                                                 "nvidia-container-runtime-hook",
                                                 "nvidia-container-cli"};

/// Also where the GPU operator, NixOS and docker's snap have it; none of these need be in PATH.
constexpr std::string_view toolkit_folders[] = {"/usr/bin/",
                                                "/usr/local/bin/",
                                                "/usr/local/nvidia/toolkit/",
                                                "/opt/nvidia/toolkit/",
                                                "/run/current-system/sw/bin/",
                                                "/snap/docker/current/usr/bin/"};

/// Settings and hooks by which an engine is told of a toolkit, wherever it lies.
constexpr std::string_view toolkit_settings[] = {
    "/etc/docker/daemon.json", "/etc/containerd/config.toml",
    "/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json",
    "/etc/containers/oci/hooks.d/oci-nvidia-hook.json"};

/// Whether the word stands in the file. True also of a file that may not be read: berth does not
/// call missing what it could not see.
bool may_name(const std::string& path, std::string_view word) {
  const auto text = read_file(path, 4 << 20);
  if (!text) return text.error().code() != ErrorCode::not_found;
  return text->find(word) != text->npos;
}

std::vector<ContainerTools::Engine> find_engines(const std::string& root, const std::string& home) {
  std::vector<ContainerTools::Engine> engines;
  for (const EngineSign& sign : engine_signs) {
    const bool is_known =
        std::ranges::find(engines, sign.engine, &ContainerTools::Engine::name) != engines.end();
    if (is_known || !is_there(root + std::string(sign.path))) continue;
    engines.push_back({std::string(sign.engine), std::string(sign.path)});
  }
  const std::string own = home + "/.local/share/containers/storage";
  const bool is_known =
      std::ranges::find(engines, "podman", &ContainerTools::Engine::name) != engines.end();
  if (!is_known && !home.empty() && is_there(root + own)) engines.push_back({"podman", own});
  return engines;
}

std::string find_container_toolkit(const std::string& root, const std::string& search_path) {
  for (const std::string_view program : toolkit_programs) {
    if (auto path = find_executable(std::string(program), search_path)) return *path;
    for (const std::string_view folder : toolkit_folders) {
      const std::string path = std::string(folder) + std::string(program);
      if (is_there(root + path)) return path;
    }
  }
  for (const std::string_view path : toolkit_settings) {
    if (may_name(root + std::string(path), "nvidia-container")) return std::string(path);
  }
  return "";
}

std::string find_cdi_spec(const std::string& root) {
  for (const std::string folder : {"/etc/cdi", "/var/run/cdi", "/run/cdi"}) {
    const auto names = list_directory(root + folder);
    if (!names && names.error().code() != ErrorCode::not_found) return folder;
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      const bool is_spec = name.ends_with(".yaml") || name.ends_with(".json");
      if (is_spec && may_name(root + folder + "/" + name, "nvidia.com/")) {
        return folder + "/" + name;
      }
    }
  }
  return "";
}

}  // namespace

ContainerTools gather_container_tools(const std::string& root, const std::string& search_path,
                                      const std::string& home) {
  return {.engines = find_engines(root, home),
          .toolkit = find_container_toolkit(root, search_path),
          .cdi_spec = find_cdi_spec(root),
          .cdi = read_cdi_specs(usual_cdi_folders(), root)};
}

}  // namespace berth
