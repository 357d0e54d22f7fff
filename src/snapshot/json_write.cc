// A snapshot written as JSON.

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/fields.h"
#include "snapshot/gpu_use.h"
#include "snapshot/json.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

/// Writes readings of one object: the value, or null with the reason under "why".
class ReadingWriter {
 public:
  explicit ReadingWriter(Json& object) : object_(object) {}

  template <class T>
  void put(std::string_view key, const Reading<T>& reading) {
    if (reading.get()) {
      object_[std::string(key)] = value_of(*reading.get());
    } else {
      absent(key, reading.why());
    }
  }
  /// Nothing at all where nobody tried.
  template <class T>
  void put_if_sampled(std::string_view key, const Reading<T>& reading) {
    if (reading.get() || reading.why() != Absent::not_sampled) put(key, reading);
  }
  void put(std::string_view key, const Cell& cell) {
    if (cell.get()) {
      std::visit([&](const auto& value) { object_[std::string(key)] = value; }, *cell.get());
    } else {
      absent(key, cell.why());
    }
  }
  /// Last, so that "why" stands after what it explains.
  void finish() {
    if (!why_.empty()) object_["why"] = std::move(why_);
  }

 private:
  template <class T>
  static const T& value_of(const T& value) {
    return value;
  }
  template <class Tag, class Rep>
  static Rep value_of(const Quantity<Tag, Rep>& quantity) {
    return quantity.count();
  }
  static std::int64_t value_of(const WallTime& time) { return time.unix_ms; }

  void absent(std::string_view key, Absent why) {
    object_[std::string(key)] = nullptr;
    why_[std::string(key)] = name_of(why);
  }

  Json& object_;
  Json why_ = Json::object();
};

Json mig_json(const std::optional<MigPlace>& mig) {
  if (!mig) return nullptr;
  return {{"gpu_instance", mig->gpu_instance}, {"compute_instance", mig->compute_instance}};
}

Json history_json(const std::vector<UtilizationSample>& history) {
  Json samples = Json::array();
  for (const UtilizationSample& sample : history) {
    samples.push_back({sample.age.count(), sample.busy.count()});
  }
  return samples;
}

Json retired_page_json(const RetiredPage& page) {
  Json object = {
      {"address", page.address},
      {"cause", page.cause == RetiredPage::Cause::single_bit ? "single bit" : "double bit"}};
  ReadingWriter writer(object);
  writer.put("retired_unix_ms", page.retired);
  writer.finish();
  return object;
}

Json accounted_json(const AccountedProcess& process) {
  Json object = {{"pid", process.pid}};
  ReadingWriter writer(object);
  writer.put("utilization_gpu_percent", process.utilization_gpu);
  writer.put("utilization_memory_percent", process.utilization_memory);
  writer.put("memory_max_bytes", process.memory_max);
  writer.put("run_time_ms", process.run_time);
  writer.put("running", process.running);
  writer.finish();
  return object;
}

Json supported_clocks_json(const SupportedClocks& clocks) {
  Json graphics = Json::array();
  for (const Megahertz clock : clocks.graphics) graphics.push_back(clock.count());
  return {{"memory", clocks.memory.count()}, {"graphics", std::move(graphics)}};
}

Json nvlink_json(const NvLink& link) {
  Json object = {{"number", link.number}};
  ReadingWriter writer(object);
  writer.put("active", link.active);
  writer.put("speed_bytes_per_second", link.speed);
  writer.put("remote_pci_address", link.remote);
  writer.finish();
  return object;
}

/// A list nobody asked for is left out, as a detail is.
template <class T, class Write>
void put_list(ReadingWriter& writer, Json& object, const char* key,
              const Reading<std::vector<T>>& list, Write write) {
  if (list.get()) {
    object[key] = Json::array();
    for (const T& item : *list.get()) object[key].push_back(write(item));
  } else if (list.why() != Absent::not_sampled) {
    writer.put(key, Reading<std::string>(list.why()));
  }
}

Json device_json(const Device& device, const Snapshot& snapshot) {
  Json object = Json::object();
  object["kind"] = facts_of(device.kind).name;
  object["parent"] = device.parent ? Json(device.parent->text()) : Json(nullptr);
  object["mig"] = mig_json(device.mig);
  object["lost"] = device.lost;
  object["unusable_because"] = device.unusable_because;
  ReadingWriter writer(object);
  for (const Field& field : fields()) {
    if (!field.detail) writer.put(field.key, field.read(device, snapshot));
  }
  for (const auto& [detail, cell] : device.details.entries()) {
    writer.put(field_of(detail).key, cell);
  }
  if (device.utilization_history.get()) {
    object["utilization_history_ms_percent"] = history_json(*device.utilization_history.get());
  } else {
    writer.put("utilization_history_ms_percent",
               Reading<std::string>(device.utilization_history.why()));
  }
  put_list(writer, object, "retired_pages", device.lists.retired_pages, retired_page_json);
  put_list(writer, object, "accounted_processes", device.lists.accounted_processes, accounted_json);
  put_list(writer, object, "supported_clocks_megahertz", device.lists.supported_clocks,
           supported_clocks_json);
  put_list(writer, object, "nvlinks", device.lists.nvlinks, nvlink_json);
  writer.finish();
  return object;
}

Json gpu_process_json(const GpuProcess& process) {
  Json object = {{"device", process.device.text()},
                 {"pid", process.pid},
                 {"type", word_of(process.use)},
                 {"mig", mig_json(process.mig)}};
  ReadingWriter writer(object);
  writer.put("memory_used_bytes", process.memory);
  writer.put("utilization_sm_percent", process.utilization_sm);
  writer.put_if_sampled("utilization_memory_percent", process.utilization_memory);
  writer.put_if_sampled("utilization_encoder_percent", process.utilization_encoder);
  writer.put_if_sampled("utilization_decoder_percent", process.utilization_decoder);
  writer.put_if_sampled("utilization_jpeg_percent", process.utilization_jpeg);
  writer.put_if_sampled("utilization_optical_flow_percent", process.utilization_optical_flow);
  writer.finish();
  return object;
}

Json enclosure_json(const Enclosure& enclosure) {
  Json object = {{"runtime", enclosure.runtime}, {"id", enclosure.id}};
  if (enclosure.pod_uid) object["pod_uid"] = *enclosure.pod_uid;
  if (enclosure.owner_uid) object["owner_uid"] = *enclosure.owner_uid;
  ReadingWriter writer(object);
  writer.put("name", enclosure.name);
  writer.put("image", enclosure.image);
  writer.finish();
  return object;
}

Json host_process_json(const HostProcess& process) {
  Json object = {{"pid", process.id.pid},
                 {"start_ticks", process.id.start_ticks},
                 {"ancestors", process.ancestors}};
  ReadingWriter writer(object);
  writer.put("uid", process.uid);
  writer.put("user", process.user);
  writer.put("command", process.command);
  writer.put("executable_name", process.executable_name);
  writer.put("started_unix_ms", process.started);
  writer.put("cpu_time_ms", process.cpu_time);
  if (process.read) object["read_unix_ms"] = process.read->unix_ms;
  writer.put("memory_resident_bytes", process.memory_resident);
  writer.put("state", process.state);
  writer.put("container", process.container);
  if (process.enclosure) object["enclosure"] = enclosure_json(*process.enclosure);
  if (process.stuck) object["stuck"] = true;
  writer.finish();
  return object;
}

Json process_id_json(const ProcessId& id) {
  return {{"pid", id.pid}, {"start_ticks", id.start_ticks}};
}

Json claimed_json(const std::vector<ClaimedDevice>& devices) {
  Json list = Json::array();
  for (const ClaimedDevice& device : devices) {
    list.push_back(
        {{"device", device.device.text()},
         {"exclusive", !device.promised.has_value()},
         {"promised_bytes", device.promised ? Json(device.promised->count()) : Json(nullptr)}});
  }
  return list;
}

Json claim_json(const Claim& claim) {
  return {{"id", claim.id},
          {"run", claim.run},
          {"uid", claim.uid},
          {"user", claim.user},
          {"keeper", process_id_json(claim.keeper)},
          {"job", claim.job ? process_id_json(*claim.job) : Json(nullptr)},
          {"command", claim.command},
          {"since_unix_ms", claim.since.unix_ms},
          {"understood", claim.parsed},
          {"devices", claimed_json(claim.devices)}};
}

Json waiter_json(const Waiter& waiter) {
  Json gathered = Json::array();
  for (const DeviceId& device : waiter.gathered) gathered.push_back(device.text());
  return {{"id", waiter.id},
          {"run", waiter.run},
          {"uid", waiter.uid},
          {"user", waiter.user},
          {"process", process_id_json(waiter.process)},
          {"command", waiter.command},
          {"wants", waiter.wants},
          {"request", waiter.request},
          {"since_unix_ms", waiter.since.unix_ms},
          {"gathered", std::move(gathered)},
          {"stuck", waiter.stuck},
          {"reserved", claimed_json(waiter.reserved)}};
}

Json host_json(const Host& host) {
  Json object = Json::object();
  Reading<Json> excluded = host.excluded_devices.why();
  if (host.excluded_devices.get()) {
    Json list = Json::array();
    for (const ExcludedDevice& one : *host.excluded_devices.get()) {
      list.push_back({{"pci_address", one.pci_address}, {"uuid", one.uuid}});
    }
    excluded = std::move(list);
  }
  ReadingWriter writer(object);
  writer.put("name", host.name);
  writer.put("kernel", host.kernel);
  writer.put("boot_id", host.boot_id);
  writer.put("driver_version", host.driver_version);
  writer.put("nvml_version", host.nvml_version);
  writer.put("cuda_version_supported", host.cuda_version_supported);
  writer.put("process_view", host.process_view);
  writer.put_if_sampled("excluded_devices", excluded);
  writer.finish();
  return object;
}

Json device_files_json(const DeviceFiles& files) {
  Json holders = Json::array();
  for (const DeviceFileHolder& one : files.holders) {
    holders.push_back({{"pid", one.pid}, {"minor_number", one.minor}});
  }
  Json object = {{"holders", std::move(holders)}};
  ReadingWriter writer(object);
  writer.put("unreadable_processes", files.unreadable);
  writer.finish();
  return object;
}

Json xid_json(const XidEvent& event) {
  Json object = {{"pci_address", event.pci_address},
                 {"code", event.code},
                 {"at_unix_ms", event.at.unix_ms},
                 {"text", event.text}};
  ReadingWriter writer(object);
  writer.put("pid", event.pid);
  writer.put("process", event.process);
  writer.finish();
  return object;
}

Json problem_json(const Problem& problem) {
  return {{"source", problem.source},
          {"device", problem.device ? Json(problem.device->text()) : Json(nullptr)},
          {"code", problem.code},
          {"message", problem.message},
          {"remedy", problem.remedy}};
}

template <class Items, class Write>
Json array_of(const Items& items, Write write) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(write(item));
  return list;
}

template <class T, class Write>
Reading<Json> written(const Reading<T>& reading, Write write) {
  return reading.get() ? Reading<Json>(write(*reading.get())) : Reading<Json>(reading.why());
}

/// What is looked for only where somebody asks.
void put_looked_for(const Snapshot& snapshot, Json& root) {
  ReadingWriter writer(root);
  writer.put_if_sampled("device_files", written(snapshot.device_files, device_files_json));
  writer.put_if_sampled("xids", written(snapshot.xids, [](const std::vector<XidEvent>& events) {
                          return array_of(events, xid_json);
                        }));
  writer.put_if_sampled("driver_loaded_unix_ms", snapshot.driver_loaded);
  writer.finish();
}

}  // namespace

std::string to_json(const Snapshot& snapshot, JsonLayout layout) {
  Json root = Json::object();
  root["berth_snapshot"] = Snapshot::format_version;
  root["taken_unix_ms"] = snapshot.taken.unix_ms;
  root["simulated"] = snapshot.simulated ? Json(*snapshot.simulated) : Json(nullptr);
  root["host"] = host_json(snapshot.host);
  root["devices"] = array_of(snapshot.devices,
                             [&](const Device& device) { return device_json(device, snapshot); });
  root["gpu_processes"] = array_of(snapshot.gpu_processes, gpu_process_json);
  root["processes"] = array_of(snapshot.processes, host_process_json);
  put_looked_for(snapshot, root);
  root["leases"] = array_of(snapshot.claims, claim_json);
  root["queue"] = array_of(snapshot.waiters, waiter_json);
  root["sources"] = array_of(snapshot.sources, [](const SourceReport& report) {
    return Json{{"source", report.source}, {"succeeded", report.succeeded}};
  });
  root["problems"] = array_of(snapshot.problems, problem_json);
  return printable_json(root.dump(layout == JsonLayout::compact ? -1 : 2, ' ', false,
                                  Json::error_handler_t::replace));
}

}  // namespace berth
