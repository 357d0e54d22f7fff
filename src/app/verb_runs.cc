// `berth runs` and `berth show`: the records.

#include "app/records.h"
#include "app/slurm_options.h"
#include "app/verb.h"
#include "base/tr.h"
#include "view/runs_text.h"

namespace berth {

namespace {

class RunsVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.flag("--json", json_, "as JSON");
    options.number("-n,--number", number_, "how many, newest first (20)", "N", 1, 1'000'000);
  }
  int run(Context& context, const std::vector<std::string>&) override {
    const auto state = records_directory(context);
    if (!state) return report(state.error());
    auto list = list_runs(*state);
    if (!list) return report(list.error());
    const auto by_slurm = said_by_slurm(context, list->runs);
    if (!by_slurm.empty()) list = list_runs(*state);
    if (!list) return report(list.error());
    const std::size_t all = list->runs.size();
    if (list->runs.size() > static_cast<std::size_t>(number_)) {
      list->runs.resize(static_cast<std::size_t>(number_));
    }
    std::map<std::string, Summary> lately;
    for (const RunRecord& run : list->runs) {
      if (!json_ && run.state == RunState::running) {
        lately.emplace(run.manifest.id, summary_lately(run));
      }
    }
    print(json_ ? runs_json(*list) + "\n"
                : render_runs(*list, context.clock().moment(), context.out_uncut(), lately));
    if (json_) return exit_code::ok;
    for (const SaidOfRun& one : by_slurm) print(one.line + "\n");
    if (all > list->runs.size()) {
      print(trf("({} older ones: berth runs -n {})\n", all - list->runs.size(), all));
    }
    return exit_code::ok;
  }

 private:
  bool json_ = false;
  int number_ = 20;
};

/// `berth extend` moves the lease's end alone, which the keeper learns when it was to act on the
/// old.
void take_extended_limit(Context& context, RunRecord& run) {
  if (run.state != RunState::running || !run.manifest.time_limit_ms) return;
  for (const Claim& claim : context.read_ledger().claims) {
    if (claim.id != run.manifest.lease || !claim.ends) continue;
    run.manifest.time_limit_ms = claim.ends->unix_ms - claim.since.unix_ms;
  }
}

class ShowVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.word("run", name_, "a run's id, the beginning or end of one, or last");
    options.flag("--json", json_, "as JSON");
  }
  int run(Context& context, const std::vector<std::string>&) override {
    auto found = find_run(context, name_);
    if (!found) return report(found.error());
    take_extended_limit(context, *found);
    if (json_) {
      print(to_json(*found) + "\n");
      return exit_code::ok;
    }
    RunDetails details{story_of(*found), {}};
    const auto read =
        read_samples(context, *found, [&](const Sample& sample) { details.series.add(sample); });
    if (!read) complain(read.error().shown());
    print(render_run(*found, details, context.clock().moment(), context.out_uncut()));
    return exit_code::ok;
  }

 private:
  std::string name_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_runs() { return std::make_unique<RunsVerb>(); }
std::unique_ptr<Verb> make_show() { return std::make_unique<ShowVerb>(); }

}  // namespace berth
