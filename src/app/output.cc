#include "app/output.h"

#include <cstdio>
#include <utility>

#include "base/text.h"
#include "base/tr.h"
#include "config/policy_file.h"

namespace berth {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void complain(std::string_view text) {
  std::string line = "berth: ";
  // Names of files and words of the command line stand in errors as they were given.
  bool first = true;
  for (const std::string_view part : split(text, '\n')) {
    if (!std::exchange(first, false)) line += '\n';
    line += printable(part);
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  static bool said = false;  // a verb that ends early for it is followed by main()
  if (!std::exchange(said, true)) {
    complain(tr("the output could not be written (is the disk full?)"));
  }
  return false;
}

int report(const Error& error, int code) {
  complain(error.shown());
  return code;
}

void say_simulated(const std::optional<std::string>& server) {
  if (server) complain(trf("SIMULATED: {}", printable(*server)));
}

void say_remarks(Context& context, const Policy& policy) {
  for (const Sentence& remark : remarks_on(policy, context.policy_places())) {
    complain(remark.shown());
  }
  const auto snapshot = context.look_without_claims(Depth::placement);
  for (const Sentence& remark : remarks_on(policy, snapshot.value_or(Snapshot{}))) {
    complain(remark.shown());
  }
}

}  // namespace berth
