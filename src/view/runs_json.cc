// The list of runs for programs: each as `berth show --json` prints it.

#include "base/json_archive.h"
#include "view/runs_text.h"

namespace berth {

std::string runs_json(const RunList& list) {
  return write_json(JsonLayout::narrow,
                    [&](Archive& archive) {
                      archive.derived("berth_runs", 1);
                      archive.derived_list("runs", list.runs, [&](const RunRecord& run) {
                        write_run(archive, run, story_of(run));
                      });
                      archive.derived("problems", list.problems);
                    }) +
         "\n";
}

}  // namespace berth
