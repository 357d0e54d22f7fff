// A snapshot read from JSON: all of it is hostile until it is a Snapshot.

#include <nlohmann/json.hpp>

#include <array>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/memory_limit.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_kind.h"
#include "snapshot/fields.h"
#include "snapshot/gpu_use.h"
#include "snapshot/json.h"
#include "snapshot/json_number.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

/// A mistake in the file, thrown inside this file only and turned into an Error at its border.
struct Malformed {
  std::string what;
};

const Json& member(const Json& object, const char* key) {
  static const Json nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

template <class T>
T as(const Json& value, std::string_view what) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (value.is_string()) return value.get<std::string>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (value.is_boolean()) return value.get<bool>();
  } else {
    if (const auto number = number_in<T>(value)) return *number;
  }
  throw Malformed{std::string(what) + " has a value of the wrong type or range"};
}

/// Printed for shells to evaluate: a file of somebody's can name nothing else.
std::string plain_id(std::string text, std::string_view what) {
  if (text.empty()) throw Malformed{std::string(what) + " is empty"};
  if (is_plain_id(text)) return text;
  throw Malformed{std::string(what) + " is no plain word of letters, digits and . _ : / - (\"" +
                  cut_to_width(printable(text), 64, false) + "\")"};
}

DeviceId device_id(const Json& value, std::string_view what) {
  return DeviceId(plain_id(as<std::string>(value, what), what));
}

/// `fallback` where the key is missing or null.
template <class T>
T optional_as(const Json& object, const char* key, T fallback) {
  const Json& value = member(object, key);
  return value.is_null() ? fallback : as<T>(value, key);
}

Absent reason(const Json& object, const char* key) {
  const Json& why = member(object, "why");
  if (!why.is_object()) return Absent::not_sampled;
  const Json& word = member(why, key);
  if (!word.is_string()) return Absent::not_sampled;
  return absent_from_name(word.get<std::string>()).value_or(Absent::failed);
}

template <class T>
struct Plain {
  static T read(const Json& value, std::string_view what) { return as<T>(value, what); }
};
template <class Tag, class Rep>
struct Plain<Quantity<Tag, Rep>> {
  static Quantity<Tag, Rep> read(const Json& value, std::string_view what) {
    return Quantity<Tag, Rep>(as<Rep>(value, what));
  }
};
template <>
struct Plain<WallTime> {
  static WallTime read(const Json& value, std::string_view what) {
    return {as<std::int64_t>(value, what)};
  }
};
template <class T>
struct Plain<std::vector<T>> {
  static std::vector<T> read(const Json& value, std::string_view what) {
    if (!value.is_array()) throw Malformed{std::string(what) + " is not a list"};
    std::vector<T> items;
    for (const Json& item : value) items.push_back(Plain<T>::read(item, what));
    return items;
  }
};

template <class T>
void take(const Json& object, const char* key, Reading<T>& reading) {
  const Json& value = member(object, key);
  if (value.is_null()) {
    reading = reason(object, key);
  } else {
    reading = Plain<T>::read(value, key);
  }
}

Cell cell_from(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (value.is_null()) return reason(object, key);
  if (value.is_string()) return CellValue(value.get<std::string>());
  if (value.is_boolean()) return CellValue(value.get<bool>());
  if (value.is_number_unsigned()) return CellValue(value.get<std::uint64_t>());
  if (value.is_number_integer()) return CellValue(value.get<std::int64_t>());
  if (value.is_number_float()) return CellValue(value.get<double>());
  throw Malformed{std::string(key) + " has a value of the wrong type"};
}

std::optional<MigPlace> mig_from(const Json& object) {
  const Json& mig = member(object, "mig");
  if (!mig.is_object()) return std::nullopt;
  return MigPlace{as<std::uint32_t>(member(mig, "gpu_instance"), "gpu_instance"),
                  as<std::uint32_t>(member(mig, "compute_instance"), "compute_instance")};
}

ProcessId process_id_from(const Json& object) {
  if (!object.is_object()) return {};
  return {.pid = optional_as<pid_t>(object, "pid", 0),
          .start_ticks = optional_as<std::uint64_t>(object, "start_ticks", 0)};
}

Reading<std::vector<UtilizationSample>> history_from(const Json& object) {
  constexpr const char* key = "utilization_history_ms_percent";
  const Json& value = member(object, key);
  if (value.is_null()) return reason(object, key);
  std::vector<UtilizationSample> history;
  for (const auto& pair : Plain<std::vector<std::vector<double>>>::read(value, key)) {
    if (pair.size() != 2) throw Malformed{std::string(key) + " wants pairs of [ms, percent]"};
    if (!(pair[0] >= 0 && pair[0] < 1e12)) throw Malformed{std::string(key) + ": age out of range"};
    history.push_back({Milliseconds(static_cast<std::int64_t>(pair[0])), Percent(pair[1])});
  }
  return history;
}

void write_field(const Field& field, const Json& object, const std::string& key, Device& device) {
  if (field.write == nullptr || field.write(device, cell_from(object, key.c_str()))) return;
  throw Malformed{key + " of device " + device.id.text() + " has a value of the wrong type"};
}

/// Details are looked up by what the file has: most files have few of them.
const Field* detail_called(const std::string& key) {
  static const auto by_key = [] {
    std::unordered_map<std::string_view, const Field*> map;
    for (const Field& field : fields()) {
      if (field.detail) map.emplace(field.key, &field);
    }
    return map;
  }();
  const auto found = by_key.find(key);
  return found == by_key.end() ? nullptr : found->second;
}

template <class T>
Reading<std::vector<T>> list_from(const Json& object, const char* key,
                                  T (*item_from)(const Json&)) {
  const Json& value = member(object, key);
  if (value.is_null()) return reason(object, key);
  if (!value.is_array()) throw Malformed{std::string(key) + " is not a list"};
  std::vector<T> items;
  for (const Json& item : value) {
    if (!item.is_object()) throw Malformed{std::string(key) + " holds what is no object"};
    items.push_back(item_from(item));
  }
  return items;
}

RetiredPage retired_page_from(const Json& object) {
  RetiredPage page;
  page.address = as<std::uint64_t>(member(object, "address"), "a retired page's address");
  if (optional_as<std::string>(object, "cause", "single bit") == "double bit") {
    page.cause = RetiredPage::Cause::double_bit;
  }
  take(object, "retired_unix_ms", page.retired);
  return page;
}

AccountedProcess accounted_from(const Json& object) {
  AccountedProcess process;
  process.pid = as<pid_t>(member(object, "pid"), "an accounted process's pid");
  take(object, "utilization_gpu_percent", process.utilization_gpu);
  take(object, "utilization_memory_percent", process.utilization_memory);
  take(object, "memory_max_bytes", process.memory_max);
  take(object, "run_time_ms", process.run_time);
  take(object, "running", process.running);
  return process;
}

SupportedClocks supported_clocks_from(const Json& object) {
  SupportedClocks clocks;
  clocks.memory = Plain<Megahertz>::read(member(object, "memory"), "a supported memory clock");
  clocks.graphics =
      Plain<std::vector<Megahertz>>::read(member(object, "graphics"), "supported graphics clocks");
  return clocks;
}

NvLink nvlink_from(const Json& object) {
  NvLink link;
  link.number = as<std::uint32_t>(member(object, "number"), "an NVLink's number");
  take(object, "active", link.active);
  take(object, "speed_bytes_per_second", link.speed);
  take(object, "remote_pci_address", link.remote);
  return link;
}

Device device_from(const Json& object) {
  if (!object.is_object()) throw Malformed{"a device is not an object"};
  Device device;
  const auto kind_name = optional_as<std::string>(object, "kind", "nvidia-gpu");
  const auto kind = device_kind_from_name(kind_name);
  if (!kind) throw Malformed{"unknown kind of device \"" + kind_name + "\""};
  device.kind = *kind;
  device.id = device_id(member(object, "id"), "a device's id");
  if (member(object, "parent").is_string()) {
    device.parent = device_id(member(object, "parent"), "a device's parent");
  }
  device.mig = mig_from(object);
  if (!member(object, "index").is_null()) {
    device.index = as<int>(member(object, "index"), "index");
    if (*device.index < 0) throw Malformed{"a device's index is negative"};
  }
  device.lost = optional_as<bool>(object, "lost", false);
  device.unusable_because = optional_as<std::string>(object, "unusable_because", "");
  for (const Field& field : fields()) {
    if (!field.detail) write_field(field, object, std::string(field.key), device);
  }
  for (const auto& [key, value] : object.items()) {
    if (const Field* field = detail_called(key)) write_field(*field, object, key, device);
  }
  if (device.uuid.get()) plain_id(*device.uuid.get(), "a device's uuid");
  if (device.pci_address.get()) plain_id(*device.pci_address.get(), "a device's PCI address");
  device.utilization_history = history_from(object);
  device.lists.retired_pages = list_from<RetiredPage>(object, "retired_pages", retired_page_from);
  device.lists.accounted_processes =
      list_from<AccountedProcess>(object, "accounted_processes", accounted_from);
  device.lists.supported_clocks =
      list_from<SupportedClocks>(object, "supported_clocks_megahertz", supported_clocks_from);
  device.lists.nvlinks = list_from<NvLink>(object, "nvlinks", nvlink_from);
  return device;
}

GpuProcess gpu_process_from(const Json& object) {
  GpuProcess process;
  process.device = device_id(member(object, "device"), "a process's device");
  process.pid = as<pid_t>(member(object, "pid"), "a process's pid");
  const auto type = optional_as<std::string>(object, "type", "C");
  for (const auto& [use, name] : gpu_uses) {
    if (name == type) process.use = use;
  }
  process.mig = mig_from(object);
  take(object, "memory_used_bytes", process.memory);
  take(object, "utilization_sm_percent", process.utilization_sm);
  take(object, "utilization_memory_percent", process.utilization_memory);
  take(object, "utilization_encoder_percent", process.utilization_encoder);
  take(object, "utilization_decoder_percent", process.utilization_decoder);
  take(object, "utilization_jpeg_percent", process.utilization_jpeg);
  take(object, "utilization_optical_flow_percent", process.utilization_optical_flow);
  return process;
}

std::optional<Enclosure> enclosure_from(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  Enclosure enclosure;
  enclosure.runtime = optional_as<std::string>(object, "runtime", "");
  enclosure.id = optional_as<std::string>(object, "id", "");
  if (const Json& uid = member(object, "pod_uid"); !uid.is_null()) {
    enclosure.pod_uid = as<std::string>(uid, "pod_uid");
  }
  if (const Json& uid = member(object, "owner_uid"); !uid.is_null()) {
    enclosure.owner_uid = as<uid_t>(uid, "owner_uid");
  }
  take(object, "name", enclosure.name);
  take(object, "image", enclosure.image);
  return enclosure;
}

HostProcess host_process_from(const Json& object) {
  HostProcess process;
  process.id = process_id_from(object);
  if (!member(object, "ancestors").is_null()) {
    process.ancestors = Plain<std::vector<pid_t>>::read(member(object, "ancestors"), "ancestors");
  }
  take(object, "uid", process.uid);
  take(object, "user", process.user);
  take(object, "command", process.command);
  take(object, "executable_name", process.executable_name);
  take(object, "started_unix_ms", process.started);
  take(object, "cpu_time_ms", process.cpu_time);
  if (const Json& read = member(object, "read_unix_ms"); !read.is_null()) {
    process.read = Plain<WallTime>::read(read, "read_unix_ms");
  }
  take(object, "memory_resident_bytes", process.memory_resident);
  take(object, "state", process.state);
  take(object, "container", process.container);
  process.enclosure = enclosure_from(member(object, "enclosure"));
  process.stuck = optional_as<bool>(object, "stuck", false);
  return process;
}

std::vector<ClaimedDevice> claimed_from(const Json& list) {
  std::vector<ClaimedDevice> devices;
  for (const Json& device : list) {
    ClaimedDevice claimed{device_id(member(device, "device"), "a lease's device"), {}};
    if (!member(device, "promised_bytes").is_null()) {
      claimed.promised =
          Bytes(as<std::uint64_t>(member(device, "promised_bytes"), "promised_bytes"));
    }
    devices.push_back(std::move(claimed));
  }
  return devices;
}

Claim claim_from(const Json& object) {
  Claim claim;
  claim.id = optional_as<std::string>(object, "id", "");
  claim.run = optional_as<std::string>(object, "run", "");
  claim.uid = optional_as<uid_t>(object, "uid", 0);
  claim.user = optional_as<std::string>(object, "user", "");
  claim.keeper = process_id_from(member(object, "keeper"));
  if (member(object, "job").is_object()) claim.job = process_id_from(member(object, "job"));
  claim.command = optional_as<std::string>(object, "command", "");
  claim.since = {optional_as<std::int64_t>(object, "since_unix_ms", 0)};
  claim.parsed = optional_as<bool>(object, "understood", true);
  claim.devices = claimed_from(member(object, "devices"));
  return claim;
}

Waiter waiter_from(const Json& object) {
  Waiter waiter;
  waiter.id = optional_as<std::string>(object, "id", "");
  waiter.run = optional_as<std::string>(object, "run", "");
  waiter.uid = optional_as<uid_t>(object, "uid", 0);
  waiter.user = optional_as<std::string>(object, "user", "");
  waiter.process = process_id_from(member(object, "process"));
  waiter.command = optional_as<std::string>(object, "command", "");
  waiter.wants = optional_as<std::string>(object, "wants", "");
  waiter.request = optional_as<std::string>(object, "request", "");
  waiter.since = {optional_as<std::int64_t>(object, "since_unix_ms", 0)};
  for (const Json& device : member(object, "gathered")) {
    waiter.gathered.push_back(device_id(device, "a gathered device"));
  }
  waiter.stuck = optional_as<bool>(object, "stuck", false);
  waiter.reserved = claimed_from(member(object, "reserved"));
  return waiter;
}

Reading<std::vector<ExcludedDevice>> excluded_from(const Json& object) {
  const Json& list = member(object, "excluded_devices");
  if (!list.is_array()) return reason(object, "excluded_devices");
  std::vector<ExcludedDevice> excluded;
  for (const Json& one : list) {
    excluded.push_back({.pci_address = optional_as<std::string>(one, "pci_address", ""),
                        .uuid = optional_as<std::string>(one, "uuid", "")});
  }
  return excluded;
}

Host host_from(const Json& object) {
  Host host;
  if (!object.is_object()) return host;
  take(object, "name", host.name);
  take(object, "kernel", host.kernel);
  take(object, "boot_id", host.boot_id);
  take(object, "driver_version", host.driver_version);
  take(object, "nvml_version", host.nvml_version);
  take(object, "cuda_version_supported", host.cuda_version_supported);
  take(object, "process_view", host.process_view);
  host.excluded_devices = excluded_from(object);
  return host;
}

Problem problem_from(const Json& object) {
  Problem problem;
  problem.source = optional_as<std::string>(object, "source", "");
  if (member(object, "device").is_string()) {
    problem.device = device_id(member(object, "device"), "a problem's device");
  }
  problem.code = optional_as<std::string>(object, "code", "");
  problem.message = optional_as<std::string>(object, "message", "");
  problem.remedy = optional_as<std::string>(object, "remedy", "");
  return problem;
}

/// Every element of the list under `key`, which may be missing, through `read`.
template <class Read>
auto list_of(const Json& root, const char* key, Read read) {
  std::vector<decltype(read(root))> items;
  const Json& list = member(root, key);
  if (list.is_null()) return items;
  if (!list.is_array()) throw Malformed{std::string(key) + " is not a list"};
  for (const Json& item : list) {
    if (!item.is_object()) throw Malformed{std::string(key) + " holds something not an object"};
    items.push_back(read(item));
  }
  return items;
}

Reading<DeviceFiles> device_files_from(const Json& root) {
  const Json& object = member(root, "device_files");
  if (!object.is_object()) return reason(root, "device_files");
  DeviceFiles files;
  files.holders = list_of(object, "holders", [](const Json& one) {
    return DeviceFileHolder{as<pid_t>(member(one, "pid"), "pid"),
                            as<std::uint64_t>(member(one, "minor_number"), "minor_number")};
  });
  take(object, "unreadable_processes", files.unreadable);
  return files;
}

Reading<std::vector<XidEvent>> xids_from(const Json& root) {
  if (!member(root, "xids").is_array()) return reason(root, "xids");
  return list_of(root, "xids", [](const Json& object) {
    XidEvent event;
    event.pci_address = optional_as<std::string>(object, "pci_address", "");
    event.code = as<std::uint64_t>(member(object, "code"), "code");
    event.at = {optional_as<std::int64_t>(object, "at_unix_ms", 0)};
    event.text = optional_as<std::string>(object, "text", "");
    take(object, "pid", event.pid);
    take(object, "process", event.process);
    return event;
  });
}

Snapshot snapshot_from(const Json& root) {
  if (!root.is_object()) throw Malformed{"it is not an object"};
  const int version = optional_as<int>(root, "berth_snapshot", 0);
  if (version < 1) throw Malformed{"it has no \"berth_snapshot\": 1"};
  if (version > Snapshot::format_version) {
    throw Malformed{trf("its format version {} is newer than this berth, which knows {}", version,
                        Snapshot::format_version)};
  }
  Snapshot snapshot;
  snapshot.taken = {optional_as<std::int64_t>(root, "taken_unix_ms", 0)};
  if (member(root, "simulated").is_string()) {
    snapshot.simulated = member(root, "simulated").get<std::string>();
  }
  snapshot.host = host_from(member(root, "host"));
  snapshot.devices = list_of(root, "devices", device_from);
  snapshot.gpu_processes = list_of(root, "gpu_processes", gpu_process_from);
  snapshot.processes = list_of(root, "processes", host_process_from);
  snapshot.device_files = device_files_from(root);
  snapshot.xids = xids_from(root);
  if (member(root, "driver_loaded_unix_ms").is_number_integer()) {
    snapshot.driver_loaded =
        WallTime{as<std::int64_t>(member(root, "driver_loaded_unix_ms"), "driver_loaded_unix_ms")};
  } else {
    snapshot.driver_loaded = reason(root, "driver_loaded_unix_ms");
  }
  snapshot.claims = list_of(root, "leases", claim_from);
  snapshot.waiters = list_of(root, "queue", waiter_from);
  snapshot.sources = list_of(root, "sources", [](const Json& object) {
    return SourceReport{optional_as<std::string>(object, "source", ""),
                        optional_as<bool>(object, "succeeded", false)};
  });
  snapshot.problems = list_of(root, "problems", problem_from);
  return snapshot;
}

}  // namespace

Result<Snapshot> snapshot_from_json(std::string_view text) {
  if (nesting_depth(text) > 100) {
    return fail(ErrorCode::invalid, "not a snapshot: nested too deeply");
  }
  try {
    return snapshot_from(Json::parse(text));
  } catch (const Malformed& mistake) {
    return fail(ErrorCode::invalid, "not a snapshot that berth can read: " + mistake.what);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::io, std::string(memory_ran_out()));
  } catch (const std::exception& error) {  // nlohmann's: says line and column
    return fail(ErrorCode::invalid, std::string("not valid JSON: ") + error.what());
  }
}

}  // namespace berth
