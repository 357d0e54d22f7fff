#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "base/sentence.h"
#include "snapshot/builder.h"
#include "view/golden_file.h"
#include "view/report/chart.h"
#include "view/report/figures.h"
#include "view/report/markup.h"
#include "view/report/model.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr WallTime run_begun{1'763'690'000'000};
constexpr Moment later{.wall = {1'763'690'000'000 + 60'000}};

RunRecord a_record(std::size_t devices) {
  RunRecord run;
  run.manifest.id = "20251121-014946-k3f9q2";
  run.manifest.command = {"python", "train.py"};
  run.manifest.started = run_begun;
  SnapshotBuilder builder;
  for (std::size_t i = 0; i < devices; ++i) {
    builder.gpu("GPU-" + std::string(1, static_cast<char>('A' + i)), 80_GiB);
    run.manifest.promised.emplace_back(20_GiB);
  }
  run.manifest.given = builder.build();
  run.manifest.complete = true;
  run.state = RunState::ended;
  run.end = RunEnd{.at = {run_begun.unix_ms + 60'000}, .lasted_ms = 60'000};
  return run;
}

Sample a_sample(std::int64_t at_ms, std::size_t devices, double busy = 50) {
  Sample sample{.at = {run_begun.unix_ms + at_ms}};
  for (std::size_t i = 0; i < devices; ++i) {
    DeviceSample device;
    device.utilization_gpu = Percent(busy);
    device.memory_used = 10_GiB;
    device.power_draw = 300_watts;
    device.temperature = 60_celsius;
    device.clock_sm = 1400_MHz;
    device.pcie_sent = Absent::unsupported;
    device.pcie_received = Bytes(static_cast<std::uint64_t>(at_ms) * 1024);
    sample.devices.push_back(device);
  }
  sample.tree.cpu = Milliseconds(at_ms * 2);
  sample.tree.memory_resident = 4_GiB;
  sample.tree.read = Bytes(static_cast<std::uint64_t>(at_ms));
  return sample;
}

/// A minute of a run, a sample each second.
ReportSource a_source(std::size_t devices = 1) {
  ReportSource source{.record = a_record(devices), .curves = RunCurves(run_begun, devices)};
  for (std::int64_t at = 0; at <= 60'000; at += 1000) source.curves.add(a_sample(at, devices));
  source.record.end->summary = source.curves.summary();
  return source;
}

Report report_of(ReportSource source, const ReportPrice& price = {}) {
  std::vector<ReportSource> sources;
  sources.push_back(std::move(source));
  return make_report(std::move(sources), price, later);
}

Mark mark(std::int64_t at_ms, std::string text) {
  return {.at = {run_begun.unix_ms + at_ms}, .exact = true, .text = std::move(text)};
}

std::size_t times_in(const std::string& text, std::string_view what) {
  std::size_t times = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++times;
  return times;
}

const Chart& chart_named(const Charts& charts, std::string_view name) {
  for (const Chart& chart : charts.drawn) {
    if (chart.name == name) return chart;
  }
  ADD_FAILURE() << "no chart " << name;
  static const Chart none;
  return none;
}

/// The places of "M1.0 2.0L3.0 4.0" of the first line in the picture.
std::vector<std::pair<double, double>> places_of_line(const std::string& svg) {
  const std::size_t from = svg.find("d=\"", svg.find("class=\"line")) + 3;
  const std::string path = svg.substr(from, svg.find('"', from) - from);
  std::vector<std::pair<double, double>> places;
  for (const char* at = path.c_str(); *at != '\0';) {
    char* end = nullptr;
    const double x = std::strtod(at + 1, &end);
    const double y = std::strtod(end, &end);
    places.emplace_back(x, y);
    at = end;
  }
  return places;
}

TEST(ReportMarks, NumbersBehindNamesAreFound) {
  EXPECT_THAT(numbers_in("epoch=3 loss=0.12, lr=1e-4"),
              ElementsAre(Pair("epoch", 3), Pair("loss", 0.12), Pair("lr", 1e-4)));
  EXPECT_THAT(numbers_in("loss=nan acc=inf x=0x10 y=3px =4 evaluation starts a=b=3"), IsEmpty());
}

TEST(ReportModel, FiguresComeFromTheRecordAndItsSamples) {
  const Report report = report_of(a_source(2), {.per_kwh = 0.5, .currency = "EUR"});
  const ReportFigures& figures = report.runs.front().figures;
  EXPECT_EQ(figures.lasted_ms, 60'000);
  EXPECT_NEAR(figures.device_hours.value_or(0), 2.0 / 60, 1e-9);
  EXPECT_EQ(figures.mean_utilization, Reading<Percent>(Percent(50)));
  EXPECT_EQ(figures.utilization_p95, Reading<Percent>(Percent(50)));
  EXPECT_EQ(figures.memory_peak, Reading<Bytes>(10_GiB));
  EXPECT_EQ(figures.energy_source, EnergySource::integrated_power);
  // 2 × 300 W for a minute.
  EXPECT_EQ(figures.energy, Reading<Millijoules>(Millijoules(36'000'000)));
  EXPECT_NEAR(figures.cost.value_or(0), 36'000.0 / 3.6e6 * 0.5, 1e-9);
  EXPECT_EQ(figures.temperature_peak, Reading<Celsius>(60_celsius));
}

TEST(ReportModel, WithoutAPriceThereIsNoCost) {
  EXPECT_FALSE(report_of(a_source()).runs.front().figures.cost);
}

TEST(ReportModel, P95LeavesOutTheHighestTwentieth) {
  ReportSource source{.record = a_record(1), .curves = RunCurves(run_begun, 1)};
  for (int i = 1; i <= 100; ++i) source.curves.add(a_sample(i * 1000, 1, i));
  EXPECT_EQ(source.curves.utilization_p95(), Reading<Percent>(Percent(95)));
}

TEST(ReportModel, ARunWithoutADeviceHasNoFiguresOfOne) {
  const Report report = report_of(a_source(0));
  const ReportFigures& figures = report.runs.front().figures;
  EXPECT_EQ(figures.device_hours, 0);
  EXPECT_EQ(figures.energy, Reading<Millijoules>(Absent::unsupported));
  const Charts charts = charts_of(report);
  EXPECT_EQ(chart_named(charts, "cpu").lines.size(), 1U);
  for (const Chart& chart : charts.drawn) EXPECT_NE(chart.name, "utilization");
  EXPECT_THAT(report_html(report, {}), HasSubstr("It was given no device"));
}

TEST(ReportModel, RatesComeFromCountersAndStopWhereTheyBeginAnew) {
  RunCurves curves(run_begun, 1);
  curves.add(a_sample(1000, 1));
  curves.add(a_sample(2000, 1));
  Sample reset = a_sample(3000, 1);
  reset.tree.cpu = Milliseconds(0);
  reset.devices[0].pcie_received = Bytes(5);
  curves.add(reset);
  EXPECT_EQ(curves.whole(Curve::cpu).most(), 2);
  EXPECT_EQ(curves.whole(Curve::cpu).count(), 1U);
  EXPECT_EQ(curves.of_device(0, Curve::pcie_received).most(), 1'024'000);
  EXPECT_EQ(curves.of_device(0, Curve::pcie_received).count(), 1U);
  EXPECT_TRUE(curves.of_device(0, Curve::pcie_sent).empty());
  EXPECT_EQ(curves.why_absent(Curve::pcie_sent), Absent::unsupported);
}

TEST(ReportModel, TimeThatNobodySampledIsCountedAndNoRateIsMadeOverIt) {
  RunCurves curves(run_begun, 1);
  curves.add(a_sample(1000, 1));
  curves.add(a_sample(31'000, 1));
  EXPECT_EQ(curves.unsampled_ms(), 30'000);
  EXPECT_TRUE(curves.whole(Curve::cpu).empty());
  EXPECT_TRUE(curves.whole(Curve::main_memory).points().back().begins);
}

TEST(ReportModel, ACounterInTheMarksSaysHowFastItWent) {
  ReportSource source = a_source();
  for (int epoch = 0; epoch < 5; ++epoch) {
    source.marks.push_back(mark(epoch * 10'000, "epoch=" + std::to_string(epoch) + " loss=0.5"));
  }
  const Report report = report_of(std::move(source));
  const auto& numbers = report.runs.front().numbers;
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_NEAR(numbers[0].per_second.value_or(0), 0.1, 1e-9);
  EXPECT_FALSE(numbers[1].per_second) << "a loss counts nothing";
  EXPECT_EQ(numbers[1].last, 0.5);
}

TEST(ReportModel, OfMillionsOfMarksThoseInWordsAreKeptAndTheRestThinned) {
  ReportSource source = a_source();
  for (int step = 0; step < 100'000; ++step) {
    source.marks.push_back(mark(step / 2, "step=" + std::to_string(step)));
  }
  source.marks.push_back(mark(55'000, "evaluation starts"));
  const Report report = report_of(std::move(source));
  const ReportRun& run = report.runs.front();
  EXPECT_EQ(run.mark_count, 100'001U);
  ASSERT_EQ(run.marks.size(), ReportRun::most_marks);
  EXPECT_EQ(run.marks.front().text, "step=0");
  EXPECT_EQ(run.marks.back().text, "evaluation starts");
  EXPECT_THAT(notes_on(run, {}), testing::Contains(HasSubstr("100001 marks")));
}

TEST(ReportChart, PointsStandWhereTheirTimeAndValueSay) {
  const Report report = report_of(a_source());
  const Charts charts = charts_of(report);
  const auto places = places_of_line(chart_svg(chart_named(charts, "utilization"), "c"));
  ASSERT_EQ(places.size(), 61U);
  EXPECT_NEAR(places.front().first, ChartFrame::left, 0.06);
  EXPECT_NEAR(places.back().first, ChartFrame::right, 0.06);
  EXPECT_NEAR(places[30].first, (ChartFrame::left + ChartFrame::right) / 2, 0.06);
  // Half of 100 percent is the middle.
  EXPECT_NEAR(places[30].second, (ChartFrame::top + ChartFrame::bottom) / 2, 0.06);
}

TEST(ReportChart, MemoryStandsAgainstWhatWasPromisedAndWhatThereIs) {
  const Report report = report_of(a_source());
  const Charts charts = charts_of(report);
  const Chart& memory = chart_named(charts, "memory");
  EXPECT_EQ(memory.unit, "GiB");
  EXPECT_EQ(memory.top, 80);
  ASSERT_EQ(memory.levels.size(), 2U);
  EXPECT_EQ(memory.levels[0].value, 80);
  EXPECT_EQ(memory.levels[1].value, 20);
}

TEST(ReportChart, EachDeviceHasALineOfItsOwnLook) {
  const Report report = report_of(a_source(3));
  const Charts charts = charts_of(report);
  const Chart& power = chart_named(charts, "power");
  ASSERT_EQ(power.lines.size(), 3U);
  EXPECT_EQ(power.lines[2].name, "GPU 2");
  const std::string svg = chart_svg(power, "c");
  EXPECT_THAT(svg, HasSubstr("line c2 d2"));
}

TEST(ReportChart, AGapIsAGapInTheLine) {
  ReportSource source{.record = a_record(1), .curves = RunCurves(run_begun, 1)};
  for (const std::int64_t at : {0, 1000, 2000, 40'000, 41'000}) {
    source.curves.add(a_sample(at, 1));
  }
  const Report report = report_of(std::move(source));
  const std::string svg = chart_svg(chart_named(charts_of(report), "utilization"), "c");
  const std::size_t from = svg.find("d=\"", svg.find("class=\"line"));
  EXPECT_EQ(times_in(svg.substr(from, svg.find("/>", from) - from), "M"), 2U);
}

TEST(ReportChart, AMarkIsALineWithItsText) {
  ReportSource source = a_source();
  source.marks = {mark(15'000, "epoch=1"), mark(30'000, "<b>&\"'")};
  const Report report = report_of(std::move(source));
  const std::string svg = chart_svg(chart_named(charts_of(report), "power"), "c");
  EXPECT_EQ(times_in(svg, "<g class=\"mark\">"), 2U);
  EXPECT_THAT(svg, HasSubstr("<title>&lt;b&gt;&amp;&quot;&#39;</title>"));
  const double quarter = ChartFrame::left + (ChartFrame::right - ChartFrame::left) / 4;
  EXPECT_THAT(svg,
              HasSubstr("<g class=\"mark\"><path d=\"M" + std::to_string(quarter).substr(0, 5)));
}

TEST(ReportChart, MarksThatWouldOverlapAreThinned) {
  ReportSource source = a_source();
  for (int at = 0; at < 60'000; at += 50) source.marks.push_back(mark(at, "epoch"));
  const Report report = report_of(std::move(source));
  const std::string svg = chart_svg(chart_named(charts_of(report), "power"), "c");
  EXPECT_LE(times_in(svg, "<g class=\"mark\">"), 129U) << "three to a line of 384";
  EXPECT_GE(times_in(svg, "<g class=\"mark\">"), 50U);
}

TEST(ReportChart, ALossThatFallsToAHundredthHasAnAxisOfPowers) {
  const auto chart_for = [](const std::string& name, double first, double last) {
    ReportSource source = a_source();
    source.marks = {mark(0, name + "=" + std::to_string(first)),
                    mark(30'000, name + "=" + std::to_string(last))};
    static std::deque<Report> kept;
    kept.push_back(report_of(std::move(source)));
    return chart_named(charts_of(kept.back()), "mark");
  };
  const Chart falls = chart_for("loss", 100, 0.01);
  EXPECT_TRUE(falls.logarithmic);
  EXPECT_EQ(std::pair(falls.bottom, falls.top), std::pair(-2.0, 2.0));
  EXPECT_THAT(falls.title, HasSubstr("logarithmic"));
  const std::string svg = chart_svg(falls, "c");
  for (const char* label : {">100<", ">10<", ">1<", ">0.1<", ">0.01<"}) {
    EXPECT_THAT(svg, HasSubstr(label));
  }
  EXPECT_FALSE(chart_for("loss", 2.5, 0.5).logarithmic);
  EXPECT_FALSE(chart_for("loss", 2.5, 0).logarithmic) << "nothing has no logarithm";
  EXPECT_FALSE(chart_for("step", 1, 1000).logarithmic);
}

TEST(ReportChart, OfWhatThereWasNoneThereIsNoChart) {
  ReportSource source{.record = a_record(1), .curves = RunCurves(run_begun, 1)};
  for (int at = 0; at <= 10'000; at += 1000) {
    Sample sample = a_sample(at, 1, 0);
    sample.tree.written = Bytes(0);
    sample.tree.read = Bytes(static_cast<std::uint64_t>(at) << 20);
    source.curves.add(sample);
  }
  const Report report = report_of(std::move(source));
  const Charts charts = charts_of(report);
  EXPECT_THAT(charts.not_drawn, testing::Contains("Written to storage: there was none"));
  EXPECT_THAT(charts.drawn,
              Not(testing::Contains(testing::Field(&Chart::name, "storage_written"))));
  EXPECT_EQ(chart_named(charts, "utilization").lines.size(), 1U) << "0 % says something";
}

TEST(ReportHtml, WhereNothingWasFoundASentenceSaysSo) {
  const Report report = report_of(a_source());
  EXPECT_THAT(report_html(report, {}), HasSubstr("None: no rule found anything"));
  EXPECT_THAT(report_markdown(report, {}), HasSubstr("None: no rule found anything"));
  std::vector<ReportSource> alike = {a_source(), a_source()};
  const Report compared = make_report(std::move(alike), {}, later);
  for (const std::string& text : {report_html(compared, {}), report_markdown(compared, {})}) {
    EXPECT_THAT(text, HasSubstr("Nothing was found that could explain other results"));
  }
}

TEST(ReportChart, StepsAreRound) {
  EXPECT_EQ(round_step(100, 4), 25);
  EXPECT_EQ(round_step(7, 4), 2);
  EXPECT_NEAR(round_step(0.03, 4), 0.01, 1e-12);
  EXPECT_EQ(round_step(0, 4), 1);
}

TEST(ReportChart, PhasesAreShadedUnderTheLines) {
  ReportSource source = a_source();
  source.phases = {{.from_ms = 0, .to_ms = 30'000, .name = Sentence("starting")},
                   {.from_ms = 30'000, .to_ms = 60'000, .name = Sentence("computing")}};
  const Report report = report_of(std::move(source));
  const std::string svg = chart_svg(chart_named(charts_of(report), "power"), "c");
  EXPECT_EQ(times_in(svg, "class=\"phase p"), 2U);
  const std::string html = report_html(report, {});
  EXPECT_THAT(html, HasSubstr("computing</th><td>30s</td><td>50%"));
}

TEST(ReportHtml, WhatComesFromOutsideStaysText) {
  const std::string hostile = "</title><script>alert(1)</script><img src=x onerror=y>\x1b[2J\xff";
  ReportSource source = a_source();
  RunRecord& run = source.record;
  run.manifest.command = {hostile};
  run.manifest.user = hostile;
  run.manifest.working_directory = hostile;
  run.manifest.variables = {{"NCCL_X", hostile}};
  run.manifest.given.simulated = hostile;
  run.manifest.given.devices.front().name = hostile;
  run.problems = {Sentence(hostile)};
  source.marks = {mark(1000, hostile), mark(2000, "\"><script>=1 <script>=2")};
  source.events = {{.at = run_begun, .kind = hostile, .text = Sentence(hostile)}};
  source.findings = {{.rule = "x",
                      .title = Sentence::as_is(hostile),
                      .evidence = {Sentence::as_is(hostile)},
                      .steps = {{Sentence::as_is(hostile), hostile}}}};
  std::vector<ReportSource> two = {source, source};
  two[1].record.manifest.user = "bob";
  const Report report = make_report(std::move(two), {}, later);
  for (const std::string& html : {report_html(report_of(source), {}), report_html(report, {})}) {
    EXPECT_THAT(html, Not(HasSubstr("<script")));
    EXPECT_THAT(html, Not(HasSubstr("<img")));
    EXPECT_THAT(html, Not(HasSubstr("\x1b")));
    EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)"));
    EXPECT_THAT(html, HasSubstr("\\x1B[2J\\xFF"));
  }
  const std::string markdown = report_markdown(report, {});
  EXPECT_THAT(markdown, Not(HasSubstr("\n<script")));
  EXPECT_THAT(markdown, Not(HasSubstr("| <")));
  EXPECT_FALSE(nlohmann::json::parse(report_json(report), nullptr, false).is_discarded());
}

TEST(ReportHtml, IsWholeInItselfAndSaysWhatItIs) {
  const std::string html = report_html(report_of(a_source()), {});
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* outside : {"http:", "https:", " src=", "url(", "@import", "<link"}) {
    EXPECT_THAT(html, Not(HasSubstr(outside))) << outside;
  }
  EXPECT_EQ(times_in(html, "<svg viewBox=\"0 0 440"), times_in(html, "role=\"img\""));
  EXPECT_EQ(times_in(html, "<h1"), 1U);
  EXPECT_THAT(html, Not(HasSubstr("SIMULATED")));
}

TEST(ReportHtml, AWeekOnEightDevicesStaysBelowTwoMegabytes) {
  ReportSource source{.record = a_record(8), .curves = RunCurves(run_begun, 8)};
  constexpr std::int64_t week = 7LL * 24 * 3600;
  for (std::int64_t i = 0; i < week; i += 30) {
    source.curves.add(a_sample(i * 1000, 8, 50 + 40 * std::sin(static_cast<double>(i))));
  }
  source.record.end->lasted_ms = week * 1000;
  for (int i = 0; i < 20'000; ++i) {
    source.marks.push_back(mark(i * 30'000LL, "step=" + std::to_string(i) + " loss=0.25"));
  }
  const Report report = report_of(std::move(source));
  EXPECT_LT(report_html(report, {}).size(), 2'000'000U);
  EXPECT_LT(report_json(report).size(), 8'000'000U);
}

TEST(ReportHtml, ARunThatGoesOnOrLacksSamplesSaysSo) {
  ReportSource running = a_source();
  running.record.state = RunState::running;
  running.record.end.reset();
  running.torn_lines = 1;
  const std::string html = report_html(report_of(std::move(running)), {});
  EXPECT_THAT(html, HasSubstr("still running when this was written"));
  EXPECT_THAT(html, Not(HasSubstr("torn"))) << "its last line is being written";
  ReportSource torn = a_source();
  torn.torn_lines = 3;
  EXPECT_THAT(report_html(report_of(std::move(torn)), {}), HasSubstr("3 lines of its samples"));
  ReportSource none{.record = a_record(1), .curves = RunCurves(run_begun, 1)};
  EXPECT_THAT(report_html(report_of(std::move(none)), {}), HasSubstr("No samples were taken"));
}

TEST(ReportHtml, AGpuRunAndACpuRunStandSideBySide) {
  std::vector<ReportSource> sources = {a_source(1), a_source(0)};
  const Report report = make_report(std::move(sources), {}, later);
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences.front().found.front().rule, "cpu_or_gpu");
  const Charts charts = charts_of(report);
  EXPECT_EQ(chart_named(charts, "utilization").lines.size(), 1U);
  EXPECT_EQ(chart_named(charts, "cpu").lines.size(), 2U);
  const std::string html = report_html(report, {});
  EXPECT_THAT(html, HasSubstr("B was given no device"));
  EXPECT_THAT(html, HasSubstr("no device</td>"));
}

/// The rows of a comparison of a long, large run with a short, small one.
std::map<std::string, std::vector<std::string>> rows_of_large_and_small() {
  ReportSource small = a_source();
  small.record.end->lasted_ms = 9'000;
  Summary& summary = small.record.end->summary;
  summary.devices.front().memory_peak = Bytes(300ULL << 20);
  summary.energy = Millijoules(500'000);
  summary.tree_memory_peak = Bytes(40ULL << 20);
  summary.tree_cpu = Milliseconds(4'000);
  small.record.manifest.machine.memory_total = 512_GiB;
  ReportSource large = a_source();
  large.record.end->lasted_ms = 2 * 3'600'000 + 3 * 60'000 + 9'000;
  large.record.end->summary.energy = Millijoules(7'200'000'000);
  large.record.manifest.machine.memory_total = 2048_GiB;
  large.marks = {mark(0, "step=0"), mark(30'000, "step=3000")};
  small.marks = {mark(0, "step=0"), mark(9'000, "step=2")};
  std::vector<ReportSource> sources;
  sources.push_back(std::move(large));
  sources.push_back(std::move(small));
  const Report report = make_report(std::move(sources), {}, later);
  std::map<std::string, std::vector<std::string>> rows;
  for (const FigureRow& row : figure_rows(report, {})) rows[row.label] = row.values;
  for (const EnvironmentTable& table : environment_tables(report, {})) {
    for (const FigureRow& row : table.rows) rows[row.label] = row.values;
  }
  return rows;
}

TEST(ReportFigures, EachRowOfAComparisonHasOneUnit) {
  const auto rows = rows_of_large_and_small();
  EXPECT_THAT(rows.at("Duration"), ElementsAre("2:03:09", "0:00:09"));
  EXPECT_THAT(rows.at("CPU time"), ElementsAre("0:02:00", "0:00:04"));
  EXPECT_THAT(rows.at("GPU memory, peak"),
              ElementsAre("10.0 GiB of 20.0 GiB promised", "0.29 GiB of 20.0 GiB promised"));
  EXPECT_THAT(rows.at("Main memory, peak"), ElementsAre("4.0 GiB", "0.039 GiB"));
  EXPECT_THAT(rows.at("Energy"), ElementsAre("about 2.00 kWh", "about 0.00014 kWh"));
  EXPECT_THAT(rows.at("step, marked"), ElementsAre("3000, 100 per second", "2, 0.222 per second"));
  EXPECT_THAT(rows.at("Main memory"), ElementsAre("2048 GiB", "512 GiB"));
}

TEST(ReportFigures, OfSeveralRunsTheLastMarksStandSideBySide) {
  const auto rows = rows_of_large_and_small();
  EXPECT_THAT(rows.at("Last mark"), ElementsAre("step=3000", "step=2"));
}

TEST(ReportFigures, ARunAloneHasTheUnitsThatSuitIt) {
  ReportSource source = a_source();
  source.record.end->lasted_ms = 9'500;
  source.record.end->summary.tree_memory_peak = Bytes(40ULL << 20);
  std::map<std::string, std::vector<std::string>> rows;
  for (const FigureRow& row : figure_rows(report_of(std::move(source)), {})) {
    rows[row.label] = row.values;
  }
  EXPECT_THAT(rows.at("Duration"), ElementsAre("9.5s"));
  EXPECT_THAT(rows.at("CPU time"), ElementsAre("2m00s"));
  EXPECT_FALSE(rows.contains("Last mark")) << "its marks are listed";
  EXPECT_THAT(rows.at("Main memory, peak"), ElementsAre("40 MiB"));
}

TEST(ReportJson, HasFiguresCurvesAndTheRecord) {
  const auto json = nlohmann::json::parse(report_json(report_of(a_source())));
  EXPECT_EQ(json.at("berth_report"), 1);
  const auto& run = json.at("runs").at(0);
  EXPECT_EQ(run.at("figures").at("mean_utilization_percent"), 50);
  EXPECT_EQ(run.at("curves").at("devices").at(0).at("power_draw_watts").at("mean").at(5), 300);
  EXPECT_TRUE(run.at("curves").at("devices").at(0).at("pcie_sent_bytes_per_second").is_null());
  EXPECT_EQ(run.at("record").at("id"), "20251121-014946-k3f9q2");
}

TEST(ReportMarkdown, LooksAsItDid) {
  ReportSource source = a_source();
  source.marks = {mark(10'000, "epoch=1 loss=0.5"), mark(40'000, "epoch=2 loss=0.25 | a_b*c")};
  source.record.manifest.given.simulated = "lab-4";
  const std::string drawn = report_markdown(report_of(std::move(source), {.per_kwh = 0.3}), {});
  // Without its last line, which says the version.
  expect_golden("report_md", drawn.substr(0, drawn.rfind("Written by")));
}

TEST(Markup, MarkdownIsText) {
  EXPECT_EQ(markdown_escaped("a|b *c* <d> [e](f) `g`\n"),
            "a\\|b \\*c\\* &lt;d&gt; \\[e\\](f) \\`g\\`\\\\x0A");
}

TEST(ReportMarkdown, SaysOfAGuessThatItIsOne) {
  ReportSource source = a_source();
  source.findings = {{.rule = "serial_python",
                      .title = Sentence("one thread"),
                      .evidence = {Sentence("seen")},
                      .doubt = Sentence("nobody looked")}};
  EXPECT_THAT(report_markdown(report_of(std::move(source)), Style{}),
              ::testing::HasSubstr("nobody looked"));
}

/// One sample a second with the GPU as busy as `busy` says, percent.
std::vector<Sample> samples_of(const std::vector<double>& busy) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    Sample sample{.at = WallTime{static_cast<std::int64_t>(1000 * (i + 1))}};
    sample.devices.push_back({.utilization_gpu = Percent(busy[i])});
    samples.push_back(std::move(sample));
  }
  return samples;
}

TEST(ReportRanks, StandInATableWithTheOneThatFailedFirst) {
  ReportSource source = a_source(2);
  const WallTime over{run_begun.unix_ms + 60'000};
  source.ranks =
      RunRanks{.ranks = {{.rank = 0, .cpus = "0-3", .ended = over, .exit = {.signal = 15}},
                         {.rank = 1, .ended = over, .exit = {.code = 7}},
                         {.rank = 2, .node = "n|2", .ended = over, .exit = {.signal = 15}}},
               .failed_first = 1};
  const Report report = report_of(std::move(source));
  const std::string markdown = report_markdown(report, {});
  EXPECT_THAT(markdown, HasSubstr("| 1 | – | GPU 1 | – | ended with 7, before the others |"))
      << markdown;
  EXPECT_THAT(markdown, HasSubstr("ended with 7, before the others"));
  EXPECT_THAT(markdown, HasSubstr("n\\|2")) << "what comes from outside is escaped";
  EXPECT_THAT(report_html(report, {}), HasSubstr("ended with 7, before the others"));
  EXPECT_THAT(report_markdown(report_of(a_source()), {}), Not(HasSubstr("## Ranks")));
}

TEST(ReportPhases, StandInTheOrderOfTimeSinceTheStart) {
  std::vector<double> busy(10, 0.0);
  for (int round = 0; round < 3; ++round) {
    busy.insert(busy.end(), 20, 95.0);
    if (round < 2) busy.insert(busy.end(), 5, 0.0);
  }
  busy.insert(busy.end(), 8, 0.0);
  auto samples = samples_of(busy);
  // The machine slept for an hour in the second round.
  for (std::size_t i = 40; i < samples.size(); ++i) samples[i].at.unix_ms += 3'600'000;
  const auto phases = report_phases(phases_of(load_points(samples)), samples, WallTime{0});
  std::vector<std::string> names;
  for (const ReportPhase& phase : phases) {
    names.push_back(phase.name.english());
    EXPECT_LT(phase.from_ms, phase.to_ms);
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("start-up", "work", "pause", "work", "pause", "work", "tail"));
  ASSERT_EQ(phases.size(), 7U);
  EXPECT_EQ(phases[0].from_ms, 1000);
  EXPECT_EQ(phases[2].from_ms, 30'000);
  EXPECT_EQ(phases[2].to_ms, 35'000);
  // After the sleep, by the samples' own time.
  EXPECT_EQ(phases[4].from_ms, 3'655'000);
  EXPECT_EQ(phases[6].to_ms, samples.back().at.unix_ms);
}

TEST(ThinnedSamples, KeepsTheNewestAlsoWhereItHasJustHalvedThem) {
  ThinnedSamples thinned;
  for (std::size_t i = 0; i < ThinnedSamples::most; ++i) {
    thinned.add({.at = WallTime{static_cast<std::int64_t>(i)}});
  }
  EXPECT_EQ(std::move(thinned).take().back().at.unix_ms,
            static_cast<std::int64_t>(ThinnedSamples::most - 1));
}

TEST(ThinnedSamples, KeepsTheFirstAndTheNewestAndAnEvenShareBetween) {
  ThinnedSamples thinned;
  constexpr std::int64_t count = 350'001;
  for (std::int64_t i = 0; i <= count; ++i) {
    thinned.add({.at = WallTime{i}, .devices = std::vector<DeviceSample>(2)});
  }
  const auto kept = std::move(thinned).take();
  EXPECT_LE(kept.size(), ThinnedSamples::most);
  EXPECT_GT(kept.size(), ThinnedSamples::most / 3);
  EXPECT_EQ(kept.front().at.unix_ms, 0);
  EXPECT_EQ(kept.back().at.unix_ms, count);
  const std::int64_t apart = kept[1].at.unix_ms - kept[0].at.unix_ms;
  for (std::size_t i = 1; i + 1 < kept.size(); ++i) {
    ASSERT_EQ(kept[i].at.unix_ms - kept[i - 1].at.unix_ms, apart) << i;
    ASSERT_EQ(kept[i - 1].devices.size(), 2U) << i;
  }
}

}  // namespace
}  // namespace berth
