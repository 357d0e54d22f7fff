#include "run/adopted_run.h"

#include <algorithm>
#include <utility>

#include "base/process.h"
#include "base/sentence.h"
#include "base/signals.h"
#include "base/text.h"
#include "record/summary.h"
#include "run/faults.h"

namespace berth {

namespace {
/// Nobody here ends the program, or sends it anything.
KeeperTerms terms_of(const RunOptions& options) {
  KeeperTerms terms{.job = options.job, .has_lease = false};
  terms.job.time_limit.reset();
  terms.job.on_gpu_fault = OnGpuFault::warn;
  return terms;
}
}  // namespace

AdoptedRun::Parts::Parts(RunOptions of_run, RunServices of_machine, Manifest given,
                         RecordWriter writer)
    : options(std::move(of_run)),
      services(std::move(of_machine)),
      manifest(std::move(given)),
      record(std::move(writer)),
      plan(terms_of(options), services.clock.now()),
      sampler(services.clock, [this](const std::string& line) { on_line(*this, line); }) {}

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

void AdoptedRun::start_sampler(std::function<void()> let_go) {
  parts_->let_go = std::move(let_go);
  start(*parts_);
}

void AdoptedRun::start(Parts& parts) {
  const SamplerTask task{.options = &parts.options,
                         .services = &parts.services,
                         .manifest = parts.manifest,
                         .record = &parts.record,
                         .keeper = parts.manifest.keeper.pid,
                         .root = parts.manifest.job->pid};
  const auto started = parts.sampler.start(task, [&] {
    parts.let_go();
    parts.record.let_go();
  });
  if (!started) step(parts, SamplerNotStarted{started.error().said()});
}

std::optional<Duration> AdoptedRun::patience() const {
  const auto due = parts_->plan.next_deadline();
  if (!due) return std::nullopt;
  return std::max(*due - parts_->services.clock.now(), Duration(0));
}

void AdoptedRun::go_on() {
  SamplerChild& sampler = parts_->sampler;
  if (sampler.descriptor() >= 0 && wait_readable({sampler.descriptor()}, Duration(0)).front()) {
    sampler.hear();
  }
  if (sampler.descriptor() < 0 && sampler.pid() != 0) {
    (void)reap_if_ended(sampler.pid());
    sampler.has_ended();
    step(*parts_, SamplerEnded{});
  }
  if (patience() == Duration(0)) step(*parts_, TimePassed{});
}

void AdoptedRun::step(Parts& parts, const KeeperEvent& event) {
  for (const KeeperAction& action : parts.plan.step(event, parts.services.clock.now())) {
    if (std::holds_alternative<StartSampler>(action)) start(parts);
    if (const auto* noted = std::get_if<Note>(&action)) note(parts, *noted);
  }
}

/// Readers of the record see what the sampler saw; nobody waits here to be told.
void AdoptedRun::on_line(Parts& parts, const std::string& line) {
  if (line.starts_with("fault ")) {
    if (auto news = fault_from_line(line.substr(6))) step(parts, DeviceFaulted{*std::move(news)});
  }
  if (const auto news = note_from_line(line)) note(parts, *news);
}

void AdoptedRun::note(Parts& parts, const Note& news) {
  const WallTime at = time_in(parts.manifest, parts.services.clock.moment());
  (void)parts.record.append_event({.at = at, .kind = news.kind, .text = news.text});
}

void AdoptedRun::end(End how) {
  parts_->sampler.ask(std::chrono::milliseconds(150), SamplerChild::Starting::is_left_alone);
  const Moment now = parts_->services.clock.moment();
  RunEnd end{.at = time_in(parts_->manifest, now),
             .known = how == End::gave_back,
             .gave_back = how == End::gave_back,
             .lasted_ms = steady_ms(now.steady) - *parts_->manifest.started_steady_ms};
  if (const auto stop = stop_request_in(parts_->record.directory())) {
    end.because = end_cause::stopped;
    end.stopped_by = stop->by;
  }
  // Else a child may hold it that was forked before.
  if (how == End::gave_back) end.released = end.at;
  const RunRecord run{.directory = parts_->record.directory(), .manifest = parts_->manifest};
  end.summary = summary_until(run, end.at);
  (void)parts_->record.write_end(end);
  parts_->sampler.finish();
}

}  // namespace berth
