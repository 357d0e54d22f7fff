#include "run/adopted_run.h"

#include <utility>

#include "base/text.h"
#include "record/summary.h"
#include "run/faults.h"

namespace berth {

AdoptedRun::Parts::Parts(RunOptions of_run, RunServices of_machine, Manifest given,
                         RecordWriter writer)
    : options(std::move(of_run)),
      services(std::move(of_machine)),
      manifest(std::move(given)),
      record(std::move(writer)),
      sampler(services.clock, [this](const std::string& line) { note(*this, line); }) {}

Result<AdoptedRun> AdoptedRun::begin(RunOptions options, RunServices services, Manifest manifest) {
  const Moment now = services.clock.moment();
  manifest.started = now.wall;
  manifest.started_steady_ms = steady_ms(now.steady);
  manifest.keeper = own_process_id();
  auto record = RecordWriter::create(options.state_directory, manifest);
  if (!record) return std::unexpected(std::move(record).error());
  return AdoptedRun(std::make_unique<Parts>(std::move(options), std::move(services),
                                            std::move(manifest), *std::move(record)));
}

std::string AdoptedRun::marks() const { return parts_->record.path_of(record_file::marks); }

void AdoptedRun::start_sampler(const std::function<void()>& let_go) {
  const SamplerTask task{.options = &parts_->options,
                         .services = &parts_->services,
                         .manifest = parts_->manifest,
                         .record = &parts_->record,
                         .keeper = parts_->manifest.keeper.pid,
                         .root = parts_->manifest.job->pid};
  const auto started = parts_->sampler.start(task, [&] {
    let_go();
    parts_->record.let_go();
  });
  if (!started) note(*parts_, "event sampler_not_started " + started.error().message());
}

/// Whoever reads the record sees what the sampler saw; nobody waits here to be told.
void AdoptedRun::note(Parts& parts, const std::string& line) {
  const WallTime at = time_in(parts.manifest, parts.services.clock.moment());
  if (line.starts_with("fault ")) {
    if (const auto news = fault_from_line(line.substr(6))) {
      (void)parts.record.append_event(
          {.at = at, .kind = std::string(name_of(news->kind)), .text = printable(news->text)});
    }
  }
  const std::size_t space = line.find(' ', 6);
  if (!line.starts_with("event ") || space == std::string::npos) return;
  (void)parts.record.append_event(
      {.at = at, .kind = line.substr(6, space - 6), .text = printable(line.substr(space + 1))});
}

void AdoptedRun::end(End how) {
  parts_->sampler.ask(std::chrono::milliseconds(150), SamplerChild::Starting::is_left_alone);
  const Moment now = parts_->services.clock.moment();
  RunEnd end{.at = time_in(parts_->manifest, now),
             .known = how == End::gave_back,
             .lasted_ms = steady_ms(now.steady) - *parts_->manifest.started_steady_ms};
  if (how == End::gave_back) end.because = end_cause::gave_back;
  if (const auto stop = stop_request_in(parts_->record.directory())) {
    end.because = end_cause::stopped;
    end.stopped_by = *stop;
  }
  // Else a child may hold it that was forked before.
  if (how == End::gave_back) end.released = end.at;
  const RunRecord run{.directory = parts_->record.directory(), .manifest = parts_->manifest};
  end.summary = summary_until(run, end.at);
  (void)parts_->record.write_end(end);
  parts_->sampler.finish();
}

}  // namespace berth
