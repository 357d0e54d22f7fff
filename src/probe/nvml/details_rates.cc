// What covers the time between two looks: rates of counters, statistics of the driver's samples,
// activity of the parts of the chip. Nothing here waits: the first look has nothing to compare
// with.

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "probe/nvml/device_details.h"
#include "probe/nvml/device_reading.h"

namespace berth::nvml {

namespace {

// A counter that went back has wrapped, or the driver was reloaded: how far it came is not known.
Cell rate_of(const Reading<Counter>& before, const Reading<Counter>& now) {
  if (!now.get()) return now.why();
  if (!before.get()) return Absent::not_sampled;
  const Counter& from = *before.get();
  const Counter& to = *now.get();
  const std::int64_t elapsed = to.read_us - from.read_us;
  if (elapsed <= 0 || to.bytes < from.bytes) return Absent::not_sampled;
  const double seconds = static_cast<double>(elapsed) / 1e6;
  return Scalar(static_cast<std::uint64_t>(static_cast<double>(to.bytes - from.bytes) / seconds));
}

// --- samples
// --------------------------------------------------------------------------------------

/// Where the summary of a kind of samples goes.
struct SampleRow {
  unsigned kind;  // nvmlSamplingType_t
  As as;
  Detail span;
  Detail count;
  Detail max;
  Detail min;
  Detail average;
};
#define BERTH_SAMPLE_ROW(KIND, AS, NAME) \
  {KIND,                                 \
   AS,                                   \
   Detail::samples_##NAME##_span,        \
   Detail::samples_##NAME##_count,       \
   Detail::samples_##NAME##_max,         \
   Detail::samples_##NAME##_min,         \
   Detail::samples_##NAME##_average}
constexpr SampleRow sample_rows[] = {
    BERTH_SAMPLE_ROW(samples_power, As::milliwatts, power),
    BERTH_SAMPLE_ROW(samples_gpu_utilization, As::percent, utilization_gpu),
    BERTH_SAMPLE_ROW(samples_memory_utilization, As::percent, utilization_memory),
    BERTH_SAMPLE_ROW(samples_encoder_utilization, As::percent, utilization_encoder),
    BERTH_SAMPLE_ROW(samples_decoder_utilization, As::percent, utilization_decoder),
    BERTH_SAMPLE_ROW(samples_jpeg_utilization, As::percent, utilization_jpeg),
    BERTH_SAMPLE_ROW(samples_optical_flow_utilization, As::percent, utilization_optical_flow),
    BERTH_SAMPLE_ROW(samples_processor_clock, As::megahertz, clock_sm),
    BERTH_SAMPLE_ROW(samples_memory_clock, As::megahertz, clock_memory),
};
#undef BERTH_SAMPLE_ROW

/// Where the statistics since the look before go.
struct WindowRow {
  unsigned kind;
  Detail count;
  Detail min;
  Detail mean;
  Detail p95;
  Detail max;
};
#define BERTH_WINDOW_ROW(KIND, NAME) \
  {KIND,                             \
   Detail::window_##NAME##_count,    \
   Detail::window_##NAME##_min,      \
   Detail::window_##NAME##_mean,     \
   Detail::window_##NAME##_p95,      \
   Detail::window_##NAME##_max}
constexpr WindowRow window_rows[] = {
    BERTH_WINDOW_ROW(samples_power, power),
    BERTH_WINDOW_ROW(samples_gpu_utilization, utilization_gpu),
    BERTH_WINDOW_ROW(samples_memory_utilization, utilization_memory),
};
#undef BERTH_WINDOW_ROW

std::vector<double> values_of(std::span<const Sample> samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample& sample : samples) values.push_back(sample.value.as_unsigned);
  std::sort(values.begin(), values.end());
  return values;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The smallest value that 95 of 100 do not exceed.
double p95_of(const std::vector<double>& sorted) {
  const std::size_t rank = (sorted.size() * 95 + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

/// The mean over the time that they cover, as nvidia-smi 535 to 555 count it. Each tells of the
/// time since the one before it, so the first tells nothing.
double mean_over_time(std::span<const Sample> samples) {
  const std::uint64_t span_us = samples.back().timestamp_us - samples.front().timestamp_us;
  if (span_us == 0) return samples.back().value.as_unsigned;
  double sum = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const auto lasted = samples[i].timestamp_us - samples[i - 1].timestamp_us;
    sum += static_cast<double>(samples[i].value.as_unsigned) * static_cast<double>(lasted);
  }
  return sum / static_cast<double>(span_us);
}

void put_summary(const SampleRow& row, std::span<const Sample> samples, Absent why,
                 Details& details) {
  if (samples.empty()) {
    for (const Detail detail : {row.span, row.count, row.max, row.min, row.average}) {
      details.put(detail, why);
    }
    return;
  }
  const std::vector<double> values = values_of(samples);
  const std::uint64_t span_us = samples.back().timestamp_us - samples.front().timestamp_us;
  details.put(row.span, cell_as(As::milliseconds, static_cast<std::int64_t>(span_us / 1000)));
  details.put(row.count, cell_of_count(values.size()));
  details.put(row.max, cell_as_fraction(row.as, values.back()));
  details.put(row.min, cell_as_fraction(row.as, values.front()));
  details.put(row.average, cell_as_fraction(row.as, mean_over_time(samples)));
}

void put_window(const WindowRow& row, As as, std::span<const Sample> samples, Absent why,
                Details& details) {
  if (samples.empty()) {
    for (const Detail detail : {row.count, row.min, row.mean, row.p95, row.max}) {
      details.put(detail, why);
    }
    return;
  }
  const std::vector<double> sorted = values_of(samples);
  details.put(row.count, cell_of_count(sorted.size()));
  details.put(row.min, cell_as_fraction(as, sorted.front()));
  details.put(row.mean, cell_as_fraction(as, mean_of(sorted)));
  details.put(row.p95, cell_as_fraction(as, p95_of(sorted)));
  details.put(row.max, cell_as_fraction(as, sorted.back()));
}

/// Without those above what their kind can be: a share above 100 is garbage and no load.
void drop_impossible(std::vector<Sample>& samples, As as) {
  std::erase_if(samples, [as](const Sample& sample) {
    return !cell_as(as, std::int64_t{sample.value.as_unsigned}).has_value();
  });
}

/// A summary of the kind, or the statistics since the look before.
bool wants_samples(const DeviceAsker& asker, const SampleRow& row) {
  return asker.wants(row.span, row.count, row.max, row.min, row.average) ||
         std::ranges::any_of(window_rows, [&](const WindowRow& window) {
           return window.kind == row.kind &&
                  asker.wants(window.count, window.min, window.mean, window.p95, window.max);
         });
}

std::span<const Sample> newer_than(std::span<const Sample> samples, std::uint64_t seen_us) {
  const auto first = std::find_if(samples.begin(), samples.end(), [seen_us](const Sample& sample) {
    return sample.timestamp_us > seen_us;
  });
  return samples.subspan(static_cast<std::size_t>(first - samples.begin()));
}

// --- activity
// -------------------------------------------------------------------------------------

struct ActivityRow {
  Detail detail;
  std::uint32_t metric;
};
constexpr auto activity_rows = std::to_array<ActivityRow>({
    {Detail::activity_graphics, gpm_graphics},
    {Detail::activity_sm, gpm_sm},
    {Detail::activity_occupancy, gpm_occupancy},
    {Detail::activity_integer, gpm_integer},
    {Detail::activity_tensor, gpm_tensor},
    {Detail::activity_dram, gpm_dram_bandwidth},
    {Detail::activity_fp64, gpm_fp64},
    {Detail::activity_fp32, gpm_fp32},
    {Detail::activity_fp16, gpm_fp16},
});
// The shortest array that any header gave this function.
static_assert(activity_rows.size() < 98);

void put_no_activity(Absent why, Details& details) {
  for (const ActivityRow& row : activity_rows) details.put(row.detail, why);
}

Return take_activity_sample(DeviceAsker& asker, ActivitySamples& samples) {
  const Api& api = asker.api();
  GpmSupport support{.version = 1, .supported = 0};
  const Return code = asker.call(api.nvmlGpmQueryDeviceSupport, 0, &support);
  if (code != success) return code;
  if (support.supported == 0) return not_supported;
  if (!samples.allocate(api)) return insufficient_memory;
  return asker.call(api.nvmlGpmSampleGet, 0, samples.now());
}

void put_activity(const Api& api, const ActivitySamples& samples, Details& details) {
  const auto asked = std::make_unique<GpmMetrics>();
  asked->version = 1;
  asked->count = activity_rows.size();
  asked->before = samples.before();
  asked->after = samples.now();
  for (std::size_t i = 0; i < activity_rows.size(); ++i) {
    asked->metrics[i].metric = activity_rows[i].metric;
    asked->metrics[i].answer = unknown;
  }
  const Return code = api.nvmlGpmMetricsGet.call == nullptr
                          ? function_not_found
                          : api.nvmlGpmMetricsGet.call(asked.get());
  for (std::size_t i = 0; i < activity_rows.size(); ++i) {
    const Return answer = code == success ? asked->metrics[i].answer : code;
    details.put(activity_rows[i].detail,
                answer == success ? cell_as_fraction(As::percent, asked->metrics[i].value)
                                  : Cell(why_absent(answer)));
  }
}

}  // namespace

ActivitySamples::~ActivitySamples() {
  if (api_ == nullptr || api_->nvmlGpmSampleFree.call == nullptr) return;
  for (const GpmSample sample : {before_, now_}) {
    if (sample != nullptr) api_->nvmlGpmSampleFree.call(sample);
  }
}

bool ActivitySamples::allocate(const Api& api) {
  if (now_ != nullptr) return true;
  if (api.nvmlGpmSampleAlloc.call == nullptr) return false;
  api_ = &api;
  for (GpmSample* const sample : {&before_, &now_}) {
    if (*sample == nullptr && api.nvmlGpmSampleAlloc.call(sample) != success) *sample = nullptr;
  }
  return before_ != nullptr && now_ != nullptr;
}

void read_rates(const Counters& before, const Counters& now, Details& details) {
  details.put(Detail::pcie_sent_rate, rate_of(before.pcie_sent, now.pcie_sent));
  details.put(Detail::pcie_received_rate, rate_of(before.pcie_received, now.pcie_received));
  details.put(Detail::nvlink_sent_rate, rate_of(before.nvlink_sent, now.nvlink_sent));
  details.put(Detail::nvlink_received_rate, rate_of(before.nvlink_received, now.nvlink_received));
}

void read_sample_details(DeviceAsker& asker, SampleMemory& memory, Details& details) {
  for (const SampleRow& row : sample_rows) {
    if (!wants_samples(asker, row)) continue;
    SampleMemory::Kind& kind = memory.kinds[row.kind];
    auto samples = fetch_samples(asker, row.kind, kind.capacity);
    // Nothing in the history is no failure: nothing was sampled.
    const Absent why = samples ? Absent::not_sampled : why_absent(samples.error());
    if (samples) drop_impossible(*samples, row.as);
    const std::span<const Sample> all =
        samples ? std::span<const Sample>(*samples) : std::span<const Sample>();
    put_summary(row, all, why, details);
    for (const WindowRow& window : window_rows) {
      if (window.kind == row.kind) {
        put_window(window, row.as, newer_than(all, kind.seen_us), why, details);
      }
    }
    if (!all.empty()) kind.seen_us = std::max(kind.seen_us, all.back().timestamp_us);
  }
}

void read_activity(DeviceAsker& asker, ActivitySamples& samples, Details& details) {
  const auto is_wanted = [&](const ActivityRow& row) { return asker.wants(row.detail); };
  if (!std::ranges::any_of(activity_rows, is_wanted)) return samples.forget();
  const Return code = take_activity_sample(asker, samples);
  if (code != success) {
    samples.forget();
    return put_no_activity(why_absent(code), details);
  }
  if (samples.before() == nullptr) {
    put_no_activity(Absent::not_sampled, details);
  } else {
    put_activity(asker.api(), samples, details);
  }
  samples.keep();
}

}  // namespace berth::nvml
