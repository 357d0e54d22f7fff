// `berth explain`: why a run died, or what a log says.

#include "app/death.h"
#include "app/records.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/death/explain_log.h"
#include "view/death_text.h"

namespace berth {

namespace {

class ExplainVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.word("run", name_, "a finished run's id, the beginning or end of one, or last");
    options.filled_value("--log", log_, "explain this log instead (- reads stdin)", "FILE");
    options.flag("--json", json_, "as JSON");
  }

  int run(Context& context, const std::vector<std::string>&) override {
    // JSON is for programs: its sentences are the same in every language.
    if (json_) set_language(Language::english);
    if (!log_.empty() && !name_.empty()) {
      complain(tr("explain: a run or a log, not both"));
      return exit_code::usage;
    }
    return log_.empty() ? explain_run(context) : explain_one_log(context);
  }

 private:
  int explain_one_log(Context& context) const {
    const auto tail = read_log_tail(log_);
    if (!tail) return report(tail.error());
    const LogText log(tail->bytes, tail->cut);
    return answer(context, {.log = log_, .log_cut = tail->cut}, explain_log(log));
  }

  int explain_run(Context& context) const {
    if (is_pid_or_device()) return refuse();
    const auto found = find_run(context, name_);
    if (!found) return report(found.error());
    if (found->state == RunState::running || found->state == RunState::elsewhere) return refuse();
    const WallTime now = context.clock().wall_now();
    const GatheredDeath gathered = gather_death(context, *found, Gather::all, now);
    return answer(context,
                  {.run = &*found,
                   .log = gathered.log ? *found->manifest.log : "",
                   .log_cut = gathered.log && gathered.log->is_cut(),
                   .why_no_log = gathered.why_no_log},
                  explain_death(gathered.evidence));
  }

  /// A bare number is a process or a device: ids of runs are longer and have dashes in them.
  [[nodiscard]] bool is_pid_or_device() const {
    return parse_unsigned(name_).has_value() || name_.starts_with("GPU-") ||
           name_.starts_with("MIG-");
  }

  static int refuse() {
    complain(
        tr("only runs that have finished and logs are explained so far, not what runs now: "
           "`berth explain RUN`, `berth explain --log FILE`"));
    return exit_code::usage;
  }

  int answer(Context& context, const Explained& what, const Findings& findings) const {
    print(json_
              ? explanation_json(what, findings)
              : render_explanation(what, findings, context.clock().moment(), context.out_uncut()));
    const bool well =
        what.run != nullptr && what.run->end && what.run->end->known && !has_failed(*what.run);
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
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_explain() { return std::make_unique<ExplainVerb>(); }

}  // namespace berth
