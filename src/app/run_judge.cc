#include "app/run_judge.h"

#include <unistd.h>

#include <set>
#include <utility>

#include "app/records.h"
#include "base/sentence.h"
#include "base/tr.h"
#include "diagnose/bottleneck/bottleneck.h"
#include "diagnose/bottleneck/phases.h"
#include "diagnose/bottleneck/run_activity.h"
#include "diagnose/postmortem/memory_death.h"
#include "diagnose/postmortem/postmortem.h"
#include "probe/driver_log.h"
#include "probe/procfs/procfs_probe.h"
#include "record/log_tail.h"
#include "record/record_writer.h"
#include "record/run_ranks.h"
#include "view/postmortem_text.h"
#include "view/style.h"

namespace berth {

namespace {

struct JudgedRun {
  Findings findings;
  std::string log;
  bool log_cut = false;
  std::string why_no_log;
};

/// If the run failed: why. Else: what kept its GPUs from being busy.
JudgedRun judged_run(const Context& context, const RunRecord& run,
                     const std::vector<Sample>& samples, Gather how, WallTime now) {
  if (!has_failed(run)) {
    auto pace = bottleneck::explain_bottleneck(bottleneck::activity_of(run.manifest, samples));
    return {.findings = std::move(pace.findings)};
  }
  const GatheredPostmortem postmortem = gather_postmortem(context, run, how, now);
  return {.findings = explain_postmortem(postmortem.evidence),
          .log = postmortem.log_path,
          .log_cut = postmortem.log && postmortem.log->is_cut(),
          .why_no_log = postmortem.why_no_log};
}

Gather all_for_the_owner_of(const RunRecord& run) {
  return run.owner.uid == ::geteuid() ? Gather::all : Gather::without_kernel_log;
}

/// As they are shown in the asker's language.
Findings in_words(Findings findings) {
  const auto say = [](Sentence& said) { said = Sentence::as_is(said.shown()); };
  for (Finding& finding : findings) {
    say(finding.title);
    for (Sentence& seen : finding.evidence) say(seen);
    say(finding.meaning);
    for (Finding::Step& step : finding.steps) say(step.what);
    say(finding.doubt);
  }
  return findings;
}

}  // namespace

ReportSource report_source(const Context& context, const RunRecord& run, Gather how, WallTime now) {
  ReportSource source{.record = run,
                      .curves = RunCurves(run.manifest.started, run.manifest.given.devices.size())};
  ThinnedSamples samples;
  const auto read = read_samples(context, run, [&](const Sample& sample) {
    source.curves.add(sample);
    samples.add(sample);
  });
  if (read) {
    source.torn_lines = read->torn_lines;
  } else {
    source.samples_unreadable = read.error().said();
  }
  source.marks = marks_of(run);
  source.events = events_of(run);
  source.ranks = run_ranks_of(run);
  const std::vector<Sample> all = std::move(samples).take();
  source.phases = report_phases(phases_of(load_points(all)), all, run.manifest.started);
  JudgedRun found = judged_run(context, run, all, how, now);
  source.findings = std::move(found.findings);
  source.why_no_log = std::move(found.why_no_log);
  return source;
}

std::string RunJudge::explanation(const RunRecord& run) const {
  ThinnedSamples samples;
  (void)for_each_sample(run, [&](const Sample& sample) { samples.add(sample); });
  const JudgedRun found = judged_run(context_, run, std::move(samples).take(),
                                     all_for_the_owner_of(run), context_.clock().wall_now());
  return explanation_json(
      {.run = &run, .log = found.log, .log_cut = found.log_cut, .why_no_log = found.why_no_log},
      in_words(found.findings));
}

std::string RunJudge::report(const RunRecord& run) const {
  const Moment now = context_.clock().moment();
  std::vector<ReportSource> sources;
  sources.push_back(report_source(context_, run, all_for_the_owner_of(run), now.wall));
  Style style = for_a_file(context_.out());
  style.utf8 = true;
  return report_html(make_report(std::move(sources), {}, now), style);
}

namespace {

void add_samples(const Context& context, const RunRecord& run, PostmortemEvidence& evidence) {
  constexpr std::size_t most = 100'000;
  std::set<pid_t> pids;
  NeighbourWatch neighbours;
  (void)read_samples(context, run, [&](const Sample& sample) {
    neighbours.add(sample);
    for (const ProcessSample& one : sample.processes) {
      if (pids.size() < most) pids.insert(one.pid);
    }
  });
  evidence.processes.assign(pids.begin(), pids.end());
  evidence.neighbours = neighbours.growths();
}

/// All records are read only where there can be a sibling among them.
void add_siblings(const Context& context, PostmortemEvidence& evidence) {
  if (!rank_place_of(evidence.run.manifest)) return;
  const auto state = records_directory(context);
  const auto list = state ? list_runs(*state) : Result<RunList>(std::unexpected(state.error()));
  if (list) evidence.siblings = siblings_of(evidence.run, list->runs);
}

/// The kernel's log speaks of this machine alone, and of a simulated one's devices not at all.
void add_kernel_log(const Context& context, WallTime now, PostmortemEvidence& evidence) {
  if (evidence.run.state == RunState::elsewhere) return;
  const ProcfsProbe kernel({.kernel_log = context.sources().kernel_log});
  evidence.oom_kills = kernel.oom_kills(now);
  if (!context.sources().simulated && !evidence.run.manifest.given.simulated) {
    evidence.xids =
        DriverLog(context.sources().kernel_log, context.sources().proc).read(now).errors;
    evidence.driver_loads = kernel.driver_loads(now);
  }
}

/// Of a run with ranks, what the one printed that failed first: the others only tell of that.
RunRecord with_telling_log(const RunRecord& run, const std::optional<RunRanks>& ranks) {
  if (!ranks || ranks->ranks.empty()) return run;
  return with_log_of_rank(run, ranks->failed_first.value_or(0));
}

}  // namespace

GatheredPostmortem gather_postmortem(const Context& context, const RunRecord& run, Gather how,
                                     WallTime now) {
  GatheredPostmortem gathered{.log = nullptr,
                              .evidence = {.run = run,
                                           .events = events_of(run),
                                           .refusals = 0,
                                           .log = nullptr,
                                           .ranks = run_ranks_of(run)}};
  add_samples(context, run, gathered.evidence);
  gathered.evidence.refusals = refusals_of(run);
  if (how != Gather::without_kernel_log) add_kernel_log(context, now, gathered.evidence);
  if (how == Gather::without_log) return gathered;
  add_siblings(context, gathered.evidence);
  const RunRecord with_log = with_telling_log(run, gathered.evidence.ranks);
  if (!with_log.manifest.log) {
    gathered.why_no_log =
        tr("Its output went to where it was started and was not kept. With `berth run --detach` it "
           "is kept; or give it to `berth explain --log FILE`.");
    return gathered;
  }
  auto tail = read_log_tail(with_log);
  if (!tail) {
    gathered.why_no_log = tail.error().shown();
    return gathered;
  }
  gathered.log = std::make_unique<LogText>(tail->bytes, tail->cut);
  gathered.log_path = *with_log.manifest.log;
  gathered.evidence.log = gathered.log.get();
  return gathered;
}

}  // namespace berth
