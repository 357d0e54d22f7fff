#include "app/simulated_mark.h"

#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"

namespace berth {

void say_simulated(const std::optional<std::string>& server) {
  if (server) complain(trf("SIMULATED: {}", printable(*server)));
}

}  // namespace berth
