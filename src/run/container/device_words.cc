#include "run/container/device_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "host_environment/cdi.h"
#include "place/visible_devices.h"
#include "run/container/plan.h"
#include "run/container/toolkit.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

std::string exports_of(const std::vector<Variable>& variables) {
  std::string lines;
  for (const auto& [name, value] : variables) lines += "export " + name + "=" + value + "\n";
  return lines;
}

std::vector<const Device*> found_in(const Snapshot& snapshot, const std::vector<DeviceId>& ids) {
  std::vector<const Device*> devices;
  for (const DeviceId& id : ids) {
    if (const Device* device = find_device(id, snapshot)) devices.push_back(device);
  }
  return devices;
}

/// Whether an engine's toolkit gives them (--gpus, CDI).
bool are_given_by_toolkit(const std::vector<DeviceId>& ids, const Snapshot& snapshot) {
  return std::ranges::all_of(found_in(snapshot, ids),
                             [](const Device* device) { return is_given_by_toolkit(*device); });
}

/// For other makers' devices: their files, which need no quotes.
Result<std::string> file_words(std::string_view format, const std::vector<DeviceId>& ids,
                               const Snapshot& snapshot) {
  if (format == "cdi") {
    return std::unexpected(
        Error(ErrorCode::unsupported, "--format cdi has no name for these; use --format docker"));
  }
  const auto files = files_for_container(found_in(snapshot, ids));
  if (!files) {
    return std::unexpected(Error(
        ErrorCode::unsupported,
        "which files give a container these devices is not known; use the runtime of their maker"));
  }
  std::string words;
  for (const std::string& file : *files)
    words += (words.empty() ? "--device " : " --device ") + file;
  return words + "\n";
}

/// By the names that the engines' files have, as `berth run` does; by UUID where these do not know
/// all. No file names a simulated card.
std::string cdi_words(const std::vector<DeviceId>& devices, const Snapshot& snapshot,
                      const std::string& root) {
  std::optional<std::vector<std::string>> names;
  if (!snapshot.simulated) {
    names = cdi_names(devices, snapshot, read_cdi_specs(usual_cdi_folders(), root).specs);
  }
  if (!names) {
    names.emplace();
    for (const Device* device : found_in(snapshot, devices)) {
      names->push_back(fmt::format("{}={}", facts_of(device->kind).cdi_kind, device->id.text()));
    }
  }
  std::string words;
  for (const std::string& name : *names)
    words += (words.empty() ? "--device " : " --device ") + name;
  return words + "\n";
}

}  // namespace

Result<std::string> devices_in_format(std::string_view format, const std::vector<DeviceId>& devices,
                                      const Snapshot& snapshot, const std::string& root) {
  if (format == "env") {
    auto variables = visible_variables(devices, VisibleFormat::indices, snapshot);
    if (!variables) return std::unexpected(std::move(variables).error());
    std::string lines = exports_of(*variables);
    for (const std::string& name : removed_variables(devices, snapshot)) {
      lines += "unset " + name + "\n";
    }
    return lines;
  }
  const bool is_for_container = format == "docker" || format == "cdi";
  if (is_for_container && !are_given_by_toolkit(devices, snapshot)) {
    return file_words(format, devices, snapshot);
  }
  const bool by_index = format == "indices";
  auto list = write_visible_devices(
      devices, by_index ? VisibleFormat::indices : VisibleFormat::uuids, snapshot);
  if (!list) return std::unexpected(std::move(list).error());
  // Both forms are one or more words for `docker run`. The inner quotes keep docker's CSV reader
  // from taking a comma for its own. The outer ones keep the inner ones from the shell. Without a
  // comma neither is needed. Then the words are right in $(…) too, where no shell takes quotes off.
  if (format == "docker" && devices.size() == 1) return "--gpus device=" + *list + "\n";
  if (format == "docker") return "--gpus '\"device=" + *list + "\"'\n";
  if (format == "cdi") return cdi_words(devices, snapshot, root);
  return *list + "\n";
}

std::string no_device_in_format(std::string_view format, const std::vector<Variable>& settings) {
  if (format == "env") return exports_of(settings);
  const bool is_for_container = format == "docker" || format == "cdi";
  return is_for_container ? joined(words_for_no_card(), " ") + "\n" : "-1\n";
}

}  // namespace berth
