// The words of an OomVerdict.

#include <algorithm>

#include "base/text.h"
#include "diagnose/postmortem/oom_verdict.h"

namespace berth {

namespace {

Finding::Step step(Sentence what, std::string command = "") {
  return {std::move(what), std::move(command)};
}

Finding::Step lower_batch() {
  return step(
      sentence("lower the batch and accumulate gradients to keep its effect, or use mixed "
               "precision or activation checkpointing"));
}

void add_numbers(const OomMessage& message, const OomVerdict& verdict, Finding& finding) {
  finding.evidence.push_back(sentence("it tried to get {} more", short_size(message.tried)));
  if (message.total && message.free) {
    finding.evidence.push_back(sentence("of the device's {} were free: {}",
                                        short_size(*message.total), short_size(*message.free)));
  }
  if (message.allocated && message.unallocated) {
    finding.evidence.push_back(sentence("its tensors had {}; PyTorch held {} more in pieces",
                                        short_size(*message.allocated),
                                        short_size(*message.unallocated)));
  }
  if (verdict.of_others && verdict.of_others->count() > 0) {
    finding.evidence.push_back(sentence("other processes had {}", short_size(*verdict.of_others)));
  }
  if (message.allowed) {
    finding.evidence.push_back(
        sentence("PyTorch was allowed {} by the program", short_size(*message.allowed)));
  }
}

void say_needed(const OomMessage& message, const OomSurroundings& around, Finding& finding) {
  finding.title = sentence("the GPU's memory was used up by the job itself");
  finding.meaning = sentence(
      "It is true need: its own tensors fill the device, and little lies about in pieces.");
  const auto batch = around.batch ? largest_batch(message, *around.batch) : std::nullopt;
  if (batch) {
    finding.steps.push_back(
        step(sentence("a batch of {} cannot fit, one of at most {} may: halve it until it runs",
                      *around.batch, *batch)));
  } else {
    finding.steps.push_back(step(sentence(
        "halve the batch until it runs: how much of the memory grows with it is not told here")));
  }
  finding.steps.push_back(lower_batch());
}

void say_fragmented(const OomMessage& message, Finding& finding) {
  finding.title = sentence("the GPU's memory was there, but in pieces (fragmentation)");
  finding.meaning = sentence(
      "PyTorch held more unused memory than was asked for, and no piece of it was large enough.");
  finding.steps.push_back(
      step(sentence("let PyTorch join its pieces"),
           "export " + (message.setting.empty() ? std::string("PYTORCH_CUDA_ALLOC_CONF="
                                                              "expandable_segments:True")
                                                : message.setting)));
  finding.steps.push_back(step(sentence(
      "give it shapes that repeat (pad to fixed lengths): ever new sizes make the pieces")));
}

void say_neighbour(const OomVerdict& verdict, Finding& finding) {
  finding.title = sentence("the GPU's memory was held by somebody else");
  finding.meaning = sentence("Without the other processes' {} it would have fitted.",
                             short_size(*verdict.of_others));
  finding.steps.push_back(step(sentence("see who else is on the device"), "berth ps"));
  finding.steps.push_back(step(sentence("take a device alone, and wait for one if need be"),
                               "berth run --wait -- python train.py"));
  if (verdict.others_by_difference) {
    finding.doubt = sentence(
        "no other process is named: what others had is what is left of the sums, and memory that "
        "this process holds outside PyTorch would look the same");
  }
}

void say_rest(OomCause cause, Finding& finding) {
  if (cause == OomCause::too_large) {
    finding.title = sentence("one tensor is larger than the whole GPU");
    finding.meaning = sentence(
        "No setting and no empty device helps: mostly a shape went wrong (a product of all with "
        "all, an image or a sequence far too long).");
    finding.steps.push_back(step(sentence("look at the shapes in the line that the trace names")));
    finding.steps.push_back(step(sentence("do it in pieces, or with an operation that does")));
  } else if (cause == OomCause::limit) {
    finding.title = sentence("the program's own limit of GPU memory was reached");
    finding.meaning = sentence(
        "torch.cuda.set_per_process_memory_fraction was called: the device itself may have more.");
    finding.steps.push_back(step(sentence("raise the fraction, or need less")));
    finding.steps.push_back(lower_batch());
  } else {
    finding.doubt = sentence(
        "the message does not tell whose memory it was: its numbers are missing, or there was room "
        "by them (another process may have left meanwhile)");
    finding.steps.push_back(step(sentence("see who else is on the device"), "berth ps"));
    finding.steps.push_back(lower_batch());
  }
}

void say_promise(const OomMessage& message, Bytes promised, Finding& finding) {
  const auto held = message.own ? message.own : message.reserved();
  if (!held || held->count() + message.tried.count() <= promised.count()) return;
  finding.evidence.push_back(sentence("the run was promised {} and wanted at least {}",
                                      short_size(promised),
                                      short_size(Bytes(held->count() + message.tried.count()))));
  finding.steps.push_back(step(sentence("ask for as much memory as it needs"),
                               "berth run --memory …G -- python train.py"));
}

}  // namespace

void explain_oom(const OomMessage& message, const OomSurroundings& around, Finding& finding) {
  const OomVerdict verdict = judge(message);
  add_numbers(message, verdict, finding);
  finding.steps.clear();
  switch (verdict.cause) {
    case OomCause::needed:
      say_needed(message, around, finding);
      break;
    case OomCause::fragmented:
      say_fragmented(message, finding);
      break;
    case OomCause::neighbour:
      say_neighbour(verdict, finding);
      break;
    case OomCause::too_large:
    case OomCause::limit:
    case OomCause::unknown:
      say_rest(verdict.cause, finding);
      break;
  }
  if (around.promised) say_promise(message, *around.promised, finding);
}

}  // namespace berth
