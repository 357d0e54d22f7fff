#include "app/explain_bottleneck.h"

#include "app/bottleneck_watch.h"
#include "app/output_file.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/bottleneck/activity_json.h"
#include "diagnose/bottleneck/bottleneck.h"
#include "diagnose/bottleneck/run_activity.h"
#include "view/bottleneck_text.h"

namespace berth {

namespace {

int answer(Context& context, const std::vector<BottleneckAnswer>& answers,
           const BottleneckOptions& wish) {
  std::optional<Severity> worst;
  std::string text;
  bool saw_anything = false;
  for (const BottleneckAnswer& one : answers) {
    const auto found = worst_of(one.pace.findings);
    if (found && (!worst || *found > *worst)) worst = found;
    saw_anything = saw_anything || one.pace.features.busy;
    if (!text.empty()) text += "\n";
    text += render_bottleneck(one, context.out_uncut());
  }
  print(wish.json ? bottleneck_json(answers) : text);
  if (!saw_anything && !worst) return could_not_look;
  return worst ? static_cast<int>(*worst) : exit_code::ok;
}

BottleneckAnswer judged(bottleneck::Activity activity, std::vector<std::string> remarks = {}) {
  bottleneck::Bottleneck pace = bottleneck::explain_bottleneck(activity);
  if (activity.simulated) {
    remarks.insert(remarks.begin(),
                   std::string(tr("GPU figures are invented by the simulated server: a finding "
                                  "that rests on them says nothing of the program")));
  }
  return {.activity = std::move(activity), .pace = std::move(pace), .remarks = std::move(remarks)};
}

/// A series per answer; of several the first has the name, the others a number more.
Result<void> save(const std::vector<BottleneckAnswer>& answers, const std::string& path) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string name = i == 0 ? path : path + "." + std::to_string(i + 1);
    const auto written = write_output(name, to_lines(answers[i].activity), Existing::keep);
    if (!written) return written;
  }
  return {};
}

Result<std::string> series_text(const std::string& path) {
  constexpr std::size_t longest = 256 << 20;
  if (path == "-") return read_all(0, longest);
  return read_named_file(path, longest);
}

/// The answer first: what was watched is not lost where it cannot be saved.
int answer_and_save(Context& context, const std::vector<BottleneckAnswer>& answers,
                    const BottleneckOptions& wish) {
  const int code = answer(context, answers, wish);
  if (wish.save.empty()) return code;
  const auto saved = save(answers, wish.save);
  return saved ? code : report(saved.error(), could_not_look);
}

}  // namespace

int explain_targets(Context& context, const std::vector<BottleneckTarget>& targets,
                    const BottleneckOptions& wish) {
  if (!wish.save.empty()) {
    if (const auto place = check_output(wish.save, Existing::keep); !place) {
      return report(place.error(), could_not_look);
    }
  }
  auto watched = watch_bottleneck(context, targets, {.length = wish.length});
  if (!watched) return report(watched.error(), could_not_look);
  std::vector<BottleneckAnswer> answers;
  for (WatchedTarget& one : *watched) {
    answers.push_back(judged(std::move(one.activity), std::move(one.remarks)));
  }
  return answer_and_save(context, answers, wish);
}

int explain_series(Context& context, const std::string& path, const BottleneckOptions& wish) {
  const auto text = series_text(path);
  if (!text) return report(text.error(), could_not_look);
  if (text->starts_with("\x1f\x8b")) {
    complain(trf("{} is compressed: zcat {} | berth explain --series -", printable(path),
                 shell_quoted(printable(path))));
    return could_not_look;
  }
  auto activity = bottleneck::activity_from_lines(*text);
  if (!activity) return report(activity.error(), could_not_look);
  std::vector<BottleneckAnswer> answers;
  answers.push_back(judged(std::move(*activity)));
  return answer(context, answers, wish);
}

int explain_run_bottleneck(Context& context, const RunRecord& run, const BottleneckOptions& wish) {
  ThinnedSamples samples;
  const auto read = for_each_sample(run, [&](const Sample& one) { samples.add(one); });
  if (!read) return report(read.error(), could_not_look);
  std::vector<BottleneckAnswer> answers;
  answers.push_back(judged(bottleneck::activity_of(run.manifest, std::move(samples).take())));
  for (const DeviceSummary& device : summary_of(run).devices) {
    answers.back().run_means.push_back(device.mean_utilization);
  }
  return answer_and_save(context, answers, wish);
}

}  // namespace berth
