#pragma once
// Report: everything that `berth report` says of one or more runs, as a value. Pure functions build
// it from records, samples, marks, events and findings. Three writers (html.cc, markdown.cc,
// json.cc) show it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/sentence.h"
#include "base/tr.h"
#include "diagnose/bottleneck/phases.h"
#include "diagnose/manifest_diff/manifest_diff.h"
#include "record/run_ranks.h"
#include "record/run_record.h"
#include "record/summary.h"
#include "snapshot/finding.h"
#include "snapshot/recorded.h"
#include "view/report/track.h"
#include "view/style.h"

namespace berth {

/// What is drawn over the time of a run, in the order of its JSON. Those of devices first.
enum class Curve {
  utilization,    // percent of time
  memory,         // bytes used on the device
  power,          // watts
  temperature,    // degrees Celsius
  clock,          // megahertz of the multiprocessors
  pcie_sent,      // bytes per second, from the device
  pcie_received,  // bytes per second, to the device
  cpu,            // CPUs busy with the run's processes
  main_memory,    // bytes resident
  storage_read,   // bytes per second
  storage_written,
};

enum class CurveScale { as_is, bytes, rate };
/// How a curve is called and where it comes from. Charts stand in the order of these rows.
struct CurveRow {
  Curve curve;
  std::string_view reading;  // the recorded one it is made of; empty: of the run's processes
  std::string_view name;     // for programs and ids: "memory"
  std::string_view key;      // in JSON, with its unit
  std::string_view title;    // a key of the catalogue
  std::string_view unit;     // empty: a number, or bytes scaled to be read
  CurveScale scale = CurveScale::as_is;
  double per_unit = 1;  // of the reading's unit
};
inline constexpr auto curve_rows = std::to_array<CurveRow>({
    {Curve::utilization, "utilization_gpu_percent", "utilization", "utilization_percent",
     as_key("GPU utilisation"), "%"},
    {Curve::memory, "memory_used_bytes", "memory", "memory_used_bytes", as_key("GPU memory"), "",
     CurveScale::bytes},
    {Curve::power, "power_draw_milliwatts", "power", "power_draw_watts", as_key("Power"), "W",
     CurveScale::as_is, 0.001},
    {Curve::temperature, "temperature_celsius", "temperature", "temperature_celsius",
     as_key("Temperature"), "°C"},
    {Curve::clock, "clock_sm_megahertz", "clock", "clock_sm_megahertz", as_key("SM clock"), "MHz"},
    {Curve::pcie_received, "pcie_received_bytes", "pcie_received", "pcie_received_bytes_per_second",
     as_key("PCIe, to the GPU"), "", CurveScale::rate},
    {Curve::pcie_sent, "pcie_sent_bytes", "pcie_sent", "pcie_sent_bytes_per_second",
     as_key("PCIe, from the GPU"), "", CurveScale::rate},
    {Curve::cpu, "", "cpu", "cpus_busy", as_key("CPUs busy with its processes"), ""},
    {Curve::main_memory, "", "main_memory", "main_memory_bytes",
     as_key("Main memory of its processes"), "", CurveScale::bytes},
    {Curve::storage_read, "", "storage_read", "storage_read_bytes_per_second",
     as_key("Read from storage"), "", CurveScale::rate},
    {Curve::storage_written, "", "storage_written", "storage_written_bytes_per_second",
     as_key("Written to storage"), "", CurveScale::rate},
});
inline constexpr std::size_t quantities = curve_rows.size();
inline constexpr std::size_t device_quantities =
    quantities - static_cast<std::size_t>(std::ranges::count(curve_rows, "", &CurveRow::reading));
constexpr bool is_of_device(Curve curve) {
  return static_cast<std::size_t>(curve) < device_quantities;
}
static_assert(std::ranges::all_of(curve_rows,
                                  [](const CurveRow& row) {
                                    const auto has_its_place = [&](const CurveRow& one) {
                                      return one.curve == row.curve;
                                    };
                                    return std::ranges::count_if(curve_rows, has_its_place) == 1 &&
                                           static_cast<std::size_t>(row.curve) < quantities &&
                                           is_of_device(row.curve) == !row.reading.empty();
                                  }),
              "each curve has one row, and those of devices come first in the enumeration");
static_assert(has_all_drawn(Drawn::in_report, curve_rows, &CurveRow::reading),
              "each reading that is drawn in reports has a curve, and no other has one");

/// A run's readings over time: fed sample by sample, of bounded size whatever the run's length.
class RunCurves {
 public:
  RunCurves(WallTime started, std::size_t devices);
  void add(const Sample& sample);

  [[nodiscard]] std::size_t devices() const { return per_device_.size(); }
  [[nodiscard]] const Track& of_device(std::size_t device, Curve quantity) const;
  /// Of all devices together, and of the processes. It is the sum; for utilisation, temperature and
  /// clock the mean. Absent if one device's is.
  [[nodiscard]] const Track& whole(Curve quantity) const;
  /// Why the last reading of it that is missing is.
  [[nodiscard]] Absent why_absent(Curve quantity) const;
  /// Utilisation that 95 of 100 readings of all devices did not exceed.
  [[nodiscard]] Reading<Percent> utilization_p95() const;
  [[nodiscard]] Summary summary() const { return summarizer_.summary(); }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  /// Time between samples in which nobody sampled.
  [[nodiscard]] std::int64_t unsampled_ms() const { return unsampled_ms_; }

 private:
  using Tracks = std::array<Track, device_quantities>;
  void add_device(std::size_t device, const DeviceSample& now, double seconds, std::int64_t at_ms);
  void add_processes(const TreeSample& now, double seconds, std::int64_t at_ms);
  void add_whole(std::int64_t at_ms);
  struct Value {
    std::optional<double> number;
    Absent why = Absent::not_sampled;
  };
  void add_reading(std::size_t device, Curve quantity, const Value& value, std::int64_t at_ms);

  WallTime started_;
  std::vector<Tracks> per_device_;
  std::array<Track, quantities> whole_;
  std::array<std::vector<std::optional<double>>, device_quantities> latest_;
  std::optional<Sample> before_;
  std::array<Absent, quantities> why_{};
  std::array<std::uint64_t, 101> utilizations_{};
  Absent utilization_why_ = Absent::not_sampled;
  Summarizer summarizer_;
  std::uint64_t samples_ = 0;
  std::int64_t unsampled_ms_ = 0;
};

/// A mark, placed in its run.
struct ReportMark {
  std::int64_t at_ms = 0;  // since the start
  bool exact = true;
  std::string text;
};
/// What a mark says with a number behind a name, "loss=0.12", over time.
struct MarkCurve {
  std::string name;
  Track track;
  std::optional<double> last;
  /// How fast it counts up; nothing: it is no counter (epoch, step, samples, tokens, …), or it was
  /// marked once.
  std::optional<double> per_second;
};
/// The numbers in one mark's text. Pure.
[[nodiscard]] std::vector<std::pair<std::string, double>> numbers_in(std::string_view mark);

/// A stretch of a run that was of one sort: "compute", "waits for data".
struct ReportPhase {
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;
  Sentence name;
};

/// Start-up, work, its pauses and the tail, in the order of time. If there are more than a hundred
/// pauses, only the longest.
[[nodiscard]] std::vector<ReportPhase> report_phases(const Phases& phases,
                                                     std::span<const Sample> samples,
                                                     WallTime started);

struct ReportEvent {
  std::int64_t at_ms = 0;
  std::string kind;
  Sentence text;
};

/// The figures that runs are compared by. Absent where one is missing, with the reason.
struct ReportFigures {
  std::optional<std::int64_t> lasted_ms;
  std::optional<std::int64_t> waited_ms;
  std::optional<double> device_hours;
  Reading<Percent> mean_utilization;
  Reading<Percent> utilization_p95;
  Reading<Bytes> memory_peak;  // the largest of its devices
  Reading<Millijoules> energy;
  EnergySource energy_source = EnergySource::counter;
  std::optional<double> cost;  // at the report's price
  Reading<Celsius> temperature_peak;
  Reading<Bytes> main_memory_peak;
  Reading<Milliseconds> cpu_time;
};

struct ReportRun {
  RunRecord record;
  Moment as_of;  // when it was looked at: the end so far of one that goes on
  RunCurves curves;
  Summary summary;
  ReportFigures figures;
  std::size_t mark_count = 0;
  std::vector<ReportMark> marks;  // at most most_marks of them, over the whole run
  static constexpr std::size_t most_marks = 60;
  std::vector<MarkCurve> numbers;
  static constexpr std::size_t most_numbers = 8;
  std::vector<ReportEvent> events;
  static constexpr std::size_t most_events = 200;
  std::size_t event_count = 0;
  std::vector<ReportPhase> phases;
  std::optional<RunRanks> ranks;  // of a run of several
  Findings findings;
  std::string why_no_log;                      // translated
  std::uint64_t torn_lines = 0;                // of samples
  std::optional<Sentence> samples_unreadable;  // why, for people
  /// How long its charts' axis is.
  [[nodiscard]] std::int64_t length_ms() const;
};

/// What is at hand of a run.
struct ReportSource {
  RunRecord record;
  RunCurves curves;
  std::uint64_t torn_lines = 0;
  std::optional<Sentence> samples_unreadable;
  std::vector<Mark> marks;
  std::vector<RunEvent> events;
  std::vector<ReportPhase> phases;
  std::optional<RunRanks> ranks;
  Findings findings;
  std::string why_no_log;
};

struct ReportPrice {
  std::optional<double> per_kwh;
  std::string currency;
};

struct Report {
  WallTime written;
  ReportPrice price;
  std::vector<ReportRun> runs;
  /// For each run after the first: how it differs from the first.
  std::vector<ManifestDiff> differences;
  /// The longest of its runs.
  [[nodiscard]] std::int64_t length_ms() const;
  /// Of the numbers that marks say, in the order in which they came up.
  [[nodiscard]] std::vector<std::string> mark_names() const;
};

[[nodiscard]] Report make_report(std::vector<ReportSource> sources, const ReportPrice& price,
                                 const Moment& now);

[[nodiscard]] std::string report_html(const Report& report, const Style& style);
[[nodiscard]] std::string report_markdown(const Report& report, const Style& style);
/// {"berth_report": 1, …}. Sentences are English.
[[nodiscard]] std::string report_json(const Report& report);

}  // namespace berth
