#include "app/remarks.h"

#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "config/policy_file.h"

namespace berth {

void say_remarks(Context& context, const Policy& policy) {
  for (const Sentence& remark : remarks_on(policy, context.policy_places())) {
    complain(remark.shown());
  }
  const auto snapshot = context.look_without_claims(Depth::placement);
  for (const Sentence& remark : remarks_on(policy, snapshot.value_or(Snapshot{}))) {
    complain(remark.shown());
  }
}

void say_simulated(const std::optional<std::string>& server) {
  if (server) complain(trf("SIMULATED: {}", printable(*server)));
}

}  // namespace berth
