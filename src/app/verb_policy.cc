// `berth policy show`, `berth policy test USER -- REQUEST`: the machine's rules in plain words, and
// what they would say to somebody.

#include "app/run_options.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/user_name.h"
#include "view/policy_text.h"

namespace berth {

namespace {

class PolicyVerb final : public Verb {
 public:
  void declare(Options&) override {}
  [[nodiscard]] bool takes_command() const override { return true; }
  [[nodiscard]] bool takes_words_before_dashes() const override { return true; }
  [[nodiscard]] std::string words_in_usage() const override {
    return "[show | test USER -- REQUEST ...]";
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    const PolicyPlaces places = context.policy_places();
    const auto policy = read_policy(places);
    if (!policy) return report(policy.error(), exit_code::berth_failed);
    if (rest.empty() || (rest.size() == 1 && rest[0] == "show")) {
      say_remarks(context, *policy);
      print(render_policy(*policy, context.out()));
      return exit_code::ok;
    }
    if (rest.size() >= 2 && rest[0] == "test") {
      const std::vector<std::string> request(rest.begin() + 2, rest.end());
      if (auto taken = request_.add(request); !taken) return report(taken.error(), usage_code());
      return test(context, *policy, rest[1], places);
    }
    complain(tr("policy: write `berth policy show` or `berth policy test USER -- -n 2`"));
    return exit_code::usage;
  }

 private:
  int test(Context& context, Policy policy, const std::string& name, const PolicyPlaces& places) {
    const auto uid = local_uid_of(name, places.passwd);
    if (!uid) {
      complain(
          trf("policy: this machine's /etc/passwd has no user {}; write the number, as rules "
              "for somebody of a directory service do",
              printable(name)));
      return exit_code::failed;
    }
    const auto job = request_.job(context, *uid);
    if (!job) return report(job.error(), exit_code::usage);
    const PolicyUser user = policy_user(*uid, places);
    const auto snapshot = context.look(Wanted(Depth::placement).add(Extra::leases));
    if (!snapshot) return report(snapshot.error());
    if (context.ledger_error()) return report(*context.ledger_error());
    policy.local_offset = local_offset_at(snapshot->taken);
    print(render_policy_test(policy, *uid, user, *job, *snapshot, context.out()));
    return exit_code::ok;
  }

  RequestOptions request_;
};

}  // namespace

std::unique_ptr<Verb> make_policy() { return std::make_unique<PolicyVerb>(); }

}  // namespace berth
