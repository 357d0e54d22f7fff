#include "host_environment/gpu_proof.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "compute/cuda_api.h"

namespace berth {

namespace {

using compute::ProofEnd;
using compute::ProofOf;
using compute::ProofStep;

/// "step<TAB>what<TAB>end<TAB>per second or empty<TAB>peer<TAB>detail".
std::string line_of(const ProofStep& step) {
  return fmt::format("step\t{}\t{}\t{}\t{}\t{}\n", name_of(step.what), name_of(step.end),
                     step.per_second ? fmt::format("{}", *step.per_second) : "",
                     printable(step.peer), printable(step.detail));
}

void tell(const ProofStep& step) { (void)write_all(1, line_of(step)); }

using Opened = Result<std::unique_ptr<compute::Device>>;

/// In the child.
int prove_one(const GpuProofQuestion& question) {
  tell({.what = ProofOf::opening, .end = ProofEnd::unfinished});
  const auto api = compute::load_cuda_to_compute(question.library);
  const auto failed = [](const Error& error) {
    tell({.what = ProofOf::opening, .end = ProofEnd::failed, .detail = error.message()});
    return 0;
  };
  if (!api) return failed(api.error());
  const Opened device = compute::make_cuda(*api, compute::bare_uuid(question.uuid));
  if (!device) return failed(device.error());
  tell({.what = ProofOf::opening, .detail = (*device)->name()});
  SystemClock clock;
  const auto cpu = compute::make_cpu(question.cpu_threads);
  if (!prove(**device, *cpu, clock, {}, tell)) return 0;
  for (const auto& [uuid, called] : question.peers) {
    tell({.what = ProofOf::copy_to_peer, .end = ProofEnd::unfinished, .peer = called});
    const Opened peer = compute::make_cuda(*api, compute::bare_uuid(uuid));
    if (!peer) {
      tell({.what = ProofOf::copy_to_peer,
            .end = ProofEnd::failed,
            .detail = peer.error().message(),
            .peer = called});
      return 0;
    }
    if (!prove_peer(**device, **peer, called, clock, {}, tell)) return 0;
  }
  return 0;
}

template <class Named>
std::optional<Named> named(std::string_view word, int count) {
  for (int i = 0; i < count; ++i) {
    if (name_of(static_cast<Named>(i)) == word) return static_cast<Named>(i);
  }
  return std::nullopt;
}

std::optional<ProofStep> parse_step(std::string_view line) {
  const auto parts = split(line, '\t');
  if (parts.size() != 6 || parts[0] != "step") return std::nullopt;
  const auto what = named<ProofOf>(parts[1], static_cast<int>(ProofOf::closing) + 1);
  const auto end = named<ProofEnd>(parts[2], static_cast<int>(ProofEnd::unfinished) + 1);
  if (!what || !end) return std::nullopt;
  ProofStep step{
      .what = *what, .end = *end, .detail = std::string(parts[5]), .peer = std::string(parts[4])};
  if (!parts[3].empty()) step.per_second = std::strtod(std::string(parts[3]).c_str(), nullptr);
  return step;
}

}  // namespace

std::vector<ProofStep> parse_proof(std::string_view text, std::string_view bad_end) {
  std::vector<ProofStep> steps;
  for (const std::string_view line : split(text, '\n')) {
    auto step = parse_step(line);
    if (!step) continue;
    // Told twice: when it began and when it was done.
    if (!steps.empty() && steps.back().end == ProofEnd::unfinished) steps.pop_back();
    steps.push_back(std::move(*step));
  }
  if (steps.empty()) steps.push_back({.end = ProofEnd::unfinished});
  if (steps.back().end == ProofEnd::unfinished) {
    steps.back().detail = bad_end.empty() ? "its process said nothing more" : bad_end;
  } else if (!bad_end.empty()) {
    steps.push_back(
        {.what = ProofOf::closing, .end = ProofEnd::unfinished, .detail = std::string(bad_end)});
  }
  return steps;
}

GpuProof prove_gpu(const GpuProofQuestion& question, Clock& clock) {
  GpuProof test{.device = question.device, .cpu_threads = question.cpu_threads};
  const auto child = ask_child([&] { return prove_one(question); }, clock, question.patience);
  if (!child) {
    test.steps = {{.end = ProofEnd::failed, .detail = child.error().message()}};
    return test;
  }
  const auto patience = std::chrono::duration_cast<std::chrono::seconds>(question.patience).count();
  test.steps = parse_proof(
      child->out, !child->exit ? fmt::format("no answer within {} s", patience)
                  : child->exit->signal != 0
                      ? fmt::format("its process was ended by signal {}", child->exit->signal)
                  : child->exit->code != 0
                      ? fmt::format("its process ended with {}", child->exit->code)
                      : "");
  return test;
}

}  // namespace berth
