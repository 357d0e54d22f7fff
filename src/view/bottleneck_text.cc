#include "view/bottleneck_text.h"

#include <fmt/format.h>

#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/findings_text.h"
#include "view/paint.h"

namespace berth {

namespace {

using bottleneck::DeviceFacts;
using bottleneck::DeviceLoad;
using bottleneck::Features;

std::string share_text(double share) { return fmt::format("{:.0f} %", share * 100); }

std::string seconds_text(Milliseconds time) {
  return fmt::format("{:.1f}", static_cast<double>(time.count()) / 1000);
}

/// The rules leave out start-up, pauses that repeat, and the end.
bool leaves_out(const Features& features) {
  constexpr double worth_telling = 0.5;  // seconds
  return features.seconds - features.seconds_counted >= worth_telling;
}

/// The two figures that are called utilisation, each for what it is.
std::string utilization_text(const BottleneckAnswer& answer, std::size_t device, double busy) {
  std::string text =
      answer.activity.simulated
          ? trf("utilisation {}, which the simulated server invented", share_text(busy))
          : trf("utilisation {} (of the time a kernel ran)", share_text(busy));
  if (leaves_out(answer.bottleneck.features)) {
    text += tr(" without start-up, repeated pauses and end");
  }
  if (device >= answer.run_means.size()) return text;
  const auto& mean = answer.run_means[device].get();
  if (mean) text += trf("; mean of the run {}", share_text(mean->count() / 100));
  return text;
}

std::string device_line(const BottleneckAnswer& answer, std::size_t device) {
  const DeviceFacts& facts = answer.activity.devices[device];
  const DeviceLoad& load = answer.bottleneck.features.devices[device];
  std::string text = trf("GPU {}, {}: ", facts.index ? std::to_string(*facts.index) : "–",
                         facts.name.get().value_or("?"));
  if (load.lost) return text + std::string(tr("it fell off the bus"));
  if (!load.busy) return text + std::string(tr("how busy it is cannot be read"));
  text += utilization_text(answer, device, *load.busy);
  if (load.sm) text += trf("; then {} of the SMs were busy", share_text(*load.sm));
  if (load.power) text += trf("; power {} of the limit", share_text(*load.power));
  return text;
}

std::string job_line(const Features& features) {
  const auto& holders = features.holders.processes;
  if (!features.saw_processes)
    return std::string(tr("Of the job's processes nothing could be read."));
  std::string text =
      holders.empty() ? std::string(tr("No process of the job is on the GPU"))
                      : trf("Process {} ({}) is on it", holders.front().pid, holders.front().name);
  if (holders.size() > 1) text += trf(", and {} more", holders.size() - 1);
  text += features.cpus ? trf("; the job uses {} of {} CPUs", fmt::format("{:.1f}", features.cpu),
                              fmt::format("{:g}", *features.cpus))
                        : trf("; the job uses {} CPUs", fmt::format("{:.1f}", features.cpu));
  if (!features.workers.processes.empty()) {
    text += trf("; {} child processes work", features.workers.processes.size());
  }
  return text;
}

std::string phases_line(const Phases& phases) {
  constexpr std::int64_t worth_telling = 2000;
  std::string text;
  const auto add = [&](const std::string& part) {
    text += (text.empty() ? "" : std::string(tr("; "))) + part;
  };
  if (phases.working && phases.startup && phases.startup->length().count() >= worth_telling) {
    add(trf("{} s until the GPU first worked", seconds_text(phases.startup->length())));
  }
  if (phases.repeating) {
    add(trf("every {} s a pause of {} s: {} of the time", seconds_text(phases.repeating->period),
            seconds_text(phases.repeating->length), share_text(phases.repeating->share)));
  } else if (!phases.pauses.empty()) {
    add(trf("{} pauses of a second and more, at no regular distance", phases.pauses.size()));
  }
  if (phases.working && phases.tail && phases.tail->length().count() >= worth_telling) {
    add(trf("{} s after the GPU's last work", seconds_text(phases.tail->length())));
  }
  return text.empty() ? text : trf("Phases: {}.", text);
}

/// Rules speak of a GPU that waits from this share on: below it is well used.
bool is_well_used(const Features& features) {
  return features.busy && features.idle() < bottleneck::Thresholds{}.idle_share;
}

/// What is said where no rule found anything.
std::string verdict(const BottleneckAnswer& answer) {
  const Features& features = answer.bottleneck.features;
  if (answer.activity.steps.empty()) return std::string(tr("Nothing was seen: too short a look."));
  if (!features.busy) {
    return std::string(tr("How busy the GPU is cannot be read here, so nothing can be said."));
  }
  if (answer.activity.simulated) {
    return std::string(tr("By invented figures nothing is said of how well a GPU is used."));
  }
  if (!is_well_used(features)) {
    return trf("No kernel ran for {} of the time, and nothing that could be read explains it.",
               share_text(features.idle()));
  }
  return std::string(tr("The GPU is well used: nothing to find."));
}

}  // namespace

std::string render_bottleneck(const BottleneckAnswer& answer, const Style& style) {
  const bottleneck::Activity& activity = answer.activity;
  std::string text;
  Line heading(style);
  if (activity.simulated) {
    // Never translated: the mark on a screenshot must be understood by everybody.
    heading.add("SIMULATED " + outside(*activity.simulated, style), Paint::yellow).add("  ");
  }
  heading.add(outside(activity.subject, style), Paint::bold).add("  ");
  heading.add(
      own(trf("{} s looked at", fmt::format("{:.0f}", answer.bottleneck.features.seconds)), style));
  text += heading.text();
  for (std::size_t i = 0;
       i < activity.devices.size() && i < answer.bottleneck.features.devices.size(); ++i) {
    text += wrapped("", outside(device_line(answer, i), style), 2, style);
  }
  const Findings& findings = answer.bottleneck.findings;
  const bool is_nobodys = !answer.bottleneck.features.saw_processes &&
                          activity.subject.starts_with("GPU ") && !findings.empty() &&
                          findings.front().rule == "nothing_running";
  if (!activity.steps.empty() && !is_nobodys) {
    text += wrapped("", outside(job_line(answer.bottleneck.features), style), 2, style);
  }
  const std::string phases = phases_line(answer.bottleneck.features.phases);
  if (!phases.empty()) text += wrapped("", outside(phases, style), 2, style);
  if (activity.taken_by == bottleneck::TakenBy::run_samples) {
    text +=
        wrapped("",
                own(tr("From the run's record: it has no threads, no child processes, and nothing "
                       "of the SMs' activity."),
                    style),
                2, style, Paint::dim);
  }
  for (const Sentence& remark : answer.remarks) {
    text += warning_line(outside(remark.shown(), style), style);
  }
  if (activity.torn_lines > 0) {
    text += wrapped(
        "! ",
        own(trf("{} lines of the series are no steps and were left out", activity.torn_lines),
            style),
        2, style, Paint::yellow);
  }
  text += "\n";
  if (!answer.bottleneck.findings.empty())
    return text + render_findings(answer.bottleneck.findings, style);
  return text + wrapped("", own(verdict(answer), style), 2, style,
                        is_well_used(answer.bottleneck.features) && !answer.activity.simulated
                            ? Paint::green
                            : Paint::plain);
}

// For programs: what explain saw of the running jobs, and what it found.

// Found by the namespace of what it walks, hence not in the nameless one.
static void walk(Archive& archive, Stretch& stretch) {
  archive.derived("from_ms", stretch.from);
  archive.derived("to_ms", stretch.to);
}

namespace {

void write_load(Archive& archive, const bottleneck::DeviceLoad& load) {
  archive.derived("lost", load.lost);
  archive.derived("busy_ratio", load.busy);
  archive.derived("sm_ratio", load.sm);
  archive.derived("tensor_ratio", load.tensor);
  archive.derived("dram_ratio", load.dram);
  archive.derived("power_ratio", load.power);
  archive.derived("clock_ratio", load.clock);
  archive.derived("pcie_ratio", load.pcie);
  archive.derived("others_ratio", load.others);
}

void write_devices(Archive& archive, const BottleneckAnswer& answer) {
  const std::vector<bottleneck::DeviceLoad>& loads = answer.bottleneck.features.devices;
  std::size_t at = 0;
  archive.derived_list("devices", answer.activity.devices,
                       [&](const bottleneck::DeviceFacts& facts) {
                         archive.derived("id", facts.id);
                         archive.derived("index", facts.index);
                         if (at < loads.size()) write_load(archive, loads[at]);
                         ++at;
                       });
}

void write_phases(Archive& archive, const Phases& phases) {
  archive.derived("startup", phases.startup);
  archive.derived("working", phases.working);
  archive.derived("tail", phases.tail);
  archive.derived("pauses", phases.pauses);
  archive.derived_object("repeating", phases.repeating.has_value(), [&] {
    archive.derived("count", phases.repeating->count);
    archive.derived("period_ms", phases.repeating->period);
    archive.derived("length_ms", phases.repeating->length);
    archive.derived("share_ratio", phases.repeating->share);
  });
}

void write_job(Archive& archive, const bottleneck::Features& features) {
  std::vector<pid_t> holders;
  for (const bottleneck::ProcessLoad& one : features.holders.processes) holders.push_back(one.pid);
  archive.derived("on_devices", holders);
  archive.derived("working_children", features.workers.processes.size());
  archive.derived("cpus_used", features.cpu);
  archive.derived("cpus_wanted", features.wanted);
  archive.derived("cpus_allowed", features.cpus);
  archive.derived("storage_read_bytes_per_second", features.storage_rate);
  archive.derived("read_bytes_per_second", features.read_rate);
}

void write_answer(Archive& archive, const BottleneckAnswer& answer) {
  const bottleneck::Activity& activity = answer.activity;
  const bottleneck::Features& features = answer.bottleneck.features;
  const auto worst = worst_of(answer.bottleneck.findings);
  archive.derived("subject", activity.subject);
  archive.derived("simulated", activity.simulated);
  archive.derived("taken_unix_ms", activity.taken);
  archive.derived("taken_by", bottleneck::name_of(activity.taken_by));
  archive.derived("framework", bottleneck::name_of(activity.framework), Form::nullable);
  archive.derived("seconds", features.seconds);
  archive.derived("torn_lines", activity.torn_lines);
  archive.derived("worst", worst ? name_of(*worst) : std::string_view(), Form::nullable);
  archive.derived("busy_ratio", features.busy_whole);
  write_devices(archive, answer);
  archive.derived_object("job", features.saw_processes, [&] { write_job(archive, features); });
  archive.derived_object("phases", true, [&] { write_phases(archive, features.phases); });
  archive.derived("findings", answer.bottleneck.findings);
  archive.derived("remarks", answer.remarks);
}

}  // namespace

std::string bottleneck_json(const std::vector<BottleneckAnswer>& answers) {
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_pace", 1);
                      archive.derived_list("answers", answers, [&](const BottleneckAnswer& answer) {
                        write_answer(archive, answer);
                      });
                    }) +
         "\n";
}

}  // namespace berth
