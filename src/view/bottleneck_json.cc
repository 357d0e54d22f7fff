// What explain saw of what runs now and found, for programs.

#include "base/json_archive.h"
#include "view/bottleneck_text.h"
#include "view/findings_json.h"

namespace berth {

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
  const std::vector<bottleneck::DeviceLoad>& loads = answer.pace.features.devices;
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
  const bottleneck::Features& features = answer.pace.features;
  const auto worst = worst_of(answer.pace.findings);
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
  archive.derived("findings", answer.pace.findings);
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
