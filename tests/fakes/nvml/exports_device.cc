// Facts and readings of one device.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/text.h"
#include "details.h"

using namespace fake_nvml;

FAKE_NVML_TEXT(nvmlDeviceGetName, name)
FAKE_NVML_TEXT(nvmlDeviceGetUUID, uuid)
FAKE_NVML_TEXT(nvmlDeviceGetSerial, serial)
FAKE_NVML_TEXT(nvmlDeviceGetVbiosVersion, vbios_version)
FAKE_NVML_GETTER(nvmlDeviceGetMinorNumber, unsigned, minor_number)
FAKE_NVML_GETTER(nvmlDeviceGetNumGpuCores, unsigned, cuda_cores)
FAKE_NVML_GETTER(nvmlDeviceGetMemoryBusWidth, unsigned, memory_bus_width)
FAKE_NVML_GETTER(nvmlDeviceGetPersistenceMode, unsigned, persistence_mode)
FAKE_NVML_GETTER(nvmlDeviceGetDisplayActive, unsigned, display_active)
FAKE_NVML_GETTER(nvmlDeviceGetDisplayMode, unsigned, display_attached)
FAKE_NVML_GETTER(nvmlDeviceGetPerformanceState, unsigned, performance_state)
FAKE_NVML_GETTER(nvmlDeviceGetFanSpeed, unsigned, fan_speed)
FAKE_NVML_GETTER(nvmlDeviceGetPowerUsage, unsigned, power_draw)
FAKE_NVML_GETTER(nvmlDeviceGetEnforcedPowerLimit, unsigned, power_limit)
FAKE_NVML_GETTER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, power_limit_default)
FAKE_NVML_GETTER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, throttle_reasons)
FAKE_NVML_GETTER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, throttle_reasons)
FAKE_NVML_GETTER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, pcie_generation)
FAKE_NVML_GETTER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, pcie_generation_max)
FAKE_NVML_GETTER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, pcie_width)
FAKE_NVML_GETTER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, pcie_width_max)
FAKE_NVML_GETTER(nvmlDeviceGetPcieReplayCounter, unsigned, pcie_replays)

// For an instance: its place among those of its card.
FAKE_NVML nvmlDeviceGetIndex(Handle handle, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (it.parent == nullptr) return call.put(out, it.index);
    const auto& all = it.parent->instances;
    return call.put(out, static_cast<unsigned>(std::ranges::find(all, &it) - all.begin()));
  });
}

namespace {

struct Named {
  unsigned number;
  std::string_view name;
};
// nvmlDeviceArchitecture_t, nvmlBrandType_t and nvmlComputeMode_t by the names in snapshots.
constexpr Named architectures[] = {
    {2, "Kepler"}, {3, "Maxwell"},      {4, "Pascal"}, {5, "Volta"},      {6, "Turing"},
    {7, "Ampere"}, {8, "Ada Lovelace"}, {9, "Hopper"}, {10, "Blackwell"}, {13, "Rubin"}};
constexpr Named brands[] = {{1, "Quadro"},      {2, "Tesla"},       {5, "GeForce"}, {6, "Titan"},
                            {12, "Quadro RTX"}, {13, "NVIDIA RTX"}, {14, "NVIDIA"}};
constexpr Named compute_modes[] = {
    {0, "Default"}, {1, "Exclusive_Thread"}, {2, "Prohibited"}, {3, "Exclusive_Process"}};

template <std::size_t Size>
Return put_named(const Call& call, unsigned* out, const berth::Reading<std::string>& name,
                 const Named (&table)[Size]) {
  if (!name.get()) return call.put(out, berth::Reading<std::uint64_t>(name.why()));
  for (const Named& row : table) {
    if (row.name == *name.get()) return call.put(out, row.number);
  }
  return not_supported;
}

template <class Text>
void copy_text(Text& to, const std::string& from) {
  std::snprintf(to, sizeof to, "%s", from.c_str());
}

unsigned hexadecimal(std::string_view text) {
  return static_cast<unsigned>(std::strtoul(std::string(text).c_str(), nullptr, 16));
}

// "10de:2330" as the driver has it: the maker in the lower half.
std::uint32_t pci_number(const std::string& text) {
  const auto ids = berth::split(text, ':');
  return ids.size() == 2 ? hexadecimal(ids[1]) << 16 | hexadecimal(ids[0]) : 0;
}

// "00000000:3b:00.0" and "10de:2330" taken apart.
template <class Info>
Return pci_parts(const FakeDevice& it, Info& info) {
  if (!it.data.pci_address.get()) return code_of(it.data.pci_address.why());
  const auto parts = berth::split(*it.data.pci_address.get(), ':');
  if (parts.size() != 3) return unknown;
  info.domain = hexadecimal(parts[0]);
  info.bus = hexadecimal(parts[1]);
  info.device = hexadecimal(parts[2]);
  if (it.data.pci_id.get()) info.device_and_vendor = pci_number(*it.data.pci_id.get());
  info.subsystem = pci_number(text_in(cell_of(it, Detail::pci_subsystem_id)));
  return success;
}

Return pci_old(const char* function, Handle handle, PciInfoV2* out) {
  return on_device(function, handle, [&](const Call&, const auto& it) {
    if (out == nullptr) return invalid_argument;
    *out = {};
    const Return code = pci_parts(it, *out);
    std::snprintf(out->bus_id, sizeof out->bus_id, "%04X:%02X:%02X.0", out->domain & 0xFFFF,
                  out->bus & 0xFF, out->device & 0xFF);
    return code;
  });
}

Return put_mode(const Call& call, unsigned* current, unsigned* pending,
                const berth::Reading<bool>& mode, const Cell& after_reset) {
  const Return code = call.put(current, mode);
  if (code != success) return code;
  return after_reset.get() ? put_cell(call, pending, after_reset) : call.put(pending, mode);
}

Return put_engine(const Call& call, unsigned* busy, unsigned* period,
                  const berth::Reading<berth::Percent>& reading) {
  const Return code = call.put(busy, reading);
  return code == success ? call.put(period, 167'000U) : code;
}

Return put_clock(const Call& call, unsigned domain, unsigned* out,
                 const berth::Reading<berth::Megahertz>& graphics,
                 const berth::Reading<berth::Megahertz>& sm,
                 const berth::Reading<berth::Megahertz>& mem, const Cell& video) {
  if (domain == clock_graphics) return call.put(out, graphics);
  if (domain == clock_sm) return call.put(out, sm);
  if (domain == clock_memory) return call.put(out, mem);
  return domain == 3 ? put_cell(call, out, video) : invalid_argument;
}

}  // namespace

FAKE_NVML nvmlDeviceGetArchitecture(Handle handle, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_named(call, out, it.data.architecture, architectures);
  });
}
FAKE_NVML nvmlDeviceGetBrand(Handle handle, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_named(call, out, it.data.brand, brands);
  });
}
FAKE_NVML nvmlDeviceGetComputeMode(Handle handle, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_named(call, out, it.data.compute_mode, compute_modes);
  });
}

FAKE_NVML nvmlDeviceGetPciInfo_v3(Handle handle, PciInfoV3* out) {
  return on_device(__func__, handle, [&](const Call&, const auto& it) {
    if (out == nullptr) return invalid_argument;
    *out = {};
    const Return code = pci_parts(it, *out);
    std::snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", out->domain, out->bus,
                  out->device);
    std::snprintf(out->bus_id_legacy, sizeof out->bus_id_legacy, "%04X:%02X:%02X.0",
                  out->domain & 0xFFFF, out->bus & 0xFF, out->device & 0xFF);
    return code;
  });
}
FAKE_NVML nvmlDeviceGetPciInfoExt(Handle handle, PciInfoExt* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    if (out == nullptr) return invalid_argument;
    if (out->version != 0x1000040) return argument_version_mismatch;
    const Return code = pci_parts(it, *out);
    if (code != success) return code;
    std::snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", out->domain, out->bus,
                  out->device);
    const Return told = put_cell(call, &out->base_class, cell_of(it, Detail::pci_base_class));
    return told == success ? put_cell(call, &out->sub_class, cell_of(it, Detail::pci_sub_class))
                           : told;
  });
}
FAKE_NVML nvmlDeviceGetPciInfo_v2(Handle h, PciInfoV2* out) { return pci_old(__func__, h, out); }
FAKE_NVML nvmlDeviceGetPciInfo(Handle h, PciInfoV2* out) { return pci_old(__func__, h, out); }

FAKE_NVML nvmlDeviceGetCudaComputeCapability(Handle handle, int* major, int* minor) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    const auto& capability = it.data.compute_capability;
    if (!capability.get()) return code_of(capability.why());
    const Return code = call.put(major, capability.get()->major);
    return code == success ? call.put(minor, capability.get()->minor) : code;
  });
}

FAKE_NVML nvmlDeviceGetMemoryAffinity(Handle handle, unsigned size, unsigned long* out, unsigned) {
  return on_device(__func__, handle, [&](const Call&, const auto& it) {
    const auto& node = it.data.numa_node;
    if (out == nullptr || size == 0) return invalid_argument;
    if (!node.get()) return code_of(node.why());
    std::memset(out, 0, size * sizeof *out);
    if (*node.get() / 64 < size) out[*node.get() / 64] = 1UL << (*node.get() % 64);
    return success;
  });
}

// "0-23,48-71" as a bit for each processor.
FAKE_NVML nvmlDeviceGetCpuAffinity(Handle handle, unsigned size, unsigned long* out) {
  return on_device(__func__, handle, [&](const Call&, const auto& it) {
    const Cell& cell = cell_of(it, Detail::cpu_affinity);
    if (out == nullptr || size == 0) return invalid_argument;
    if (!cell.get()) return code_of(cell.why());
    std::memset(out, 0, size * sizeof *out);
    const std::string text = text_in(cell);
    for (const std::string_view range : berth::split(text, ',')) {
      const auto ends = berth::split(range, '-');
      const auto first = berth::parse_unsigned(ends.front()).value_or(0);
      const auto last = berth::parse_unsigned(ends.back()).value_or(0);
      for (auto one = first; one <= last && one / 64 < size; ++one)
        out[one / 64] |= 1UL << one % 64;
    }
    return success;
  });
}

FAKE_NVML nvmlDeviceGetEccMode(Handle handle, unsigned* current, unsigned* pending) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_mode(call, current, pending, it.data.ecc_mode,
                    cell_of(it, Detail::ecc_mode_pending));
  });
}
FAKE_NVML nvmlDeviceGetMigMode(Handle handle, unsigned* current, unsigned* pending) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_mode(call, current, pending, it.data.mig_mode,
                    cell_of(it, Detail::mig_mode_pending));
  });
}

FAKE_NVML nvmlDeviceGetMemoryInfo(Handle handle, MemoryV1* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    if (out == nullptr) return invalid_argument;
    const berth::Device& data = it.data;
    // `used` of version 1 contains what is reserved.
    const auto reserved = data.memory_reserved.get().value_or(berth::Bytes{0}).count();
    Return code = call.put(&out->total, data.memory_total);
    if (code == success) code = call.put(&out->free, data.memory_free);
    if (code == success) code = call.put(&out->used, data.memory_used);
    if (code == success && !call.lie()) out->used += reserved;
    return code;
  });
}
FAKE_NVML nvmlDeviceGetMemoryInfo_v2(Handle handle, MemoryV2* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    if (out == nullptr) return invalid_argument;
    // It alone among the functions has a version tag. Some programs write 2 in the tag's place:
    // this answer was seen then, on drivers 510 to 610.
    if (out->version != 0x2000028) return function_not_found;
    const berth::Device& data = it.data;
    Return code = call.put(&out->total, data.memory_total);
    if (code == success) code = call.put(&out->free, data.memory_free);
    if (code == success) code = call.put(&out->used, data.memory_used);
    if (code == success) {
      code = call.put(&out->reserved, data.memory_reserved.get().value_or(berth::Bytes{0}).count());
    }
    return code;
  });
}

FAKE_NVML nvmlDeviceGetTemperature(Handle handle, unsigned sensor, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return sensor == 0 ? call.put(out, it.data.temperature) : invalid_argument;
  });
}
FAKE_NVML nvmlDeviceGetTemperatureV(Handle handle, TemperatureV1* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    if (out == nullptr) return invalid_argument;
    if (out->version != 0x100000C) return argument_version_mismatch;
    return out->sensor == 0 ? call.put(&out->celsius, it.data.temperature) : invalid_argument;
  });
}
FAKE_NVML nvmlDeviceGetTemperatureThreshold(Handle handle, unsigned which, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    constexpr Detail thresholds[] = {Detail::temperature_shutdown,
                                     Detail::temperature_shutdown,  // slowdown: a member
                                     Detail::temperature_memory_max_operating,
                                     Detail::temperature_max_operating,
                                     Detail::temperature_target_min,
                                     Detail::temperature_target,
                                     Detail::temperature_target_max};
    if (which == threshold_slowdown) return call.put(out, it.data.temperature_slowdown);
    if (which > 7) return invalid_argument;
    return which == 7 ? not_supported : put_cell(call, out, cell_of(it, thresholds[which]));
  });
}

FAKE_NVML nvmlDeviceGetTotalEnergyConsumption(Handle handle, unsigned long long* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    const Return code = call.put(out, it.data.energy);
    const auto watts = it.data.power_draw.get().value_or(berth::Milliwatts{0}).count();
    if (code == success) {
      *out += static_cast<unsigned long long>(seconds_moved() * static_cast<double>(watts));
    }
    return code;
  });
}

FAKE_NVML nvmlDeviceGetClockInfo(Handle handle, unsigned domain, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_clock(call, domain, out, it.data.clock_graphics, it.data.clock_sm,
                     it.data.clock_memory, cell_of(it, Detail::clock_video));
  });
}
FAKE_NVML nvmlDeviceGetMaxClockInfo(Handle handle, unsigned domain, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_clock(call, domain, out, it.data.clock_graphics_max, it.data.clock_sm_max,
                     it.data.clock_memory_max, cell_of(it, Detail::clock_video_max));
  });
}

FAKE_NVML nvmlDeviceGetEncoderUtilization(Handle handle, unsigned* busy, unsigned* period) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_engine(call, busy, period, it.data.utilization_encoder);
  });
}
FAKE_NVML nvmlDeviceGetDecoderUtilization(Handle handle, unsigned* busy, unsigned* period) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    return put_engine(call, busy, period, it.data.utilization_decoder);
  });
}

FAKE_NVML nvmlDeviceGetTotalEccErrors(Handle handle, unsigned type, unsigned counter,
                                      unsigned long long* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    if (type > 1 || counter > 1) return invalid_argument;
    if (counter == ecc_aggregate) {
      return put_cell(
          call, out,
          cell_of(it, type == error_corrected ? Detail::ecc_corrected_aggregate_total
                                              : Detail::ecc_uncorrected_aggregate_total));
    }
    return call.put(out, type == error_corrected ? it.data.ecc_corrected : it.data.ecc_uncorrected);
  });
}

// Measures for 20 ms while the caller waits, as nvml.h says of the real one.
FAKE_NVML nvmlDeviceGetPcieThroughput(Handle handle, unsigned, unsigned* out) {
  return on_device(__func__, handle, [&](const Call& call, const auto& it) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return it.data.pcie_sent.get() ? call.put(out, 0U) : not_supported;
  });
}
