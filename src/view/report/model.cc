#include "view/report/model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "base/text.h"

namespace berth {

namespace {

constexpr double milliseconds_per_hour = 3'600'000;
constexpr double millijoules_per_kwh = 3.6e9;

/// Since the run's start, within the run.
std::int64_t since_start(const RunRecord& run, WallTime at, std::int64_t length_ms) {
  std::int64_t since = 0;
  if (__builtin_sub_overflow(at.unix_ms, run.manifest.started.unix_ms, &since)) return 0;
  return std::clamp<std::int64_t>(since, 0, std::max<std::int64_t>(length_ms, 0));
}

/// "3", "-0.25", "1.5e-3"; nothing: no finite number, or something behind it.
std::optional<double> number_from(std::string_view text) {
  if (text.empty() || text.size() > 40) return std::nullopt;
  if (text.find_first_not_of("0123456789+-.eE") != text.npos) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_counter(std::string_view name) {
  constexpr std::string_view counters[] = {"epoch",    "step",   "global_step", "iteration",
                                           "iter",     "batch",  "batches",     "samples",
                                           "examples", "images", "tokens",      "sample"};
  return std::ranges::find(counters, name) != std::end(counters);
}

bool says_a_number(const Mark& mark) { return !numbers_in(mark.text).empty(); }

/// Marks to draw and list, in the order of time. Those in words come first: they are few and mean
/// most. The rest fills the room that is left, evenly.
std::vector<std::size_t> chosen_marks(const std::vector<Mark>& marks) {
  std::vector<std::size_t> in_words;
  std::vector<std::size_t> in_numbers;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    (says_a_number(marks[i]) ? in_numbers : in_words).push_back(i);
  }
  const auto thinned = [](const std::vector<std::size_t>& all, std::size_t room) {
    if (all.size() <= room) return all;
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < room; ++i) {
      some.push_back(all[room == 1 ? 0 : i * (all.size() - 1) / (room - 1)]);
    }
    return some;
  };
  std::vector<std::size_t> chosen = thinned(in_words, ReportRun::most_marks);
  const auto rest = thinned(in_numbers, ReportRun::most_marks - chosen.size());
  chosen.insert(chosen.end(), rest.begin(), rest.end());
  std::ranges::sort(chosen);
  return chosen;
}

/// A counter over the time of its marks.
class Counting {
 public:
  void add(std::int64_t at_ms, double value) {
    if (!first_) first_ = {at_ms, value};
    is_rising_ = is_rising_ && value >= last_.second;
    last_ = {at_ms, value};
  }
  [[nodiscard]] std::optional<double> per_second() const {
    if (!first_ || !is_rising_ || last_.first <= first_->first || last_.second <= first_->second) {
      return std::nullopt;
    }
    return (last_.second - first_->second) * 1000.0 /
           static_cast<double>(last_.first - first_->first);
  }

 private:
  std::optional<std::pair<std::int64_t, double>> first_;
  std::pair<std::int64_t, double> last_{0, -HUGE_VAL};
  bool is_rising_ = true;
};

std::vector<MarkCurve> curves_of(const RunRecord& run, const std::vector<Mark>& marks,
                                 std::int64_t length_ms) {
  std::vector<MarkCurve> curves;
  std::vector<Counting> counting;
  for (const Mark& mark : marks) {
    const std::int64_t at_ms = since_start(run, mark.at, length_ms);
    for (const auto& [name, value] : numbers_in(mark.text)) {
      auto found = std::ranges::find(curves, name, &MarkCurve::name);
      if (found == curves.end()) {
        if (curves.size() == ReportRun::most_numbers) continue;
        curves.push_back({.name = name});
        counting.emplace_back();
        found = curves.end() - 1;
      }
      // Marks are as far apart as the job pleases: between two of them is no gap.
      found->track.add_mark(at_ms, value);
      found->last = value;
      counting[static_cast<std::size_t>(found - curves.begin())].add(at_ms, value);
    }
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (is_counter(curves[i].name)) curves[i].per_second = counting[i].per_second();
  }
  return curves;
}

template <class T>
void keep_most(Reading<T>& most, const Reading<T>& one) {
  if (!one.get() || (most.get() && *most.get() >= *one.get())) return;
  most = one;
}

ReportFigures figures_of(const RunRecord& run, const Summary& summary, const RunCurves& curves,
                         const ReportPrice& price, const Moment& now) {
  ReportFigures figures;
  if (const auto took = lasted(run, now)) figures.lasted_ms = took->count();
  figures.waited_ms = run.manifest.waited_ms;
  const std::size_t devices = run.manifest.given.devices.size();
  // A run without a device holds none: that is nothing, not an unknown number of hours.
  if (figures.lasted_ms) {
    figures.device_hours = static_cast<double>(*figures.lasted_ms) / milliseconds_per_hour *
                           static_cast<double>(devices);
  }
  const Absent no_device = Absent::unsupported;
  figures.mean_utilization = devices > 0 ? summary.mean_utilization : no_device;
  figures.utilization_p95 = devices > 0 ? curves.utilization_p95() : no_device;
  figures.energy = devices > 0 ? summary.energy : no_device;
  figures.energy_source = summary.energy_source;
  figures.memory_peak = devices > 0 ? Absent::not_sampled : no_device;
  figures.temperature_peak = devices > 0 ? Absent::not_sampled : no_device;
  for (const DeviceSummary& device : summary.devices) {
    keep_most(figures.memory_peak, device.memory_peak);
    keep_most(figures.temperature_peak, device.temperature_peak);
  }
  if (figures.energy.get() && price.per_kwh) {
    figures.cost =
        static_cast<double>(figures.energy.get()->count()) / millijoules_per_kwh * *price.per_kwh;
  }
  figures.main_memory_peak = summary.tree_memory_peak;
  figures.cpu_time = summary.tree_cpu;
  if (run.end && run.end->cpu_ms) figures.cpu_time = Milliseconds(*run.end->cpu_ms);
  return figures;
}

ReportRun make_run(ReportSource source, const ReportPrice& price, const Moment& now) {
  const Summary summary = source.record.end ? source.record.end->summary : source.curves.summary();
  ReportRun run{.record = std::move(source.record),
                .as_of = now,
                .curves = std::move(source.curves),
                .summary = summary};
  run.figures = figures_of(run.record, run.summary, run.curves, price, now);
  const std::int64_t length_ms = run.length_ms();
  run.mark_count = source.marks.size();
  for (const std::size_t i : chosen_marks(source.marks)) {
    const Mark& mark = source.marks[i];
    run.marks.push_back({.at_ms = since_start(run.record, mark.at, length_ms),
                         .exact = mark.exact,
                         .text = mark.text});
  }
  run.numbers = curves_of(run.record, source.marks, length_ms);
  run.event_count = source.events.size();
  for (const RunEvent& event : source.events) {
    if (run.events.size() == ReportRun::most_events) break;
    run.events.push_back({.at_ms = since_start(run.record, event.at, length_ms),
                          .kind = event.kind,
                          .text = event.text});
  }
  run.phases = std::move(source.phases);
  run.ranks = std::move(source.ranks);
  run.findings = std::move(source.findings);
  run.why_no_log = std::move(source.why_no_log);
  run.torn_lines = source.torn_lines;
  run.samples_unreadable = std::move(source.samples_unreadable);
  return run;
}

}  // namespace

std::vector<std::pair<std::string, double>> numbers_in(std::string_view mark) {
  constexpr std::size_t longest_name = 40;
  std::vector<std::pair<std::string, double>> numbers;
  for (std::string_view word : split(mark, ' ')) {
    if (word.ends_with(',') || word.ends_with(';')) word.remove_suffix(1);
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0 || equals > longest_name) continue;
    const auto value = number_from(word.substr(equals + 1));
    if (value) numbers.emplace_back(std::string(word.substr(0, equals)), *value);
  }
  return numbers;
}

std::int64_t ReportRun::length_ms() const {
  // A hostile file may say any number.
  constexpr std::int64_t hundred_years = 3'155'760'000'000;
  if (const auto took = lasted(record, as_of)) return std::min(took->count(), hundred_years);
  // A run of another machine may be going on: it counts as far as its samples reach.
  std::int64_t length = 0;
  const auto points = curves.whole(Curve::main_memory).points();
  if (!points.empty()) length = points.back().at_ms;
  return length;
}

std::int64_t Report::length_ms() const {
  std::int64_t longest = 0;
  for (const ReportRun& run : runs) longest = std::max(longest, run.length_ms());
  return longest;
}

std::vector<std::string> Report::mark_names() const {
  std::vector<std::string> names;
  for (const ReportRun& run : runs) {
    for (const MarkCurve& curve : run.numbers) {
      if (!contains(names, curve.name)) names.push_back(curve.name);
    }
  }
  return names;
}

Report make_report(std::vector<ReportSource> sources, const ReportPrice& price, const Moment& now) {
  Report report{.written = now.wall, .price = price};
  for (ReportSource& source : sources) {
    report.runs.push_back(make_run(std::move(source), price, now));
  }
  for (std::size_t i = 1; i < report.runs.size(); ++i) {
    report.differences.push_back(
        manifest_diff(report.runs.front().record.manifest, report.runs[i].record.manifest));
  }
  return report;
}

namespace {

constexpr std::size_t most_pauses = 100;

/// The longest, in the order of time.
std::vector<Stretch> chosen_pauses(std::vector<Stretch> pauses) {
  if (pauses.size() <= most_pauses) return pauses;
  std::ranges::stable_sort(pauses, std::greater{},
                           [](const Stretch& pause) { return pause.length().count(); });
  pauses.resize(most_pauses);
  std::ranges::sort(pauses, {}, [](const Stretch& pause) { return pause.from.count(); });
  return pauses;
}

}  // namespace

std::vector<ReportPhase> report_phases(const Phases& phases, std::span<const Sample> samples,
                                       WallTime started) {
  std::vector<ReportPhase> shown;
  const auto since_start = [&](Milliseconds at) {
    return wall_time(at, samples).unix_ms - started.unix_ms;
  };
  const auto add = [&](Milliseconds from, Milliseconds to, Sentence name) {
    if (to.count() <= from.count()) return;
    shown.push_back({since_start(from), since_start(to), std::move(name)});
  };
  if (phases.startup) add(phases.startup->from, phases.startup->to, sentence("start-up"));
  if (phases.working) {
    Milliseconds at = phases.working->from;
    for (const Stretch& pause : chosen_pauses(phases.pauses)) {
      add(at, pause.from, sentence("work"));
      add(pause.from, pause.to, sentence("pause"));
      at = pause.to;
    }
    add(at, phases.working->to, sentence("work"));
  }
  if (phases.tail) add(phases.tail->from, phases.tail->to, sentence("tail"));
  return shown;
}

}  // namespace berth
