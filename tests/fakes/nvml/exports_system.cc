// Initialisation, versions, and finding devices.

#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "exports.h"

using namespace fake_nvml;

namespace {

Return init(const char* function) {
  const Call call(function, "");
  return call.ended() ? *call.ended() : initialise();
}

Return count(const char* function, unsigned* out) {
  return on_system(function, [&](const Call& call) {
    follow_changes();
    return call.put(out, static_cast<unsigned>(gpus().size()));
  });
}

// A device that was lost before initialisation gives no handle, as a real driver's.
Return handle_by_index(const char* function, unsigned index, Handle* out) {
  const Call call(function, std::to_string(index));
  if (call.ended()) return *call.ended();
  if (!is_initialised()) return uninitialized;
  if (out == nullptr || index >= gpus().size()) return invalid_argument;
  if (gpus()[index]->data.lost) return gpu_is_lost;
  *out = handle_of(*gpus()[index]);
  return success;
}

/// Lost ones give no handle here either.
template <class Fits>
Return handle_by(const char* function, Handle* out, Fits fits) {
  return on_system(function, [&](const Call&) {
    if (out == nullptr) return invalid_argument;
    for (const FakeDevice* gpu : gpus()) {
      if (fits(*gpu)) {
        *out = handle_of(*gpu);
        return gpu->data.lost ? gpu_is_lost : success;
      }
      for (const FakeDevice* instance : gpu->instances) {
        if (!fits(*instance)) continue;
        *out = handle_of(*instance);
        return success;
      }
    }
    return not_found;
  });
}

Return cuda_version(const char* function, int* out) {
  return on_system(function, [&](const Call& call) {
    const auto& text = snapshot().host.software_of(berth::Runtime::cuda).runtime;
    if (!text.get()) return code_of(text.why());
    const auto parts = berth::split(*text.get(), '.');
    const auto major = berth::parse_unsigned(parts[0]).value_or(0);
    const auto minor = parts.size() > 1 ? berth::parse_unsigned(parts[1]).value_or(0) : 0;
    return call.put(out, static_cast<int>(major * 1000 + minor * 10));
  });
}

}  // namespace

FAKE_NVML nvmlInit() { return init(__func__); }
FAKE_NVML nvmlInit_v2() { return init(__func__); }
FAKE_NVML nvmlInitWithFlags(unsigned) { return init(__func__); }

FAKE_NVML nvmlShutdown() {
  const Call call(__func__, "");
  return call.ended() ? *call.ended() : shut_down();
}

FAKE_NVML nvmlSystemGetDriverVersion(char* out, unsigned length) {
  return on_system(__func__, [&](const Call& call) {
    return call.put_text(out, length, snapshot().host.software_of(berth::Runtime::cuda).driver);
  });
}

// Needs no initialisation; but the snapshot is only read by one.
FAKE_NVML nvmlSystemGetNVMLVersion(char* out, unsigned length) {
  const Call call(__func__, "");
  if (call.ended()) return *call.ended();
  return call.put_text(out, length, snapshot().host.software_of(berth::Runtime::cuda).library);
}

FAKE_NVML nvmlSystemGetCudaDriverVersion(int* out) { return cuda_version(__func__, out); }
FAKE_NVML nvmlSystemGetCudaDriverVersion_v2(int* out) { return cuda_version(__func__, out); }

FAKE_NVML nvmlSystemGetProcessName(unsigned pid, char* out, unsigned length) {
  return on_system(__func__, [&](const Call& call) {
    for (const berth::HostProcess& process : snapshot().processes) {
      if (static_cast<unsigned>(process.id.pid) != pid) continue;
      if (!process.command.get() || process.command.get()->empty()) break;
      return call.put_text(out, length, process.command.get()->front());
    }
    return not_found;
  });
}

FAKE_NVML nvmlGetExcludedDeviceCount(unsigned* out) {
  return on_system(__func__, [&](const Call& call) {
    const auto& excluded = snapshot().host.excluded_devices;
    return call.put(out, excluded.get() ? static_cast<unsigned>(excluded.get()->size()) : 0U);
  });
}
FAKE_NVML nvmlGetExcludedDeviceInfoByIndex(unsigned index, ExcludedDeviceInfo* out) {
  return on_system(__func__, [&](const Call&) {
    const auto& excluded = snapshot().host.excluded_devices;
    if (out == nullptr || !excluded.get() || index >= excluded.get()->size()) {
      return invalid_argument;
    }
    const berth::ExcludedDevice& one = (*excluded.get())[index];
    std::snprintf(out->place.bus_id, sizeof out->place.bus_id, "%s", one.pci_address.c_str());
    std::snprintf(out->uuid, sizeof out->uuid, "%s", one.uuid.c_str());
    return success;
  });
}

FAKE_NVML nvmlDeviceGetCount(unsigned* out) { return count(__func__, out); }
FAKE_NVML nvmlDeviceGetCount_v2(unsigned* out) { return count(__func__, out); }

FAKE_NVML nvmlDeviceGetHandleByIndex(unsigned index, Handle* out) {
  return handle_by_index(__func__, index, out);
}
FAKE_NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* out) {
  return handle_by_index(__func__, index, out);
}
FAKE_NVML nvmlDeviceGetHandleByUUID(const char* uuid, Handle* out) {
  return handle_by(__func__, out, [&](const FakeDevice& gpu) {
    return uuid != nullptr && gpu.data.uuid.get() == std::string(uuid);
  });
}

namespace {
// "0000:3b:00.0" and "00000000:3B:00.0" are the same place.
Return handle_by_address(const char* function, const char* address, Handle* out) {
  return handle_by(function, out, [&](const FakeDevice& gpu) {
    if (address == nullptr || !gpu.data.pci_address.get()) return false;
    const std::string_view asked(address);
    const std::string_view own(*gpu.data.pci_address.get());
    return asked.size() <= own.size() &&
           berth::equals_ignoring_case(own.substr(own.size() - asked.size()), asked);
  });
}
}  // namespace

FAKE_NVML nvmlDeviceGetHandleByPciBusId(const char* address, Handle* out) {
  return handle_by_address(__func__, address, out);
}
FAKE_NVML nvmlDeviceGetHandleByPciBusId_v2(const char* address, Handle* out) {
  return handle_by_address(__func__, address, out);
}

namespace {
constexpr struct {
  Return code;
  const char* words;
} error_words[] = {
    {success, "Success"},
    {uninitialized, "Uninitialized"},
    {invalid_argument, "Invalid Argument"},
    {not_supported, "Not Supported"},
    {no_permission, "Insufficient Permissions"},
    {5, "Already Initialized"},
    {not_found, "Not Found"},
    {insufficient_size, "Insufficient Size"},
    {insufficient_power, "Insufficient External Power"},
    {driver_not_loaded, "Driver Not Loaded"},
    {timed_out, "Timeout"},
    {irq_issue, "Interrupt Request Issue"},
    {library_not_found, "NVML Shared Library Not Found"},
    {function_not_found, "Function Not Found"},
    {corrupted_inforom, "Corrupted infoROM"},
    {gpu_is_lost, "GPU is lost"},
    {reset_required, "GPU requires reset"},
    {operating_system, "GPU access blocked by the operating system"},
    {version_mismatch, "Driver/library version mismatch"},
    {in_use, "In use by another client"},
    {insufficient_memory, "Insufficient Memory"},
    {no_data, "No data"},
    {argument_version_mismatch, "Argument version mismatch"},
    {deprecated, "Deprecated"},
    {not_ready, "Not ready"},
    {gpu_not_found, "No GPUs found"},
};
}  // namespace

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(Return code) {
  for (const auto& row : error_words) {
    if (row.code == code) return row.words;
  }
  return "Unknown Error";
}

// stubs.cc calls this for a function that the snapshot says nothing about. Device functions have
// the device first. The others get a null or a value that is no device.
extern "C" Return fake_nvml_unmodelled(const char* function, Handle handle) {
  const FakeDevice* device = device_of(handle);
  const Call call(function, device == nullptr ? "" : device->label);
  if (call.ended()) return *call.ended();
  if (!is_initialised()) return uninitialized;
  if (device != nullptr && device->data.lost) return gpu_is_lost;
  return not_supported;
}
