// `berth show RUN`: one run from end to end; and the list of them for programs.

#include <algorithm>

#include "base/json_archive.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "record/run_container.h"
#include "record/run_ranks.h"
#include "record/run_slurm.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "view/paint.h"
#include "view/ranks_text.h"
#include "view/run_text.h"
#include "view/runs_text.h"
#include "view/software_text.h"
#include "view/values.h"

namespace berth {

namespace {

/// "label      value", the value wrapped beneath itself. Nothing where there is no value.
class Facts {
 public:
  explicit Facts(const Style& style) : style_(style) {}
  void add(std::string_view label, const std::string& value, Paint paint = Paint::plain) {
    if (value.empty()) return;
    const std::string start = "  " + cut_to_width(own(label, style_), label_width, !style_.utf8);
    text_ += labelled(start, label_width + 3, value, style_, paint);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static constexpr int label_width = 11;
  Style style_;
  std::string text_;
};

void append(std::string& list, const std::string& item) {
  if (!item.empty()) list += (list.empty() ? "" : ", ") + item;
}

template <class T, class Text>
void append_reading(std::string& list, const Reading<T>& reading, Text text) {
  if (reading.get()) append(list, text(*reading.get()));
}

std::string machine_text(const Manifest& manifest, const Style& style) {
  const auto plain = [&](const std::string& text) { return outside(text, style); };
  const Host& host = manifest.given.host;
  std::string text;
  append_reading(text, host.name, plain);
  append_reading(text, manifest.machine.instance_type, plain);
  append_reading(text, manifest.machine.operating_system, plain);
  append_reading(text, host.kernel, plain);
  for (const std::string& one : software_texts(host, SupportedWords::limit, style)) {
    append(text, one);
  }
  append_reading(text, manifest.machine.container, plain);
  return text;
}

std::string cpu_text(const MachineFacts& machine, const Style& style) {
  std::string text;
  append_reading(text, machine.cpu_model,
                 [&](const std::string& model) { return outside(model, style); });
  append_reading(text, machine.cpu_count,
                 [&](std::uint64_t count) { return own(trf("{} CPUs", count), style); });
  append_reading(text, machine.memory_total, bytes_text);
  return text;
}

std::string code_text(const GitFacts& git, const Style& style) {
  std::string text = outside(git.root, style);
  append_reading(text, git.commit,
                 [&](const std::string& commit) { return outside(commit.substr(0, 12), style); });
  append_reading(text, git.branch,
                 [&](const std::string& branch) { return outside(branch, style); });
  append_reading(text, git.dirty, [&](bool dirty) {
    return own(dirty ? tr("with changes not committed") : tr("nothing changed"), style);
  });
  return text;
}

std::string python_text(const PythonFacts& python, const Style& style) {
  std::string text = outside(python.interpreter, style);
  append_reading(text, python.version,
                 [&](const std::string& version) { return outside(version, style); });
  for (const auto& [name, version] : python.packages) {
    append(text, outside(name + " " + version, style));
  }
  append(text, outside(python.environment, style));
  return text;
}

std::string times_text(const RunRecord& run, const Moment& now, const Style& style) {
  const Manifest& manifest = run.manifest;
  std::string text = date_time_text(manifest.started, style);
  const auto took = lasted(run, now);
  if (took && !run.end) append(text, own(trf("{} ago", short_duration(*took)), style));
  if (!has_no_job(run) && waited(run, now) >= std::chrono::seconds(1)) {
    append(text, own(trf("after waiting {}", short_duration(waited(run, now))), style));
  }
  if (manifest.time_limit_ms) {
    append(text, own(trf("time limit {}",
                         short_duration(std::chrono::milliseconds(*manifest.time_limit_ms))),
                     style));
  }
  return text;
}

/// A long value only begins: images set some of a thousand letters. --json has all of it.
std::string variables_text(const std::vector<std::pair<std::string, std::string>>& variables,
                           const Style& style) {
  constexpr std::size_t most = 120;
  return joined(variables, " ", [&](const auto& one) {
    const auto& [name, value] = one;
    const bool is_long = value.size() > most;
    const std::string shown = shell_quoted(is_long ? value.substr(0, most) : value);
    return outside(name + "=" + shown, style) + (is_long ? own("…", style) : "");
  });
}

std::string isolation_text(const Manifest& manifest) {
  if (manifest.isolated_by.empty()) return {};
  return trf("by {}: from the device files of other cards", printable(manifest.isolated_by));
}

/// The tier that holds it to its share, whether that is proved, and why nothing stronger does.
void add_cap(Facts& facts, const RunRecord& run, const Summary& summary, const Style& style) {
  const Manifest& manifest = run.manifest;
  if (!manifest.cap) return;
  const CapOutcome outcome = cap_outcome_of(run, summary);
  std::uint64_t refusals = 0;
  for (const CapOnDevice& device : outcome.devices) refusals += device.refusals;
  std::string held = own(held_text(*manifest.cap), style);
  if (refusals > 0) append(held, own(trf("refused allocations: {}", refusals), style));
  facts.add(tr("Cap"), held);
  if (manifest.cap->tier == CapTier::none) return;
  const CapProof& proof = outcome.proof;
  facts.add(tr("Proved"), own(proof.proved == Proved::yes  ? std::string(tr("yes"))
                              : proof.proved == Proved::no ? trf("no: {}", proof.why.shown())
                                                           : trf("unknown: {}", proof.why.shown()),
                              style));
  facts.add(tr("No stronger"), own(stronger_tiers_text(*manifest.cap), style));
  facts.add(tr("Said"), own(said_text(*manifest.cap), style));
}

/// What it ran in, which image that was, and how it ended.
void add_container(Facts& facts, const RunRecord& run, const Style& style) {
  const auto container = run_container_in(run.directory);
  if (!container) return;
  std::string text = outside(container->engine, style);
  if (container->id.empty()) {
    append(text, own(run.end ? tr("none is known to have been made") : tr("not made yet"), style));
  } else {
    text += " " + outside(short_container_id(container->id), style);
  }
  if (container->exit_code.get()) {
    append(text, own(trf("ended with {}", *container->exit_code.get()), style));
  }
  if (container->oom_killed.get().value_or(false)) {
    append(text, own(tr("killed for want of main memory"), style));
  }
  facts.add(tr("Container"), text);
  std::string image = outside(container->image, style);
  append(image, outside(container->image_digest.get().value_or(container->image_id), style));
  facts.add(tr("Image"), image);
  facts.add(tr("Put in"), outside(shell_joined(container->added), style));
}

void add_slurm(Facts& facts, const RunRecord& run, const Style& style) {
  const auto slurm = run_slurm_in(run.directory);
  if (!slurm) return;
  std::string text = own(trf("job {}", printable(slurm->job)), style);
  append(text, outside(slurm->cluster, style));
  facts.add(tr("Slurm"), text);
  facts.add(tr("Asked"), outside(shell_joined(slurm->asked), style));
}

std::string facts_text(const RunRecord& run, const Summary& summary, const Moment& now,
                       const Style& style) {
  const Manifest& manifest = run.manifest;
  Facts facts(style);
  facts.add(tr("Command"), outside(shell_joined(manifest.command), style), Paint::bold);
  facts.add(tr("Name"), outside(manifest.spec_of("name"), style));
  facts.add(tr("Project"), outside(manifest.spec_of("project"), style));
  facts.add(tr("Directory"), outside(manifest.working_directory, style));
  facts.add(tr("User"), outside(manifest.user, style));
  facts.add(has_no_job(run) ? tr("Queued") : tr("Started"), times_text(run, now, style));
  if (run.state == RunState::waiting) facts.add(tr("Waits"), own(wait_text(run, now), style));
  if (!manifest.retry_of.empty()) {
    facts.add(tr("Follows"),
              own(trf("{}, whose device went wrong", printable(manifest.retry_of)), style));
  }
  facts.add(tr("Asked for"), outside(manifest.wanted, style));
  add_cap(facts, run, summary, style);
  facts.add(tr("Isolated"), own(isolation_text(manifest), style));
  add_container(facts, run, style);
  add_slurm(facts, run, style);
  facts.add("CPUs", outside(manifest.spec_of("cpus"), style));
  facts.add(tr("RAM"), outside(manifest.spec_of("host_memory"), style));
  facts.add(tr("Priority"), outside(manifest.spec_of("priority"), style));
  facts.add(tr("After"), outside(manifest.spec_of("after"), style));
  if (manifest.log) facts.add(tr("Output"), outside(*manifest.log, style));
  facts.add(tr("Machine"), machine_text(manifest, style));
  facts.add("CPU", cpu_text(manifest.machine, style));
  if (manifest.git) facts.add(tr("Code"), code_text(*manifest.git, style));
  if (manifest.python) facts.add("Python", python_text(*manifest.python, style));
  facts.add(tr("Variables"), variables_text(manifest.variables, style));
  facts.add(tr("Set for it"), variables_text(manifest.variables_set, style));
  if (const auto ranks = run_ranks_of(run)) {
    facts.add(tr("For ranks"), variables_text(ranks->variables, style));
  }
  facts.add(tr("Note"), own(facts_missing_text(run), style));
  return facts.text();
}

/// A chart under its label, with the number that sums it up behind it.
std::string chart_line(std::string_view label, const std::vector<Reading<double>>& values,
                       double top, const std::string& number, const Style& style) {
  constexpr int number_room = 22;
  const int room = std::min(style.width - 16 - number_room, 60);
  Line line(style);
  line.add("  ").cell(own(label, style), 12, Align::left);
  const bool has_some = std::any_of(values.begin(), values.end(),
                                    [](const auto& value) { return value.has_value(); });
  if (room >= 8 && has_some) {
    line.cell(sparkline(values, top, room, style), room, Align::left, Paint::green).add("  ");
  }
  return line.add(number).text();
}

std::string device_text(std::size_t i, const RunRecord& run, const RunDetails& details,
                        const Style& style) {
  const Device& device = run.manifest.given.devices[i];
  std::string heading = outside(name_for_people(device), style);
  if (device.name.get()) heading += "  " + outside(*device.name.get(), style);
  if (i < run.manifest.promised.size()) {
    const auto& promised = run.manifest.promised[i];
    heading +=
        "  " +
        own(promised ? trf("{} promised", bytes_text(*promised)) : std::string(tr("whole")), style);
  }
  std::string text = "\n" + Line(style).add(heading, Paint::bold).text();
  const bool summed_up = i < details.summary.devices.size();
  const DeviceSummary summary = summed_up ? details.summary.devices[i] : DeviceSummary{};
  const auto with_reason = [&](std::string_view words, const auto& reading, auto how) {
    if (reading.get()) return own(words, style) + " " + how(*reading.get());
    return own(reason_text(reading.why()), style);
  };
  text +=
      chart_line(tr("Utilisation"), details.series.utilization(i), 100,
                 with_reason(tr("mean of the run"), summary.mean_utilization, percent_text), style);
  const auto total = device.memory_total.get();
  const double top = total ? static_cast<double>(total->count()) : 0;
  std::string peak = with_reason(tr("peak"), summary.memory_peak, [&](Bytes most) {
    const bool is_bound = is_used_a_bound(device);
    return std::string(is_bound ? bound_mark(style) : "") + bytes_text(most);
  });
  if (summary.memory_peak.get() && summary.memory_source == MemorySource::whole_device) {
    peak += own(tr(" (all on the device)"), style);
  }
  text += chart_line(tr("Memory"), details.series.memory(i), top, peak, style);
  std::string rest;
  append_reading(rest, summary.energy, [&](Millijoules energy) {
    return summary.energy_source == EnergySource::counter
               ? energy_text(energy)
               : own(trf("about {}", energy_text(energy)), style);
  });
  append_reading(rest, summary.temperature_peak, [&](Celsius hottest) {
    return own(trf("hottest {}", temperature_text(hottest, style)), style);
  });
  if (!rest.empty()) text += chart_line(tr("Energy"), {}, 1, rest, style);
  const Milliseconds missing = summary.not_read.get().value_or(Milliseconds{0});
  if (missing >= Milliseconds{1000}) {
    const std::string time = short_duration(std::chrono::milliseconds(missing.count()));
    text += chart_line(tr("Not read"), {}, 1,
                       own(trf("for {}: no figure here is of that time", time), style), style);
  }
  return text;
}

std::string tree_text(const Summary& summary, const Style& style) {
  std::string text;
  append_reading(text, summary.tree_cpu, [&](Milliseconds cpu) {
    return own(trf("{} of CPU time", short_duration(std::chrono::milliseconds(cpu.count()))),
               style);
  });
  append_reading(text, summary.tree_memory_peak, [&](Bytes peak) {
    return own(trf("main memory peak {}", bytes_text(peak)), style);
  });
  for (const std::string& part : kept_off_texts(summary)) append(text, own(part, style));
  return text.empty() ? ""
                      : "\n" + wrapped("", own(tr("Processes"), style) + "  " + text, 2, style);
}

std::string marks_text(const std::vector<Mark>& marks, WallTime now, const Style& style) {
  constexpr std::size_t most = 10;
  if (marks.empty()) return "";
  std::string heading(tr("Marks"));
  if (marks.size() > most) heading = trf("Marks, the last {} of {}", most, marks.size());
  std::string text = "\n" + Line(style).add(own(heading, style), Paint::bold).text();
  for (std::size_t i = marks.size() - std::min(most, marks.size()); i < marks.size(); ++i) {
    const std::string time = (marks[i].exact ? "" : "~") + since_text(marks[i].at, now, style);
    text += wrapped("  " + time + "  ", outside(marks[i].text, style), 4, style);
  }
  return text;
}

std::string events_text(const std::vector<RunEvent>& events, WallTime now, const Style& style) {
  if (events.empty()) return "";
  std::string text = "\n" + Line(style).add(own(tr("Noticed"), style), Paint::bold).text();
  for (const RunEvent& event : events) {
    text += wrapped("  " + since_text(event.at, now, style) + "  ",
                    outside(event.text.shown(), style), 4, style, Paint::yellow);
  }
  return text;
}

}  // namespace

std::string render_run(const RunRecord& run, const RunDetails& details, const Moment& now,
                       const Style& style) {
  Line first(style);
  if (run.manifest.given.simulated) {
    first.add("SIMULATED " + outside(*run.manifest.given.simulated, style), Paint::yellow)
        .add("  ");
  }
  first.add(outside(run.manifest.id, style), Paint::bold).add("  ");
  std::string state = state_text(run);
  const auto took = lasted(run, now);
  if (run.end && took) state += " " + trf("after {}", short_duration(*took));
  const Paint paint = ended_in_order(run) ? Paint::green
                      : has_failed(run)   ? Paint::red
                                          : Paint::yellow;
  state = own(state, style);
  const int room = style.width - first.width();
  std::string text;
  if (display_width(state) <= room) {
    text = first.add(state, paint).text();
  } else {
    text = first.text() + wrapped("  ", state, 2, style, paint);
  }
  text += facts_text(run, details.summary, now, style);
  if (has_invented_figures(run)) {
    text += "\n" + warning_line(own(invented_figures_text(), style), style);
  }
  for (std::size_t i = 0; i < run.manifest.given.devices.size(); ++i) {
    text += device_text(i, run, details, style);
  }
  text += render_ranks(run, style);
  text += tree_text(details.summary, style);
  text += marks_text(details.marks, now.wall, style);
  text += events_text(details.events, now.wall, style);
  for (const Sentence& problem : run.problems) {
    text += warning_line(outside(problem.shown(), style), style);
  }
  return text;
}

std::string runs_json(const RunList& list) {
  return write_json(JsonLayout::narrow,
                    [&](Archive& archive) {
                      archive.derived("berth_runs", 1);
                      archive.derived_list("runs", list.runs, [&](const RunRecord& run) {
                        write_run(archive, run, story_of(run));
                      });
                      archive.derived("problems", list.problems);
                    }) +
         "\n";
}

}  // namespace berth
