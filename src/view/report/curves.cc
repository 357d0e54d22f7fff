// From samples to curves: rates out of counters, sums and means over devices, gaps.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "snapshot/fields.h"
#include "view/report/model.h"

namespace berth {

namespace {

constexpr std::size_t at(Curve quantity) { return static_cast<std::size_t>(quantity); }

/// For all devices together: bytes and watts are summed, all else is the mean.
bool is_mean(Curve quantity) {
  static const auto means = [] {
    std::array<bool, device_quantities> found{};
    for (const CurveRow& row : curve_rows) {
      if (row.reading.empty()) continue;
      const Unit unit = find_field(row.reading)->unit;
      found.at(at(row.curve)) = unit != Unit::bytes && unit != Unit::milliwatts;
    }
    return found;
  }();
  return means.at(at(quantity));
}

/// Per second. Nothing: a counter went back (the driver or the sampler began anew), or one of the
/// two is missing.
template <class T>
std::optional<double> rate(const Reading<T>* before, const Reading<T>& now, double seconds) {
  if (before == nullptr || !before->get() || !now.get() || seconds <= 0) return std::nullopt;
  const auto step = minus(*now.get(), *before->get());
  if (!step) return std::nullopt;
  return static_cast<double>(step->count()) / seconds;
}

}  // namespace

RunCurves::RunCurves(WallTime started, std::size_t devices)
    : started_(started), per_device_(devices) {
  for (auto& one : latest_) one.resize(devices);
}

const Track& RunCurves::of_device(std::size_t device, Curve quantity) const {
  return per_device_.at(device).at(at(quantity));
}

const Track& RunCurves::whole(Curve quantity) const { return whole_.at(at(quantity)); }

Absent RunCurves::why_absent(Curve quantity) const { return why_.at(at(quantity)); }

void RunCurves::add_reading(std::size_t device, Curve quantity, const Value& value,
                            std::int64_t at_ms) {
  Track& track = per_device_[device][at(quantity)];
  if (value.number) {
    track.add(at_ms, *value.number);
  } else {
    track.add_absent();
    why_[at(quantity)] = value.why;
  }
  latest_[at(quantity)][device] = value.number;
}

void RunCurves::add_device(std::size_t device, const DeviceSample& now, double seconds,
                           std::int64_t at_ms) {
  const bool has_before = before_ && device < before_->devices.size() && seconds > 0;
  for (const CurveRow& row : curve_rows) {
    if (row.reading.empty()) continue;
    const RecordedReading& reading = recorded_readings[place_of_recorded(row.reading)];
    const Cell cell = reading.read(now);
    std::optional<double> number;
    if (reading.kind == SeriesKind::gauge) {
      number = plain_number(cell);
    } else if (has_before) {
      number = growth_in(reading.read(before_->devices[device]), cell);
      if (number) *number /= seconds;
    }
    if (number) *number *= row.per_unit;
    add_reading(device, row.curve, {number, cell.why()}, at_ms);
  }
  if (const auto& busy = now.utilization_gpu.get()) {
    ++utilizations_[static_cast<std::size_t>(std::lround(std::clamp(busy->count(), 0.0, 100.0)))];
  } else {
    utilization_why_ = now.utilization_gpu.why();
  }
}

void RunCurves::add_whole(std::int64_t at_ms) {
  if (per_device_.empty()) return;
  for (std::size_t i = 0; i < device_quantities; ++i) {
    const auto& values = latest_[i];
    const bool all = std::ranges::all_of(values, [](const auto& one) { return one.has_value(); });
    if (!all) {
      whole_[i].add_absent();
      continue;
    }
    double sum = 0;
    for (const auto& value : values) sum += *value;
    const bool mean = is_mean(static_cast<Curve>(i));
    whole_[i].add(at_ms, mean ? sum / static_cast<double>(values.size()) : sum);
  }
}

void RunCurves::add_processes(const TreeSample& now, double seconds, std::int64_t at_ms) {
  const auto add = [&](Curve quantity, std::optional<double> value) {
    if (value) {
      whole_[at(quantity)].add(at_ms, *value);
    } else {
      whole_[at(quantity)].add_absent();
    }
  };
  const TreeSample* before = before_ ? &before_->tree : nullptr;
  std::optional<double> cpus;
  if (before != nullptr && seconds > 0 && now.cpu >= before->cpu) {
    cpus = static_cast<double>(now.cpu.count() - before->cpu.count()) / 1000.0 / seconds;
  }
  add(Curve::cpu, cpus);
  add(Curve::main_memory, static_cast<double>(now.memory_resident.count()));
  add(Curve::storage_read, rate(before != nullptr ? &before->read : nullptr, now.read, seconds));
  add(Curve::storage_written,
      rate(before != nullptr ? &before->written : nullptr, now.written, seconds));
}

void RunCurves::add(const Sample& sample) {
  std::int64_t at_ms = 0;
  if (__builtin_sub_overflow(sample.at.unix_ms, started_.unix_ms, &at_ms)) return;
  std::int64_t step_ms = 0;
  if (before_ && !__builtin_sub_overflow(sample.at.unix_ms, before_->at.unix_ms, &step_ms)) {
    if (step_ms > longest_step_ms) {
      unsampled_ms_ += step_ms;
      before_.reset();  // a rate over a pause would be a guess of how it was spread
    }
  }
  // Two samples that follow each other at once (the last one of a run) make no rate.
  constexpr std::int64_t shortest_step_ms = 200;
  const double seconds =
      before_ && step_ms >= shortest_step_ms ? static_cast<double>(step_ms) / 1000.0 : 0;
  for (std::size_t i = 0; i < per_device_.size() && i < sample.devices.size(); ++i) {
    add_device(i, sample.devices[i], seconds, at_ms);
  }
  add_whole(at_ms);
  add_processes(sample.tree, seconds, at_ms);
  summarizer_.add(sample);
  ++samples_;
  before_ = sample;
}

Reading<Percent> RunCurves::utilization_p95() const {
  const std::uint64_t all =
      std::accumulate(utilizations_.begin(), utilizations_.end(), std::uint64_t{0});
  if (all == 0) return utilization_why_;
  std::uint64_t seen = 0;
  for (std::size_t percent = 0; percent < utilizations_.size(); ++percent) {
    seen += utilizations_[percent];
    if (static_cast<double>(seen) >= 0.95 * static_cast<double>(all)) {
      return Percent(static_cast<double>(percent));
    }
  }
  return Percent(100);
}

}  // namespace berth
