#include "probe/containers/parse.h"

#include "base/json.h"
#include "base/text.h"

namespace berth::containers {

namespace {

/// A name that fits a line. Longer ones are no name of a container: runtimes refuse them.
std::optional<std::string> name_in(const ForeignJson& value) {
  constexpr std::size_t longest = 512;
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() || text.size() > longest) return std::nullopt;
  return text;
}

std::optional<std::string> pod_container(const ForeignJson& name_space, const ForeignJson& pod,
                                         const ForeignJson& container) {
  auto name = name_in(pod);
  if (!name) return std::nullopt;
  if (const auto space = name_in(name_space)) name = *space + "/" + *name;
  if (const auto inner = name_in(container)) *name += "/" + *inner;
  return name;
}

}  // namespace

std::optional<Names> docker_names(std::string_view config) {
  const ForeignJson object = parse_foreign_json(config);
  if (!object.is_object()) return std::nullopt;
  Names names{.name = name_in(member_of(object, "Name")),
              .image = name_in(member_of(member_of(object, "Config"), "Image"))};
  if (names.name && names.name->starts_with('/')) names.name->erase(0, 1);
  if (names.name && names.name->empty()) names.name.reset();
  return names;
}

std::optional<std::string> docker_data_root(std::string_view daemon_config) {
  auto root = name_in(member_of(parse_foreign_json(daemon_config), "data-root"));
  if (!root || !root->starts_with('/')) return std::nullopt;
  return root;
}

std::optional<Names> storage_names(std::string_view containers, std::string_view id) {
  const ForeignJson list = parse_foreign_json(containers);
  if (!list.is_array()) return std::nullopt;
  for (const ForeignJson& container : list) {
    const ForeignJson& its_id = member_of(container, "id");
    if (!its_id.is_string() || its_id.get_ref<const std::string&>() != id) continue;
    Names names;
    const ForeignJson& given = member_of(container, "names");
    if (given.is_array() && !given.empty()) names.name = name_in(given.front());
    const ForeignJson& metadata = member_of(container, "metadata");
    if (metadata.is_string()) {
      const ForeignJson inner = parse_foreign_json(metadata.get_ref<const std::string&>());
      names.image = name_in(member_of(inner, "image-name"));
    }
    return names;
  }
  return std::nullopt;
}

std::optional<Names> bundle_names(std::string_view config) {
  const ForeignJson whole = parse_foreign_json(config);
  const ForeignJson& notes = member_of(whole, "annotations");
  if (!notes.is_object()) return std::nullopt;
  const auto note = [&](const char* key) -> const ForeignJson& { return member_of(notes, key); };
  Names names;
  names.name = pod_container(note("io.kubernetes.cri.sandbox-namespace"),
                             note("io.kubernetes.cri.sandbox-name"),
                             note("io.kubernetes.cri.container-name"));
  if (!names.name) {
    names.name = pod_container(note("io.kubernetes.pod.namespace"), note("io.kubernetes.pod.name"),
                               note("io.kubernetes.container.name"));
  }
  if (!names.name) names.name = name_in(note("nerdctl/name"));
  for (const char* key : {"io.kubernetes.cri.image-name", "io.kubernetes.cri-o.ImageName"}) {
    if (!names.image) names.image = name_in(note(key));
  }
  if (!names.name && !names.image) return std::nullopt;
  return names;
}

std::optional<std::string> name_in_log_link(std::string_view file, std::string_view id) {
  const std::string ending = "-" + std::string(id) + ".log";
  if (id.empty() || !file.ends_with(ending)) return std::nullopt;
  file.remove_suffix(ending.size());
  const auto parts = split(file, '_');
  if (parts.size() != 3 || parts[0].empty() || parts[1].empty() || parts[2].empty()) {
    return std::nullopt;
  }
  return std::string(parts[1]) + "/" + std::string(parts[0]) + "/" + std::string(parts[2]);
}

std::optional<std::string> name_in_log_folder(std::string_view folder, std::string_view pod_uid) {
  const auto parts = split(folder, '_');
  if (parts.size() != 3 || parts[2] != pod_uid) return std::nullopt;
  if (parts[0].empty() || parts[1].empty()) return std::nullopt;
  return std::string(parts[0]) + "/" + std::string(parts[1]);
}

}  // namespace berth::containers
