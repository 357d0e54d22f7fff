#include "view/gpu_proof_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/tr.h"
#include "diagnose/doctor/gpu_speed.h"
#include "snapshot/questions.h"
#include "view/paint.h"

namespace berth {

namespace {

using compute::ProofEnd;
using compute::ProofOf;
using compute::ProofStep;

std::optional<double> rate_of(const GpuProof& test, ProofOf what) {
  const auto found = std::ranges::find(test.steps, what, &ProofStep::what);
  return found == test.steps.end() ? std::nullopt : found->per_second;
}

/// What a figure is to be held against.
std::string remark(const ProofStep& step, const GpuProof& test, const Device& device) {
  std::string text;
  if (const auto best = doctor::best_rate(step.what, device)) {
    text = trf("{} % of {} at best", static_cast<int>(100 * *step.per_second / *best),
               doctor::rate_text(step.what, *best));
  }
  if (step.what == ProofOf::multiply_cpu) {
    text = trf("{} threads, a simple kernel", test.cpu_threads);
  }
  const auto cpu = rate_of(test, ProofOf::multiply_cpu);
  if (step.what == ProofOf::multiply && cpu) {
    if (!text.empty()) text += ", ";
    text += trf("{:.0f} times the CPU", *step.per_second / *cpu);
  }
  return text;
}

std::string step_line(const ProofStep& step, const GpuProof& test, const Device& device,
                      const Style& style) {
  Line line(style);
  line.add("  ").cell(own(doctor::words_of(step).shown(), style), 38, Align::left);
  if (step.end == ProofEnd::passed && step.per_second) {
    line.cell(doctor::rate_text(step.what, *step.per_second), 13, Align::right);
    const std::string said = remark(step, test, device);
    if (!said.empty()) line.add("  ").add(own(said, style), Paint::dim);
    return line.text();
  }
  if (step.end == ProofEnd::passed) return line.add(outside(step.detail, style)).text();
  const std::string_view word = step.end == ProofEnd::wrong    ? tr("WRONG")
                                : step.end == ProofEnd::failed ? tr("refused")
                                                               : tr("no answer");
  return line.add(own(word, style), Paint::red).add("  ").add(outside(step.detail, style)).text();
}

std::string verdict(const GpuProof& test) {
  if (!test.left_out.empty()) return trf("not tested: {}", tr_composed(test.left_out));
  const bool well = std::ranges::all_of(
      test.steps, [](const ProofStep& step) { return step.end == ProofEnd::passed; });
  return std::string(well ? tr("computes, and every result that was checked was right")
                          : tr("failed its test"));
}

}  // namespace

std::string render_gpu_proofs(const Examined& host, const Style& style) {
  std::string text;
  for (const GpuProof& test : host.gpu_proofs) {
    const Device* device = find_device(test.device, host.snapshot);
    if (device == nullptr) continue;
    text += wrapped("",
                    outside(trf("GPU {}, {}: {}",
                                device->index ? std::to_string(*device->index) : device->id.text(),
                                device->name.get().value_or("?"), verdict(test)),
                            style),
                    2, style, Paint::bold);
    for (const ProofStep& step : test.steps) text += step_line(step, test, *device, style);
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace berth
