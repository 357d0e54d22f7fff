#include "probe/nvml/device_details.h"

namespace berth::nvml {

namespace {

// The driver's clock stands beside most counters; where it does not, ours does.
void date(Counters& counters, WallTime taken) {
  for (Reading<Counter>* const reading : {&counters.pcie_sent, &counters.pcie_received,
                                          &counters.nvlink_sent, &counters.nvlink_received}) {
    if (!reading->get() || reading->get()->read_us != 0) continue;
    *reading = Counter{reading->get()->bytes, taken.unix_ms * 1000};
  }
}

// What nvidia-smi shows and NVML has no function for.
constexpr Detail told_by_nobody[] = {
    Detail::gpu_part_number,       Detail::fru_part_number,          Detail::relaxed_ordering,
    Detail::sparse_operation_mode, Detail::pcie_generation_host_max, Detail::clock_deferred_memory,
    Detail::voltage_graphics,
};

// What a MIG instance alone has.
constexpr Detail of_instances[] = {Detail::mig_copy_engines, Detail::mig_encoders,
                                   Detail::mig_decoders, Detail::mig_ofa_engines,
                                   Detail::mig_jpeg_engines};

}  // namespace

void read_details(DeviceAsker& asker, WallTime taken, DeviceMemory& memory, Device& device) {
  Details& details = device.details;
  Counters now;
  read_number_details(asker, details);
  read_field_details(asker, details, now);
  date(now, taken);
  read_rates(memory.counters, now, details);
  memory.counters = now;
  read_struct_details(asker, details);
  read_ecc_details(asker, details);
  read_sample_details(asker, memory.samples, details);
  read_activity(asker, memory.activity, details);
  for (const Detail detail : told_by_nobody) details.put(detail, Absent::unsupported);
  for (const Detail detail : of_instances) details.put(detail, Absent::unsupported);
}

Details failed_details() {
  Details details;
  for (std::size_t i = 0; i < detail_count; ++i) {
    details.put(static_cast<Detail>(i), Absent::failed);
  }
  return details;
}

Lists failed_lists() { return {Absent::failed, Absent::failed, Absent::failed}; }

}  // namespace berth::nvml
