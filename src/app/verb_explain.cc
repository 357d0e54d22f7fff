// `berth explain`: why a GPU is not busy, why a run died, or what a log says.

#include <unistd.h>

#include "app/explain_bottleneck.h"
#include "app/progress.h"
#include "app/rank_state.h"
#include "app/records.h"
#include "app/run_judge.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/postmortem/explain_log.h"
#include "diagnose/postmortem/postmortem.h"
#include "record/log_tail.h"
#include "record/run_slurm.h"
#include "view/postmortem_text.h"
#include "view/queue_text.h"
#include "view/runs_text.h"

namespace berth {

namespace {

class ExplainVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.word("what", name_,
                 "a GPU (index, UUID, PCI address), a process id, a run's id (the beginning or end "
                 "of one, or last). Nothing: every GPU that is busy or held");
    options.filled_value("--seconds", seconds_, "how long to look at what runs now (10)", "N");
    options.filled_value("--save", save_, "write what was seen, step by step, to this file",
                         "FILE");
    options.filled_value("--series", series_, "explain what --save wrote (- reads stdin)", "FILE");
    options.filled_value("--log", log_, "explain this log instead (- reads stdin)", "FILE");
    options.flag("--pace", pace_,
                 "of a run that has ended: how it used its GPUs, not how it ended");
    options.flag("--json", json_, "as JSON");
  }

  int run(Context& context, const std::vector<std::string>&) override {
    if (const auto mistake = mistake_in_words()) {
      complain(*mistake);
      return exit_code::usage;
    }
    const auto seconds = parse_decimal(seconds_);
    constexpr double longest = 86'400;
    if (!seconds || *seconds < 1 || *seconds > longest) {
      complain(trf("--seconds takes a number from 1 to 86400, not \"{}\"", printable(seconds_)));
      return exit_code::usage;
    }
    wanted_ = {.length = std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1000)),
               .save = save_,
               .json = json_};
    if (!series_.empty()) return explain_series(context, series_, wanted_);
    return log_.empty() ? explain_what(context) : explain_one_log(context);
  }

 private:
  [[nodiscard]] std::optional<std::string> mistake_in_words() const {
    if (!log_.empty() && !name_.empty())
      return std::string(tr("explain: a run or a log, not both"));
    if (!series_.empty() && (!name_.empty() || !log_.empty() || !save_.empty())) {
      return std::string(tr("explain: --series stands alone"));
    }
    return std::nullopt;
  }

  int explain_one_log(Context& context) const {
    ProgressBar progress(context);
    const bool is_typed = ::isatty(STDIN_FILENO) == 1;
    const auto tail = read_log_tail(log_, [&] {
      if (!is_typed) progress.show(std::nullopt, std::string(tr("reading stdin")));
    });
    progress.clear();
    if (!tail) return report(tail.error());
    const LogText log(tail->bytes, tail->cut);
    return answer(context, {.log = log_, .log_cut = tail->cut}, explain_log(log));
  }

  int explain_what(Context& context) {
    if (name_.empty()) return explain_all(context);
    if (!is_pid_or_device()) return explain_run(context);
    const auto snapshot = context.look(Depth::everything);
    if (!snapshot) return report(snapshot.error(), could_not_look);
    auto targets = bottleneck::named_targets(name_, *snapshot);
    if (targets.empty()) {
      const auto pid = parse_unsigned(name_);
      if (!pid || !std::in_range<pid_t>(*pid)) {
        complain(trf("there is no GPU \"{}\" here; `berth status` lists them", printable(name_)));
        return could_not_look;
      }
      auto target =
          bottleneck::process_target(static_cast<pid_t>(*pid), *snapshot, context.sources().proc);
      if (!target) return report(target.error(), could_not_look);
      targets.push_back(std::move(*target));
    }
    return explain_targets(context, targets, wanted_);
  }

  int explain_all(Context& context) {
    const auto snapshot = context.look(Depth::everything);
    if (!snapshot) return report(snapshot.error(), could_not_look);
    const auto targets = bottleneck::busy_targets(*snapshot);
    if (!targets.empty()) return explain_targets(context, targets, wanted_);
    // Nothing runs that could be slow. So the question means the run that the user just had.
    if (find_run(context, "")) return explain_run(context);
    print(json_ ? "{\"berth_pace\": 1, \"answers\": []}\n"
                : std::string(tr("No GPU here is busy or held.")) + "\n");
    return exit_code::ok;
  }

  int explain_run(Context& context) {
    const auto found = find_run(context, name_);
    if (!found) return report(found.error());
    if (found->state == RunState::elsewhere) {
      complain(tr("that run is on another machine: ask there"));
      return could_not_look;
    }
    if (found->state == RunState::waiting) return explain_wait(context, *found);
    if (found->state == RunState::running) {
      if (const auto hang = explain_ranks(context, *found)) {
        return answer(context, {.run = &*found}, {*hang});
      }
      return explain_targets(context, {bottleneck::run_target(*found)}, wanted_);
    }
    if (pace_) return explain_run_bottleneck(context, *found, wanted_);
    const WallTime now = context.clock().wall_now();
    const GatheredPostmortem gathered = gather_postmortem(context, *found, Gather::all, now);
    Findings findings = explain_postmortem(gathered.evidence);
    if (const auto hang = explain_ranks(context, *found)) {
      findings.insert(findings.begin(), *hang);
    }
    const int code = answer(context,
                            {.run = &*found,
                             .log = gathered.log_path,
                             .log_cut = gathered.log && gathered.log->is_cut(),
                             .why_no_log = gathered.why_no_log},
                            findings);
    if (json_ || !ended_in_order(*found) || found->manifest.given.devices.empty()) return code;
    // The code stays that of the end: the run is over, nothing is lost any more.
    wanted_.follows_the_end = true;
    static_cast<void>(explain_run_bottleneck(context, *found, wanted_));
    return code;
  }

  int explain_wait(Context& context, const RunRecord& run) const {
    if (run_slurm_in(run.directory)) {
      complain(trf("run {} has not started: it waits, {}", run.manifest.id,
                   wait_text(run, context.clock().moment())));
      return could_not_look;
    }
    std::string text;
    if (!json_) {
      const auto policy = context.policy();
      if (!policy) return report(policy.error(), could_not_look);
      const auto snapshot = context.look(Wanted(Depth::placement).add(Extra::leases));
      if (!snapshot) return report(snapshot.error(), could_not_look);
      const Style style = context.out_uncut();
      text = render_wait_of(run.manifest.id, *snapshot, policy->get(), style);
      if (text.empty()) text = waiting_without_place(run, *snapshot);
    }
    if (text.empty()) {
      complain(json_ ? trf("run {} has not started: `berth queue --json` tells of who waits",
                           run.manifest.id)
                     : trf("run {} has not started, and the ledger here does not know that it "
                           "waits: say its --sim or BERTH_LEDGER",
                           run.manifest.id));
      return could_not_look;
    }
    print(text.ends_with('\n') ? text : text + "\n");
    return exit_code::ok;
  }

  /// A bare number is a process or a device. Some other words only name devices. Ids of runs are
  /// longer and have dashes in them.
  [[nodiscard]] bool is_pid_or_device() const {
    return parse_unsigned(name_).has_value() || name_.starts_with("GPU-") ||
           name_.starts_with("MIG-") || name_.find(':') != std::string::npos;
  }

  int answer(Context& context, const Explained& what, const Findings& findings) const {
    print(json_
              ? explanation_json(what, findings)
              : render_explanation(what, findings, context.clock().moment(), context.out_uncut()));
    const bool well = what.run != nullptr && ended_in_order(*what.run);
    return well || is_explained(findings) ? exit_code::ok : exit_code::failed;
  }

  /// The last lines alone, and how it ended, explain nothing.
  static bool is_explained(const Findings& findings) {
    for (const Finding& finding : findings) {
      if (finding.rule != "last_lines" && finding.rule != "end_unknown") return true;
    }
    return false;
  }

  std::string name_;
  std::string log_;
  std::string save_;
  std::string series_;
  std::string seconds_ = "10";
  bool json_ = false;
  bool pace_ = false;
  BottleneckOptions wanted_;
};

}  // namespace

std::unique_ptr<Verb> make_explain() { return std::make_unique<ExplainVerb>(); }

}  // namespace berth
