// What is answered in lists: processes, samples, field values, MIG instances.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "details.h"

using namespace fake_nvml;

namespace {

enum class List { compute, graphics, mps };

bool belongs(berth::GpuUse use, List list) {
  using enum berth::GpuUse;
  switch (list) {
    case List::compute:
      return use == compute || use == both;
    case List::graphics:
      return use == graphics || use == both;
    case List::mps:
      return use == berth::GpuUse::mps;
  }
  return false;
}

std::uint64_t memory_of(const berth::GpuProcess& process) {
  return process.memory.get() ? process.memory.get()->count() : value_not_available;
}
void write(ProcessV1& to, const berth::GpuProcess& from) {
  to = {static_cast<std::uint32_t>(from.pid), memory_of(from)};
}
template <class Entry>
void write(Entry& to, const berth::GpuProcess& from) {
  to = {};
  to.pid = static_cast<std::uint32_t>(from.pid);
  to.used_memory = memory_of(from);
  to.gpu_instance = from.partition ? from.partition->gpu_instance : no_instance;
  to.compute_instance = from.partition ? from.partition->compute_instance : no_instance;
}

template <class Entry>
Return list_processes(const char* function, Handle handle, List list, unsigned* count,
                      void* entries) {
  return on_device(function, handle, [&](const Call& call, const FakeDevice& it) {
    if (count == nullptr || (*count > 0 && entries == nullptr)) return invalid_argument;
    std::vector<const berth::GpuProcess*> found;
    for (const berth::GpuProcess& process : it.processes) {
      if (belongs(process.use, list)) found.push_back(&process);
    }
    const unsigned room = *count;
    const Return code = call.put(count, static_cast<unsigned>(found.size()));
    if (code != success || found.size() > room) return insufficient_size;
    for (std::size_t i = 0; i < found.size(); ++i) {
      write(static_cast<Entry*>(entries)[i], *found[i]);
    }
    return success;
  });
}

Return list_newest(const char* function, Handle handle, List list, unsigned* count, void* out) {
  return five_member_processes()
             ? list_processes<ProcessV3Of535>(function, handle, list, count, out)
             : list_processes<ProcessV2>(function, handle, list, count, out);
}

// The driver samples six times a second; the snapshot's own ages are kept.
std::vector<Sample> history_of(const FakeDevice& it, unsigned long long since) {
  std::vector<Sample> samples;
  const std::uint64_t now = now_us();
  for (const berth::UtilizationSample& entry : *it.data.utilization_history.get()) {
    Sample sample{};
    sample.timestamp_us = now - static_cast<std::uint64_t>(entry.age.count()) * 1000;
    sample.value.as_unsigned = static_cast<unsigned>(entry.busy.count());
    if (sample.timestamp_us > since) samples.push_back(sample);
  }
  std::reverse(samples.begin(), samples.end());
  return samples;
}

void answer_field(const FakeDevice& it, FieldValue& field) {
  const auto moved = static_cast<std::uint64_t>(seconds_moved() * 1e6);
  const auto put = [&](const auto& reading, std::uint64_t more) {
    field.answer = reading.get() ? success : code_of(reading.why());
    field.value_type = value_is_unsigned_long_long;
    field.value.as_unsigned_long = 0;
    if (reading.get()) {
      field.value.as_unsigned_long = static_cast<std::uint64_t>(reading.get()->count()) + more;
    }
  };
  field.timestamp_us = static_cast<std::int64_t>(now_us());
  if (answer_detail_field(it, field)) return;
  // A driver that does not know a field says that it is no argument it knows.
  field.answer = field.field > 302 ? invalid_argument : not_supported;
  if (field.field == field_pcie_sent_bytes) put(it.data.pcie_sent, moved);
  if (field.field == field_pcie_received_bytes) put(it.data.pcie_received, moved);
  if (field.field == 83) put(it.data.energy, 0);
  if (field.scope == 0 && field.field == 189) put(it.data.power_limit_default, 0);
  if (field.scope == 0 && field.field == 190) put(it.data.power_limit, 0);
  if (field.field == field_memory_temperature) {
    put(it.data.temperature_memory, 0);
    field.value_type = value_is_unsigned;
  }
}

}  // namespace

#define FAKE_NVML_PROCESSES(NAME, LIST)                                   \
  FAKE_NVML NAME##_v3(Handle handle, unsigned* count, void* out) {        \
    return list_newest(__func__, handle, LIST, count, out);               \
  }                                                                       \
  FAKE_NVML NAME##_v2(Handle handle, unsigned* count, void* out) {        \
    return list_processes<ProcessV2>(__func__, handle, LIST, count, out); \
  }                                                                       \
  FAKE_NVML NAME(Handle handle, unsigned* count, void* out) {             \
    return list_processes<ProcessV1>(__func__, handle, LIST, count, out); \
  }
FAKE_NVML_PROCESSES(nvmlDeviceGetComputeRunningProcesses, List::compute)
FAKE_NVML_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, List::graphics)
FAKE_NVML_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, List::mps)

namespace {
std::uint32_t share_of(const berth::Reading<berth::Percent>& share) {
  return static_cast<std::uint32_t>(share.get().value_or(berth::Percent(0)).count());
}
constexpr std::uint64_t sampling_us = 166'667;  // six samples a second
}  // namespace

FAKE_NVML nvmlDeviceGetProcessesUtilizationInfo(Handle handle, ProcessesUtilization* list) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (list == nullptr) return invalid_argument;
    if (list->version != 0x1000018) return argument_version_mismatch;
    if (it.parent != nullptr || !it.instances.empty()) return not_supported;
    const std::uint64_t sampled = now_us() / sampling_us * sampling_us;
    std::vector<ProcessUtilizationV2> rows;
    for (const berth::GpuProcess& process : it.processes) {
      if (!process.utilization_sm.get() || sampled <= list->since_us) continue;
      ProcessUtilizationV2 row{.timestamp_us = sampled,
                               .pid = static_cast<std::uint32_t>(process.pid),
                               .memory = share_of(process.utilization_memory),
                               .encoder = share_of(process.utilization_encoder),
                               .decoder = share_of(process.utilization_decoder),
                               .jpeg = share_of(process.utilization_jpeg),
                               .ofa = share_of(process.utilization_optical_flow)};
      if (call.put(&row.sm, process.utilization_sm) == success) rows.push_back(row);
    }
    if (rows.empty()) return not_found;
    const unsigned room = list->count;
    list->count = static_cast<unsigned>(rows.size());
    if (list->entries == nullptr || rows.size() > room) return insufficient_size;
    std::copy(rows.begin(), rows.end(), list->entries);
    return success;
  });
}

FAKE_NVML nvmlDeviceGetProcessUtilization(Handle handle, ProcessUtilization* out, unsigned* count,
                                          unsigned long long since) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (count == nullptr) return invalid_argument;
    if (it.parent != nullptr || !it.instances.empty()) return not_supported;
    const std::uint64_t sampled = now_us() / sampling_us * sampling_us;
    std::vector<ProcessUtilization> rows;
    for (const berth::GpuProcess& process : it.processes) {
      if (!process.utilization_sm.get() || sampled <= since) continue;
      ProcessUtilization row{};
      row.pid = static_cast<std::uint32_t>(process.pid);
      row.timestamp_us = sampled;
      row.memory = share_of(process.utilization_memory);
      row.encoder = share_of(process.utilization_encoder);
      row.decoder = share_of(process.utilization_decoder);
      if (call.put(&row.sm, process.utilization_sm) == success) rows.push_back(row);
    }
    if (rows.empty()) return not_found;
    const unsigned room = *count;
    *count = static_cast<unsigned>(rows.size());
    if (out == nullptr || rows.size() > room) return insufficient_size;
    std::copy(rows.begin(), rows.end(), out);
    return success;
  });
}

FAKE_NVML nvmlDeviceGetUtilizationRates(Handle handle, Utilization* out) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (out == nullptr) return invalid_argument;
    Return code = call.put(&out->gpu, it.data.utilization_gpu);
    if (code == success && call.put(&out->memory, it.data.utilization_memory) != success) {
      out->memory = 0;
    }
    if (code == success && seconds_moved() > 0 && !call.lie()) {
      const double wave = 10 * std::sin(seconds_moved());
      out->gpu = static_cast<unsigned>(std::clamp(out->gpu + wave, 0.0, 100.0));
    }
    return code;
  });
}

FAKE_NVML nvmlDeviceGetSamples(Handle handle, unsigned type, unsigned long long since,
                               unsigned* value_type, unsigned* count, Sample* out) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (count == nullptr || value_type == nullptr) return invalid_argument;
    if (out != nullptr && *count == 0) return invalid_argument;
    if (type > 9) return invalid_argument;
    if (type == samples_gpu_utilization && !it.data.utilization_history.get()) {
      return code_of(it.data.utilization_history.why());
    }
    std::vector<Sample> samples =
        type == samples_gpu_utilization ? history_of(it, since) : made_up_samples(it, type);
    std::erase_if(samples, [&](const Sample& sample) { return sample.timestamp_us <= since; });
    if (samples.empty()) return type == samples_gpu_utilization ? not_found : not_supported;
    *value_type = value_is_unsigned;
    const auto room =
        out == nullptr ? samples.size() : std::min<std::size_t>(*count, samples.size());
    *count = static_cast<unsigned>(room);
    if (out == nullptr) return success;
    std::copy_n(samples.begin(), room, out);
    for (std::size_t i = 0; i < room && call.lie(); ++i) {
      (void)call.put(&out[i].value.as_unsigned, 0U);
    }
    return success;
  });
}

FAKE_NVML nvmlDeviceGetFieldValues(Handle handle, int count, FieldValue* fields) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (fields == nullptr || count <= 0) return invalid_argument;
    for (int i = 0; i < count; ++i) {
      answer_field(it, fields[i]);
      if (call.lie()) (void)call.put(&fields[i].value.as_unsigned_long, 0UL);
    }
    return success;
  });
}

FAKE_NVML nvmlDeviceGetMaxMigDeviceCount(Handle handle, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    const bool divided = it.data.mig_mode.get().value_or(false);
    return call.put(out, divided ? std::max(7U, static_cast<unsigned>(it.instances.size())) : 0U);
  });
}
FAKE_NVML nvmlDeviceGetMigDeviceHandleByIndex(Handle handle, unsigned index, Handle* out) {
  return on_device(__func__, handle, [&](const Call&, const FakeDevice& it) {
    if (out == nullptr) return invalid_argument;
    if (index >= it.instances.size()) return not_found;
    *out = handle_of(*it.instances[index]);
    return success;
  });
}
FAKE_NVML nvmlDeviceIsMigDeviceHandle(Handle handle, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    return call.put(out, it.parent == nullptr ? 0U : 1U);
  });
}
FAKE_NVML nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle handle, Handle* out) {
  return on_device(__func__, handle, [&](const Call&, const FakeDevice& it) {
    if (out == nullptr || it.parent == nullptr) return invalid_argument;
    *out = handle_of(*it.parent);
    return success;
  });
}

namespace {
Return instance_number(const char* function, Handle handle, unsigned* out,
                       std::uint32_t berth::Partition::* member) {
  return on_device(function, handle, [&](const Call& call, const FakeDevice& it) {
    if (!it.data.partition) return not_supported;
    return call.put(out, *it.data.partition.*member);
  });
}
std::uint32_t count_of(const FakeDevice& it, berth::Detail detail) {
  const auto count = it.data.details.get<std::uint64_t>(detail);
  return static_cast<std::uint32_t>(count.get().value_or(0));
}
/// `size`: of nvmlDeviceAttributes_t as the caller's header has it; 11.1 knows no memory.
Return attributes(const char* function, Handle handle, void* written, std::size_t size) {
  return on_device(function, handle, [&](const Call& call, const FakeDevice& it) {
    if (written == nullptr) return invalid_argument;
    if (it.parent == nullptr) return not_supported;
    Attributes all = {};
    Attributes* const out = &all;
    out->shared_copy_engines = count_of(it, berth::Detail::mig_copy_engines);
    out->shared_encoders = count_of(it, berth::Detail::mig_encoders);
    out->shared_decoders = count_of(it, berth::Detail::mig_decoders);
    out->shared_jpegs = count_of(it, berth::Detail::mig_jpeg_engines);
    out->shared_ofas = count_of(it, berth::Detail::mig_ofa_engines);
    if (it.data.memory_total.get()) out->memory_mib = it.data.memory_total.get()->count() >> 20;
    const Return code = call.put(&out->multiprocessors, it.data.multiprocessors);
    std::memcpy(written, &all, size);
    return code;
  });
}
}  // namespace

FAKE_NVML nvmlDeviceGetGpuInstanceId(Handle handle, unsigned* out) {
  return instance_number(__func__, handle, out, &berth::Partition::gpu_instance);
}
FAKE_NVML nvmlDeviceGetComputeInstanceId(Handle handle, unsigned* out) {
  return instance_number(__func__, handle, out, &berth::Partition::compute_instance);
}
FAKE_NVML nvmlDeviceGetAttributes(Handle handle, void* out) {
  return attributes(__func__, handle, out, offsetof(Attributes, memory_mib));
}
FAKE_NVML nvmlDeviceGetAttributes_v2(Handle handle, Attributes* out) {
  return attributes(__func__, handle, out, sizeof *out);
}
