#include "host_environment/cdi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "host_environment/host_facts.h"
#include "host_environment/yaml.h"

namespace berth {

namespace {

/// What stands in which object, and from which version of the specification on (SPEC.md, "Released
/// versions", 1.1.0).
struct CdiKey {
  std::string_view object;
  std::string_view key;
  std::string_view since;  // empty: from the first on
};
constexpr auto keys = std::to_array<CdiKey>({
    {"spec", "cdiVersion", ""},
    {"spec", "kind", ""},
    {"spec", "annotations", "0.6.0"},
    {"spec", "devices", ""},
    {"spec", "containerEdits", ""},
    {"device", "name", ""},
    {"device", "annotations", "0.6.0"},
    {"device", "containerEdits", ""},
    {"edits", "env", ""},
    {"edits", "deviceNodes", ""},
    {"edits", "hooks", ""},
    {"edits", "mounts", ""},
    {"edits", "intelRdt", "0.7.0"},
    {"edits", "additionalGids", "0.7.0"},
    {"edits", "netDevices", "1.1.0"},
    {"node", "path", ""},
    {"node", "hostPath", "0.5.0"},
    {"node", "type", ""},
    {"node", "major", ""},
    {"node", "minor", ""},
    {"node", "fileMode", ""},
    {"node", "permissions", ""},
    {"node", "uid", ""},
    {"node", "gid", ""},
    {"mount", "hostPath", ""},
    {"mount", "containerPath", ""},
    {"mount", "options", ""},
    {"mount", "type", "0.4.0"},
    {"hook", "hookName", ""},
    {"hook", "path", ""},
    {"hook", "args", ""},
    {"hook", "env", ""},
    {"hook", "timeout", ""},
});

std::string text_of(const ForeignJson& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : std::string();
}

/// A member that is a list; empty: it has none.
const ForeignJson& list_of(const ForeignJson& object, const char* key) {
  static const ForeignJson none = ForeignJson::array();
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : none;
}

const ForeignJson& object_of(const ForeignJson& object, const char* key) {
  static const ForeignJson none = ForeignJson::object();
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : none;
}

class SpecReader {
 public:
  explicit SpecReader(CdiSpec& spec) : spec_(spec) {}

  void read(const ForeignJson& root) {
    check("spec", root, "");
    const std::string name = spec_.kind.substr(spec_.kind.find('/') + 1);  // npos + 1 is 0
    if (name.find('.') != name.npos) need("0.6.0", "kind");
    for (const ForeignJson& one : list_of(root, "devices")) read_device(one);
    (void)read_edits(object_of(root, "containerEdits"), "containerEdits");
  }

 private:
  void need(std::string_view version, const std::string& path) {
    if (version.empty()) return;
    if (!spec_.needs.empty() && !is_older_version(spec_.needs, version)) return;
    spec_.needs = version;
    spec_.needed_by = path;
  }

  void check(std::string_view object, const ForeignJson& value, const std::string& path) {
    if (!value.is_object()) return;
    for (const auto& [key, member] : value.items()) {
      const std::string here = path.empty() ? key : path + "." + key;
      const auto known = std::ranges::find_if(
          keys, [&](const CdiKey& one) { return one.object == object && one.key == key; });
      if (known != keys.end()) {
        need(known->since, here);
      } else if (spec_.unknown_field.empty()) {
        spec_.unknown_field = here;
      }
    }
  }

  void read_device(const ForeignJson& value) {
    CdiDevice device{.name = text_of(value, "name")};
    const std::string path = "devices[" + device.name + "]";
    check("device", value, path);
    if (!device.name.empty() && device.name[0] >= '0' && device.name[0] <= '9') {
      need("0.5.0", path + ".name");
    }
    device.nodes = read_edits(object_of(value, "containerEdits"), path + ".containerEdits");
    if (!device.name.empty()) spec_.devices.push_back(std::move(device));
  }

  std::vector<std::string> read_edits(const ForeignJson& edits, const std::string& path) {
    check("edits", edits, path);
    std::vector<std::string> nodes;
    for (const ForeignJson& node : list_of(edits, "deviceNodes")) {
      check("node", node, path + ".deviceNodes");
      const std::string on_host = text_of(node, "hostPath");
      nodes.push_back(on_host.empty() ? text_of(node, "path") : on_host);
    }
    for (const ForeignJson& mount : list_of(edits, "mounts")) {
      check("mount", mount, path + ".mounts");
    }
    for (const ForeignJson& hook : list_of(edits, "hooks")) check("hook", hook, path + ".hooks");
    return nodes;
  }

  CdiSpec& spec_;
};

void read_folder(const std::string& folder, const std::string& root, CdiSpecs& found) {
  constexpr std::size_t largest = 4 << 20;
  const auto names = list_directory(root + folder);
  if (!names) {
    if (names.error().code() != ErrorCode::not_found) {
      found.problems.push_back(folder + ": " + names.error().message());
    }
    return;
  }
  for (const std::string& name : *names) {
    if (!name.ends_with(".yaml") && !name.ends_with(".json")) continue;
    const std::string path = folder + "/" + name;
    const auto text = read_file(root + path, largest);
    auto spec = text ? parse_cdi_spec(*text) : Result<CdiSpec>(std::unexpected(text.error()));
    if (!spec) {
      found.problems.push_back(fmt::format("{}: {}", path, spec.error().message()));
      continue;
    }
    spec->path = path;
    found.specs.push_back(*std::move(spec));
  }
}

/// "/dev/nvidia" of "/dev/nvidia0"; empty: no number ends it.
std::string_view family_of(std::string_view file) {
  const std::size_t end = file.find_last_not_of("0123456789");
  return end == file.npos || end + 1 == file.size() ? std::string_view() : file.substr(0, end + 1);
}

}  // namespace

Result<CdiSpec> parse_cdi_spec(std::string_view text) {
  const auto root = parse_yaml(text);
  if (!root) return std::unexpected(root.error());
  CdiSpec spec{.version = text_of(*root, "cdiVersion"), .kind = text_of(*root, "kind")};
  if (spec.version.empty()) return fail(ErrorCode::invalid, "it has no cdiVersion");
  if (spec.kind.empty()) return fail(ErrorCode::invalid, "it has no kind");
  SpecReader(spec).read(*root);
  return spec;
}

bool needs_more_than_it_says(const CdiSpec& spec) {
  return !spec.needs.empty() && is_older_version(spec.version, spec.needs);
}

std::vector<std::string> usual_cdi_folders() { return {"/etc/cdi", "/var/run/cdi"}; }

CdiSpecs read_cdi_specs(const std::vector<std::string>& folders, const std::string& root) {
  CdiSpecs found;
  for (const std::string& folder : folders) read_folder(folder, root, found);
  return found;
}

std::optional<std::string> cdi_name_of(std::string_view uuid, std::string_view device_file,
                                       std::string_view kind, const std::vector<CdiSpec>& specs) {
  const auto found_by = [&](const auto& is_it) -> std::optional<std::string> {
    for (const CdiSpec& spec : specs) {
      if (spec.kind != kind || !spec.unknown_field.empty() || needs_more_than_it_says(spec)) {
        continue;
      }
      for (const CdiDevice& device : spec.devices) {
        if (is_it(device)) return spec.kind + "=" + device.name;
      }
    }
    return std::nullopt;
  };
  if (auto name = found_by([&](const CdiDevice& one) { return one.name == uuid; })) return name;
  if (device_file.empty()) return std::nullopt;
  return found_by([&](const CdiDevice& one) {
    const auto of_a_card = [&](const std::string& node) {
      return family_of(node) == family_of(device_file);
    };
    return std::ranges::count_if(one.nodes, of_a_card) == 1 &&
           std::ranges::find(one.nodes, device_file) != one.nodes.end();
  });
}

}  // namespace berth
