// The list of runs for programs: each as `berth show --json` prints it.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "view/runs_text.h"

namespace berth {

std::string runs_json(const RunList& list) {
  using Json = nlohmann::ordered_json;
  std::string text = "{\n\"berth_runs\": 1,\n\"runs\": [";
  for (std::size_t i = 0; i < list.runs.size(); ++i) {
    text += (i > 0 ? ",\n" : "\n") + to_json(list.runs[i]);
  }
  const Json problems = list.problems;
  return text + "\n],\n\"problems\": " +
         printable_json(problems.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n}\n";
}

}  // namespace berth
