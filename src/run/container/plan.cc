#include "run/container/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "run/command_words.h"
#include "run/container/toolkit.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

/// The variable that "-e TEXT" sets, where a container toolkit or a runtime reads in it which cards
/// there are. podman takes "CUDA_*" for all that begin so.
std::optional<std::string_view> device_variable_in(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('='));
  const bool is_pattern = name.ends_with('*') && name.size() == text.size();
  const auto is_meant = [&](std::string_view one) {
    return !one.empty() &&
           (name == one || (is_pattern && one.starts_with(name.substr(0, name.size() - 1))));
  };
  for (const DeviceKindFacts& kind : device_kinds()) {
    if (is_meant(kind.toolkit_variable)) return kind.toolkit_variable;
  }
  const auto found = std::ranges::find_if(choosing_variables(), is_meant);
  return found != choosing_variables().end() ? std::optional(*found) : std::nullopt;
}

std::optional<std::string_view> device_variable_in_file(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    if (const auto found = device_variable_in(trimmed(line))) return found;
  }
  return std::nullopt;
}

/// Whether a path names cards' device files, or a folder that has them.
bool has_cards(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/dev") return true;
  const std::string folder = std::string(path) + "/";
  return std::ranges::any_of(device_file_beginnings(), [&](std::string_view beginning) {
    return path.starts_with(beginning) || folder == beginning;
  });
}

/// "vendor.com/class=name" of cards.
bool is_cdi_of_cards(std::string_view value) {
  return std::ranges::any_of(device_kinds(), [&](const DeviceKindFacts& kind) {
    return !kind.cdi_kind.empty() && value.starts_with(kind.cdi_kind);
  });
}

/// The part before the first colon: the host's side.
std::string_view host_part(std::string_view value) { return value.substr(0, value.find(':')); }

bool mounts_cards(std::string_view value) {
  for (const std::string_view part : split(value, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    if (key != "source" && key != "src") continue;
    if (equals != part.npos && has_cards(part.substr(equals + 1))) return true;
  }
  return false;
}

/// "c 195:* rmw", "a": allows what devices may be opened.
bool allows_cards(std::string_view rule) {
  const auto words = split(trimmed(rule), ' ');
  if (words[0] == "a") return true;
  const std::string_view major = words.size() > 1 ? host_part(words[1]) : std::string_view("*");
  const bool is_cards = std::ranges::find(device_kinds(), major, &DeviceKindFacts::file_major) !=
                        device_kinds().end();
  return words[0] == "c" && (major == "*" || (!major.empty() && is_cards));
}

/// Why an option contradicts the lease; nothing: it does not.
std::optional<Sentence> contradiction(const ContainerOption& option, const ReadText& read) {
  const std::string& name = option.name;
  const std::string& value = option.value;
  if (name == "gpus") return sentence("this run chooses the container's GPUs");
  if (name == "device" && (is_cdi_of_cards(value) || has_cards(host_part(value)))) {
    return sentence("this run chooses the container's GPUs");
  }
  if ((name == "volume" && has_cards(host_part(value))) ||
      (name == "mount" && mounts_cards(value)) ||
      (name == "device-cgroup-rule" && allows_cards(value))) {
    return sentence("it lets the container open other cards' device files");
  }
  if (name == "env") {
    if (const auto variable = device_variable_in(value)) {
      return sentence("{} is set by the lease, and counts otherwise in a container", *variable);
    }
  }
  if (name == "env-file") {
    const auto text = read(value);
    const auto variable = text ? device_variable_in_file(*text) : std::nullopt;
    if (variable)
      return sentence("it sets {}, which the lease does; take that line out", *variable);
  }
  const bool is_on = value != "false" && value != "0";
  if (name == "env-host" && is_on) {
    return sentence(
        "it hands on the variables that choose devices, which count otherwise in a container");
  }
  if (name == "privileged" && is_on) {
    return sentence("a privileged container has every card of the machine");
  }
  if (name == "cidfile" && read(value)) {
    return sentence("that file is there already, of another container: remove it");
  }
  const std::string own = std::string(container_label) + "=";
  const auto labels = name == "label-file" ? read(value) : std::nullopt;
  if ((name == "label" && value.starts_with(own)) ||
      (labels && ("\n" + *labels).find("\n" + own) != std::string::npos)) {
    return sentence("that label is berth's own: by it the run knows its container");
  }
  if (name == "restart" && value != "no" && !value.empty()) {
    return sentence(
        "the engine would start it again after the lease has ended; --retry-on of berth run "
        "does so with a lease");
  }
  return std::nullopt;
}

/// The first option before `run`, or what is set, by which the engine is another machine's.
std::vector<const ContainerOption*> options_of_endpoint(const ContainerCommand& command) {
  std::vector<const ContainerOption*> found;
  constexpr std::array<std::string_view, 5> names = {"host", "context", "connection", "url",
                                                     "remote"};
  for (const ContainerOption& one : command.engine_options) {
    if (std::ranges::find(names, one.name) != names.end()) found.push_back(&one);
  }
  return found;
}

std::string line_of(const JobSpec& job, std::vector<std::string> command) {
  JobSpec corrected = job;
  corrected.command = std::move(command);
  return run_line(corrected);
}

// ------------------------------------------------------------------------------------- devices

/// The card's own device file; empty: not known.
std::string device_file_of(const Device& device) {
  const auto& minor = device.minor_number.get();
  const std::string_view file = facts_of(device.kind).card_file;
  return minor && !file.empty() ? std::string(file) + std::to_string(*minor) : std::string();
}

}  // namespace

std::optional<std::vector<std::string>> cdi_names(const std::vector<DeviceId>& devices,
                                                  const Snapshot& snapshot,
                                                  const std::vector<CdiSpec>& specs) {
  std::vector<std::string> names;
  for (const DeviceId& id : devices) {
    const Device* device = find_device(id, snapshot);
    if (device == nullptr) return std::nullopt;
    auto name = cdi_name_of(id.text(), device->parent ? std::string() : device_file_of(*device),
                            facts_of(device->kind).cdi_kind, specs);
    if (!name) return std::nullopt;
    names.push_back(*std::move(name));
  }
  return names;
}

namespace {

Result<std::vector<std::string>> device_words(const ContainerCommand& command,
                                              const std::vector<DeviceId>& devices,
                                              const Snapshot& snapshot,
                                              const ContainerEngine& engine) {
  const std::vector<std::string> no_others = words_for_no_card();
  if (devices.empty()) return no_others;
  if (const auto names = cdi_names(devices, snapshot, engine.cdi.specs)) {
    std::vector<std::string> words;
    for (const std::string& name : *names) {
      words.emplace_back("--device");
      words.push_back(name);
    }
    words.insert(words.end(), no_others.begin(), no_others.end());
    return words;
  }
  std::vector<const Device*> by_files;
  std::vector<DeviceId> of_toolkit;
  for (const DeviceId& id : devices) {
    const Device* device = find_device(id, snapshot);
    const bool is_of_toolkit = device == nullptr || is_given_by_toolkit(*device);
    is_of_toolkit ? of_toolkit.push_back(id) : by_files.push_back(device);
  }
  const auto files = files_for_container(by_files);
  if (!files) {
    const Device& one = *by_files.front();
    return std::unexpected(Error(ErrorCode::io,
                                 "which files give a container the device {} of {} is not known. "
                                 "Start it by the maker's own runtime, without berth run",
                                 printable(one.id.text()), facts_of(one.kind).vendor));
  }
  std::vector<std::string> words;
  for (const std::string& file : *files) {
    words.emplace_back("--device");
    words.push_back(file);
  }
  if (of_toolkit.empty()) {
    const bool has_others = std::ranges::any_of(snapshot.devices, is_given_by_toolkit);
    if (has_others) words.insert(words.end(), no_others.begin(), no_others.end());
    return words;
  }
  // podman takes --gpus and gives nothing, or asks CDI after all.
  if (command.engine == "podman" || engine.toolkit.empty()) {
    return std::unexpected(no_device_way(command, of_toolkit.front().text(), engine));
  }
  const std::string list = joined(of_toolkit, ",", &DeviceId::text);
  // The quotes are docker's own: its reader of comma-separated values would take the list apart.
  words.insert(words.end(), {"--gpus", "\"device=" + list + "\""});
  return words;
}

}  // namespace

bool is_local_endpoint(std::string_view endpoint) {
  return endpoint.empty() || endpoint.starts_with("unix:") || endpoint.starts_with('/') ||
         endpoint.starts_with("fd:");
}

std::optional<Error> contradiction_in(const ContainerCommand& command,
                                      const ContainerEngine& engine, const JobSpec& job,
                                      const ReadText& read) {
  Sentence reasons;
  std::vector<const ContainerOption*> wrong;
  const auto add = [&](const std::string& what, const Sentence& why) {
    const Sentence reason = sentence("{}: {}", what, why);
    reasons = reasons.empty() ? reason : sentence("{}; {}", reasons, reason);
  };
  for (const ContainerOption& option : command.options) {
    const auto why = contradiction(option, read);
    if (!why) continue;
    wrong.push_back(&option);
    add(printable(option.text(command.words)), *why);
  }
  const bool is_remote = !is_local_endpoint(engine.endpoint);
  if (is_remote) {
    add(printable(engine.endpoint_by),
        sentence(
            "its containers run on another machine ({}), and the lease is of this one's cards; run "
            "berth there",
            printable(engine.endpoint)));
    for (const ContainerOption* option : options_of_endpoint(command)) wrong.push_back(option);
  }
  const bool is_left = command.has("detach");
  if (is_left && job.retry_on != RetryOn::never) {
    add("-d", sentence("berth starts again only what it waits for: detach berth itself "
                       "(berth run -d), not the container"));
    if (const ContainerOption* option = command.find("detach")) wrong.push_back(option);
  }
  if (reasons.empty()) return std::nullopt;
  std::string line = line_of(job, without_options(command, wrong));
  if (is_remote && engine.endpoint_by.find('-') != 0) {
    // A context in use stands in a file: another one is named instead of it.
    const bool is_variable = engine.endpoint_by.find(' ') == std::string::npos;
    line = (is_variable ? "env -u " + engine.endpoint_by : "DOCKER_CONTEXT=default") + " " + line;
  }
  return Error(ErrorCode::invalid, "{} run: {}. Write: {}", command.engine, reasons,
               printable(line));
}

Result<ContainerStart> start_container_with(const ContainerCommand& command,
                                            const std::vector<DeviceId>& devices,
                                            const Snapshot& snapshot, const ContainerEngine& engine,
                                            const ContainerTerms& terms) {
  ContainerStart start{.command = command.words};
  // No engine has the cards of a simulated server.
  if (!snapshot.simulated) {
    auto words = device_words(command, devices, snapshot, engine);
    if (!words) return std::unexpected(std::move(words).error());
    start.added = *std::move(words);
  }
  const auto put = [&](std::initializer_list<std::string> words) {
    start.added.insert(start.added.end(), words);
  };
  if (const ContainerOption* own = command.find("cidfile")) {
    start.cid_file = own->value;
  } else {
    start.cid_file = terms.cid_file;
    put({"--cidfile", terms.cid_file});
  }
  put({"--label", fmt::format("{}={}", container_label, terms.run)});
  start.command.insert(start.command.begin() + static_cast<std::ptrdiff_t>(command.act) + 1,
                       start.added.begin(), start.added.end());
  return start;
}

}  // namespace berth
