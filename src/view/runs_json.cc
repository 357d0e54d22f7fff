#include "view/runs_text.h"

namespace berth {

std::string runs_json(const RunList& list) {
  std::string text = "{\n\"berth_runs\": 1,\n\"runs\": [";
  for (std::size_t i = 0; i < list.runs.size(); ++i) {
    text += (i > 0 ? ",\n" : "\n") + to_json(list.runs[i]);
  }
  return text + "\n]\n}\n";
}

}  // namespace berth
