#pragma once
// Readers of what container runtimes write about their containers. Users write the files of their
// own runtimes. So nothing in a text is believed until it has been parsed. Nothing here reads a
// file.

#include <optional>
#include <string>
#include <string_view>

namespace berth::containers {

/// What a person calls a container, and the image it was made from; nothing: not told there.
struct Names {
  std::optional<std::string> name;
  std::optional<std::string> image;
  friend bool operator==(const Names&, const Names&) = default;
};

/// docker's config.v2.json of one container: "Name" (with a leading slash) and "Config"."Image".
[[nodiscard]] std::optional<Names> docker_names(std::string_view config);
/// "data-root" of docker's daemon.json, where its containers are.
[[nodiscard]] std::optional<std::string> docker_data_root(std::string_view daemon_config);

/// One container of containers.json or volatile-containers.json, as podman and cri-o write them.
/// They are a list of objects with "id", "names" and "metadata". The latter is JSON in a text, with
/// "image-name".
[[nodiscard]] std::optional<Names> storage_names(std::string_view containers, std::string_view id);

/// The annotations of an OCI bundle's config.json: of Kubernetes (containerd or cri-o), then the
/// name is "namespace/pod/container", or of nerdctl.
[[nodiscard]] std::optional<Names> bundle_names(std::string_view config);

/// "namespace/pod/container" from a name in /var/log/containers, "pod_namespace_container-ID.log".
[[nodiscard]] std::optional<std::string> name_in_log_link(std::string_view file,
                                                          std::string_view id);
/// "namespace/pod" from a name in /var/log/pods, "namespace_pod_UID".
[[nodiscard]] std::optional<std::string> name_in_log_folder(std::string_view folder,
                                                            std::string_view pod_uid);

}  // namespace berth::containers
