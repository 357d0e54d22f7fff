// `berth reserve`: devices held for a while without a job, by a run that only sleeps. `berth exec`:
// a command on devices that one holds. `berth extend`: more time. The clock, a reboot, `berth stop`
// or `berth release` ends it. `berth release` also takes back what is to begin later (--at).

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "app/planned_start.h"
#include "app/records.h"
#include "app/run_options.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/typed_time.h"
#include "run/extend.h"
#include "view/values.h"

namespace berth {

namespace {

/// Becomes that command of ours. Returns where that fails.
int become(const Context& context, std::vector<std::string> words,
           const std::vector<std::string>& environment) {
  const std::vector<std::string> globals = context.typed_globals();
  words.insert(words.begin(), globals.begin(), globals.end());
  words.insert(words.begin(), own_program().value_or(link_to_program));
  return report(execute(words, environment, default_search_path), exit_code::berth_failed);
}

/// How long devices are to be held. invalid: for no time, or for longer than anybody means.
Result<std::chrono::milliseconds> time_to_hold(const std::string& text) {
  constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);
  const auto time = parse_duration(text);
  if (time && *time >= std::chrono::seconds(1) && *time <= longest) {
    const auto sure = parse_duration_with_unit(text);
    if (!sure) return fail(ErrorCode::invalid, "--for: {}", sure.error().said());
    return sure;
  }
  return fail(ErrorCode::invalid,
              "--for {}: devices are reserved for 1s at least and for 365d at most; write for "
              "example --for 4h",
              printable(text));
}

class ReserveVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.filled_value("--for", time_, "how long: 4h", "TIME");
    options.filled_value("--at", at_, "begin then: 18:00, 2h from now, or a date", "TIME");
    options.hidden_value("--begin", begin_);
    options.hidden_value("--limit", limit_);
    options.hidden_flag("--hold", hold_);  // what a reservation runs
    request_.declare(options, MayWait::yes);
    request_.declare_part(options, JobPart::label);
  }
  [[nodiscard]] bool decides_by_config() const override { return true; }
  [[nodiscard]] std::vector<OptionalValue> optional_values() const override {
    return RequestOptions::optional_values();
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  [[nodiscard]] std::string notes() const override {
    return std::string(
        tr("It prints the name of a run: `berth exec RUN -- COMMAND` uses what it holds, `berth "
           "stop RUN` ends it."));
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (hold_) return hold();
    if (!begin_.empty()) return start_planned(context, begin_);
    if (!limit_.empty()) return see_to_limit(context, limit_);
    if (time_.empty() || !rest.empty()) {
      complain(tr("reserve: write for example: berth reserve -n 2 --for 4h"));
      return usage_code();
    }
    if (const auto time = time_to_hold(time_); !time) {
      return report(Error(time.error()).because(sentence("reserve")), usage_code());
    }
    const auto job = request_.job(context);
    if (!job) return report(job.error(), usage_code());
    if (job->where != RunWhere::gpu) {
      complain(tr("reserve: with --cpu or --or-cpu there may be nothing to hold: leave it out"));
      return usage_code();
    }
    if (!at_.empty() && !request_.dry_run()) return plan(context);
    if (!at_.empty()) {
      const auto at = parse_start(at_, context.clock().wall_now());
      const auto able = at ? can_plan(context) : std::unexpected(at.error());
      if (!able) return report(Error(able.error()).because(sentence("reserve")), usage_code());
      complain(
          trf("it would begin at {}; as the devices are now:", date_time_text(*at, context.err())));
    }
    // What it says of its start or its refusal is the reservation's.
    std::vector<std::string> words = {"run", "--detach"};
    for (std::string& word : request_.words()) words.push_back(std::move(word));
    // The holder has nothing to save: what warns others of the end is nothing to it.
    for (const char* word : {"--warn-signal=USR1", "--warn-ahead=1s"}) words.emplace_back(word);
    words.push_back("--time=" + time_);
    if (request_.dry_run()) words.emplace_back("--dry-run");
    for (const std::string& word : {std::string("--"), own_program().value_or(link_to_program)})
      words.push_back(word);
    for (const char* word : {"reserve", "--hold"}) words.emplace_back(word);
    return become(context, std::move(words), context.environment());
  }

 private:
  int plan(Context& context) const {
    const auto failed = [this](const Error& why) {
      return report(Error(why).because(sentence("reserve")), usage_code());
    };
    const auto at = parse_start(at_, context.clock().wall_now());
    if (!at) return failed(at.error());
    const auto lasts = time_to_hold(time_);
    if (!lasts) return failed(lasts.error());
    const auto id =
        plan_reservation(context, {.at = *at, .lasts = *lasts, .words = request_.words()});
    if (!id) return failed(id.error());
    say_simulated(context.sources().simulated);
    print(*id + "\n");
    complain(
        trf("it begins at {} if its devices are free then, else when it is its turn. `berth queue` "
            "shows it, `berth release {}` takes it back",
            date_time_text(*at, context.err()), *id));
    return exit_code::ok;
  }

  /// Until somebody ends it.
  static int hold() {
    std::signal(SIGUSR1, SIG_IGN);
    while (true) ::pause();
  }

  RequestOptions request_;
  std::string time_;
  std::string at_;
  std::string begin_;  // by root's `berth serve`
  std::string limit_;  // likewise
  bool hold_ = false;
};

class ExecVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.filled_value("-n,--devices", devices_, "so many of its devices; by itself all", "N");
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  [[nodiscard]] bool takes_command() const override { return true; }
  [[nodiscard]] bool takes_words_before_dashes() const override { return true; }
  [[nodiscard]] std::string words_in_usage() const override {
    return "RUN " + Verb::words_in_usage();
  }
  [[nodiscard]] std::string notes() const override {
    return std::string(
        tr("RUN is a run or a reservation of yours; last: the lease that you were given last. The "
           "command is a run of its own, `last` for `berth stop`, `wait` and `logs`. It ends when "
           "the time of the lease is over."));
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (rest.size() < 2) {
      complain(tr("exec: write: berth exec RUN -- COMMAND"));
      return usage_code();
    }
    const LedgerView view = context.read_ledger();
    if (context.ledger_error()) return report(*context.ledger_error(), usage_code());
    const auto claim = own_claim(view, ::geteuid(), rest.front());
    if (!claim) return report(Error(claim.error()).because(sentence("exec")), usage_code());
    std::vector<std::string> words = {"run"};
    words.push_back(devices_.empty() ? "--devices=" + std::to_string(claim->devices.size())
                                     : "--devices=" + devices_);
    if (claim->ends) {
      const std::int64_t left = claim->ends->unix_ms - context.clock().wall_now().unix_ms;
      words.push_back("--time=" + std::to_string(std::max<std::int64_t>(left / 1000, 1)) + "s");
    }
    words.emplace_back("--");
    words.insert(words.end(), rest.begin() + 1, rest.end());
    std::vector<std::string> environment = context.environment();
    std::erase_if(environment,
                  [](const std::string& one) { return one.starts_with("BERTH_LEASE="); });
    environment.push_back("BERTH_LEASE=" + claim->id);
    return become(context, std::move(words), environment);
  }

 private:
  std::string devices_;
};

class ReleaseVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.required_word(
        "run", name_, "a reservation of yours; last: the lease that you were given last", "RUN");
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }

  int run(Context& context, const std::vector<std::string>&) override {
    if (name_.empty()) {
      const Error empty(ErrorCode::invalid, "the name of a run is empty (an unset variable?)");
      return report(Error(empty).because(sentence("release")), usage_code());
    }
    const auto released = release_planned(context, name_);
    if (!released)
      return report(Error(released.error()).because(sentence("release")), usage_code());
    if (!*released) return stop(context);
    say_simulated(context.sources().simulated);
    complain(trf("{} does not begin any more", printable(name_)));
    return exit_code::ok;
  }

 private:
  /// A job's run is never ended by this word.
  int stop(Context& context) const {
    std::string name = name_;
    if (name_ == "last") {
      const auto claim = own_claim(context.read_ledger(), ::geteuid(), name_);
      if (!claim) return report(Error(claim.error()).because(sentence("release")), usage_code());
      name = claim->run;
    }
    const auto run = find_run(context, name);
    if (!run) return report(run.error(), usage_code());
    const std::string& id = run->manifest.id;
    if (is_reservation(*run)) return become(context, {"stop", id}, context.environment());
    return report(Error(ErrorCode::invalid,
                        "release: run {} is no reservation; berth stop {} ends a run", id, id),
                  usage_code());
  }
  static bool is_reservation(const RunRecord& run) {
    return is_reservation_command(run.manifest.command);
  }

  std::string name_;
};

class ExtendVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.required_word("run", name_,
                          "a run or a reservation of yours that has a time limit; last: the "
                          "lease that you were given last",
                          "RUN");
    options.filled_value("--for", time_, "how much longer: 2h", "TIME");
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  [[nodiscard]] std::string notes() const override {
    return std::string(
        tr("It counts from the end that it has now. Who waits sees the new end. What was let "
           "in ahead of them is given none that delays them. What `berth exec` began until that "
           "end goes on as well."));
  }

  int run(Context& context, const std::vector<std::string>&) override {
    if (time_.empty()) {
      complain(tr("extend: write for example: berth extend RUN --for 2h"));
      return usage_code();
    }
    if (const auto extended = extend(context); !extended) {
      return report(Error(extended.error()).because(sentence("extend")), usage_code());
    }
    return exit_code::ok;
  }

 private:
  Result<void> extend(Context& context) {
    const auto more = time_to_hold(time_);
    if (!more) return std::unexpected(more.error());
    const auto ledger = context.open_ledger();
    if (!ledger) return std::unexpected(ledger.error());
    const auto extended =
        extend_lease(*ledger, name_, *more, [&] { return context.policy(); }, context.clock());
    if (!extended) return std::unexpected(extended.error());
    const std::int64_t left = extended->ends.unix_ms - context.clock().wall_now().unix_ms;
    say_simulated(context.sources().simulated);
    complain(trf("run {} ends in {} now", printable(extended->run),
                 short_duration(std::chrono::milliseconds(left))));
    return {};
  }

  std::string name_;
  std::string time_;
};

}  // namespace

std::unique_ptr<Verb> make_extend() { return std::make_unique<ExtendVerb>(); }
std::unique_ptr<Verb> make_release() { return std::make_unique<ReleaseVerb>(); }
std::unique_ptr<Verb> make_reserve() { return std::make_unique<ReserveVerb>(); }
std::unique_ptr<Verb> make_exec() { return std::make_unique<ExecVerb>(); }

}  // namespace berth
