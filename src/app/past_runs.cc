#include "app/past_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "probe/sim/motion.h"
#include "record/record_writer.h"

namespace berth {

namespace {

using sim::LifeKind;
using sim::PastJob;

/// The end of the last run that was written.
constexpr const char* written_until_file = "/written_until_unix_ms";
constexpr std::int64_t longest_past_ms = 30LL * 24 * 3600 * 1000;  // as the history's
/// Samples, and with them curves, are of the latest alone: a month of them were 200 MB.
constexpr std::size_t most_sampled = 4;
constexpr std::int64_t looks_for_a_summary = 6;

/// What it printed at last; empty: nothing that tells more than its end.
std::string_view last_words(LifeKind kind) {
  switch (kind) {
    case LifeKind::faults:
      return "step 1840 loss 2.114\n"
             "Traceback (most recent call last):\n"
             "  File \"/home/lab/kernels_test.py\", line 88, in <module>\n"
             "    torch.cuda.synchronize()\n"
             "RuntimeError: CUDA error: an illegal memory access was encountered\n";
    case LifeKind::runs_out:
      return "request 41277 batch 255\n"
             "Traceback (most recent call last):\n"
             "  File \"/home/lab/serve.py\", line 131, in <module>\n"
             "    out = model.generate(batch)\n"
             "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
             "total capacity of 79.65 GiB of which 812.00 MiB is free. Of the allocated memory "
             "77.10 GiB is allocated by PyTorch, and 1.20 GiB is reserved by PyTorch but "
             "unallocated.\n";
    case LifeKind::trains:
    case LifeKind::waits_for_data:
    case LifeKind::goes_idle:
    case LifeKind::runs_hot:
      return "done\n";
  }
  return {};
}

Exit exit_of(LifeKind kind) {
  if (kind == LifeKind::faults || kind == LifeKind::runs_out) return {.code = 1};
  return kind == LifeKind::goes_idle ? Exit{.signal = 15} : Exit{};
}

/// The devices alone, without the details: hundreds of these are read at once.
Snapshot given_to(const PastJob& job, const Snapshot& then) {
  Snapshot given{.taken = job.began, .simulated = then.simulated, .host = then.host};
  for (const std::size_t at : job.devices) {
    given.devices.push_back(then.devices[at]);
    given.devices.back().details = {};
  }
  return given;
}

Manifest manifest_of(const PastJob& job, const Snapshot& then, const std::string& server) {
  Manifest manifest;
  manifest.id = make_run_id(server, job.user, job.began, job.process.pid);
  for (const std::string_view word : split(job.command, ' ')) manifest.command.emplace_back(word);
  manifest.working_directory = "/home/" + job.user;
  manifest.started = job.began;
  manifest.machine_id = server;
  manifest.boot_id = then.host.boot_id.get().value_or("");
  manifest.uid = job.uid;
  manifest.user = job.user;
  manifest.keeper = job.process;
  manifest.job = job.process;
  manifest.lease = "sim-" + manifest.id;
  manifest.devices_wanted = static_cast<int>(job.devices.size());
  manifest.wanted = fmt::format("-n {}", job.devices.size());
  manifest.waited_ms = job.waited_ms;
  manifest.given = given_to(job, then);
  manifest.promised.resize(job.devices.size());
  manifest.complete = true;
  return manifest;
}

Sample sample_of_job(const PastJob& job, const Snapshot& then) {
  Sample sample{.at = then.taken};
  for (std::size_t i = 0; i < job.devices.size(); ++i) {
    const Device& device = then.devices[job.devices[i]];
    sample.devices.push_back(sample_of(device));
    sample.processes.push_back({.device = i, .pid = job.process.pid, .memory = device.memory_used});
  }
  sample.tree.processes = 1;
  const auto lived_ms = then.taken.unix_ms - job.began.unix_ms;
  sample.tree.cpu = Milliseconds(lived_ms);
  sample.tree.memory_resident = Bytes(std::uint64_t{3} << 30);
  return sample;
}

/// Evenly over its life, both ends included but for a second.
std::vector<Sample> samples_of(const PastJob& job, const sim::Scenario& scenario,
                               std::int64_t step_ms) {
  std::vector<Sample> samples;
  for (std::int64_t at = job.began.unix_ms; at < job.ended.unix_ms; at += step_ms) {
    samples.push_back(sample_of_job(job, sim::scenario_at(scenario, {at})));
  }
  return samples;
}

/// Sums up few looks. The time between them counts as read: it is made up like the looks
/// themselves.
Summary summary_of_looks(const std::vector<Sample>& looks) {
  Summarizer summarizer;
  for (const Sample& look : looks) summarizer.add(look);
  Summary summary = summarizer.summary();
  for (DeviceSummary& device : summary.devices) device.not_read = Milliseconds(0);
  return summary;
}

RunEnd end_of(const PastJob& job, Summary summary) {
  RunEnd end{.at = job.ended, .exit = exit_of(job.kind)};
  end.lasted_ms = job.ended.unix_ms - job.began.unix_ms;
  if (job.kind == LifeKind::goes_idle) {
    end.because = end_cause::stopped;
    end.stopped_by = job.user;
  }
  if (job.kind == LifeKind::runs_out) end.died_of = out_of_gpu_memory;
  end.released = job.ended;
  end.cpu_ms = end.lasted_ms;
  end.summary = std::move(summary);
  return end;
}

/// Made in `place`/new, and moved to the others when it is whole.
Result<void> write_run(const PastJob& job, const sim::Scenario& scenario, const std::string& place,
                       bool is_sampled) {
  const Snapshot then = sim::scenario_at(scenario, job.began);
  Manifest manifest = manifest_of(job, then, scenario.name);
  const std::string directory = runs_directory(place) + "/" + manifest.id;
  if (is_there(directory)) return {};
  manifest.log = directory + "/" + std::string(record_file::output);
  const auto writer = RecordWriter::create(place + "/new", manifest);
  if (!writer) return std::unexpected(writer.error());
  const std::int64_t length = job.ended.unix_ms - job.began.unix_ms;
  const auto looks =
      samples_of(job, scenario, is_sampled ? longest_step_ms : length / looks_for_a_summary);
  if (is_sampled) {
    const auto file = writer->open_samples();
    std::string lines;
    for (const Sample& look : looks) lines += to_line(look);
    if (file) (void)write_all(file->get(), lines);
  }
  (void)write_file_atomically(writer->path_of(record_file::output), last_words(job.kind), 0600);
  auto ended = writer->write_end(end_of(job, summary_of_looks(looks)));
  if (!ended) return ended;
  if (auto made = make_directories(runs_directory(place), 0700); !made) return made;
  std::error_code wrong;
  std::filesystem::rename(writer->directory(), directory, wrong);
  return wrong ? Result<void>(fail_system(wrong.value(), "put a record in place as {}", directory))
               : Result<void>();
}

/// Nothing: none was written yet.
std::optional<std::int64_t> written_until(const std::string& place) {
  const auto text = read_file(place + written_until_file, 64);
  const auto number = text ? parse_unsigned(trimmed(*text)) : std::nullopt;
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

}  // namespace

std::optional<sim::Scenario> scenario_with_past(const Context& context) {
  const Sources& sources = context.sources();
  if (!sources.simulated || sources.simulated_work) return std::nullopt;
  auto scenario = sim::load_scenario(*sources.simulated);
  if (!scenario || scenario->life.jobs.empty()) return std::nullopt;
  return std::move(*scenario);
}

std::optional<std::string> place_of_runs(const Context& context) {
  auto state = context.state_directory();
  if (const auto scenario = scenario_with_past(context); scenario && state) {
    *state += "/sim-" + scenario->name;
  }
  return state;
}

void write_past_runs(const Context& context, const std::function<void(double share)>& each) {
  const auto scenario = scenario_with_past(context);
  const auto state = context.state_directory();
  if (!scenario || !state) return;
  const std::string place = *place_of_runs(context);
  const WallTime now = context.clock().wall_now();
  const std::int64_t earliest = now.unix_ms - longest_past_ms;
  const WallTime after{std::max(earliest, written_until(place).value_or(earliest))};
  const std::vector<PastJob> jobs = sim::past_jobs(scenario->life, after, now);
  if (jobs.empty()) return;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool is_sampled = jobs.size() - i <= most_sampled;
    if (!write_run(jobs[i], *scenario, place, is_sampled)) return;
    if (each) each(static_cast<double>(i) / static_cast<double>(jobs.size()));
  }
  std::error_code ignored;
  std::filesystem::remove_all(place + "/new", ignored);
  (void)write_file_atomically(place + written_until_file, std::to_string(now.unix_ms) + "\n", 0600);
}

}  // namespace berth
