#include "app/gpu_proof.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <variant>

#include "app/output.h"
#include "app/progress.h"
#include "app/run_options.h"
#include "base/process.h"
#include "base/tr.h"
#include "host_environment/machine_side.h"
#include "run/acquire.h"
#include "run/gpus_to_prove.h"
#include "snapshot/device_name.h"

namespace berth {

namespace {

/// What the test's CUDA is shown, for as long as this lives: the device and its peer, whatever the
/// caller's own list says (which has been respected before).
class ShownToCuda {
 public:
  ShownToCuda(const std::string& uuids, const Context& context) : was_(context.variable(name)) {
    ::setenv(name, uuids.c_str(), 1);
  }
  ~ShownToCuda() {
    if (was_) {
      ::setenv(name, was_->c_str(), 1);
    } else {
      ::unsetenv(name);
    }
  }
  ShownToCuda(const ShownToCuda&) = delete;
  ShownToCuda& operator=(const ShownToCuda&) = delete;

 private:
  static constexpr auto name = "CUDA_VISIBLE_DEVICES";
  std::optional<std::string> was_;
};

class Tester {
 public:
  Tester(Context& context, bool force)
      : context_(context), force_(force), threads_(own_threads()) {}

  Result<void> open() {
    auto ledger = context_.open_ledger();
    if (!ledger) return std::unexpected(std::move(ledger).error().at("--gpu-test"));
    ledger_.emplace(std::move(*ledger));
    return {};
  }

  /// `next`: to copy to, if it is to be had as well; null: there is none.
  Result<GpuProof> test(const Device& device, const Device* next) {
    auto got = take(device);
    if (!got) return std::unexpected(std::move(got).error());
    if (const auto* why = std::get_if<Refusal>(&*got)) {
      const bool is_taken = is_somebody(why->rule);
      if (!force_ || !is_taken) {
        return GpuProof{.device = device.id, .left_out = why->text, .is_taken = is_taken};
      }
    }
    GpuProofQuestion question{.device = device.id, .uuid = *device.uuid.get()};
    std::string shown_to_cuda = question.uuid;
    // Nobody's card is touched for another one's sake, by --force neither.
    std::optional<Taken> peer;
    if (next != nullptr) {
      auto taken = take(*next);
      if (!taken) return std::unexpected(std::move(taken).error());
      if (std::holds_alternative<Lease>(*taken)) {
        peer.emplace(std::move(*taken));
        question.peers = {{*next->uuid.get(), index_or_id(*next)}};
        shown_to_cuda += "," + *next->uuid.get();
      }
    }
    question.cpu_threads = threads_;
    // For tests: another libcuda.
    if (const auto library = context_.variable("BERTH_CUDA")) question.library = *library;
    const ShownToCuda visible(shown_to_cuda, context_);
    GpuProof test = prove_gpu(question, context_.clock());
    give_back(*got);
    if (peer) give_back(*peer);
    return test;
  }

 private:
  static unsigned own_threads() {
    const auto allowed = gather_limits("").cpus_allowed.get();
    return static_cast<unsigned>(std::clamp<std::uint64_t>(allowed.value_or(1), 1, 64));
  }

  /// The device for ourselves alone, or why not.
  using Taken = std::variant<Lease, Refusal>;
  Result<Taken> take(const Device& device) {
    const auto look = [this] { return context_.look_without_claims(Depth::placement); };
    auto snapshot = look();
    if (!snapshot) return std::unexpected(std::move(snapshot).error());
    auto limits = inherited_limits(context_, *snapshot);
    if (!limits) return std::unexpected(std::move(limits).error());
    AcquireOptions options{.limits = std::move(*limits)};
    options.request.only = {{*device.uuid.get()}};
    // One that is not well is what a test is for.
    options.request.allow_failed = true;
    options.claim.run = "gpu-test";
    options.claim.command = "berth doctor --gpu-test";
    options.wait = std::chrono::milliseconds(0);
    auto answer = acquire(*ledger_, look, context_.clock(), options);
    if (!answer) return std::unexpected(std::move(answer).error());
    if (auto* got = std::get_if<Acquired>(&*answer)) {
      (void)got->lease.describe({.keeper = own_process_id(), .job = own_process_id()});
      return std::move(got->lease);
    }
    for (const Refusal& refusal : std::get<NotAcquired>(*answer).placement.refused) {
      if (refusal.device == device.id) return refusal;
    }
    return Refusal{.device = device.id, .text = sentence("it is not to be had now")};
  }

  void give_back(Taken& taken) {
    if (auto* lease = std::get_if<Lease>(&taken)) (void)lease->end(*ledger_);
  }

  Context& context_;
  bool force_;
  unsigned threads_;
  std::optional<Ledger> ledger_;
};

}  // namespace

Result<std::vector<GpuProof>> prove_gpus(Context& context, const Snapshot& snapshot,
                                         const GpuProofOptions& options) {
  const auto wanted = gpus_to_prove(snapshot, options.devices);
  if (!wanted) return std::unexpected(wanted.error());
  std::vector<GpuProof> tests;
  if (context.sources().simulated || context.replay()) {
    for (const GpuToProve& one : *wanted) {
      tests.push_back(
          {.device = one.device->id,
           .left_out = sentence("it is not of this machine: there is nothing to compute on")});
    }
    return tests;
  }
  Tester tester(context, options.force);
  if (auto opened = tester.open(); !opened) return std::unexpected(std::move(opened).error());
  ProgressBar progress(context, ProgressBar::From::at_once);
  for (const auto& [device, peer] : *wanted) {
    progress.show(
        static_cast<double>(tests.size()) / static_cast<double>(wanted->size()),
        trf("testing GPU {} ({} of {})", index_or_id(*device), tests.size() + 1, wanted->size()));
    auto test = tester.test(*device, peer);
    if (!test) return std::unexpected(std::move(test).error());
    tests.push_back(std::move(*test));
  }
  return tests;
}

}  // namespace berth
