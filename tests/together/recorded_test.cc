// A recorded reading stands wherever its row in src/snapshot/recorded.h says, under its own key.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "record/history/metric.h"
#include "record/sample.h"
#include "serve/metrics_window.h"
#include "snapshot/builder.h"
#include "view/report/model.h"

namespace berth {
namespace {

using testing::HasSubstr;

/// A device whose recorded readings are all there; counters grow by `seconds`.
DeviceSample full_sample(std::uint64_t seconds) {
  Device device;
  for (const RecordedReading& one : recorded_readings) {
    const Field* field = find_field(one.key);
    const bool is_counter = one.kind == SeriesKind::counter;
    EXPECT_TRUE(field->write(device, Scalar(is_counter ? 1000 * seconds : std::uint64_t{40})))
        << one.key;
  }
  return sample_of(device);
}

TEST(Recorded, EachIsInTheSamplesOfARunAndComesBack) {
  const Sample written{.at = {1'763'690'000'000}, .devices = {full_sample(1)}};
  std::vector<Sample> read;
  SampleReader reader;
  reader.feed(samples_header() + to_line(written), [&](const Sample& one) { read.push_back(one); });
  ASSERT_EQ(read.size(), 1U);
  for (const RecordedReading& one : recorded_readings) {
    EXPECT_THAT(samples_header(), HasSubstr("\"" + std::string(one.key) + "\""));
    EXPECT_TRUE(one.read(read[0].devices.at(0)).has_value()) << one.key;
  }
}

TEST(Recorded, EachWithANumberIsAMetricOfTheHistoryWithAUnit) {
  for (const RecordedReading& one : recorded_readings) {
    const history::MetricFacts* metric = history::find_metric(one.key);
    ASSERT_EQ(metric != nullptr, one.history_number != 0) << one.key;
    if (metric == nullptr) continue;
    EXPECT_EQ(metric->number, one.history_number) << one.key;
    EXPECT_FALSE(metric->unit.empty()) << one.key;
    Device device;
    EXPECT_TRUE(find_field(one.key)->write(device, Scalar(std::uint64_t{40}))) << one.key;
    EXPECT_TRUE(history::entry_of(metric->read(device)).value()) << one.key;
  }
}

TEST(Recorded, EachOfAWindowHasAStatisticOfItsOwn) {
  serve::WindowKeeper keeper;
  Snapshot host = SnapshotBuilder().gpu("A", Bytes(1)).build();
  for (const RecordedReading& one : recorded_readings) {
    (void)find_field(one.key)->write(host.devices[0], Scalar(std::uint64_t{40}));
  }
  keeper.add(host, Instant{});
  for (const RecordedReading& one : recorded_readings) {
    const auto* statistic = keeper.statistics().of(DeviceId("A"))->of(one.key);
    EXPECT_EQ(statistic != nullptr, one.is_drawn(Drawn::in_window)) << one.key;
  }
}

TEST(Recorded, EachOfAReportHasACurve) {
  constexpr WallTime begun{1'763'690'000'000};
  RunCurves curves(begun, 1);
  for (std::uint64_t second = 1; second < 4; ++second) {
    curves.add({.at = {begun.unix_ms + static_cast<std::int64_t>(second) * 1000},
                .devices = {full_sample(second)}});
  }
  for (const CurveRow& row : curve_rows) {
    if (row.reading.empty()) continue;
    const Track& track = curves.of_device(0, row.curve);
    const bool is_counter =
        recorded_readings[place_of_recorded(row.reading)].kind == SeriesKind::counter;
    EXPECT_EQ(track.count(), is_counter ? 2U : 3U) << row.reading;
    EXPECT_EQ(track.most(), (is_counter ? 1000 : 40) * row.per_unit) << row.reading;
  }
}

TEST(Recorded, ThePageDrawsThoseThatAreLiveInTheirOrder) {
  std::ifstream file(BERTH_SOURCE "/web/src/model/series.ts");
  std::vector<std::string> on_page;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("export const readings = {")) is_inside = true;
    if (line.starts_with("}")) is_inside = false;
    const std::size_t end = line.find(": {");
    const bool is_row = is_inside && line.starts_with("  ") && line[2] != ' ';
    if (is_row && end != std::string::npos) on_page.push_back(line.substr(2, end - 2));
  }
  std::vector<std::string> live;
  for (const RecordedReading& one : recorded_readings) {
    if (one.is_drawn(Drawn::live)) live.emplace_back(one.key);
  }
  EXPECT_EQ(on_page, live);
}

}  // namespace
}  // namespace berth
