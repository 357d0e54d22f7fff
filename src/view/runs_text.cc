#include "view/runs_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "record/run_slurm.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

enum Column : std::size_t {
  id_column,
  started_column,
  duration_column,
  state_column,
  devices_column,
  busy_column,
  memory_column,
  command_column,
  column_count
};
constexpr std::array<TableColumn, column_count> run_columns = {{
    {.header = as_key("Run")},
    {.header = as_key("Started"), .drop_order = 3},
    {.header = as_key("Took"), .align = Align::right, .drop_order = 1},
    {.header = as_key("How it went"), .minimum = 12},
    {.header = "GPU", .minimum = 7, .drop_order = 2},
    {.header = as_key("Util"), .align = Align::right, .drop_order = 4},
    {.header = as_key("Memory"), .align = Align::right, .drop_order = 5},
    {.header = as_key("Command"), .minimum = 12},
}};

std::string cause_text(const RunEnd& end) {
  const std::string& because = end.because;
  if (because == end_cause::time_limit) return std::string(tr("time limit"));
  if (because == end_cause::stopped) {
    return end.stopped_by.empty() ? std::string(tr("stopped"))
                                  : trf("stopped by {}", printable(end.stopped_by));
  }
  if (because == end_cause::gpu_fault) return std::string(tr("GPU fault"));
  if (because == end_cause::memory_cap) return std::string(tr("above its share of memory"));
  return Sentence(printable(because)).shown();
}

std::string wanted_gpus(const RunRecord& run) {
  const auto& wanted = run.manifest.devices_wanted;
  if (!wanted) return std::string(tr("a GPU"));
  return *wanted == 1 ? std::string(tr("1 GPU")) : trf("{} GPUs", *wanted);
}

std::string never_started_text(const RunRecord& run) {
  const std::string& because = run.end->because;
  if (!run.end->known) return trf("never started: {}", Sentence(printable(because)).shown());
  std::string text =
      trf("never started: waited {} for {}", short_duration(waited(run, {})), wanted_gpus(run));
  if (because == end_cause::no_device) return text + std::string(tr(", no device came"));
  if (because != end_cause::left_queue) return text + std::string(tr(", its log says what failed"));
  const std::string& by = run.end->stopped_by;
  return text + (by.empty() ? trf(", ended by {}", signal_name(run.end->exit.signal))
                            : trf(", stopped by {}", printable(by)));
}

std::string devices_text(const RunRecord& run, const Style& style) {
  if (run.manifest.cpu_only) return "CPU";
  if (run.manifest.given.devices.empty()) return std::string(absent_mark(style));
  return joined(run.manifest.given.devices, ",", [&](const Device& device) {
    return device.index && !device.parent
               ? std::to_string(*device.index)
               : cut_to_width(outside(device.id.text(), style), 10, !style.utf8);
  });
}

/// The largest peak of one device, where all are known.
Reading<Bytes> memory_peak(const Summary& summary) {
  Reading<Bytes> peak = Absent::not_sampled;
  for (const DeviceSummary& device : summary.devices) {
    if (!device.memory_peak.get()) return device.memory_peak.why();
    if (!peak.get() || *peak.get() < *device.memory_peak.get()) peak = device.memory_peak;
  }
  return peak;
}

/// How it went. If the run was started again for another one: also the end of that one's id.
std::string course_text(const RunRecord& run) {
  constexpr std::size_t shortest = 6;
  const std::string& before = run.manifest.retry_of;
  if (before.empty()) return state_text(run);
  const std::string end = before.substr(before.size() - std::min(shortest, before.size()));
  return state_text(run) + trf(", again after {}", printable(end));
}

TableRow cells_of(const RunRecord& run, const Summary& summary, const Moment& now,
                  const Style& style) {
  const auto took = lasted(run, now);
  const std::string absent(absent_mark(style));
  TableRow cells(column_count);
  cells[id_column] = outside(run.manifest.id, style);
  cells[started_column] =
      has_no_job(run) ? absent : since_text(run.manifest.started, now.wall, style);
  cells[duration_column] = took ? short_duration(*took) : absent;
  cells[state_column] = own(course_text(run), style);
  cells[devices_column] = devices_text(run, style);
  cells[busy_column] = reading_text(summary.mean_utilization, style, percent_text);
  cells[memory_column] = reading_text(memory_peak(summary), style, bytes_short);
  const std::string command = shell_joined(run.manifest.command);
  const std::string_view name = run.manifest.spec_of("name");
  cells[command_column] =
      outside(name.empty() ? command : fmt::format("{}: {}", name, command), style);
  return cells;
}

/// "GPU 2 (H100 80GB HBM3)", "GPU 0,1 (…)", "the CPU".
std::string place_text(const RunRecord& run, const Style& style) {
  const auto& devices = run.manifest.given.devices;
  if (devices.empty()) return own(tr("the CPU"), style);
  std::string text = "GPU " + devices_text(run, style);
  const auto& name = devices.front().name;
  const bool same = std::all_of(devices.begin(), devices.end(),
                                [&](const Device& device) { return device.name == name; });
  if (same && name.get()) text += " (" + outside(*name.get(), style) + ")";
  return text;
}

std::optional<Bytes> promised_each(const RunRecord& run) {
  const auto& promised = run.manifest.promised;
  if (promised.empty()) return std::nullopt;
  const bool same = std::all_of(promised.begin(), promised.end(),
                                [&](const auto& one) { return one == promised.front(); });
  return same ? promised.front() : std::nullopt;
}

/// For how much of the time the figures hold nothing, where they hold something.
std::string not_read_text(const Summary& summary) {
  const bool any_figure = summary.mean_utilization.get() || memory_peak(summary).get();
  Milliseconds longest{0};
  for (const DeviceSummary& device : summary.devices) {
    longest = std::max(longest, device.not_read.get().value_or(Milliseconds{0}));
  }
  if (!any_figure || longest < Milliseconds{1000}) return "";
  return trf("; for {} of that the devices were not read",
             short_duration(std::chrono::milliseconds(longest.count())));
}

std::string used_text(const RunRecord& run, const Summary& summary) {
  std::string text;
  const Reading<Bytes> peak = memory_peak(summary);
  if (peak.get()) {
    const auto promised = promised_each(run);
    text += promised ? trf("; memory peak {} of {} promised", bytes_text(*peak.get()),
                           bytes_text(*promised))
                     : trf("; memory peak {}", bytes_text(*peak.get()));
  }
  if (summary.mean_utilization.get()) {
    text += trf("; GPU busy {}", percent_text(*summary.mean_utilization.get()));
  }
  if (const auto& energy = summary.energy.get()) {
    const bool counted = summary.energy_source == EnergySource::counter;
    text += tr("; ");
    text += counted ? energy_text(*energy) : trf("about {}", energy_text(*energy));
  }
  if (!run.manifest.given.devices.empty() && !peak.get() && !summary.mean_utilization.get()) {
    text += trf("; what it used on the GPU is not known ({})",
                reason_text(summary.mean_utilization.why()));
  }
  text += not_read_text(summary);
  if (has_invented_figures(run) && (peak.get() || summary.mean_utilization.get())) {
    text += tr("; figures invented by the simulated server");
  }
  if (run.manifest.given.devices.empty()) {
    for (const std::string& part : kept_off_texts(summary)) text += std::string(tr("; ")) + part;
  }
  return text;
}

}  // namespace

std::string facts_missing_text(const RunRecord& run) {
  if (run.manifest.complete || has_no_job(run)) return "";
  return std::string(run.end ? tr("Some facts of machine and code are not known: the run was over "
                                  "before they were gathered.")
                             : tr("The facts of machine and code are still being gathered."));
}

bool has_invented_figures(const RunRecord& run) {
  return run.manifest.given.simulated && !run.manifest.given.devices.empty();
}

std::vector<std::string> kept_off_texts(const Summary& summary) {
  const auto& open = summary.device_files_open.get();
  const auto& listed = summary.gpu_contexts.get();
  const auto& looks = summary.device_files_looks.get();
  if (open == 0U && listed == 0U && looks && looks == summary.gpu_contexts_looks.get()) {
    return {trf("no GPU device file was open, none of its processes was on a GPU ({} samples)",
                *looks)};
  }
  std::vector<std::string> texts;
  if (open && *open > 0) {
    texts.push_back(trf("processes that had a GPU device file open: {}", *open));
  } else if (open) {
    texts.push_back(looks ? trf("no GPU device file was open ({} samples)", *looks)
                          : std::string(tr("no GPU device file was open when looked at")));
  }
  if (listed && *listed > 0) {
    texts.push_back(trf("processes that the driver listed on a GPU: {}", *listed));
  } else if (listed) {
    texts.push_back(trf("none of its processes was on a GPU ({} samples)",
                        summary.gpu_contexts_looks.get().value_or(0)));
  }
  return texts;
}

void RunSeries::halve() {
  const auto merge = [](std::vector<Point>& points) {
    std::vector<Point> half((points.size() + 1) / 2);
    for (std::size_t i = 0; i < points.size(); ++i) {
      half[i / 2].sum += points[i].sum;
      half[i / 2].count += points[i].count;
    }
    points = std::move(half);
  };
  for (Track& track : devices_) {
    merge(track.utilization);
    merge(track.memory);
  }
  samples_per_point_ *= 2;
}

void RunSeries::add(const Sample& sample) {
  constexpr std::size_t most_points = 512;
  if (samples_ / samples_per_point_ >= most_points) halve();
  const std::size_t point = samples_ / samples_per_point_;
  if (devices_.size() < sample.devices.size()) devices_.resize(sample.devices.size());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    devices_[i].utilization.resize(point + 1);
    devices_[i].memory.resize(point + 1);
    if (i >= sample.devices.size()) continue;
    const auto put = [&](Point& at, double value) {
      at.sum += value;
      ++at.count;
    };
    const DeviceSample& device = sample.devices[i];
    if (const auto& busy = device.utilization_gpu.get()) {
      put(devices_[i].utilization[point], busy->count());
    }
    if (const auto& used = device.memory_used.get()) {
      put(devices_[i].memory[point], static_cast<double>(used->count()));
    }
  }
  ++samples_;
}

std::vector<Reading<double>> RunSeries::means(const std::vector<Point>& points) {
  std::vector<Reading<double>> values;
  values.reserve(points.size());
  for (const Point& point : points) {
    if (point.count == 0) {
      values.emplace_back(Absent::not_sampled);
    } else {
      values.emplace_back(point.sum / static_cast<double>(point.count));
    }
  }
  return values;
}

std::vector<Reading<double>> RunSeries::utilization(std::size_t device) const {
  return device < devices_.size() ? means(devices_[device].utilization)
                                  : std::vector<Reading<double>>{};
}

std::vector<Reading<double>> RunSeries::memory(std::size_t device) const {
  return device < devices_.size() ? means(devices_[device].memory) : std::vector<Reading<double>>{};
}

std::string wait_text(const RunRecord& run, const Moment& now) {
  if (run_slurm_in(run.directory)) {
    return trf("{} so far for {}; `berth queue` says what Slurm waits for",
               short_duration(waited(run, now)), wanted_gpus(run));
  }
  return trf("{} so far for {}; `berth explain {}` says why", short_duration(waited(run, now)),
             wanted_gpus(run), run.manifest.id);
}

std::string state_text(const RunRecord& run) {
  if (was_never_started(run)) return never_started_text(run);
  if (run.end && run.end->gave_back) {
    const std::string text(tr("gave its devices back"));
    return run.end->because.empty() ? text : text + std::string(tr(": ")) + cause_text(*run.end);
  }
  if (run.end && run.end->known) {
    const Exit& exit = run.end->exit;
    std::string text = exit.signal != 0 ? trf("killed by {}", signal_name(exit.signal))
                                        : trf("ended with {}", exit.code);
    if (run.end->because == end_cause::warned) {
      text += tr(", warned of its time limit");
    } else if (is_ended_by_warning(run)) {
      text += tr(" by berth: warning before its time limit");
    } else if (!run.end->because.empty()) {
      text += trf(" by berth: {}", cause_text(*run.end));
    } else if (run.end->died_of == out_of_gpu_memory) {
      text += std::string(tr(": ")) + std::string(tr("out of GPU memory"));
    }
    return text;
  }
  if (run.end) return std::string(tr("end unknown"));
  switch (run.state) {
    case RunState::waiting:
      return std::string(run_slurm_in(run.directory) ? tr("waiting in Slurm's queue")
                                                     : tr("waiting in the queue"));
    case RunState::running:
      return std::string(tr("running"));
    case RunState::ended:
      return std::string(tr("ended"));
    case RunState::end_unknown:
      return std::string(tr("end unknown"));
    case RunState::elsewhere:
      return std::string(tr("on another machine"));
  }
  return std::string(tr("end unknown"));
}

std::string render_runs(const RunList& list, const Moment& now, const Style& style,
                        const std::map<std::string, Summary>& lately) {
  std::string text;
  if (list.runs.empty()) {
    text += wrapped("",
                    own(tr("No runs yet. `berth run -- COMMAND` starts one and keeps its "
                           "record."),
                        style),
                    2, style);
  } else {
    std::vector<TableRow> rows;
    const auto is_simulated = [](const RunRecord& run) {
      return run.manifest.given.simulated.has_value();
    };
    const bool any = std::any_of(list.runs.begin(), list.runs.end(), is_simulated);
    // If it is true of all, it is said once. Else the rows say it.
    const bool all = std::all_of(list.runs.begin(), list.runs.end(), is_simulated);
    for (const RunRecord& run : list.runs) {
      const auto known = lately.find(run.manifest.id);
      const Summary so_far = known == lately.end() ? Summary{} : known->second;
      rows.push_back(cells_of(run, run.end ? run.end->summary : so_far, now, style));
      if (!all && is_simulated(run)) {
        rows.back()[state_column].text.insert(0, "SIMULATED ");
      }
    }
    const Table table(run_columns, std::move(rows), 2, style);
    if (all || (any && table.widths()[state_column] < 13)) {
      text += Line(style).add("SIMULATED", Paint::yellow).text();
    }
    text += table.text();
  }
  if (std::ranges::any_of(list.runs, has_invented_figures)) {
    const std::string mark = "SIMULATED: ";  // also where it is of some of the rows alone
    text += wrapped("", mark + own(invented_figures_text(), style), 2, style, Paint::dim);
  }
  for (const Sentence& problem : list.problems) {
    text += warning_line(outside(problem.shown(), style), style);
  }
  return text;
}

std::string render_end_line(const RunRecord& run, const Style& style) {
  std::string text;
  if (run.manifest.given.simulated) text += "SIMULATED ";
  text += own(state_text(run), style);
  if (run.end) {
    const auto took = lasted(run, {}).value_or(std::chrono::milliseconds(0));
    text += " " + own(trf("after {} on {}", short_duration(took), place_text(run, style)), style);
    text += own(used_text(run, run.end->summary), style);
  }
  return text + "\n";
}

}  // namespace berth
