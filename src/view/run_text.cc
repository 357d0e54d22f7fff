#include "view/run_text.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "run/isolate.h"
#include "view/placement_text.h"
#include "view/values.h"

namespace berth {

std::string held_text(const RunCap& cap) {
  switch (cap.tier) {
    case CapTier::none:
      return std::string(tr("limited by nothing"));
    case CapTier::watchdog:
      return std::string(cap.stops ? tr("limited by the watchdog: it stops the job")
                                   : tr("limited by the watchdog: it warns"));
    case CapTier::shim:
      return std::string(tr("limited by the shim"));
    case CapTier::mps:
      return std::string(tr("limited by MPS"));
    case CapTier::kernel:
      return std::string(tr("limited by the kernel"));
  }
  return {};
}

std::string stronger_tiers_text(const RunCap& cap) {
  std::string text;
  for (const auto& [tier, why] : cap.not_held_by) {
    text += (text.empty() ? "" : std::string(tr("; "))) + printable(tier) + std::string(tr(": ")) +
            Sentence(printable(why)).shown();
  }
  return text;
}

std::string said_text(const RunCap& cap) {
  std::string text;
  for (const Sentence& one : cap.said) {
    text += (text.empty() ? "" : std::string(tr("; "))) + printable(one.shown());
  }
  return text;
}

namespace {

/// The job's promised share of its devices, where they are shared, and what holds it to that.
std::string promise_text(const std::vector<Choice>& devices, const std::optional<RunCap>& cap) {
  if (devices.empty() || !devices.front().promised || !cap) return "";
  std::string sizes;
  for (const Choice& choice : devices) {
    const std::string size = choice.promised ? bytes_text(*choice.promised) : std::string();
    // One size for all of them is said once.
    if (size != sizes) sizes += (sizes.empty() ? "" : ", ") + size;
  }
  return std::string(tr("; ")) + sizes + std::string(tr(", ")) + held_text(*cap);
}

/// A command of the tool by which the container gets the run's devices.
std::string corrected_form(std::string_view tool) {
  return "berth run -- " + std::string(tool) + " run …";
}

std::string sentence_of(const ScriptWarning& warning) {
  using What = ScriptWarning::What;
  const std::string script = printable(warning.script);
  const std::string within = script.empty() ? "" : script + ": ";
  const std::string by = printable(warning.by);
  switch (warning.what) {
    case What::script_sets_devices:
      return trf(
          "{} sets the visible devices itself in line {} ({}). It may use other devices than those "
          "it is given: remove that line",
          script, warning.line.number, warning.line.text);
    case What::command_sets_devices:
      return trf(
          "the command sets the visible devices itself ({}). It may use other devices than those "
          "it "
          "is given: leave that out",
          by);
    case What::container_started:
      return within + trf("{}: the container's GPUs are chosen by that, not by this run. The lease "
                          "does not last as long as the container. Start it by itself, and berth "
                          "gives it its GPUs: {}",
                          by, corrected_form(warning.tool));
    case What::container_entered:
      return within +
             trf("{}: such a container has the GPUs that were chosen for it elsewhere, not those "
                 "of this run. This run's variables do not reach into it. Start it by: {}",
                 by, corrected_form(warning.tool));
    case What::character_refused:
      return trf(
          "{} has {} in the code of line {}: Python ends with a SyntaxError there; type it as "
          "plain ASCII",
          script, warning.line.text, warning.line.number);
  }
  return {};
}

class Sentences {
 public:
  void add(const RunRemark& remark) { all_.push_back(remark.text.shown()); }
  void add(const ScriptWarning& warning) { all_.push_back(sentence_of(warning)); }

  void add(const RunUnrecorded& run) {
    all_.push_back(
        trf("this run is not recorded: {}; the job runs all the same", printable(run.why.shown())));
    if (run.detached) {
      all_.push_back(trf("`berth stop {}` ends it and `berth wait {}` waits for it all the same",
                         run.id, run.id));
    }
    if (!run.is_noted_as_last) {
      all_.emplace_back(
          tr("nor can it be noted that this run was the last: `last` goes on to mean an earlier "
             "one"));
    }
  }

  void add(const KeeperKilled&) {
    all_.emplace_back(
        tr("the keeper of this run was killed: its record ends here. The devices stay its own as "
           "long as a process of the job lives"));
  }

  void add(const StartingAgain& start) {
    add_start(start);
    if (start.is_input_whole) return;
    all_.emplace_back(
        tr("its input comes through a pipe: what the first start has read, the next one does not "
           "get"));
  }

  void add_start(const StartingAgain& start) {
    if (start.memory && start.memory->share) {
      all_.push_back(
          trf("run {} died for want of the GPU's memory. The job is started again with {} on the "
              "emptiest device ({} more after that)",
              start.ended, short_size(*start.memory->share), start.starts_left));
      return;
    }
    if (start.memory) {
      all_.push_back(
          trf("run {} died for want of the GPU's memory. The job is started again on a whole "
              "device ({} more after that)",
              start.ended, start.starts_left));
      return;
    }
    all_.push_back(
        trf("run {} ended badly after its device went wrong: starting the job again on "
            "another ({} more after that)",
            start.ended, start.starts_left));
  }

  void add(const ContainerRunsOn& news) {
    all_.push_back(
        news.was_killed
            ? trf("the container's client was killed, and container {} lives on: run {} goes on "
                  "and keeps its devices. `berth stop {}` ends it",
                  news.container.substr(0, 12), news.id, news.id)
            : trf("container {} lives on: run {} goes on and keeps its devices. `berth logs {}` "
                  "shows its output, `berth wait {}` waits for it, `berth stop {}` ends it",
                  news.container.substr(0, 12), news.id, news.id, news.id, news.id));
  }

  std::vector<std::string> all() && { return std::move(all_); }

 private:
  std::vector<std::string> all_;
};

/// The largest device's memory, if a device was refused because it is too small.
std::optional<Bytes> largest_too_small(const NotAcquired& refusal) {
  const bool is_any = std::ranges::any_of(refusal.placement.refused, [](const Refusal& one) {
    return one.rule == Rule::memory && !one.may_change;
  });
  std::optional<Bytes> largest;
  for (const Device& device : refusal.snapshot.devices) {
    const auto& total = device.memory_total.get();
    if (is_any && total && (!largest || *total > *largest)) largest = *total;
  }
  return largest;
}

std::string why_never_possible(const NotAcquired& refusal) {
  if (why_devices_are_unknown(refusal.snapshot) != nullptr) {
    return std::string(tr("nothing can be given while the driver does not say what there is"));
  }
  if (refusal.placement.variable_hides_all) {
    return trf("{} hides every GPU: none can be given",
               joined(refusal.placement.hiding_variables, ", "));
  }
  if (!refusal.placement.kinds_to_choose.empty()) {
    return trf("there are several kinds of devices here ({}): say which, with --kind or --only",
               joined(refusal.placement.kinds_to_choose, ", "));
  }
  if (refusal.placement.hidden_by_variable > 0) {
    return trf("the devices in {} can never satisfy the request, not even when all are free",
               joined(refusal.placement.hiding_variables, ", "));
  }
  if (is_forbidden_by_policy(refusal.placement)) {
    return std::string(tr("the policy of this machine does not allow this request"));
  }
  if (const auto largest = largest_too_small(refusal)) {
    return trf("this machine has too few GPUs with so much memory: the largest has {} in all",
               bytes_text(*largest));
  }
  if (ones_to_wait_for(refusal.placement) > 0) {
    return std::string(tr("this machine has too few GPUs for this request"));
  }
  return std::string(tr("no GPU of this machine is what this request asks for"));
}

}  // namespace

std::vector<std::string> sentences_of(const RunNews& news) {
  Sentences sentences;
  std::visit([&](const auto& one) { sentences.add(one); }, news);
  return std::move(sentences).all();
}

std::string sentence_of(const RunWaits& waits) {
  if (waits.recorded) {
    return trf(
        "run {} waits for a device, also when this terminal closes. `berth wait {}` waits for it, "
        "`berth stop {}` takes it out of the queue",
        waits.id, waits.id, waits.id);
  }
  return trf(
      "process {} waits for a device, also when this terminal closes; `kill {}` takes "
      "it out of the queue",
      ::getpid(), ::getpid());
}

namespace {
bool would_have_done(const NotAcquired& refusal, const JobSpec& job) {
  const Placement& placement = refusal.placement;
  return placement.satisfied() || std::ssize(placement.available) >= job.request.devices;
}
}  // namespace

std::string advice_after(const NotAcquired& refusal, const JobSpec& job) {
  switch (refusal.why) {
    case NotAcquired::Why::none_free:
      if (silent_ones(refusal.placement, refusal.snapshot) == ones_to_wait_for(refusal.placement)) {
        return std::string(
            tr("nothing can be given while the driver does not answer; `berth run --wait` looks "
               "again, `berth run --or-cpu` runs it on the CPU"));
      }
      if (is_held_by_policy(refusal.placement)) {
        return std::string(
            tr("the policy gives this job no device now; `berth run --wait` waits in the queue, "
               "`berth run --or-cpu` runs it on the CPU"));
      }
      return std::string(
          tr("no device is free for this job; `berth run --wait` waits in the queue, `berth run "
             "--or-cpu` runs it on the CPU"));
    case NotAcquired::Why::never_possible:
      return why_never_possible(refusal);
    case NotAcquired::Why::timed_out:
      if (refusal.hindered_by && would_have_done(refusal, job)) {
        return trf("no device could be given within {}: {}",
                   short_duration(job.wait.value_or(std::chrono::milliseconds(0))),
                   refusal.hindered_by->shown());
      }
      return trf("no device came within {}",
                 short_duration(job.wait.value_or(std::chrono::milliseconds(0))));
    case NotAcquired::Why::interrupted:
      return {};
  }
  return {};
}

std::string render_started(const RunStarted& started, const std::optional<std::string>& simulated) {
  std::string where;
  if (started.cpu_only) where = tr("on the CPU, without a device");
  for (const Choice& choice : started.devices) {
    where += where.empty() ? std::string(tr("on GPU ")) : ", ";
    where += choice.index && !choice.device.text().starts_with("MIG-")
                 ? std::to_string(*choice.index)
                 : printable(choice.device.text());
  }
  if (started.devices.size() == 1 && !started.devices.front().reason.empty()) {
    where += " (" + started.devices.front().reason.shown() + ")";
  }
  where += promise_text(started.devices, started.cap);
  std::string line = trf("berth: run {} {}", started.id, where);
  if (started.waited >= std::chrono::seconds(1)) {
    line += trf(", after waiting {}", short_duration(started.waited));
  }
  if (simulated) line += trf("  SIMULATED: {}", printable(*simulated));
  return line + "\n";
}

std::string sentence_of_container(const std::string& engine,
                                  const std::vector<std::string>& words) {
  return trf("put into {} run: {}", engine, printable(shell_joined(words)));
}

std::string sentence_of_isolation(const RunStarted& started, bool with_all) {
  const auto& costs = started.isolation_costs;
  const bool is_scope = started.isolated_by == by_systemd;
  std::string said =
      trf("isolated by {}: the job can open no device file of a card that is not its own",
          is_scope ? "systemd" : "Landlock");
  for (const Sentence& cost : costs) {
    if (with_all || &cost != &costs.back()) said += std::string(tr("; ")) + cost.shown();
  }
  return said;
}

}  // namespace berth
