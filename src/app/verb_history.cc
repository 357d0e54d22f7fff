// `berth history`: what the devices did and who had them, from the store that `berth serve` keeps.

#include <algorithm>

#include "app/history_options.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "record/history/metric.h"
#include "view/history_text.h"

namespace berth {

namespace {

bool is_called(const HistoryDevice& device, const std::string& name) {
  const auto index = parse_unsigned(name);
  if (index) return device.index && !device.parent && std::cmp_equal(*device.index, *index);
  return !name.empty() && device.id.text().starts_with(name);
}

class HistoryVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.filled_value("--gpu", gpu_, "of this one alone: its index or id", "GPU");
    options.filled_value("--user", user_, "what this user had", "USER");
    options.filled_value("--metric", metric_, "this reading alone, by its key", "KEY");
    words_.declare(options);
    options.flag("--json", json_, "as JSON");
    options.flag("--csv", csv_, "the points as CSV");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("history takes no word \"{}\"", printable(rest.front())));
      return exit_code::usage;
    }
    const WallTime now = context.clock().wall_now();
    const auto window = words_.window(now, "7d");
    if (!window) return report(window.error(), exit_code::usage);
    auto reader = words_.open(context);
    if (!reader) return report(reader.error());
    HistoryView view{.since = window->since, .until = window->until, .now = now};
    view.user = user_;
    const auto filled = fill(view, *reader);
    if (!filled) {
      const bool is_usage = filled.error().code() == ErrorCode::invalid;
      return report(filled.error(), is_usage ? exit_code::usage : exit_code::failed);
    }
    if (csv_) say_simulated(view.facts.simulated);
    const Style style = context.out_uncut();
    print(json_ ? history_json(view) : csv_ ? history_csv(view) : render_history(view, style));
    return exit_code::ok;
  }

 private:
  Result<void> fill(HistoryView& view, HistoryReader& reader) const {
    auto facts = reader.facts();
    if (!facts) return std::unexpected(std::move(facts).error());
    view.facts = *std::move(facts);
    for (const HistoryDevice& device : view.facts.devices) {
      if (gpu_.empty() || is_called(device, gpu_)) view.devices.push_back(device);
    }
    if (!gpu_.empty() && view.devices.empty()) {
      return fail(ErrorCode::invalid,
                  "the history knows no GPU \"{}\"; `berth history` lists those it knows",
                  printable(gpu_));
    }
    auto done = add_series(view, reader);
    if (!done) return done;
    return add_spans(view, reader);
  }

  Result<void> add_series(HistoryView& view, HistoryReader& reader) const {
    // For one user only leases are shown: the devices' charts are everybody's.
    if (!user_.empty() && metric_.empty()) return {};
    std::vector<std::string_view> keys;
    if (!metric_.empty()) {
      keys = {metric_};
    } else if (view.devices.size() == 1 || json_ || csv_) {
      for (const history::MetricFacts& facts : history::metrics()) {
        if (facts.read != nullptr) keys.push_back(facts.key);
      }
    } else {
      keys = {"utilization_gpu_percent", "memory_used_bytes", "power_draw_milliwatts"};
    }
    std::vector<DeviceId> devices;
    for (const HistoryDevice& device : view.devices) devices.push_back(device.id);
    std::vector<std::vector<HistorySeries>> found;
    for (const std::string_view key : keys) {
      auto series = reader.series(
          {.devices = devices, .metric = key, .since = view.since, .until = view.until});
      if (!series) return std::unexpected(std::move(series).error());
      found.push_back(*std::move(series));
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      for (std::vector<HistorySeries>& of_all : found) {
        if (of_all[i].points.empty() && metric_.empty()) continue;
        view.series.push_back(std::move(of_all[i]));
      }
    }
    return {};
  }

  Result<void> add_spans(HistoryView& view, HistoryReader& reader) const {
    auto spans = reader.spans(view.since, view.until);
    if (!spans) return std::unexpected(std::move(spans).error());
    const bool wants_states = json_ && user_.empty();
    const auto is_shown = [&](const DeviceId& id) {
      return gpu_.empty() || std::any_of(view.devices.begin(), view.devices.end(),
                                         [&](const auto& one) { return one.id == id; });
    };
    for (history::Span& span : *spans) {
      if (!user_.empty() && span.user != user_) continue;
      if (span.kind == history::SpanKind::state && !wants_states) continue;
      if (is_shown(span.device)) view.spans.push_back(std::move(span));
    }
    auto events = reader.events(view.since, view.until);
    if (!events) return std::unexpected(std::move(events).error());
    if (!user_.empty()) return {};
    for (HistoryEvent& event : *events) {
      if (event.device.text().empty() || is_shown(event.device)) {
        view.events.push_back(std::move(event));
      }
    }
    return {};
  }

  HistoryOptionWords words_;
  std::string gpu_;
  std::string user_;
  std::string metric_;
  bool json_ = false;
  bool csv_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_history() { return std::make_unique<HistoryVerb>(); }

}  // namespace berth
