#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings devices_not_seen(const Examined& host) {
  const Problem* problem = unseen_because(host);
  if (problem == nullptr) return {};
  return {{.rule = "devices_not_seen",
           .severity = Severity::error,
           .title = sentence("this machine's devices could not be looked at"),
           .evidence = {Sentence(problem->message, {})},
           .meaning = sentence("What is said here of devices, or not said, rests on nothing."),
           .steps = {
               {sentence("see what the process that looks may use: open files, processes, memory"),
                "ulimit -a"}}}};
}

}  // namespace berth::doctor
