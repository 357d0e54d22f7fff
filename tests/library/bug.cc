// What a BERTH_CHECK that does not hold becomes at the library's border.
#include <cstdio>

#include "base/check.h"
#include "lib/objects.h"

int main() {
  berth_error* error = nullptr;
  const berth_code code = berth::lib::at_border(&error, []() -> berth::lib::Outcome {
    BERTH_CHECK(1 + 1 == 3, "sums are right");
    return std::nullopt;
  });
  std::printf("%d %s\n", code, berth_error_message(error));
  berth_error_free(error);
}
