#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "record/history/metric.h"
#include "view/history_text.h"

namespace berth {
namespace {

using history::SpanKind;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t start = 1'760'000'000'000;
constexpr std::int64_t hour = 3'600'000;

/// A day of one card: half of it at 50 %, then nobody looked.
HistoryView a_day() {
  HistoryView view{.since = {start}, .until = {start + 24 * hour}, .now = {start + 24 * hour}};
  view.facts.knows_since = WallTime{start};
  view.facts.last_sample = WallTime{start + 12 * hour};
  view.facts.devices.push_back({.id = DeviceId("GPU-a"), .index = 0, .name = "NVIDIA Test GPU"});
  view.devices = view.facts.devices;
  HistorySeries busy{.device = DeviceId("GPU-a"),
                     .metric = "utilization_gpu_percent",
                     .unit = "percent",
                     .step_ms = hour};
  for (std::int64_t i = 0; i < 12; ++i) {
    busy.points.push_back({{start + i * hour}, 0, 50, 90, 100, 3600});
  }
  view.series.push_back(busy);
  view.spans.push_back({.kind = SpanKind::lease,
                        .device = DeviceId("GPU-a"),
                        .key = "lease-1",
                        .run = "run-1",
                        .user = "alice",
                        .uid = 1000,
                        .title = "python \033[2J train.py",
                        .from_ms = start,
                        .to_ms = start + hour});
  view.events.push_back({.at = {start + hour},
                         .kind = "xid",
                         .device = DeviceId("GPU-a"),
                         .code = "79",
                         .text = "GPU has fallen off the bus."});
  return view;
}

void expect_within(const std::string& text, int width) {
  for (const std::string_view line : split(text, '\n')) {
    EXPECT_LE(display_width(line), width) << line;
    EXPECT_EQ(printable(line), line);
  }
}

TEST(HistoryText, EachMetricOfADeviceHasWords) {
  for (const history::MetricFacts& facts : history::metrics()) {
    if (facts.read == nullptr) continue;
    EXPECT_NE(title_of_metric(facts.key), facts.key) << "neither words nor a field's";
  }
  EXPECT_EQ(title_of_metric("clock_memory_megahertz"), "Mem clock") << "as its column is called";
}

TEST(HistoryText, DrawsHalfADayAsHalfAChart) {
  const std::string text = render_history(a_day(), {.width = 88, .utf8 = false});
  EXPECT_THAT(text, HasSubstr("mean 50%, 95 % up to 90%, most 100%"));
  std::size_t marks = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view chart = trimmed(line);
    if (!chart.empty() && chart.find_first_not_of('#') == std::string_view::npos)
      marks = chart.size();
  }
  EXPECT_EQ(marks, 40U) << "of eighty columns:\n" << text;
}

TEST(HistoryText, NamesWhoHadItAndWhatHappened) {
  const std::string text = render_history(a_day(), {.width = 120});
  EXPECT_THAT(text, HasSubstr("alice"));
  EXPECT_THAT(text, HasSubstr("run-1  python \\x1B[2J train.py"));
  EXPECT_THAT(text, HasSubstr("xid 79: GPU has fallen off the bus."));
  EXPECT_THAT(text, HasSubstr("is `berth serve` running?"));
}

TEST(HistoryText, SaysInTheCataloguesWordsWhatTheDriverToldAsANumber) {
  HistoryView view = a_day();
  view.events[0].text.clear();
  EXPECT_THAT(render_history(view, {.width = 120}), HasSubstr("xid 79: it has fallen off the bus"));
  const auto json = nlohmann::json::parse(history_json(view));
  EXPECT_EQ(json["events"][0]["text"], "it has fallen off the bus");
  view.events[0].kind = "health";
  EXPECT_EQ(words_of(view.events[0]).english(), "") << "numbers of other kinds are not NVIDIA's";
}

TEST(HistoryText, IsOfAUserWithoutTheDevicesOfAll) {
  HistoryView view = a_day();
  view.user = "alice";
  view.series.clear();
  view.facts.devices.push_back({.id = DeviceId("GPU-b"), .index = 1, .name = "NVIDIA Test GPU"});
  view.devices = view.facts.devices;
  const std::string text = render_history(view, {.width = 120});
  EXPECT_THAT(text, HasSubstr("run-1"));
  EXPECT_THAT(text, Not(HasSubstr("NVIDIA Test GPU")));
  view.spans.clear();
  EXPECT_THAT(render_history(view, {.width = 120}), HasSubstr("alice had no device"));
}

TEST(HistoryText, FitsEveryWidth) {
  for (const int width : {40, 80, 200}) {
    expect_within(render_history(a_day(), {.width = width}), width);
    HistoryView many = a_day();
    many.facts.devices.push_back({.id = DeviceId("GPU-b"), .index = 1, .name = "NVIDIA Test GPU"});
    many.devices = many.facts.devices;
    many.facts.simulated = "lab-4";
    const std::string text = render_history(many, {.width = width});
    EXPECT_THAT(text, HasSubstr("SIMULATED (lab-4)"));
    expect_within(text, width);
  }
}

TEST(HistoryText, SaysThatNothingIsKnownRatherThanNought) {
  HistoryView view = a_day();
  view.series[0].points.clear();
  EXPECT_THAT(render_history(view, {}), HasSubstr("nothing is known"));
}

TEST(HistoryJson, HasTheRunOfALeaseAsASpanOfItsOwn) {
  const auto json = nlohmann::json::parse(history_json(a_day()));
  EXPECT_EQ(json["spans"].size(), 2U);
  EXPECT_EQ(json["spans"][1]["kind"], "run");
  EXPECT_EQ(json["spans"][1]["id"], "run-1");
  EXPECT_EQ(json["series"][0]["points"][0], nlohmann::json({start, 0.0, 50.0, 90.0, 100.0}));
  EXPECT_TRUE(json["simulated"].is_null());
}

TEST(HistoryCsv, HasALinePerPoint) {
  EXPECT_THAT(history_csv(a_day()),
              HasSubstr("GPU-a,utilization_gpu_percent,percent,1760000000000,0,50,90,100,3600\n"));
}

UsageReport two_users() {
  UsageReport report{.by = UsageBy::user, .since = {start}, .until = {start + 24 * hour}};
  report.knows_since = WallTime{start + hour};
  report.price_per_kwh = 0.30;
  report.unwatched_hours = 3;
  report.rows.push_back({.key = "alice",
                         .gpu_hours = 10,
                         .busy_hours = 6,
                         .idle_held_hours = 4,
                         .energy_joules = 3.6e6,
                         .energy_at_least = true,
                         .cost = 0.30,
                         .waits = 2,
                         .waited_hours = 0.5,
                         .runs = 3});
  report.rows.push_back({.key = "", .gpu_hours = 1, .busy_hours = 1, .waits = 0, .runs = 0});
  return report;
}

TEST(UsageText, SaysWhatItDoesNotKnow) {
  const std::string text = render_usage(two_users(), {}, "EUR", {start}, {.width = 120});
  EXPECT_THAT(text, HasSubstr("≥ 1.00 kWh"));
  EXPECT_THAT(text, HasSubstr("Known since"));
  EXPECT_THAT(text, HasSubstr("For 3.0 hours of device time nobody looked"));
  EXPECT_THAT(text, HasSubstr("(cannot be seen)"));
  EXPECT_THAT(text, HasSubstr("0.5 h (2)"));
  EXPECT_THAT(text, HasSubstr("EUR"));
  for (const int width : {40, 80}) {
    expect_within(render_usage(two_users(), {}, "EUR", {start}, {.width = width}), width);
  }
}

TEST(UsageText, DrawsWhatEachHadBesideWhoHadMost) {
  UsageReport report = two_users();
  report.rows[1].gpu_hours = 5;
  const std::string text = render_usage(report, {}, "", {start}, {.width = 120, .utf8 = false});
  std::vector<std::size_t> marks;
  for (const std::string_view line : split(text, '\n')) {
    const auto count = static_cast<std::size_t>(std::count(line.begin(), line.end(), '#'));
    if (count > 0) marks.push_back(count);
  }
  EXPECT_EQ(marks, (std::vector<std::size_t>{10, 5})) << text;
}

TEST(UsageText, SaysNothingOfMoneyWithoutAPrice) {
  UsageReport report = two_users();
  report.price_per_kwh.reset();
  for (UsageRow& row : report.rows) row.cost.reset();
  EXPECT_THAT(render_usage(report, {}, "", {start}, {.width = 120}), Not(HasSubstr("Cost")));
}

TEST(UsageJson, HasNullForWhatIsNotKnown) {
  const auto json = nlohmann::json::parse(usage_json(two_users(), std::nullopt, "EUR"));
  EXPECT_EQ(json["rows"][0]["energy_joules"], 3.6e6);
  EXPECT_EQ(json["rows"][0]["energy_at_least"], true);
  EXPECT_TRUE(json["rows"][1]["energy_joules"].is_null());
  EXPECT_TRUE(json["rows"][1]["cost"].is_null());
  EXPECT_EQ(json["currency"], "EUR");
}

TEST(UsageCsv, HasAnEmptyCellForWhatIsNotKnown) {
  EXPECT_THAT(usage_csv(two_users()), HasSubstr("\n,,1,1,0,0,,,false,false,,0,,0\n"));
}

}  // namespace
}  // namespace berth
