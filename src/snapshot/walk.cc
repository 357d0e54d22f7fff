#include "snapshot/walk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/json_archive.h"
#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/fields.h"
#include "snapshot/json.h"
#include "snapshot/kernel_messages.h"
#include "snapshot/process.h"
#include "snapshot/questions.h"

namespace berth {

void put(Archive& archive, std::vector<UtilizationSample>& samples);

namespace {

constexpr auto causes = std::to_array<std::pair<RetiredPage::Cause, std::string_view>>({
    {RetiredPage::Cause::single_bit, "single bit"},
    {RetiredPage::Cause::double_bit, "double bit"},
});

// --- readings by the field table, so that a new one travels by itself ----------------------------

/// Details are looked up by the keys in the file: most files have few.
const Field* detail_called(std::string_view key) {
  const Field* field = find_field(key);
  return field != nullptr && field->detail && field->key == key ? field : nullptr;
}

void put_into(Device& device, const Field* field, const Cell& cell, Archive& archive) {
  if (!archive.is_good() || (field != nullptr && field->write(device, cell))) return;
  archive.mistake(
      field != nullptr
          ? sentence("{} of device {} has a value of the wrong type", field->key, device.id.text())
          : sentence("a reading of {} has a value of the wrong type", device.id.text()));
}

/// In texts every field has its key, also those derived from others.
void write_readings(Archive& archive, Device& device, const Snapshot& snapshot) {
  for (const Field& field : fields()) {
    if (field.detail) continue;
    Cell cell = field.read(device, snapshot);
    archive.member(field.key, cell);
  }
  for (const auto& [detail, cell] : device.details.entries()) {
    archive.member(field_of(detail).key, const_cast<Cell&>(cell));
  }
}
void write_fields(Archive& archive, Device& device, const Snapshot& snapshot, FieldList asked) {
  for (const Field* field : asked) {
    Cell cell = field->read(device, snapshot);
    archive.member(field->key, cell);
  }
}
void read_readings(Archive& archive, Device& device) {
  const auto read = [&](const Field* field) {
    Cell cell;
    archive.member(field->key, cell);
    put_into(device, field, cell, archive);
  };
  std::ranges::for_each(stored_fields(), read);
  for (const std::string_view key : archive.keys()) {
    if (const Field* field = detail_called(key)) read(field);
  }
}

/// Elsewhere its place in the table stands for the key, and what nobody took is left out.
void walk_readings(Archive& archive, Device& device) {
  static const Snapshot nobody;  // stored fields are the device's own
  std::uint64_t end = fields().size();
  if (archive.is_reading()) {
    for (std::uint64_t place = 0; archive.is_good(); place = 0) {
      archive.scalar(place);
      if (place == end) return;
      if (place > end) return archive.mistake(sentence("no reading"));
      Cell cell;
      archive.member({}, cell);
      const Field& field = fields()[place];
      put_into(device, field.write != nullptr ? &field : nullptr, cell, archive);
    }
    return;
  }
  const auto write = [&](const Field& field, const Cell& cell) {
    if (cell == Cell(Absent::not_sampled)) return;
    auto place = static_cast<std::uint64_t>(&field - fields().data());
    archive.scalar(place);
    archive.member({}, const_cast<Cell&>(cell));
  };
  for (const Field* field : stored_fields()) write(*field, field->read(device, nobody));
  for (const auto& [detail, cell] : device.details.entries()) write(field_of(detail), cell);
  archive.scalar(end);
}

/// What holds of every device that a probe makes, and without which a snapshot cannot be replayed.
void refuse_impossible(Archive& archive, const Device& device) {
  constexpr std::int64_t oldest_ms = 1'000'000'000'000;
  for (const auto& id : {device.uuid, device.pci_address}) {
    if (id.get() && !is_plain_id(*id.get())) {
      archive.mistake(sentence("a device's UUID or PCI address {}", words_of_no_id(*id.get())));
    }
  }
  if (device.index.value_or(0) < 0) archive.mistake(sentence("a device's index is negative"));
  const auto& history = device.utilization_history.get();
  if (!history || std::ranges::all_of(*history, [](const UtilizationSample& sample) {
        return sample.age.count() >= 0 && sample.age.count() < oldest_ms &&
               std::isfinite(sample.busy.count());
      })) {
    return;
  }
  archive.mistake(sentence("utilization_history_ms_percent: age out of range"));
}

void walk(Archive& archive, Device& device, const Snapshot& snapshot, FieldList asked) {
  if (archive.is_reading()) device.kind = facts_of(unnamed_vendor).kind;
  std::string kind(facts_of(device.kind).name);
  archive.member("kind", kind);
  const auto known = device_kind_from_name(kind);
  if (!known) return archive.mistake(sentence("unknown kind of device \"{}\"", printable(kind)));
  device.kind = *known;
  archive.member("parent", device.parent);
  archive.member("mig", device.partition);
  archive.member("runtime_index", device.runtime_index, Form::sparse);
  archive.member("lost", device.lost);
  archive.member("integrated", device.integrated, Form::sparse);
  archive.member("unusable_because", device.unusable_because);
  if (!asked.empty()) return write_fields(archive, device, snapshot, asked);
  if (archive.is_text() && !archive.is_reading()) {
    write_readings(archive, device, snapshot);
  } else {
    archive.member("id", device.id, Form::required);
    archive.member("index", device.index);
    archive.is_text() ? read_readings(archive, device) : walk_readings(archive, device);
  }
  archive.member("utilization_history_ms_percent", device.utilization_history);
  archive.member("retired_pages", device.lists.retired_pages, Form::sparse);
  archive.member("accounted_processes", device.lists.accounted_processes, Form::sparse);
  archive.member("supported_clocks_megahertz", device.lists.supported_clocks, Form::sparse);
  archive.member("nvlinks", device.lists.nvlinks, Form::sparse);
  if (archive.is_reading()) refuse_impossible(archive, device);
}

}  // namespace

// --- what stands in a device ---------------------------------------------------------------------

/// [milliseconds, percent]
void put(Archive& archive, UtilizationSample& sample) {
  put_row(archive, 2, sample.age, sample.busy);
}

/// A hundred of each device: on the wire, whose ends are one program, they go as they lie.
void put(Archive& archive, std::vector<UtilizationSample>& samples) {
  static_assert(std::is_trivially_copyable_v<UtilizationSample>);
  if (archive.is_text()) {
    return put_list(archive, samples, SIZE_MAX,
                    [&](UtilizationSample& sample) { put(archive, sample); });
  }
  std::string bytes;
  const auto size = [&] { return samples.size() * sizeof(UtilizationSample); };
  if (!archive.is_reading() && !samples.empty()) {
    bytes.assign(reinterpret_cast<const char*>(samples.data()), size());
  }
  archive.scalar(bytes);
  if (!archive.is_reading()) return;
  samples.resize(bytes.size() / sizeof(UtilizationSample));
  if (!samples.empty()) std::memcpy(static_cast<void*>(samples.data()), bytes.data(), size());
}

void walk(Archive& archive, Partition& mig) {
  archive.member("gpu_instance", mig.gpu_instance, Form::required);
  archive.member("compute_instance", mig.compute_instance, Form::required);
}

void walk(Archive& archive, RetiredPage& page) {
  archive.member("address", page.address, Form::required);
  (void)word_member(archive, "cause", page.cause, causes);
  archive.member("retired_unix_ms", page.retired);
}

void walk(Archive& archive, AccountedProcess& process) {
  archive.member("pid", process.pid, Form::required);
  archive.member("utilization_gpu_percent", process.utilization_gpu);
  archive.member("utilization_memory_percent", process.utilization_memory);
  archive.member("memory_max_bytes", process.memory_max);
  archive.member("run_time_ms", process.run_time);
  archive.member("running", process.running);
}

void walk(Archive& archive, SupportedClocks& clocks) {
  archive.member("memory", clocks.memory, Form::required);
  archive.member("graphics", clocks.graphics, Form::required);
}

void walk(Archive& archive, NvLink& link) {
  archive.member("number", link.number, Form::required);
  archive.member("active", link.active);
  archive.member("speed_bytes_per_second", link.speed);
  archive.member("remote_pci_address", link.remote);
}

void walk(Archive& archive, Device& device) {
  static const Snapshot nobody;
  walk(archive, device, nobody, {});
}

// --- processes -----------------------------------------------------------------------------------

void walk(Archive& archive, ProcessId& id) {
  archive.member("pid", id.pid);
  archive.member("start_ticks", id.start_ticks);
}

void walk(Archive& archive, GpuProcess& process) {
  archive.member("device", process.device, Form::required);
  archive.member("pid", process.pid, Form::required);
  (void)word_member(archive, "type", process.use, gpu_uses);
  archive.member("mig", process.partition);
  archive.member("memory_used_bytes", process.memory);
  archive.member("utilization_sm_percent", process.utilization_sm);
  archive.member("utilization_memory_percent", process.utilization_memory, Form::sparse);
  archive.member("utilization_encoder_percent", process.utilization_encoder, Form::sparse);
  archive.member("utilization_decoder_percent", process.utilization_decoder, Form::sparse);
  archive.member("utilization_jpeg_percent", process.utilization_jpeg, Form::sparse);
  archive.member("utilization_optical_flow_percent", process.utilization_optical_flow,
                 Form::sparse);
  archive.member("server", process.server, Form::sparse);
}

void walk(Archive& archive, Enclosure& enclosure) {
  archive.member("runtime", enclosure.runtime);
  archive.member("id", enclosure.id);
  archive.member("pod_uid", enclosure.pod_uid, Form::sparse);
  archive.member("owner_uid", enclosure.owner_uid, Form::sparse);
  archive.member("name", enclosure.name);
  archive.member("image", enclosure.image);
}

void walk(Archive& archive, HostProcess& process) {
  walk(archive, process.id);
  archive.member("ancestors", process.ancestors);
  archive.member("uid", process.uid);
  archive.member("user", process.user);
  archive.member("command", process.command);
  archive.member("executable_name", process.executable_name);
  archive.member("started_unix_ms", process.started);
  archive.member("cpu_time_ms", process.cpu_time);
  archive.member("read_unix_ms", process.read, Form::sparse);
  archive.member("has_terminal", process.has_terminal, Form::sparse);
  archive.member("memory_resident_bytes", process.memory_resident);
  archive.member("state", process.state);
  archive.member("container", process.container);
  archive.member("enclosure", process.enclosure, Form::sparse);
  archive.member("stuck", process.stuck, Form::sparse);
}

/// Where readings were asked for by name: who is on a device, with what memory, and whose it is.
void walk_asked(Archive& archive, GpuProcess& process) {
  archive.member("device", process.device, Form::required);
  archive.member("pid", process.pid, Form::required);
  archive.member("memory_used_bytes", process.memory);
}
void walk_asked(Archive& archive, HostProcess& process) {
  archive.member("pid", process.id.pid);
  archive.member("ancestors", process.ancestors);
  archive.member("user", process.user);
  archive.member("command", process.command);
  archive.member("executable_name", process.executable_name);
  archive.member("container", process.container, Form::sparse);
}

void walk(Archive& archive, DeviceFileHolder& holder) {
  archive.member("pid", holder.pid, Form::required);
  archive.member("minor_number", holder.minor, Form::required);
  archive.member("card_file", holder.card_file, Form::sparse);
}

void walk(Archive& archive, DeviceFiles& files) {
  archive.member("holders", files.holders);
  archive.member("unreadable_processes", files.unreadable);
}

// --- the machine ---------------------------------------------------------------------------------

void walk(Archive& archive, ExcludedDevice& excluded) {
  archive.member("pci_address", excluded.pci_address);
  archive.member("uuid", excluded.uuid);
}

void walk(Archive& archive, OtherVendor& other) {
  archive.member("vendor", other.vendor, Form::required);
  archive.member("driver_version", other.software.driver);
  archive.member("library_version", other.software.library, Form::sparse);
  archive.derived("runtime", std::string_view(other.runtime_name));
  archive.member("runtime_version", other.software.runtime);
}

std::vector<OtherVendor> other_vendors(const Host& host) {
  std::vector<OtherVendor> others;
  for (const Runtime runtime : vendors_asked(host)) {
    if (runtime == unnamed_vendor) continue;
    const DeviceKindFacts& facts = facts_of(runtime);
    others.push_back({.vendor = std::string(facts.vendor),
                      .runtime_name = facts.runtime_name,
                      .software = host.software_of(runtime)});
  }
  return others;
}

void walk(Archive& archive, Host& host) {
  VendorSoftware& unnamed = host.software_of(unnamed_vendor);
  archive.member("name", host.name);
  archive.member("kernel", host.kernel);
  archive.member("boot_id", host.boot_id);
  archive.member("driver_version", unnamed.driver);
  archive.member("nvml_version", unnamed.library);
  archive.member("cuda_version_supported", unnamed.runtime);
  archive.member("process_view", host.process_view);
  archive.member("excluded_devices", host.excluded_devices, Form::sparse);
  std::vector<OtherVendor> others;
  if (!archive.is_reading()) others = other_vendors(host);
  archive.member("other_vendors", others, runtime_count, Form::sparse);
  if (!archive.is_reading()) return;
  for (OtherVendor& other : others) {
    // A vendor that a newer berth knows is left out.
    const auto runtime = runtime_of_vendor(other.vendor);
    if (runtime && *runtime != unnamed_vendor) {
      host.software_of(*runtime) = std::move(other.software);
    }
  }
}

void walk(Archive& archive, XidEvent& event) {
  archive.member("pci_address", event.pci_address);
  archive.member("code", event.code, Form::required);
  archive.member("at_unix_ms", event.at);
  archive.member("text", event.text);
  archive.member("pid", event.pid);
  archive.member("process", event.process);
}

void walk(Archive& archive, Problem& problem) {
  archive.member("source", problem.source);
  archive.member("device", problem.device);
  archive.member("code", problem.code);
  archive.member("message", problem.message);
  archive.member("remedy", problem.remedy);
}

void walk(Archive& archive, SourceReport& report) {
  archive.member("source", report.source);
  archive.member("succeeded", report.succeeded);
}

static void walk(Archive& archive, Snapshot& snapshot, Form hidden, FieldList asked) {
  int version = archive.is_reading() ? 0 : Snapshot::format_version;
  archive.member("berth_snapshot", version);
  if (version < 1) archive.mistake(sentence("it has no \"berth_snapshot\": 1"));
  if (version > Snapshot::format_version) {
    archive.mistake(sentence("its format version {} is newer than this berth, which knows {}",
                             version, Snapshot::format_version));
  }
  archive.member("taken_unix_ms", snapshot.taken);
  archive.member("simulated", snapshot.simulated);
  archive.member("host", snapshot.host);
  if (archive.open("devices", true, Form::plain, nullptr)) {
    put_list(archive, snapshot.devices, SIZE_MAX, [&](Device& device) {
      archive.begin_object();
      walk(archive, device, snapshot, asked);
      archive.end_object();
    });
    archive.close();
  }
  const auto processes = [&](std::string_view key, auto& list) {
    if (asked.empty()) return archive.member(key, list);
    if (!archive.open(key, true, Form::plain, nullptr)) return;
    put_list(archive, list, SIZE_MAX, [&](auto& process) {
      archive.begin_object();
      walk_asked(archive, process);
      archive.end_object();
    });
    archive.close();
  };
  processes("gpu_processes", snapshot.gpu_processes);
  processes("processes", snapshot.processes);
  archive.member("device_files", snapshot.device_files, Form::sparse);
  archive.member("xids", snapshot.xids, Form::sparse);
  if (archive.is_reading()) number_by_date(snapshot.xids);
  archive.member("driver_loaded_unix_ms", snapshot.driver_loaded, Form::sparse);
  const auto promises = [&](std::string_view key, auto& list) {
    if (hidden == Form::plain) return archive.member(key, list);
    archive.derived_list(key, list, [&](auto promise) { walk(archive, promise, hidden); });
  };
  promises("leases", snapshot.claims);
  promises("queue", snapshot.waiters);
  archive.member("sources", snapshot.sources);
  archive.member("problems", snapshot.problems);
}
void walk(Archive& archive, Snapshot& snapshot) { walk(archive, snapshot, Form::plain, {}); }

// --- snapshot/json.h -----------------------------------------------------------------------------

void write_snapshot(Archive& archive, const Snapshot& snapshot, Form hidden, FieldList asked) {
  // an archive that writes changes nothing
  walk(archive, const_cast<Snapshot&>(snapshot), hidden, asked);
}

std::string to_json(const Snapshot& snapshot, JsonLayout layout, Form hidden, FieldList asked) {
  return write_json(layout,
                    [&](Archive& archive) { write_snapshot(archive, snapshot, hidden, asked); });
}

Result<Snapshot> snapshot_from_json(std::string_view text) {
  Snapshot snapshot;
  const auto read = read_json(text, [&](Archive& archive) { walk(archive, snapshot); });
  if (read) return snapshot;
  if (json_fault_in(text)) return std::unexpected(read.error());
  return fail(read.error().code(), "not a snapshot that berth can read: {}", read.error().said());
}

}  // namespace berth
