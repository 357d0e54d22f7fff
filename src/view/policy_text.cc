#include "view/policy_text.h"

#include "base/text.h"
#include "base/tr.h"
#include "place/placement.h"
#include "run/acquire.h"
#include "view/paint.h"
#include "view/run_text.h"
#include "view/values.h"

namespace berth {

namespace {

std::string line(std::string_view text, const Style& style, int indent) {
  return wrapped(std::string(static_cast<std::size_t>(indent), ' '), own(text, style), indent + 2,
                 style);
}

std::string patterns_text(const std::vector<DevicePattern>& patterns) {
  return joined(patterns, ",", &DevicePattern::text);
}

std::string whom(const PolicyRule& rule) {
  switch (rule.who) {
    case PolicyRule::For::everybody:
      return std::string(tr("Everybody:"));
    case PolicyRule::For::group:
      return trf("Members of the group {}:", printable(rule.name));
    case PolicyRule::For::user:
      return trf("The user {}:", printable(rule.name));
  }
  return {};
}

}  // namespace

std::vector<std::string> sentences_of(const UserRules& rules, const Policy& policy) {
  std::vector<std::string> said;
  if (rules.highest_priority) {
    said.push_back(trf("no job counts as more than {} priority", word_of(*rules.highest_priority)));
  }
  if (rules.devices) {
    said.push_back(trf("only these devices: {}", printable(patterns_text(*rules.devices))));
  }
  if (rules.devices_at_most) {
    said.push_back(*rules.devices_at_most == 1
                       ? std::string(tr("one device at once at most"))
                       : trf("{} devices at once at most", *rules.devices_at_most));
  }
  if (rules.hours_at_most) {
    const std::string most = *rules.hours_at_most == 1
                                 ? std::string(tr("one GPU-hour within 30 days at most"))
                                 : trf("{} GPU-hours within 30 days at most", *rules.hours_at_most);
    said.push_back(policy.hours_used
                       ? most
                       : trf("{}, which cannot be enforced: root's `berth serve` is not "
                             "there to count them",
                             most));
  }
  if (rules.quiet_hours) {
    said.push_back(trf("no job starts between {}", typed(*rules.quiet_hours)));
  }
  if (rules.memory) {
    said.push_back(trf("a job that does not say gets --memory {}", printable(*rules.memory)));
  }
  if (rules.time) {
    said.push_back(trf("a job that does not say gets --time {}", printable(*rules.time)));
  }
  if (rules.prefer) {
    said.push_back(trf("a job that does not say gets --prefer {}", printable(*rules.prefer)));
  }
  if (rules.jobs_per_device) {
    said.push_back(*rules.jobs_per_device == 1
                       ? std::string(tr("no share of a device on which there is a job"))
                       : trf("at most {} jobs share a device", *rules.jobs_per_device));
  }
  if (rules.idle_after) {
    said.push_back(trf("who holds a device counts as idle after {} without computing",
                       short_duration(*rules.idle_after)));
  }
  if (rules.idle_holders == IdleHolders::notify) {
    said.emplace_back(tr("`berth reap` tells who holds a device idle"));
  }
  if (rules.idle_holders == IdleHolders::end) {
    said.push_back(policy.notify.empty()
                       ? std::string(tr("`berth reap` is to end idle leases, and ends none: "
                                        "reap.notify does not say how their owner is told"))
                       : trf("`berth reap` tells who holds a device idle, and ends that {} later",
                             short_duration(policy.notice)));
  }
  return said;
}

std::string render_policy(const Policy& policy, const Style& style) {
  if (policy.path.empty()) {
    return line(tr("No policy: everybody may have every device, in the order of coming; no "
                   "priority is above normal. An administrator writes /etc/berth/berth.toml: "
                   "berth config --install FILE."),
                style, 0);
  }
  std::string text = line(trf("Policy {}", printable(policy.path)), style, 0);
  text +=
      line(trf("A step of priority is worth {} of waiting.", short_duration(policy.priority_step)),
           style, 0);
  if (policy.fair_share.count() > 0) {
    text += line(policy.hours_used
                     ? trf("Who has used the most GPU-hours within 30 days stands {} further back.",
                           short_duration(policy.fair_share))
                     : trf("The user of the most GPU-hours is to stand {} further back, which "
                           "cannot be enforced. Root's `berth serve` is not there to count them.",
                           short_duration(policy.fair_share)),
                 style, 0);
  }
  for (const PolicyRule& rule : policy.rules) {
    text += line(whom(rule), style, 0);
    const auto said = sentences_of(rule.rules, policy);
    for (const std::string& sentence : said) text += line("- " + sentence, style, 2);
    if (said.empty()) text += line(tr("- nothing of their own"), style, 2);
  }
  text += line(tr("A user's own table counts first, then that of the first of their groups, then "
                  "everybody's."),
               style, 0);
  return text + line(tr("berth holds those to it who use berth; who goes round it appears as a "
                        "stranger, and nothing stops him."),
                     style, 0);
}

std::string render_policy_test(const Policy& policy, uid_t uid, const PolicyUser& user,
                               const JobSpec& job, const Snapshot& snapshot, const Style& style) {
  const std::string groups = joined(user.groups, ", ");
  std::string text = simulated_line(snapshot.simulated, style);
  text += line(groups.empty()
                   ? trf("{} ({}), in no group of this machine", printable(user.name), uid)
                   : trf("{} ({}), in the groups {}", printable(user.name), uid, printable(groups)),
               style, 0);
  const UserRules rules = rules_for(policy, uid, user);
  for (const std::string& sentence : sentences_of(rules, policy)) {
    text += line("- " + sentence, style, 2);
  }
  const Priority highest = rules.highest_priority.value_or(policy.highest_by_itself);
  if (job.priority > highest) {
    text +=
        line(trf("--priority {} counts as {}.", word_of(job.priority), word_of(highest)), style, 0);
  }
  if (job.where == RunWhere::cpu) {
    return text + line(tr("It would run on the CPU, which no rule is about."), style, 0);
  }
  Policy of_user = policy;
  of_user.who = [&](uid_t) { return user; };
  const PlaceLimits limits{.policy = &of_user, .uid = uid, .time_limit = job.time_limit};
  const Placement placement = place_newcomer(snapshot, job.request, limits);
  if (placement.satisfied()) {
    const std::string devices = joined(placement.chosen, ",", [](const Choice& choice) {
      return choice.index ? std::to_string(*choice.index) : choice.device.text();
    });
    return text + line(trf("It would start now, on GPU {}.", devices), style, 0);
  }
  if (job.where == RunWhere::gpu_or_cpu) {
    text += line(tr("It would have to wait, or run on the CPU:"), style, 0);
  } else if (placement.possible) {
    text += line(tr("It would have to wait:"), style, 0);
  } else {
    const NotAcquired never{
        .why = NotAcquired::Why::never_possible, .placement = placement, .snapshot = snapshot};
    text += line(trf("It could never start: {}", advice_after(never, job)), style, 0);
  }
  for (const Refusal& refusal : placement.refused) {
    const std::string name = refusal.index ? std::to_string(*refusal.index) : refusal.device.text();
    text += line(trf("- GPU {}: {}", name, refusal.text.shown()), style, 2);
  }
  return text;
}

}  // namespace berth
