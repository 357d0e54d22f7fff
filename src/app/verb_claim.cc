// `berth claim PID`: takes a job of one's own, started by hand, into the ledger. This process stays
// as what holds the lease, and gives it back when that job ends.

#include <fmt/ranges.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "app/detached_wait.h"
#include "app/live.h"
#include "app/past_runs.h"
#include "app/run_options.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/sentence.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "run/adopted_run.h"
#include "run/cap.h"
#include "run/inside.h"
#include "run/job_by_hand.h"
#include "run/run_manifest.h"
#include "run/tree.h"

namespace berth {

namespace {

class ClaimVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.required_word("pid", pid_, "the number of a process of yours that computes", "PID");
    options.filled_value("--memory", memory_, "a share of each of its devices, not all of it",
                         "SIZE");
    options.filled_value("--name", name_, "what to call the run", "NAME");
    options.flag("-q,--quiet", quiet_, "say nothing but what went wrong");
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  [[nodiscard]] std::string notes() const override {
    return std::string(
        tr("It prints the name of a run. The lease is for the devices that the process and its "
           "children compute on. It counts in your quota, and ends with that process."));
  }

  int run(Context& context, const std::vector<std::string>&) override {
    const auto code =
        stand_before([&](const LetGo& let_go) { return claim_and_keep(context, let_go); });
    return code ? *code : report(code.error(), usage_code());
  }

 private:
  int refused(const Error& why) const {
    return report(Error(why).because(sentence("claim")), usage_code());
  }

  /// What it asks for: exactly those devices.
  Result<JobSpec> job_for(const std::vector<const Device*>& devices, const Claim& claim) const {
    JobSpec job;
    job.request.devices = static_cast<int>(devices.size());
    for (const Device* device : devices) job.request.only.push_back({device->id.text()});
    job.request.allow_failed = true;  // it computes there already
    job.command = command_of(claim.job->pid);
    for (const auto& [key, text] : {std::pair("memory", memory_), std::pair("name", name_)}) {
      if (text.empty()) continue;
      const auto parsed = find_job_key(key)->parse(text, job);
      if (!parsed) return std::unexpected(Error(parsed.error()).at("--" + std::string(key)));
    }
    return job;
  }

  int claim_and_keep(Context& context, const LetGo& let_go) {
    auto found = find_job_by_hand(pid_);
    if (!found) return refused(found.error());
    auto opened = context.open_ledger();
    if (!opened) return refused(opened.error());
    Ledger ledger = *std::move(opened);
    auto view = ledger.read();
    if (!view) return refused(view.error());
    std::erase_if(view->claims, [](const Claim& claim) { return claim.uid != ::geteuid(); });
    if (const Claim* other = lease_of(found->claim.job->pid, view->claims)) {
      return refused(Error(ErrorCode::busy, "process {} is of run {}, which has a lease already",
                           found->claim.job->pid, printable(other->run)));
    }
    const auto seen = context.look_without_claims(Depth::placement);
    if (!seen) return refused(seen.error());
    const auto devices = devices_of_job(found->claim.job->pid, *seen);
    if (devices.empty()) {
      return refused(Error(ErrorCode::not_found,
                           "neither process {} nor what it started computes on a device now",
                           found->claim.job->pid));
    }
    auto job = job_for(devices, found->claim);
    if (!job) return refused(job.error());
    RunOptions options{.job = *std::move(job)};
    options.environment = context.environment();
    options.working_directory =
        read_link(fmt::format("/proc/{}/cwd", found->claim.job->pid)).value_or("");
    options.state_directory = place_of_runs(context).value_or("");
    const RunServices services = services_of_runs(context, &ledger);
    Manifest manifest = begin_manifest(options, services);
    manifest.job = found->claim.job;
    auto got = take(context, ledger, *found, options, manifest);
    if (!got) return refused(got.error());
    if (const auto* not_got = std::get_if<NotAcquired>(&*got)) return tell_refusal(*not_got);
    return keep(std::get<Acquired>(*got), ledger, *found, std::move(options), services,
                std::move(manifest), let_go);
  }

  Result<std::variant<Acquired, NotAcquired>> take(Context& context, Ledger& ledger,
                                                   const JobByHand& found,
                                                   const RunOptions& options,
                                                   Manifest& manifest) const {
    auto cap = cap_of_running_program(options.job);
    if (!cap) return std::unexpected(std::move(cap).error());
    manifest.cap = *std::move(cap);
    AcquireOptions wanted{.request = options.job.request};
    set_claim_terms(manifest, options.job, wanted);
    wanted.policy = [&] { return context.policy(); };
    wanted.wait = std::chrono::milliseconds(0);
    wanted.interrupted = [&] { return wait_readable({found.life.get()}, Duration(0)).front(); };
    // What it has on its devices is no stranger's: it is what the lease is for.
    const TakeSnapshot look = [&]() -> Result<Snapshot> {
      auto snapshot = context.look_without_claims(Depth::placement);
      if (!snapshot) return snapshot;
      return without_run_of(found.claim, *std::move(snapshot));
    };
    return acquire(ledger, look, context.clock(), wanted);
  }

  [[nodiscard]] int tell_refusal(const NotAcquired& refusal) const {
    std::string reasons;
    for (const Refusal& one : refusal.placement.refused) {
      if (one.rule == Rule::not_listed) continue;
      const std::string device = one.index ? std::to_string(*one.index) : one.device.text();
      reasons += (reasons.empty() ? "" : std::string(tr("; "))) +
                 trf("GPU {}: {}", device, one.text.shown());
    }
    complain(trf("claim: its devices cannot be leased to it: {}", printable(reasons)));
    return exit_code::no_device;
  }

  /// Until the job ends.
  int keep(Acquired& got, const Ledger& ledger, const JobByHand& found, RunOptions options,
           const RunServices& services, Manifest manifest, const LetGo& let_go) {
    note_given(got, manifest);
    const std::string id = manifest.id;
    const auto described = got.lease.describe({.keeper = own_process_id(), .job = manifest.job});
    auto record = described ? AdoptedRun::begin(std::move(options), services, std::move(manifest))
                            : Result<AdoptedRun>(std::unexpected(described.error()));
    const auto told =
        record ? write_all(STDOUT_FILENO, id + "\n") : std::unexpected(record.error());
    if (!told) {
      (void)got.lease.end(ledger);
      if (record) record->end(AdoptedRun::End::gave_back);
      return refused(told.error());
    }
    if (!quiet_) {
      say_simulated(services.simulated);
      complain(trf("process {} has a lease as run {} now; it ends with the process",
                   found.claim.job->pid, id));
    }
    std::error_code ignored;
    std::filesystem::current_path("/", ignored);  // so that no mount is kept busy
    let_go("");
    outlive(SIGPIPE);
    outlive(SIGHUP);
    record->start_sampler([&] { got.lease.let_go(); });
    while (true) {
      const auto ready =
          wait_readable({found.life.get(), record->descriptor()}, record->patience());
      if (ready[0]) break;
      record->go_on();
    }
    // The lease goes first: who is told that it has ended finds the device free.
    (void)got.lease.end(ledger);
    record->end(AdoptedRun::End::unknown);
    return exit_code::ok;
  }

  std::string pid_;
  std::string memory_;
  std::string name_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_claim() { return std::make_unique<ClaimVerb>(); }

}  // namespace berth
