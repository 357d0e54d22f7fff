// `berth reap`: tells the owners of idle leases, and ends those leases, as /etc's policy says and
// not otherwise. Without --act it says what it would do.

#include <unistd.h>

#include "app/history_options.h"
#include "app/past_runs.h"
#include "app/server_paths.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "config/config_files.h"
#include "config/policy_file.h"
#include "place/reap.h"
#include "serve/user_acts.h"
#include "snapshot/device_name.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

std::vector<IdleLease> measured_leases(const std::vector<IdleRow>& rows, const Snapshot& snapshot) {
  std::vector<IdleLease> idle;
  for (const Claim& claim : snapshot.claims) {
    std::optional<WallTime> since;
    std::size_t devices = 0;
    for (const IdleRow& row : rows) {
      const bool is_its = row.kind == IdleKind::lease && row.lease == claim.id;
      if (!is_its || row.sure != IdleSure::measured || !row.since) continue;
      ++devices;
      since = std::max(since.value_or(*row.since), *row.since);
    }
    // One busy device of several is work.
    if (since && devices == claim.devices.size()) idle.push_back({claim, *since});
  }
  return idle;
}

class ReapVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.flag("--act", acts_, "do it (root); without it only what would be done is said");
  }

  int run(Context& context, const std::vector<std::string>&) override {
    const PolicyPlaces places = context.policy_places();
    if (acts_ && ::geteuid() != places.owner) {
      complain(tr("reap: --act takes root; without it, it says what it would do"));
      return exit_code::failed;
    }
    if (context.replay()) {
      complain(tr("reap: a recording has nobody to tell and nothing to end"));
      return exit_code::failed;
    }
    const auto policy = context.policy();
    if (!policy) return report(policy.error(), exit_code::berth_failed);
    if (!*policy) {
      print(std::string(tr("There is no policy, and nothing is done without one.")) + "\n");
      return exit_code::ok;
    }
    if (const auto remark = remark_on_notify(**policy)) complain(remark->shown());
    const auto snapshot = context.look(Depth::everything, Relations::all);
    if (!snapshot) return report(snapshot.error());
    if (context.ledger_error()) return report(*context.ledger_error());
    const IdleEvidence evidence = idle_evidence(context, *snapshot);
    if (!evidence.why_none.empty()) complain(evidence.why_none.shown());
    const auto idle = measured_leases(idle_rows(*snapshot, evidence, policy->get()), *snapshot);
    const auto text = read_config_file(places.told, places.owner);
    auto told = text ? told_in(*text) : std::map<std::string, WallTime>();
    int code = exit_code::ok;
    const auto steps = plan_reap(idle, **policy, told, snapshot->taken);
    for (const ReapStep& step : steps) {
      code = std::max(code, take(context, **policy, step, *snapshot, told));
    }
    if (steps.empty()) print(std::string(tr("No lease is measured as idle.")) + "\n");
    std::erase_if(told, [&](const auto& one) {
      return std::ranges::find(snapshot->claims, one.first, &Claim::id) == snapshot->claims.end();
    });
    if (!acts_ || (told.empty() && !text)) return code;
    const auto kept = put_in_place(told_text(told), places.told);
    return kept ? code : report(kept.error());
  }

 private:
  void say(const ReapStep& step, const std::string& what) const {
    const Claim& claim = step.lease.claim;
    print(printable(trf("{}, held by {}, nothing computed for {}: {}",
                        claim.run.empty() ? claim.id : claim.run, claim.user,
                        short_duration(std::chrono::milliseconds(now_ - step.lease.since.unix_ms)),
                        what)) +
          "\n");
  }

  int take(const Context& context, const Policy& policy, const ReapStep& step,
           const Snapshot& snapshot, std::map<std::string, WallTime>& told) {
    now_ = snapshot.taken.unix_ms;
    switch (step.act) {
      case ReapAct::leave:
        say(step, std::string(tr("left as it is")));
        return exit_code::ok;
      case ReapAct::untold:
        say(step, std::string(tr("left as it is: the policy's reap.notify does not say how its "
                                 "owner is told")));
        return exit_code::ok;
      case ReapAct::wait:
        say(step, trf("its owner was told; it is ended in {} if it stays so",
                      short_duration(std::chrono::milliseconds(step.ends->unix_ms - now_))));
        return exit_code::ok;
      case ReapAct::tell:
        return tell(context, policy, step, snapshot, told);
      case ReapAct::end:
        return end(context, step);
    }
    return exit_code::ok;
  }

  int tell(const Context& context, const Policy& policy, const ReapStep& step,
           const Snapshot& snapshot, std::map<std::string, WallTime>& told) const {
    if (!acts_) {
      say(step, std::string(tr("its owner would be told")));
      return exit_code::ok;
    }
    const Claim& claim = step.lease.claim;
    const std::string devices = joined(claim.devices, ",", [&](const ClaimedDevice& part) {
      const Device* device = find_device(part.device, snapshot);
      return device != nullptr ? index_or_id(*device) : part.device.text();
    });
    const auto seconds = [](WallTime at) { return std::to_string(at.unix_ms / 1000); };
    const std::string ends = step.ends ? seconds(*step.ends) : "";
    const serve::AlertCommand command{
        .command = policy.notify,
        .environment = {"PATH=" + std::string(default_search_path), "LANG=C.UTF-8",
                        "BERTH_USER=" + claim.user, "BERTH_RUN=" + printable(claim.run),
                        "BERTH_DEVICES=" + devices, "BERTH_IDLE_SINCE=" + seconds(step.lease.since),
                        "BERTH_ENDS=" + ends},
        .search_path = default_search_path,
        .input = "Run " + printable(claim.run) + " of " + claim.user + " holds GPU " + devices +
                 " and has computed nothing for " +
                 short_duration(std::chrono::milliseconds(now_ - step.lease.since.unix_ms)) +
                 ".\n"};
    const serve::UserActs acts(place_of_runs(context));
    if (const auto ran = acts.tell(command, claim.uid); !ran) {
      say(step,
          trf("its owner could not be told, and nothing else is done: {}", ran.error().shown()));
      return exit_code::failed;
    }
    told[claim.id] = snapshot.taken;
    say(step, std::string(tr("its owner was told now")));
    return exit_code::ok;
  }

  int end(const Context& context, const ReapStep& step) const {
    if (!acts_) {
      say(step, std::string(tr("it would be ended")));
      return exit_code::ok;
    }
    const Claim& claim = step.lease.claim;
    const serve::UserActs acts(place_of_runs(context));
    const auto ended = acts.release(claim, claim.uid);
    say(step, ended ? std::string(tr("it was ended"))
                    : trf("it could not be ended: {}", ended.error().shown()));
    return ended ? exit_code::ok : exit_code::failed;
  }

  bool acts_ = false;
  std::int64_t now_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_reap() { return std::make_unique<ReapVerb>(); }

}  // namespace berth
