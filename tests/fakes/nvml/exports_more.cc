// Lists that are asked for apart, the samples that statistics are made of, and GPM.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/fd.h"
#include "base/text.h"
#include "details.h"

using namespace fake_nvml;

namespace {

/// NVML's way with lists: told how many there are where there is too little room.
template <class Item, class Write>
Return put_list(const Call& call, unsigned* count, const berth::Reading<std::vector<Item>>& list,
                bool has_room, Write write) {
  if (count == nullptr) return invalid_argument;
  if (!list.get()) return code_of(list.why());
  const std::vector<Item>& items = *list.get();
  const unsigned room = has_room ? *count : 0;
  const Return code = call.put(count, static_cast<unsigned>(items.size()));
  if (code != success || items.size() > room) return insufficient_size;
  for (std::size_t i = 0; i < items.size(); ++i) write(i, items[i]);
  return success;
}

berth::Reading<std::vector<berth::RetiredPage>> pages_of(const FakeDevice& it, unsigned cause) {
  const auto& all = it.data.lists.retired_pages;
  if (!all.get()) return all.why();
  std::vector<berth::RetiredPage> pages;
  for (const berth::RetiredPage& page : *all.get()) {
    if (page.cause == (cause == 0 ? berth::RetiredPage::Cause::single_bit
                                  : berth::RetiredPage::Cause::double_bit)) {
      pages.push_back(page);
    }
  }
  return pages;
}

}  // namespace

FAKE_NVML nvmlDeviceGetRetiredPages_v2(Handle handle, unsigned cause, unsigned* count,
                                       std::uint64_t* addresses, std::uint64_t* times) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (cause > 1) return invalid_argument;
    return put_list(call, count, pages_of(it, cause), addresses != nullptr && times != nullptr,
                    [&](std::size_t i, const berth::RetiredPage& page) {
                      addresses[i] = page.address;
                      const auto when = page.retired.get().value_or(berth::WallTime{0});
                      times[i] = static_cast<std::uint64_t>(when.unix_ms / 1000);
                    });
  });
}
FAKE_NVML nvmlDeviceGetRetiredPages(Handle handle, unsigned cause, unsigned* count,
                                    std::uint64_t* addresses) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (cause > 1) return invalid_argument;
    return put_list(
        call, count, pages_of(it, cause), addresses != nullptr,
        [&](std::size_t i, const berth::RetiredPage& page) { addresses[i] = page.address; });
  });
}

FAKE_NVML nvmlDeviceGetAccountingPids(Handle handle, unsigned* count, unsigned* pids) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    return put_list(call, count, it.data.lists.accounted_processes, pids != nullptr,
                    [&](std::size_t i, const berth::AccountedProcess& process) {
                      pids[i] = static_cast<unsigned>(process.pid);
                    });
  });
}
FAKE_NVML nvmlDeviceGetAccountingStats(Handle handle, unsigned pid, AccountingStats* out) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (out == nullptr) return invalid_argument;
    const auto& processes = it.data.lists.accounted_processes;
    if (!processes.get()) return code_of(processes.why());
    const auto share = [&](const berth::Reading<berth::Percent>& reading) {
      if (!reading.get() && !call.lie()) return 0xFFFFFFFF;
      return lied(call,
                  static_cast<std::uint32_t>(reading.get().value_or(berth::Percent(0)).count()));
    };
    for (const berth::AccountedProcess& process : *processes.get()) {
      if (static_cast<unsigned>(process.pid) != pid) continue;
      *out = {};
      out->gpu_utilization = share(process.utilization_gpu);
      out->memory_utilization = share(process.utilization_memory);
      out->max_memory =
          process.memory_max.get() ? process.memory_max.get()->count() : value_not_available;
      out->time_ms = static_cast<std::uint64_t>(
          process.run_time.get().value_or(berth::Milliseconds(0)).count());
      out->is_running = process.running.get().value_or(false) ? 1 : 0;
      return success;
    }
    return not_found;
  });
}

FAKE_NVML nvmlDeviceGetSupportedMemoryClocks(Handle handle, unsigned* count, unsigned* clocks) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    return put_list(call, count, it.data.lists.supported_clocks, clocks != nullptr,
                    [&](std::size_t i, const berth::SupportedClocks& of_memory) {
                      clocks[i] = static_cast<unsigned>(of_memory.memory.count());
                    });
  });
}
FAKE_NVML nvmlDeviceGetSupportedGraphicsClocks(Handle handle, unsigned memory, unsigned* count,
                                               unsigned* clocks) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    const auto& all = it.data.lists.supported_clocks;
    if (!all.get()) return code_of(all.why());
    for (const berth::SupportedClocks& of_memory : *all.get()) {
      if (of_memory.memory.count() != memory) continue;
      return put_list(call, count,
                      berth::Reading<std::vector<berth::Megahertz>>(of_memory.graphics),
                      clocks != nullptr, [&](std::size_t i, berth::Megahertz clock) {
                        clocks[i] = static_cast<unsigned>(clock.count());
                      });
    }
    return not_found;
  });
}

// --- samples
// --------------------------------------------------------------------------------------

namespace {

struct SampleKind {
  unsigned kind;
  Detail span, count, max, min, average;
};
#define FAKE_NVML_SAMPLES(KIND, NAME) \
  {KIND,                              \
   Detail::samples_##NAME##_span,     \
   Detail::samples_##NAME##_count,    \
   Detail::samples_##NAME##_max,      \
   Detail::samples_##NAME##_min,      \
   Detail::samples_##NAME##_average}
constexpr SampleKind sample_kinds[] = {
    FAKE_NVML_SAMPLES(0, power),
    FAKE_NVML_SAMPLES(2, utilization_memory),
    FAKE_NVML_SAMPLES(3, utilization_encoder),
    FAKE_NVML_SAMPLES(4, utilization_decoder),
    FAKE_NVML_SAMPLES(5, clock_sm),
    FAKE_NVML_SAMPLES(6, clock_memory),
    FAKE_NVML_SAMPLES(8, utilization_jpeg),
    FAKE_NVML_SAMPLES(9, utilization_optical_flow),
};

}  // namespace

// Their mean over time is the average. Each sample tells of the time since the one before it. So
// the first, which is about the average, tells of none. Then come the lowest, the rest of the sum,
// and the highest.
std::vector<Sample> fake_nvml::made_up_samples(const FakeDevice& it, unsigned kind) {
  for (const SampleKind& row : sample_kinds) {
    if (row.kind != kind) continue;
    const std::uint64_t count = count_in(cell_of(it, row.count));
    if (count < 3) return {};
    const auto lowest = static_cast<std::uint64_t>(number_in(cell_of(it, row.min)));
    const auto highest = static_cast<std::uint64_t>(number_in(cell_of(it, row.max)));
    const double average = number_in(cell_of(it, row.average));
    const auto sum =
        static_cast<std::uint64_t>(std::llround(average * static_cast<double>(count - 1)));
    const std::uint64_t between = count - 3;
    const std::uint64_t rest = between == 0 ? 0 : sum - lowest - highest;
    const auto span_us = static_cast<std::uint64_t>(number_in(cell_of(it, row.span))) * 1000;
    const std::uint64_t step_us = (span_us + count - 2) / (count - 1);  // all alike
    const std::uint64_t newest_us = now_us();
    std::vector<Sample> samples(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      samples[i].timestamp_us = newest_us - step_us * (count - 1 - i);
      std::uint64_t value = i == 1 ? lowest : highest;
      if (i == 0) value = static_cast<std::uint64_t>(std::llround(average));
      if (i > 1 && i + 1 < count) value = rest / between + (i - 2 < rest % between ? 1 : 0);
      samples[i].value.as_unsigned = static_cast<std::uint32_t>(value);
    }
    return samples;
  }
  return {};
}

// --- GPM
// ------------------------------------------------------------------------------------------

namespace {

/// What the fake keeps in a sample: of which device it is.
struct FakeSample {
  const FakeDevice* device = nullptr;
};
FakeSample* fake_sample(GpmSample sample) { return reinterpret_cast<FakeSample*>(sample); }

constexpr struct {
  std::uint32_t metric;
  Detail detail;
} metrics[] = {
    {1, Detail::activity_graphics}, {2, Detail::activity_sm},     {3, Detail::activity_occupancy},
    {4, Detail::activity_integer},  {5, Detail::activity_tensor}, {10, Detail::activity_dram},
    {11, Detail::activity_fp64},    {12, Detail::activity_fp32},  {13, Detail::activity_fp16}};

}  // namespace

FAKE_NVML nvmlGpmQueryDeviceSupport(Handle handle, GpmSupport* out) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice& it) {
    if (out == nullptr) return invalid_argument;
    if (out->version != 1) return argument_version_mismatch;
    return call.put(&out->supported, cell_of(it, Detail::activity_sm).get() ? 1U : 0U);
  });
}
FAKE_NVML nvmlGpmSampleAlloc(GpmSample* out) {
  return on_system(__func__, [&](const Call&) {
    if (out == nullptr) return invalid_argument;
    *out = reinterpret_cast<GpmSample>(new FakeSample);
    return success;
  });
}
FAKE_NVML nvmlGpmSampleFree(GpmSample sample) {
  const Call call(__func__, "");
  if (call.ended()) return *call.ended();
  if (sample == nullptr) return invalid_argument;
  delete fake_sample(sample);
  return success;
}
FAKE_NVML nvmlGpmSampleGet(Handle handle, GpmSample sample) {
  return on_device(__func__, handle, [&](const Call&, const FakeDevice& it) {
    if (sample == nullptr) return invalid_argument;
    fake_sample(sample)->device = &it;
    return success;
  });
}
FAKE_NVML nvmlGpmMetricsGet(GpmMetrics* asked) {
  return on_system(__func__, [&](const Call& call) {
    if (asked == nullptr || asked->before == nullptr || asked->after == nullptr) {
      return invalid_argument;
    }
    if (asked->version != 1) return argument_version_mismatch;
    const FakeDevice* device = fake_sample(asked->after)->device;
    if (device == nullptr || fake_sample(asked->before)->device != device) return invalid_argument;
    for (std::uint32_t i = 0; i < asked->count; ++i) {
      GpmMetric& metric = asked->metrics[i];
      metric.answer = not_supported;
      for (const auto& row : metrics) {
        if (row.metric != metric.metric) continue;
        const Cell& cell = cell_of(*device, row.detail);
        metric.answer = answer_as(call, cell);
        if (metric.answer != success) continue;
        metric.answer = call.put(&metric.value, number_in(cell));
      }
    }
    return success;
  });
}

namespace {

struct FakeLimit {
  std::string group, uuid;
  std::uint64_t hard = 0;
};

const char* limits_file() { return std::getenv("BERTH_FAKE_NVML_LIMITS_FILE"); }

/// BERTH_FAKE_NVML_LIMITS: "GROUP=UUID=BYTES;…", what root has set, and a line each in the file. A
/// group that is gone takes its limits along.
std::vector<FakeLimit> limits_set() {
  const char* set = std::getenv("BERTH_FAKE_NVML_LIMITS");
  std::string text(set == nullptr ? "" : set);
  if (limits_file() != nullptr) text += ";" + berth::read_file(limits_file()).value_or("");
  std::ranges::replace(text, '\n', ';');
  std::vector<FakeLimit> limits;
  for (const std::string_view one : berth::split(text, ';')) {
    const auto parts = berth::split(one, '=');
    if (parts.size() != 3 || !berth::is_there(std::string(parts[0]))) continue;
    std::erase_if(limits,
                  [&](const FakeLimit& it) { return it.group == parts[0] && it.uuid == parts[1]; });
    limits.push_back({std::string(parts[0]), std::string(parts[1]),
                      berth::parse_unsigned(parts[2]).value_or(0)});
  }
  return limits;
}

}  // namespace

/// As driver 615 answers for them.
FAKE_NVML nvmlDeviceGetMemoryLimits_v1(Handle handle, MemoryLimitsV1* limits) {
  return on_device(__func__, handle, [&](const Call&, const FakeDevice& it) -> Return {
    if (limits == nullptr || limits->group == nullptr) return invalid_argument;
    const auto set = limits_set();
    if (set.empty()) return not_supported;
    for (const FakeLimit& one : set) {
      if (one.group != limits->group || one.uuid != it.data.uuid.get()) continue;
      limits->soft = 0;
      limits->hard = one.hard;
      limits->used = 0;
      return success;
    }
    return not_found;
  });
}

/// Root alone; kept in BERTH_FAKE_NVML_LIMITS_FILE, or refused as where no control group can hold
/// it.
FAKE_NVML nvmlDeviceSetMemoryLimits_v1(Handle handle, const SetMemoryLimitsV1* limits) {
  return on_device(__func__, handle, [&](const Call&, const FakeDevice& it) -> Return {
    if (limits == nullptr || limits->group == nullptr) return invalid_argument;
    if (::geteuid() != 0) return no_permission;
    if (limits_file() == nullptr || !berth::is_there(limits->group)) return not_found;
    std::ofstream file(limits_file(), std::ios::app);
    file << limits->group << '=' << it.data.uuid.get().value_or("") << '=' << limits->hard << '\n';
    return file.flush() ? success : operating_system;
  });
}
