// A record's manifest and end as JSON (doc/FORMATS.md, "Run record"), and the manifest of no run.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_archive.h"
#include "base/member_count.h"
#include "record/record_document.h"
#include "record/record_writer.h"
#include "record/run_container.h"
#include "record/run_ranks.h"
#include "record/run_record.h"
#include "snapshot/walk.h"

namespace berth {

namespace {

constexpr std::string_view run_format = "berth-run";
constexpr std::string_view end_format = "berth-run-end";
constexpr std::string_view cap_format = "berth-run-cap";
constexpr std::string_view here_format = "berth-manifest";

constexpr auto energy_sources = std::to_array<std::pair<EnergySource, std::string_view>>({
    {EnergySource::counter, "counter"},
    {EnergySource::integrated_power, "integrated power"},
});
constexpr auto memory_sources = std::to_array<std::pair<MemorySource, std::string_view>>({
    {MemorySource::own_processes, "own processes"},
    {MemorySource::whole_device, "whole device"},
});

}  // namespace

/// Each is walked below: a new member, too.
static_assert(
    all_counted<Members<Manifest, 34>, Members<RunEnd, 12>, Members<RunEvent, 3>, Members<Mark, 3>,
                Members<RunCap, 6>, Members<CapSeen, 3>, Members<CapSeen::OnDevice, 2>,
                Members<CapOnDevice, 4>, Members<Summary, 11>, Members<DeviceSummary, 8>,
                Members<MachineFacts, 6>, Members<GitFacts, 4>, Members<FrameworkFacts, 3>,
                Members<PythonFacts, 5>, Members<ToolkitFacts, 2>>);

static void walk(Archive& archive, MachineFacts& machine) {
  archive.member("instance_type", machine.instance_type);
  archive.member("operating_system", machine.operating_system);
  archive.member("cpu_model", machine.cpu_model);
  archive.member("cpu_count", machine.cpu_count);
  archive.member("memory_total_bytes", machine.memory_total);
  archive.member("container", machine.container);
}

static void walk(Archive& archive, GitFacts& git) {
  archive.member("root", git.root);
  archive.member("commit", git.commit);
  archive.member("branch", git.branch);
  archive.member("dirty", git.dirty);
}

static void walk(Archive& archive, FrameworkFacts& framework) {
  archive.member("name", framework.name, Form::required);
  archive.member("version", framework.version, Form::required);
  archive.member("cuda", framework.cuda);
}

static void walk(Archive& archive, PythonFacts& python) {
  archive.member("interpreter", python.interpreter);
  archive.member("version", python.version);
  archive.member("environment", python.environment);
  archive.member("packages", python.packages, Form::required);
  archive.member("frameworks", python.frameworks);
}

static void walk(Archive& archive, ToolkitFacts& toolkit) {
  archive.member("nvcc_version", toolkit.nvcc_version);
  archive.member("libraries", toolkit.libraries, Form::required);
}

static void walk(Archive& archive, DeviceSummary& device) {
  archive.member("mean_utilization_percent", device.mean_utilization);
  archive.member("memory_peak_bytes", device.memory_peak);
  (void)word_member(archive, "memory_source", device.memory_source, memory_sources);
  archive.member("own_memory_peak_bytes", device.own_memory_peak);
  archive.member("energy_millijoules", device.energy);
  (void)word_member(archive, "energy_source", device.energy_source, energy_sources);
  archive.member("temperature_peak_celsius", device.temperature_peak);
  archive.member("not_read_milliseconds", device.not_read);
}

static void walk(Archive& archive, Summary& summary) {
  archive.member("samples", summary.samples, Form::required);
  archive.member("mean_utilization_percent", summary.mean_utilization);
  archive.member("energy_millijoules", summary.energy);
  (void)word_member(archive, "energy_source", summary.energy_source, energy_sources);
  archive.member("tree_memory_peak_bytes", summary.tree_memory_peak);
  archive.member("tree_cpu_milliseconds", summary.tree_cpu);
  archive.member("device_files_open", summary.device_files_open);
  archive.member("device_files_looks", summary.device_files_looks);
  archive.member("gpu_contexts", summary.gpu_contexts);
  archive.member("gpu_contexts_looks", summary.gpu_contexts_looks);
  archive.member("devices", summary.devices, Form::required);
}

static void walk(Archive& archive, CapOnDevice& device) {
  archive.member("limit_bytes", device.limit);
  archive.member("highest_measured_bytes", device.highest_measured);
  archive.member("highest_charge_bytes", device.highest_charge);
  archive.member("refusals", device.refusals);
}

static void walk(Archive& archive, CapSeen::OnDevice& device) {
  archive.member("highest_charge_bytes", device.highest_charge);
  archive.member("refusals", device.refusals);
}

static void walk(Archive& archive, CapSeen& seen) {
  archive.member("devices", seen.devices);
  archive.member("in_processes", seen.in_processes);
  archive.member("gap", seen.gap);
}

static void walk(Archive& archive, RunCap& cap) {
  std::string action = cap.stops ? "stop" : "warn";
  (void)word_member(archive, "tier", cap.tier, cap_tiers);
  archive.member("action", action);
  cap.stops = action == "stop";
  archive.member("not_held_by", cap.not_held_by, Form::sparse);
  archive.member("said", cap.said, Form::sparse);
  archive.member("image", cap.image, Form::sparse);
  if (!cap.outcome || archive.is_reading()) return;
  archive.derived("proved", word_of(cap.outcome->proof.proved));
  archive.derived("proved_why", cap.outcome->proof.why, Form::nullable);
  archive.derived("devices", cap.outcome->devices);
}

static void walk(Archive& archive, Mark& mark) {
  archive.member("at_unix_ms", mark.at);
  archive.member("exact", mark.exact);
  archive.member("text", mark.text);
}

static void walk(Archive& archive, RunEvent& event) {
  archive.member("at_unix_ms", event.at);
  archive.member("kind", event.kind);
  archive.member("text", event.text);
}

namespace {

void walk_gathered(Archive& archive, Manifest& manifest) {
  archive.member("complete", manifest.complete, Form::required);
  archive.member("machine", manifest.machine, Form::required);
  archive.member("git", manifest.git, Form::sparse);
  archive.member("python", manifest.python, Form::sparse);
  archive.member("variables", manifest.variables, Form::required);
  archive.member("variables_set", manifest.variables_set);
  archive.member("toolkit", manifest.toolkit, Form::sparse);
}

}  // namespace

/// A run's. What has no Form::required, a record of an older berth may lack.
static void walk(Archive& archive, Manifest& manifest, RunReader reader) {
  const bool is_owner = reader == RunReader::owner;
  const auto own = [&](std::string_view key, auto& value, Form form = Form::plain) {
    if (is_owner) archive.member(key, value, form);
  };
  archive.member("id", manifest.id, Form::required);
  if (archive.open("command", is_owner || !manifest.command.empty(), Form::required, nullptr)) {
    put(archive, manifest.command);
    archive.close();
  }
  own("working_directory", manifest.working_directory, Form::required);
  archive.member("started_unix_ms", manifest.started, Form::required);
  own("started_steady_ms", manifest.started_steady_ms);
  own("machine_id", manifest.machine_id, Form::required);
  own("boot_id", manifest.boot_id, Form::required);
  archive.member("uid", manifest.uid, Form::required);
  archive.member("user", manifest.user, Form::required);
  own("keeper", manifest.keeper, Form::required);
  own("job", manifest.job);
  archive.member("lease", manifest.lease, Form::required);
  own("inside", manifest.inside, Form::required);
  archive.member("retry_of", manifest.retry_of, Form::nullable);
  archive.member("wanted", manifest.wanted, Form::required);
  own("spec", manifest.spec);
  archive.member("devices_wanted", manifest.devices_wanted);
  archive.member("cpu_only", manifest.cpu_only, Form::required);
  own("isolated_by", manifest.isolated_by, Form::nullable);
  archive.member("waiting", manifest.waiting);
  archive.member("waited_ms", manifest.waited_ms, Form::required);
  own("time_limit_ms", manifest.time_limit_ms);
  own("log", manifest.log);
  own("log_from_bytes", manifest.log_from);
  archive.member("given", manifest.given, Form::required);
  archive.member("promised_bytes", manifest.promised, Form::required);
  archive.member("cap", manifest.cap);
  if (is_owner) walk_gathered(archive, manifest);
}
static void walk(Archive& archive, Manifest& manifest) {
  walk(archive, manifest, RunReader::owner);
}

static void walk(Archive& archive, RunEnd& end) {
  std::optional<int> code;
  std::optional<int> signal;
  constexpr std::string_view gave_back = "gave_back";
  if (end.known && !end.gave_back && end.exit.signal == 0) code = end.exit.code;
  if (end.exit.signal != 0) signal = end.exit.signal;
  archive.member("at_unix_ms", end.at, Form::required);
  // An older berth takes no known end without code and signal.
  bool is_known = end.known && !end.gave_back;
  archive.member("known", is_known, Form::required);
  std::string ended(end.gave_back ? gave_back : "");
  archive.member("ended", ended, Form::nullable);
  end.gave_back = ended == gave_back;
  end.known = is_known || end.gave_back;
  Reading<int> no_code = Absent::unsupported;
  end.gave_back ? archive.member("exit_code", no_code) : archive.member("exit_code", code);
  archive.member("signal", signal);
  // Both missing would read as success.
  if (archive.is_reading() && is_known && !code && !signal) {
    archive.mistake(sentence("neither exit_code nor signal is there"));
  }
  end.exit.code = code.value_or(0);
  end.exit.signal = signal.value_or(0);
  archive.member("dumped_core", end.exit.dumped, Form::required);
  archive.member("lasted_milliseconds", end.lasted_ms);
  archive.member("because", end.because, Form::required);
  archive.member("stopped_by", end.stopped_by, Form::nullable);
  archive.member("died_of", end.died_of, Form::nullable);
  archive.member("time_limit_ms", end.time_limit_ms);
  archive.member("released_unix_ms", end.released);
  archive.member("cpu_milliseconds", end.cpu_ms);
  archive.member("summary", end.summary, Form::required);
}

namespace {

/// A manifest of no run, without what only a run has.
void walk_here(Archive& archive, Manifest& manifest) {
  archive.member("taken_unix_ms", manifest.started);
  archive.derived("simulated", manifest.given.simulated);
  archive.member("working_directory", manifest.working_directory, Form::required);
  archive.member("machine_id", manifest.machine_id, Form::required);
  archive.member("boot_id", manifest.boot_id, Form::required);
  archive.member("uid", manifest.uid, Form::required);
  archive.member("user", manifest.user, Form::required);
  archive.member("given", manifest.given, Form::required);
  walk_gathered(archive, manifest);
}

constexpr int version = Manifest::format_version;

}  // namespace

void write_head(Archive& archive, std::string_view format, int version) {
  archive.derived("format", format);
  archive.derived("version", version);
}

Result<void> read_document(std::string_view text, std::initializer_list<std::string_view> formats,
                           int newest,
                           const std::function<void(Archive&, std::string_view format)>& rest) {
  int written = 0;
  const auto read = read_json(text, [&](Archive& archive) {
    std::string format;
    archive.member("format", format, Form::required);
    archive.member("version", written, Form::required);
    if (std::ranges::find(formats, format) == formats.end()) {
      archive.mistake(
          sentence("not a document of format {}", fmt::format("{}", fmt::join(formats, ", "))));
    }
    if (archive.is_good() && written <= newest) rest(archive, format);
  });
  if (written > newest) {
    return fail(ErrorCode::unsupported, "written by a newer berth: use that one to read it");
  }
  return read;
}

std::string manifest_to_json(const Manifest& manifest) {
  return document(run_format, version, manifest, walk);
}

Result<Manifest> manifest_from_json(std::string_view text) {
  return read_document<Manifest>(text, run_format, version, walk);
}

std::string here_to_json(const Manifest& manifest) {
  return document(here_format, version, manifest, walk_here);
}

Result<Manifest> any_manifest_from_json(std::string_view text) {
  Manifest manifest;
  const auto read = read_document(
      text, {run_format, here_format}, version, [&](Archive& archive, std::string_view format) {
        format == here_format ? walk_here(archive, manifest) : walk(archive, manifest);
      });
  if (!read) return std::unexpected(read.error());
  return manifest;
}

std::string end_to_json(const RunEnd& end) { return document(end_format, version, end, walk); }

Result<RunEnd> end_from_json(std::string_view text) {
  return read_document<RunEnd>(text, end_format, version, walk);
}

std::string cap_seen_to_json(const CapSeen& seen) {
  return document(cap_format, version, seen, walk);
}

std::optional<CapSeen> cap_seen_in(const std::string& directory) {
  const auto text = read_file(directory + "/" + std::string(record_file::cap), 1 << 16);
  if (!text) return std::nullopt;
  auto seen = read_document<CapSeen>(*text, cap_format, version, walk);
  return seen ? std::optional(*std::move(seen)) : std::nullopt;
}

CapOutcome cap_outcome_of(const RunRecord& run, const Summary& summary) {
  return outcome_of(*run.manifest.cap, run.manifest.promised, summary,
                    run.manifest.given.simulated.has_value(),
                    run.directory.empty() ? std::nullopt : cap_seen_in(run.directory));
}

RunStory story_of(const RunRecord& run) {
  return {.summary = summary_of(run), .marks = marks_of(run), .events = events_of(run)};
}

void write_run(Archive& archive, const RunRecord& run, const RunStory& story, RunReader reader) {
  const bool is_owner = reader == RunReader::owner;
  Manifest manifest = run.manifest;
  if (manifest.cap) {
    manifest.cap->outcome = cap_outcome_of(run, story.summary);
    if (!is_owner) manifest.cap->leave_out_private();
  }
  write_head(archive, run_format, version);
  walk(archive, manifest, reader);
  const auto container = is_owner ? run_container_in(run.directory) : std::nullopt;
  if (container) {
    archive.derived_object("container", true, [&] {
      RunContainer copy = *container;
      walk(archive, copy);
    });
  }
  if (auto ranks = is_owner ? run_ranks_of(run) : std::nullopt) {
    archive.derived_object("ranks", true, [&] { walk(archive, *ranks); });
  }
  archive.derived("state", name_of(run.state));
  if (is_owner) archive.derived("directory", run.directory);
  archive.derived_object("end", run.end.has_value(), [&] {
    RunEnd end = *run.end;
    write_head(archive, end_format, version);
    walk(archive, end);
  });
  archive.derived("summary", story.summary);
  if (!is_owner) return;
  archive.derived("figures_invented", manifest.given.simulated.has_value());
  archive.derived("problems", run.problems);
  archive.derived("marks", story.marks);
  archive.derived("events", story.events);
}

std::string to_json(const RunRecord& run) {
  return write_json(JsonLayout::narrow,
                    [&](Archive& archive) { write_run(archive, run, story_of(run)); }) +
         "\n";
}

}  // namespace berth
