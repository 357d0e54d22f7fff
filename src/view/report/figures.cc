#include "view/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_name.h"
#include "view/ranks_text.h"
#include "view/report/chart.h"
#include "view/runs_text.h"
#include "view/values.h"

namespace berth {

namespace {

std::string duration_text(std::int64_t ms) {
  if (ms >= 0 && ms < 10'000) return fmt::format("{:.1f}s", static_cast<double>(ms) / 1000);
  return short_duration(std::chrono::milliseconds(ms));
}

template <class T, class Text>
std::string or_why(const Reading<T>& reading, Text text) {
  if (reading.get()) return std::string(text(*reading.get()));
  return fmt::format("– ({})", reason_text(reading.why()));
}

/// A run that has not started has no such figure.
template <class T, class Text>
std::string of_job(const ReportRun& run, const Reading<T>& reading, Text text) {
  return has_no_job(run.record) ? "" : or_why(reading, text);
}

/// A figure of devices. A run without one has no such reading, and nothing failed.
template <class T, class Text>
std::string of_devices(const ReportRun& run, const Reading<T>& reading, Text text) {
  if (has_no_job(run.record)) return "";
  if (run.record.manifest.given.devices.empty()) return std::string(tr("no device"));
  std::string figure = or_why(reading, text);
  if (reading.get() && has_invented_figures(run.record)) figure += invented_mark();
  return figure;
}

std::string given_devices_text(const ReportRun& run) {
  const auto& devices = run.record.manifest.given.devices;
  if (has_no_job(run.record)) return std::string(tr("none: it has not started"));
  if (devices.empty()) return std::string(tr("none: on the CPU"));
  std::map<std::string, std::size_t> models;
  for (const Device& device : devices) ++models[device.name.get().value_or(device.id.text())];
  return joined(models, ", ", [](const auto& one) {
    const auto& [model, count] = one;
    return (count > 1 ? fmt::format("{} × ", count) : "") + model;
  });
}

/// What the runs of a row have; none where none has it.
template <class T, class Figure>
T largest_of(const Report& report, Figure figure) {
  T most{};
  for (const ReportRun& run : report.runs) {
    const Reading<T> found = figure(run);
    if (found.get()) most = std::max(most, *found.get());
  }
  return most;
}

Bytes promised_to(const ReportRun& run) {
  const auto& promised = run.record.manifest.promised;
  return promised.empty() ? Bytes() : promised.front().value_or(Bytes());
}

std::string memory_text(const ReportRun& run, Bytes largest) {
  const auto text_of = [&](Bytes bytes) { return bytes_beside(bytes, largest); };
  std::string text = of_devices(run, run.figures.memory_peak, text_of);
  const Bytes promised = promised_to(run);
  if (run.figures.memory_peak.get() && promised.count() > 0) {
    text += " " + trf("of {} promised", text_of(promised));
  }
  return text;
}

std::string energy_words(const ReportRun& run, Millijoules largest) {
  const bool counted = run.figures.energy_source == EnergySource::counter;
  return of_devices(run, run.figures.energy, [&](Millijoules energy) {
    const std::string text = energy_beside(energy, largest);
    return counted ? text : trf("about {}", text);
  });
}

std::string cost_text(const ReportRun& run, const ReportPrice& price) {
  if (!run.figures.cost) return "–";
  const double sum = *run.figures.cost;
  const std::string number = sum < 0.995 ? fmt::format("{:.4f}", sum) : fmt::format("{:.2f}", sum);
  std::string cost = price.currency.empty() ? number : number + " " + price.currency;
  if (has_invented_figures(run.record)) cost += invented_mark();
  return cost;
}

/// In the unit that the fastest of the row has.
std::string rate_text(double per_second, double fastest) {
  if (fastest >= 1) return trf("{} per second", three_digits(per_second));
  if (fastest * 60 >= 1) return trf("{} per minute", three_digits(per_second * 60));
  return trf("{} per hour", three_digits(per_second * 3600));
}

/// Hours, minutes and seconds: "2:03:09".
std::string hours_text(std::int64_t ms) {
  const std::int64_t seconds = ms / 1000;
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

/// The units that duration_text() has for it, largest first.
int units_of(std::int64_t ms) {
  return ms < 60'000 ? 0 : ms < 3'600'000 ? 1 : ms < 86'400'000 ? 2 : 3;
}

std::string state_words(const ReportRun& run) {
  std::string text = state_text(run.record);
  if (run.record.end && !run.record.end->because.empty() && !was_never_started(run.record)) {
    text += " (" + Sentence(run.record.end->because).shown() + ")";
  }
  return text;
}

/// A row with one value per run.
class Rows {
 public:
  explicit Rows(const Report& report) : report_(report) {}
  template <class Text>
  void add(std::string_view label, Text text) {
    FigureRow row{.label = std::string(label)};
    for (const ReportRun& run : report_.runs) row.values.push_back(text(run));
    const bool says_something =
        std::ranges::any_of(row.values, [](const std::string& value) { return !value.empty(); });
    if (says_something) rows_.push_back(std::move(row));
  }
  /// Times, which `time_of` gives or nothing, and `otherwise` says what stands there then.
  template <class Time, class Otherwise>
  void add_times(std::string_view label, Time time_of, Otherwise otherwise) {
    int least = 3;
    int most = 0;
    for (const ReportRun& run : report_.runs) {
      const std::optional<std::int64_t> time = time_of(run);
      if (!time) continue;
      least = std::min(least, units_of(*time));
      most = std::max(most, units_of(*time));
    }
    add(label, [&](const ReportRun& run) {
      const std::optional<std::int64_t> time = time_of(run);
      if (!time) return std::string(otherwise(run));
      return least < most ? hours_text(*time) : duration_text(*time);
    });
  }
  std::vector<FigureRow> take() { return std::move(rows_); }

 private:
  const Report& report_;
  std::vector<FigureRow> rows_;
};

void add_mark_rows(const Report& report, Rows& rows) {
  // One run's are listed below.
  if (report.runs.size() > 1) {
    rows.add(tr("Last mark"), [](const ReportRun& run) {
      return run.marks.empty() ? std::string() : printable(run.marks.back().text);
    });
  }
  for (const std::string& name : report.mark_names()) {
    double fastest = 0;
    for (const ReportRun& run : report.runs) {
      const auto found = std::ranges::find(run.numbers, name, &MarkCurve::name);
      if (found != run.numbers.end()) fastest = std::max(fastest, found->per_second.value_or(0));
    }
    rows.add(trf("{}, marked", name), [&](const ReportRun& run) {
      const auto found = std::ranges::find(run.numbers, name, &MarkCurve::name);
      if (found == run.numbers.end() || !found->last) return std::string();
      std::string text = fmt::format("{:.6g}", *found->last);
      if (found->per_second) text += ", " + rate_text(*found->per_second, fastest);
      return text;
    });
  }
}

}  // namespace

std::vector<FigureRow> figure_rows(const Report& report, const Style& style) {
  Rows rows(report);
  rows.add(tr("State"), state_words);
  const auto date_of = [&](const ReportRun& run) {
    return date_time_text(run.record.manifest.started, style);
  };
  rows.add(tr("Queued"),
           [&](const ReportRun& run) { return has_no_job(run.record) ? date_of(run) : ""; });
  rows.add(tr("Started"),
           [&](const ReportRun& run) { return has_no_job(run.record) ? "" : date_of(run); });
  rows.add_times(
      tr("Duration"),
      [](const ReportRun& run) {
        return has_no_job(run.record) ? std::nullopt : run.figures.lasted_ms;
      },
      [](const ReportRun& run) { return has_no_job(run.record) ? "" : "–"; });
  rows.add_times(
      tr("Waited for a device"),
      [](const ReportRun& run) {
        return run.figures.waited_ms.value_or(0) >= 1000 ? run.figures.waited_ms : std::nullopt;
      },
      [](const ReportRun&) { return ""; });
  rows.add(tr("Devices"), given_devices_text);
  rows.add(tr("GPU hours"), [](const ReportRun& run) {
    if (has_no_job(run.record)) return std::string();
    if (!run.figures.device_hours) return std::string("–");
    const double hours = *run.figures.device_hours;
    return hours == 0      ? "0"
           : hours < 0.095 ? fmt::format("{:.4f}", hours)
                           : fmt::format("{:.2f}", hours);
  });
  rows.add(tr("GPU utilisation, mean"), [](const ReportRun& run) {
    return of_devices(run, run.figures.mean_utilization, percent_text);
  });
  rows.add(tr("GPU utilisation, 95th percentile"), [](const ReportRun& run) {
    return of_devices(run, run.figures.utilization_p95, percent_text);
  });
  const Bytes most_on_devices =
      largest_of<Bytes>(report, [](const ReportRun& run) -> Reading<Bytes> {
        const auto& peak = run.figures.memory_peak;
        return peak.get() ? std::max(*peak.get(), promised_to(run)) : peak;
      });
  rows.add(tr("GPU memory, peak"),
           [&](const ReportRun& run) { return memory_text(run, most_on_devices); });
  rows.add(tr("Temperature, peak"), [&](const ReportRun& run) {
    return of_devices(run, run.figures.temperature_peak,
                      [&](Celsius peak) { return temperature_text(peak, style); });
  });
  const auto most_energy =
      largest_of<Millijoules>(report, [](const ReportRun& run) { return run.figures.energy; });
  rows.add(tr("Energy"), [&](const ReportRun& run) { return energy_words(run, most_energy); });
  if (report.price.per_kwh) {
    rows.add(trf("Cost, at {} per kWh", *report.price.per_kwh),
             [&](const ReportRun& run) { return cost_text(run, report.price); });
  }
  const auto most_memory =
      largest_of<Bytes>(report, [](const ReportRun& run) { return run.figures.main_memory_peak; });
  rows.add(tr("Main memory, peak"), [&](const ReportRun& run) {
    return of_job(run, run.figures.main_memory_peak,
                  [&](Bytes peak) { return bytes_beside(peak, most_memory); });
  });
  rows.add_times(
      tr("CPU time"),
      [](const ReportRun& run) -> std::optional<std::int64_t> {
        if (has_no_job(run.record) || !run.figures.cpu_time.get()) return std::nullopt;
        return run.figures.cpu_time.get()->count();
      },
      [](const ReportRun& run) {
        return of_job(run, run.figures.cpu_time, [](Milliseconds) { return std::string(); });
      });
  add_mark_rows(report, rows);
  return rows.take();
}

std::vector<std::string> notes_on(const ReportRun& run, const Style& style) {
  std::vector<std::string> notes;
  const auto note = [&](std::string text) { notes.push_back(std::move(text)); };
  const bool goes_on = run.record.state == RunState::running;
  if (goes_on) {
    note(trf("It was still running when this was written: all of this is up to {}.",
             date_time_text(run.as_of.wall, style)));
  }
  if (has_invented_figures(run.record)) note(std::string(invented_figures_text()));
  if (run.record.state == RunState::elsewhere) {
    note(std::string(tr("It is of another machine and has not ended there, as far as is known.")));
  }
  if (has_no_job(run.record)) {
    note(std::string(tr("It has not started: there is nothing to draw.")));
  } else if (run.samples_unreadable) {
    note(trf("Its samples could not be read: {}", run.samples_unreadable->shown()));
  } else if (run.curves.samples() == 0) {
    note(std::string(tr("No samples were taken: there is nothing to draw.")));
  } else {
    note(trf("From {} samples.", run.curves.samples()));
  }
  if (run.curves.unsampled_ms() > 0) {
    note(trf("For {} of it nobody sampled: lines have gaps there.",
             duration_text(run.curves.unsampled_ms())));
  }
  if (run.torn_lines > (goes_on ? 1U : 0U)) {
    note(trf("{} lines of its samples were torn (a crash, a full disk) and are left out.",
             run.torn_lines));
  }
  if (run.mark_count > run.marks.size()) {
    note(trf("It made {} marks: {} of them, spread over the run, are listed.", run.mark_count,
             run.marks.size()));
  }
  if (run.event_count > run.events.size()) {
    note(trf("{} events were noticed: the first {} are listed.", run.event_count,
             run.events.size()));
  }
  if (run.figures.energy.get()) {
    note(std::string(run.figures.energy_source == EnergySource::counter
                         ? tr("Energy is from the devices' own counters: of the whole device, "
                              "including others on it.")
                         : tr("Energy is power summed over time, as a device has no counter of it. "
                              "It is of the whole device, including others on it.")));
  }
  if (const std::string missing = facts_missing_text(run.record); !missing.empty()) note(missing);
  for (const Sentence& problem : run.record.problems) note(problem.shown());
  return notes;
}

std::vector<EnvironmentTable> environment_tables(const Report& report, const Style& style) {
  std::vector<EnvironmentTable> tables;
  const auto named = [](auto& list, const std::string& name, auto member) {
    return std::ranges::find(list, name, member);
  };
  for (std::size_t run = 0; run < report.runs.size(); ++run) {
    if (has_no_job(report.runs[run].record)) continue;  // gathered once a job runs
    for (auto& section : manifest_sections(report.runs[run].record.manifest, style)) {
      auto table = named(tables, section.heading, &EnvironmentTable::heading);
      if (table == tables.end()) table = tables.insert(tables.end(), {section.heading, {}});
      for (auto& row : section.rows) {
        auto found = named(table->rows, row.label, &FigureRow::label);
        if (found == table->rows.end()) {
          found = table->rows.insert(table->rows.end(), {row.label, {}});
          found->values.resize(report.runs.size());
        }
        found->values[run] = std::move(row.value);
      }
    }
  }
  return tables;
}

std::string report_title(const Report& report) {
  if (report.runs.size() == 1) return trf("Run {}", report.runs.front().record.manifest.id);
  return trf("{} runs compared", report.runs.size());
}

std::string simulated_names(const Report& report) {
  std::vector<std::string> names;
  for (const ReportRun& run : report.runs) {
    const auto& name = run.record.manifest.given.simulated;
    if (name && std::ranges::find(names, *name) == names.end()) names.push_back(*name);
  }
  return joined(names, ", ");
}

std::string run_heading(const Report& report, std::size_t run) {
  const std::string& id = report.runs[run].record.manifest.id;
  return report.runs.size() == 1 ? id : run_letter(run) + ": " + id;
}

std::vector<std::string> run_columns(const Report& report, std::string_view name) {
  std::vector<std::string> columns = {std::string(name)};
  for (std::size_t i = 0; i < report.runs.size(); ++i) columns.push_back(run_heading(report, i));
  return columns;
}

ComparedNames names_of(std::size_t run) { return {.a = run_letter(0), .b = run_letter(run)}; }

std::string elapsed_text(std::int64_t at_ms, bool exact) {
  return (exact ? "" : "~") + duration_text(at_ms);
}

std::vector<FigureRow> phase_rows(const ReportRun& run) {
  std::map<std::string, std::int64_t> total;
  std::int64_t all = 0;
  for (const ReportPhase& phase : run.phases) {
    total[phase.name.shown()] += phase.to_ms - phase.from_ms;
    all += phase.to_ms - phase.from_ms;
  }
  std::vector<std::pair<std::string, std::int64_t>> sorted(total.begin(), total.end());
  std::ranges::stable_sort(sorted, std::greater{}, &std::pair<std::string, std::int64_t>::second);
  std::vector<FigureRow> rows;
  for (const auto& [name, ms] : sorted) {
    const double share = all > 0 ? 100.0 * static_cast<double>(ms) / static_cast<double>(all) : 0;
    rows.push_back({name, {duration_text(ms), percent_text(Percent(share))}});
  }
  return rows;
}

std::vector<FigureRow> rank_rows(const ReportRun& run) {
  std::vector<FigureRow> rows;
  if (!run.ranks) return rows;
  const bool runs = run.record.state == RunState::running;
  const auto& devices = run.record.manifest.given.devices;
  for (const Rank& one : run.ranks->ranks) {
    const auto at = static_cast<std::size_t>(one.rank);
    rows.push_back(
        {std::to_string(one.rank),
         {printable(one.node), at < devices.size() ? printable(name_for_people(devices[at])) : "",
          printable(one.cpus), end_text(one, *run.ranks, runs)}});
  }
  return rows;
}

std::vector<std::string> rank_columns_of_report() {
  return {std::string(tr("Rank")), std::string(tr("Node")), "GPU", "CPUs",
          std::string(tr("How it went"))};
}

std::string_view nothing_found_text() {
  return tr("None: no rule found anything in what was recorded.");
}

}  // namespace berth
