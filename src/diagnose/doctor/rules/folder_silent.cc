#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings folder_silent(const Examined& host) {
  Findings findings;
  for (const std::string& folder : host.world.silent_folders) {
    findings.push_back(
        {.rule = "folder_silent",
         .severity = Severity::error,
         .title = sentence("{} does not answer", folder),
         .evidence = {sentence("a look into it had not come back after two seconds")},
         .meaning =
             sentence("Its server is gone or overloaded. Programs that touch it hang and cannot "
                      "be killed."),
         .steps = {{sentence("see what is mounted there, and tell the administrator"),
                    "grep -E 'nfs|cifs|fuse|lustre' /proc/mounts"}},
         .doubt = sentence("nothing in it was looked at")});
  }
  return findings;
}

}  // namespace berth::doctor
