#include "probe/containers/container_files.h"

#include <fcntl.h>

#include <array>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/owned_file.h"
#include "base/user_name.h"
#include "probe/containers/parse.h"
#include "probe/procfs/parse.h"

namespace berth {

namespace {

/// A server with a thousand stopped containers has a containers.json of one megabyte.
constexpr std::size_t largest_file = 8 << 20;

/// An id that goes into a path.
bool is_plain(std::string_view id) {
  return !id.empty() && id.find('/') == std::string_view::npos && id != "." && id != "..";
}

Reading<std::string> reading_of(const std::optional<std::string>& found, bool denied) {
  if (found) return *found;
  return denied ? Absent::no_permission : Absent::failed;
}

}  // namespace

/// Puts together what several files tell; the first that knows a thing is believed.
class ContainerFiles::Search {
 public:
  void add(std::optional<containers::Names> names) {
    if (!names) return;
    if (!found_.name) found_.name = std::move(names->name);
    if (!found_.image) found_.image = std::move(names->image);
  }
  void add_failure(const Error& error) {
    denied_ = denied_ || error.code() == ErrorCode::no_permission;
  }
  [[nodiscard]] bool is_named() const { return found_.name.has_value(); }
  [[nodiscard]] bool is_complete() const { return found_.name && found_.image; }
  [[nodiscard]] ContainerNames result() const {
    return {.name = reading_of(found_.name, denied_), .image = reading_of(found_.image, denied_)};
  }

 private:
  containers::Names found_;
  bool denied_ = false;
};

std::string ContainerFiles::at(std::string_view path) const {
  return source_.root + std::string(path);
}

std::optional<std::string> ContainerFiles::home_of(uid_t uid) const {
  const auto passwd = read_file(source_.passwd, 16 << 20);
  auto home = passwd ? home_in_passwd(*passwd, uid) : std::nullopt;
  if (home || !source_.root.empty()) return home;
  const auto user = user_in_directory(uid);
  return user ? std::optional(user->home) : std::nullopt;
}

Result<std::string> ContainerFiles::read(const Enclosure& enclosure, const std::string& folder,
                                         const std::string& name) {
  if (enclosure.owner_uid.value_or(0) != 0) {
    return read_file_of({.uid = *enclosure.owner_uid}, folder, name, largest_file);
  }
  const auto directory = open_fd(folder, O_PATH | O_DIRECTORY);
  if (!directory) return std::unexpected(directory.error());
  return read_untrusted_file(directory->get(), name, largest_file);
}

void ContainerFiles::search_docker(const Enclosure& enclosure, Search& search) const {
  std::vector<std::string> roots;
  if (const auto daemon = read_file(at("/etc/docker/daemon.json"))) {
    if (const auto root = containers::docker_data_root(*daemon)) roots.push_back(at(*root));
  }
  roots.push_back(at("/var/lib/docker"));
  roots.push_back(at("/var/snap/docker/common/var-lib-docker"));
  if (enclosure.owner_uid.value_or(0) != 0) {
    const auto home = home_of(*enclosure.owner_uid);
    roots = home ? std::vector{at(*home + "/.local/share/docker")} : std::vector<std::string>();
  }
  for (const std::string& root : roots) {
    const auto config = read(enclosure, root + "/containers/" + enclosure.id, "config.v2.json");
    if (!config) {
      search.add_failure(config.error());
    } else {
      search.add(containers::docker_names(*config));
    }
    if (search.is_named()) return;
  }
}

void ContainerFiles::search_storage(const Enclosure& enclosure, Search& search) const {
  std::vector<std::string> storages = {at("/var/lib/containers/storage"),
                                       at("/run/containers/storage")};
  if (enclosure.owner_uid.value_or(0) != 0) {
    storages = {at("/run/user/" + std::to_string(*enclosure.owner_uid) + "/containers")};
    if (const auto home = home_of(*enclosure.owner_uid)) {
      storages.insert(storages.begin(), at(*home + "/.local/share/containers/storage"));
    }
  }
  for (const std::string& storage : storages) {
    for (const char* driver : {"/overlay-containers", "/vfs-containers"}) {
      // The second has those that `podman run --rm` will remove.
      for (const char* file : {"containers.json", "volatile-containers.json"}) {
        const auto list = read(enclosure, storage + driver, file);
        if (!list) {
          search.add_failure(list.error());
        } else {
          search.add(containers::storage_names(*list, enclosure.id));
        }
        if (search.is_named()) return;
      }
    }
  }
}

void ContainerFiles::search_bundles(const Enclosure& enclosure, Search& search) const {
  const std::array<std::string, 5> folders = {
      "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + enclosure.id,
      "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" + enclosure.id,
      "/run/containerd/io.containerd.runtime.v2.task/default/" + enclosure.id,
      "/run/containers/storage/overlay-containers/" + enclosure.id + "/userdata",
      "/var/lib/containers/storage/overlay-containers/" + enclosure.id + "/userdata"};
  for (const std::string& folder : folders) {
    const auto config = read(enclosure, at(folder), "config.json");
    if (!config) {
      search.add_failure(config.error());
    } else {
      search.add(containers::bundle_names(*config));
    }
    if (search.is_complete()) return;
  }
}

void ContainerFiles::search_pod_logs(const Enclosure& enclosure, Search& search) const {
  const auto named = [&](const std::string& folder, const auto& name_of, const std::string& id) {
    const auto entries = list_directory(at(folder));
    if (!entries) return search.add_failure(entries.error());
    for (const std::string& entry : *entries) {
      if (auto name = name_of(entry, id)) search.add(containers::Names{.name = std::move(name)});
    }
  };
  named("/var/log/containers", containers::name_in_log_link, enclosure.id);
  if (!search.is_named() && enclosure.pod_uid) {
    named("/var/log/pods", containers::name_in_log_folder, *enclosure.pod_uid);
  }
}

ContainerNames ContainerFiles::names_of(const Enclosure& enclosure) const {
  if (!enclosure.name.get() && enclosure.name.why() == Absent::unsupported) {
    return {.name = Absent::unsupported, .image = Absent::unsupported};
  }
  if (!is_plain(enclosure.id)) return {.name = Absent::failed, .image = Absent::failed};
  Search search;
  if (enclosure.runtime == "docker") search_docker(enclosure, search);
  if (enclosure.runtime == "podman") search_storage(enclosure, search);
  if (enclosure.runtime == "containerd" || enclosure.runtime == "cri-o" ||
      enclosure.runtime == "kubernetes") {
    search_bundles(enclosure, search);
    // The kubelet's logs are listed to everybody, where the runtime's files are root's.
    if (!search.is_named()) search_pod_logs(enclosure, search);
  }
  return search.result();
}

}  // namespace berth
