#include "record/history/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include "base/temporary_directory.h"
#include "record/history/example_load.h"
#include "record/history/reader.h"
#include "record/history/schema.h"
#include "record/history/stored.h"
#include "record/history/writer.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A whole hour, so that roll-ups are easy to count.
constexpr std::int64_t start = 1'760'000'400'000 / 3'600'000 * 3'600'000;

/// One card of one user; its load is the second modulo 100.
Snapshot look_at(std::int64_t second, const std::string& user = "alice") {
  Snapshot snapshot = SnapshotBuilder()
                          .gpu("GPU-a", 80_GiB)
                          .used(10_GiB)
                          .claim(user)
                          .process(4711, user, 9_GiB)
                          .build();
  snapshot.taken = {start + second * 1000};
  Device& device = snapshot.devices[0];
  device.utilization_gpu = Percent(static_cast<double>(second % 100));
  device.power_draw = Milliwatts(300'000);
  device.temperature = Celsius(60);
  device.energy = Millijoules(5'000'000 + static_cast<std::uint64_t>(second) * 300'000);
  snapshot.claims[0].run = "run-1";
  snapshot.claims[0].since = {start};
  return snapshot;
}

class History : public testing::Test {
 protected:
  HistoryStore opened(HistoryOptions options = {}) {
    auto store = HistoryStore::open(path, options, clock);
    EXPECT_TRUE(store.has_value()) << store.error().message();
    return *std::move(store);
  }
  HistoryReader reader() {
    auto found = HistoryReader::open(path);
    EXPECT_TRUE(found.has_value()) << found.error().message();
    return *std::move(found);
  }
  void write_seconds(std::int64_t from, std::int64_t to, std::int64_t step = 1) {
    HistoryStore store = opened({.commit_every = rarely});
    for (std::int64_t second = from; second < to; second += step) {
      const auto done = store.append(look_at(second));
      ASSERT_TRUE(done.has_value()) << done.error().message();
    }
  }
  HistorySeries series(const std::string& metric, std::int64_t from, std::int64_t to,
                       std::size_t points) {
    const auto found = reader().series({.devices = {DeviceId("GPU-a")},
                                        .metric = metric,
                                        .since = {start + from * 1000},
                                        .until = {start + to * 1000},
                                        .points = points});
    EXPECT_TRUE(found.has_value()) << found.error().message();
    return found ? found->front() : HistorySeries{};
  }
  UsageReport usage(UsageQuery query) {
    query.since = {start};
    if (query.until.unix_ms == 0) query.until = {start + 3'600'000};
    const auto found = reader().usage(query);
    EXPECT_TRUE(found.has_value()) << found.error().message();
    return found.value_or(UsageReport{});
  }

  /// One user's hours within 30 days, as `hours_at_most` counts them.
  double hours_of(const std::string& user) {
    double hours = 0;
    const auto found = reader().usage(
        {.by = UsageBy::user, .since = {start}, .until = {start + 30 * 86'400'000LL}});
    EXPECT_TRUE(found.has_value()) << found.error().message();
    for (const UsageRow& row : found.value_or(UsageReport{}).rows) {
      if (row.key == user) hours += row.gpu_hours;
    }
    return hours;
  }

  /// Tests of what is written, not of when.
  static constexpr std::chrono::milliseconds rarely{100'000};

  TemporaryDirectory directory;
  std::string path = directory / "history.sqlite";
  FakeClock clock;
};

TEST_F(History, GivesBackEachSample) {
  write_seconds(0, 30);
  const HistorySeries got = series("utilization_gpu_percent", 0, 30, 30);
  ASSERT_THAT(got.points, SizeIs(30));
  EXPECT_EQ(got.step_ms, 1000);
  EXPECT_EQ(got.points[17].at.unix_ms, start + 17'000);
  EXPECT_EQ(got.points[17].mean, 17);
  EXPECT_EQ(got.unit, "percent");
}

TEST_F(History, GivesBackSamplesFromBlocksAsFromTheTail) {
  write_seconds(0, 1210);  // two sealed chunks and ten seconds of a third
  const HistorySeries got = series("utilization_gpu_percent", 0, 1210, 1210);
  ASSERT_THAT(got.points, SizeIs(1210));
  for (std::size_t i = 0; i < got.points.size(); ++i) {
    ASSERT_EQ(got.points[i].mean, static_cast<double>(i % 100)) << "second " << i;
  }
}

TEST_F(History, RollsUpToMinutesAndHours) {
  write_seconds(0, 4300);
  const HistorySeries minutes = series("utilization_gpu_percent", 0, 3600, 60);
  ASSERT_THAT(minutes.points, SizeIs(60));
  EXPECT_EQ(minutes.step_ms, 60'000);
  EXPECT_EQ(minutes.points[0].samples, 60U);
  EXPECT_EQ(minutes.points[0].least, 0);
  EXPECT_EQ(minutes.points[0].most, 59);
  EXPECT_EQ(minutes.points[0].p95, 56);
  EXPECT_EQ(minutes.points[0].mean, 29.5);
  const HistorySeries hours = series("utilization_gpu_percent", 0, 7200, 2);
  ASSERT_THAT(hours.points, SizeIs(2));
  EXPECT_EQ(hours.points[0].samples, 3600U);
  EXPECT_EQ(hours.points[0].p95, 94);
  EXPECT_EQ(hours.points[0].mean, 49.5);
}

TEST_F(History, ChartsACounterAsItsGrowth) {
  write_seconds(0, 1300);
  const HistorySeries got = series("energy_millijoules", 0, 1300, 20);
  ASSERT_FALSE(got.points.empty());
  EXPECT_EQ(got.unit, "milliwatts");
  for (const SeriesPoint& point : got.points) EXPECT_EQ(point.mean, 300'000);
}

TEST_F(History, LeavesOutWhatNobodySaw) {
  {
    HistoryStore store = opened();
    for (const std::int64_t second : {0, 1, 2, 600, 601}) {
      ASSERT_TRUE(store.append(look_at(second)).has_value());
    }
  }
  EXPECT_THAT(series("power_draw_milliwatts", 0, 700, 7).points, SizeIs(2));
}

TEST_F(History, KeepsWhatWasWrittenWhereTheWriterDoesNotEndWell) {
  HistoryStore store = opened({.commit_every = std::chrono::milliseconds(1000)});
  for (std::int64_t second = 0; second < 100; ++second) {
    ASSERT_TRUE(store.append(look_at(second)).has_value());
  }
  // Its end is not waited for: another looks at what is on the disk.
  EXPECT_THAT(series("power_draw_milliwatts", 0, 100, 100).points, SizeIs(100));
}

TEST_F(History, GoesOnWhereItLeftOff) {
  write_seconds(0, 100);
  write_seconds(100, 200);
  EXPECT_THAT(series("power_draw_milliwatts", 0, 200, 200).points, SizeIs(200));
  const auto spans = reader().spans({start}, {start + 200'000});
  ASSERT_TRUE(spans.has_value());
  std::vector<std::string> leases;
  for (const auto& span : *spans) {
    if (span.kind == history::SpanKind::lease) leases.push_back(span.key);
  }
  EXPECT_THAT(leases, ElementsAre("lease-0")) << "one lease over both lives of the program";
}

TEST_F(History, SurvivesAClockThatIsSetBack) {
  HistoryStore store = opened();
  for (const std::int64_t second : {100, 101, 102, 50, 51, 52, 53}) {
    ASSERT_TRUE(store.append(look_at(second)).has_value());
  }
  ASSERT_TRUE(store.flush().has_value());
  EXPECT_THAT(series("power_draw_milliwatts", 0, 200, 200).points, SizeIs(7));
  const auto facts = reader().facts();
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->last_sample->unix_ms, start + 53'000);
}

TEST_F(History, SaysWhoHadWhatForHowLong) {
  write_seconds(0, 3605, 5);
  const UsageReport got = usage({.by = UsageBy::user, .price_per_kwh = 0.30});
  ASSERT_THAT(got.rows, SizeIs(1));
  const UsageRow& alice = got.rows[0];
  EXPECT_EQ(alice.key, "alice");
  EXPECT_NEAR(alice.gpu_hours, 1.0, 0.001);
  // One of twenty looks has a load of 3 % or less.
  EXPECT_NEAR(alice.idle_held_hours, 0.05, 0.002);
  EXPECT_NEAR(alice.busy_hours, 0.95, 0.002);
  EXPECT_NEAR(alice.energy_joules.value_or(0), 300.0 * 3600, 1600);
  EXPECT_FALSE(alice.energy_integrated);
  EXPECT_NEAR(alice.cost.value_or(0), 0.3 * 0.30, 0.001);
  EXPECT_EQ(alice.runs, 1U);
}

TEST_F(History, SaysHowLongNobodyLooked) {
  {
    HistoryStore store = opened({.commit_every = rarely});
    for (std::int64_t second = 0; second <= 900; second += 5) {
      ASSERT_TRUE(store.append(look_at(second)).has_value());
    }
    ASSERT_TRUE(store.append(look_at(3600)).has_value());
  }
  const UsageReport got = usage({.by = UsageBy::gpu});
  ASSERT_THAT(got.rows, SizeIs(1));
  EXPECT_EQ(got.rows[0].key, "GPU-a");
  EXPECT_NEAR(got.rows[0].gpu_hours, 0.25, 0.001) << "what nobody saw is nobody's";
  EXPECT_NEAR(got.rows[0].unwatched_hours.value_or(0), 0.75, 0.001);
  EXPECT_NEAR(got.unwatched_hours, 0.75, 0.001);
}

TEST_F(History, NamesTheRunAsTheJob) {
  write_seconds(0, 20);
  const UsageReport got = usage({.by = UsageBy::job});
  ASSERT_THAT(got.rows, SizeIs(1));
  EXPECT_EQ(got.rows[0].key, "run-1");
  EXPECT_EQ(got.rows[0].user, "alice");
}

TEST_F(History, BeginsDaysWhereLocalTimeDoesAlsoWhenTheClocksChange) {
  // From 02:00 on one hour behind, as in a night of October.
  const std::int64_t change = start + 2 * 3'600'000;
  write_seconds(0, 4 * 3600, 10);
  const auto offset = [&](WallTime time) {
    const std::int64_t to_midnight = 86'400'000 - start % 86'400'000;
    // Local midnight is one hour after the start.
    const std::chrono::milliseconds before(to_midnight - 3'600'000);
    const auto hour = std::chrono::hours(time.unix_ms >= change ? 1 : 0);
    return std::chrono::duration_cast<std::chrono::seconds>(before - hour);
  };
  const UsageReport got =
      usage({.by = UsageBy::day, .until = {start + 4 * 3'600'000}, .offset_at = offset});
  ASSERT_THAT(got.rows, SizeIs(2));
  EXPECT_NEAR(got.rows[0].gpu_hours, 1.0, 0.01);
  EXPECT_NEAR(got.rows[1].gpu_hours, 3.0, 0.01);
}

TEST_F(History, CountsWaits) {
  {
    HistoryStore store = opened();
    for (std::int64_t second = 0; second < 100; ++second) {
      Snapshot look = look_at(second);
      if (second >= 10 && second < 46) {
        look.waiters.push_back({.id = "t1", .uid = 1002, .user = "bob", .since = {start + 10'000}});
      }
      ASSERT_TRUE(store.append(look).has_value());
    }
  }
  const UsageReport got = usage({.by = UsageBy::user});
  ASSERT_THAT(got.rows, SizeIs(2));
  EXPECT_EQ(got.rows[1].key, "bob");
  EXPECT_EQ(got.rows[1].uid, 1002) << "by whom the server tells whose row it is";
  EXPECT_EQ(got.rows[1].waits, 1U);
  EXPECT_NEAR(got.rows[1].waited_hours.value_or(0), 0.01, 0.0001);
  EXPECT_EQ(got.rows[1].gpu_hours, 0);
}

TEST_F(History, KeepsAnEventOnceHoweverOftenItIsSeen) {
  {
    HistoryStore store = opened();
    for (std::int64_t second = 0; second < 20; ++second) {
      Snapshot look = look_at(second);
      look.devices[0].pci_address = std::string("00000000:3b:00.0");
      // Told by the driver first, then by the kernel log, with words.
      look.xids = std::vector<XidEvent>{{.pci_address = "00000000:3b:00.0",
                                         .code = 79,
                                         .at = {start - 5000 + second % 2},
                                         .text = second == 0 ? "" : "GPU has fallen off the bus.",
                                         .number = 1}};
      ASSERT_TRUE(store.append(look).has_value());
      ASSERT_TRUE(store
                      .add({.at = {start},
                            .kind = "health",
                            .device = DeviceId("GPU-a"),
                            .code = "row_remap_failed",
                            .text = "a row"})
                      .has_value());
    }
  }
  {
    HistoryStore after_restart = opened();
    Snapshot look = look_at(20);
    look.devices[0].pci_address = std::string("00000000:3b:00.0");
    look.xids = std::vector<XidEvent>{{.pci_address = "00000000:3b:00.0",
                                       .code = 79,
                                       .at = {start - 5000},
                                       .text = "GPU has fallen off the bus.",
                                       .number = 1}};
    ASSERT_TRUE(after_restart.append(look).has_value());
  }
  const auto events = reader().events({start - 10'000}, {start + 60'000});
  ASSERT_TRUE(events.has_value());
  ASSERT_THAT(*events, SizeIs(2));
  EXPECT_EQ((*events)[0].code, "79");
  EXPECT_EQ((*events)[0].device, DeviceId("GPU-a"));
  EXPECT_EQ((*events)[1].code, "row_remap_failed");
}

TEST_F(History, IsOfOneMachineAlone) {
  HistoryStore store = opened();
  ASSERT_TRUE(store.append(look_at(0)).has_value());
  Snapshot simulated = look_at(1);
  simulated.simulated = "lab-4";
  const auto refused = store.append(simulated);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr("the simulated server lab-4"));
}

TEST_F(History, SaysThatItIsSimulated) {
  {
    HistoryStore store = opened();
    Snapshot simulated = look_at(0);
    simulated.simulated = "lab-4";
    ASSERT_TRUE(store.append(simulated).has_value());
  }
  EXPECT_EQ(reader().facts()->simulated, "lab-4");
}

TEST_F(History, HasOneWriter) {
  const HistoryStore first = opened();
  const auto second = HistoryStore::open(path, {}, clock);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
  EXPECT_THAT(second.error().message(), HasSubstr("already writes"));
}

TEST_F(History, CanBeReadByTwoWhileItIsWritten) {
  HistoryStore store = opened({.commit_every = std::chrono::milliseconds(1000)});
  ASSERT_TRUE(store.append(look_at(0)).has_value());
  HistoryReader first = reader();
  HistoryReader second = reader();
  for (std::int64_t second_of_time = 1; second_of_time < 700; ++second_of_time) {
    ASSERT_TRUE(store.append(look_at(second_of_time)).has_value());
    if (second_of_time % 50 != 0) continue;
    for (HistoryReader* one : {&first, &second}) {
      const auto got = one->series({.devices = {DeviceId("GPU-a")},
                                    .metric = "temperature_celsius",
                                    .since = {start},
                                    .until = {start + 700'000},
                                    .points = 700});
      ASSERT_TRUE(got.has_value()) << got.error().message();
      EXPECT_THAT(got->front().points, SizeIs(static_cast<std::size_t>(second_of_time) + 1));
    }
  }
}

TEST_F(History, SaysThatThereIsNone) {
  const auto none = HistoryReader::open(path);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code(), ErrorCode::not_found);
}

TEST_F(History, RefusesANewerFormatByNameAndLeavesItAlone) {
  write_seconds(0, 3);
  {
    auto database = history::Database::open(path, history::Database::Access::write);
    ASSERT_TRUE(database.has_value());
    ASSERT_TRUE(database->execute("PRAGMA user_version=3").has_value());
  }
  const auto refused = HistoryStore::open(path, {}, clock);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr("format 3"));
  EXPECT_EQ(HistoryReader::open(path).error().code(), ErrorCode::unsupported);
}

TEST_F(History, IsToldByAReaderThatNoReleaseWroteItsFormat) {
  write_seconds(0, 3);
  {
    auto database = history::Database::open(path, history::Database::Access::write);
    ASSERT_TRUE(database.has_value());
    ASSERT_TRUE(database->execute("PRAGMA user_version=1").has_value());
  }
  const auto refused = HistoryReader::open(path);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr("format 1, which no released berth wrote"));
  HistoryStore store = opened();
  EXPECT_THAT(store.take_notes(), ElementsAre(HasSubstr("set aside as")));
  EXPECT_TRUE(store.append(look_at(10)).has_value());
}

std::vector<std::string> names_in(const TemporaryDirectory& directory, const std::string& part) {
  std::vector<std::string> found;
  const auto names = list_directory(directory.path());
  for (const std::string& name : *names) {
    if (name.find(part) != std::string::npos) found.push_back(name);
  }
  return found;
}

TEST_F(History, SetsAFileAsideThatIsNoDatabase) {
  ASSERT_TRUE(write_file_atomically(path, std::string(20'000, 'x')).has_value());
  HistoryStore store = opened();
  EXPECT_TRUE(store.append(look_at(0)).has_value());
  EXPECT_THAT(store.take_notes(), ElementsAre(HasSubstr("set aside as")));
  EXPECT_THAT(names_in(directory, ".broken-20251009"), SizeIs(1));
}

TEST_F(History, MayLieOnAnotherDiskBehindALink) {
  const std::string elsewhere = path + "-on-a-larger-disk";
  ASSERT_EQ(::symlink(elsewhere.c_str(), path.c_str()), 0);
  ASSERT_TRUE(opened().append(look_at(0)).has_value());
  struct stat facts{};
  ASSERT_EQ(::lstat(path.c_str(), &facts), 0);
  EXPECT_TRUE(S_ISLNK(facts.st_mode)) << "a link is nothing broken";
  ASSERT_EQ(::lstat(elsewhere.c_str(), &facts), 0);
  EXPECT_TRUE(S_ISREG(facts.st_mode));
  EXPECT_TRUE(opened().take_notes().empty());
}

TEST_F(History, SetsAFileAsideThatTurnsOutToBeDamaged) {
  write_seconds(0, 4000, 10);
  const auto size = static_cast<std::size_t>(read_file(path)->size());
  HistoryStore store = opened();
  {
    const auto fd = open_fd(path, O_WRONLY);
    ASSERT_TRUE(fd.has_value());
    const std::string rubbish(4096, '\x5A');
    for (std::size_t page = 1; page < size / 4096; ++page) {
      ASSERT_EQ(
          ::pwrite(fd->get(), rubbish.data(), rubbish.size(), static_cast<off_t>(page * 4096)),
          4096);
    }
  }
  ASSERT_TRUE(store.verify().has_value());
  EXPECT_THAT(store.take_notes(), ElementsAre(HasSubstr("set aside as")));
  ASSERT_TRUE(store.verify().has_value());
  EXPECT_THAT(store.take_notes(), IsEmpty()) << "the new one is whole";
  EXPECT_TRUE(store.append(look_at(3000)).has_value());
  EXPECT_TRUE(store.flush().has_value());
  EXPECT_THAT(series("power_draw_milliwatts", 2999, 3100, 101).points, SizeIs(1));
}

TEST_F(History, KeepsOneOfThoseSetAsideAndCountsIt) {
  const std::string strangers = path + ".broken-by-me";
  ASSERT_TRUE(write_file_atomically(strangers, "mine").has_value());
  for (int day = 0; day < 3; ++day) {
    ASSERT_TRUE(write_file_atomically(path, std::string(1'000'000, 'x')).has_value());
    HistoryStore store = opened();
    EXPECT_THAT(store.take_notes(), ElementsAre(HasSubstr("set aside as")));
    EXPECT_THAT(names_in(directory, ".broken-20251"), SizeIs(1)) << "day " << day;
    EXPECT_GT(store.disk_used().count(), 1'000'000U);
    clock.advance(std::chrono::hours(24));
  }
  EXPECT_GT(opened().disk_used().count(), 1'000'000U) << "as well after a restart";
  EXPECT_THAT(names_in(directory, ".broken-20251011"), SizeIs(1)) << "the newest";
  EXPECT_TRUE(read_file(strangers).has_value()) << "what has another name is not berth's";
}

TEST_F(History, LeavesOutADamagedBlockAndSaysSo) {
  write_seconds(0, 1300);
  {
    auto database = history::Database::open(path, history::Database::Access::write);
    ASSERT_TRUE(database.has_value());
    ASSERT_TRUE(database->execute("UPDATE block SET data=x'0102030405060708'").has_value());
  }
  const HistorySeries got = series("power_draw_milliwatts", 0, 1300, 1300);
  EXPECT_EQ(got.damaged_blocks, 2U);
  EXPECT_THAT(got.points, SizeIs(100));
}

/// A server whose numbers are all noise, so that it fills a file quickly.
Snapshot noisy_look(std::int64_t second, std::mt19937_64& random) {
  SnapshotBuilder builder;
  for (int i = 0; i < 4; ++i) {
    builder.gpu("GPU-" + std::to_string(i), 80_GiB).with([&](Device& device) {
      device.power_draw = Milliwatts(random() % 700'000'000'000'000);
      device.memory_used = Bytes(random());
      device.utilization_gpu = Absent::unsupported;
      device.temperature = Celsius(static_cast<std::int64_t>(random()));
      device.clock_sm = Megahertz(random());
      device.energy = Absent::unsupported;
      device.pcie_sent = device.pcie_received = Absent::unsupported;
    });
  }
  Snapshot snapshot = builder.build();
  snapshot.taken = {start + second * 1000};
  return snapshot;
}

TEST_F(History, TellsOfSeveralDevicesAtOnceWhatItTellsOfEach) {
  std::mt19937_64 random(7);
  HistoryStore store = opened({.commit_every = rarely});
  for (std::int64_t second = 0; second < 900; ++second) {  // blocks, and what is not yet in one
    ASSERT_TRUE(store.append(noisy_look(second, random)).has_value());
  }
  ASSERT_TRUE(store.flush().has_value());
  SeriesQuery query{.devices = {DeviceId("GPU-3"), DeviceId("never seen"), DeviceId("GPU-0")},
                    .metric = "power_draw_milliwatts",
                    .since = {start + 300'000},
                    .until = {start + 900'000},
                    .points = 60};
  const std::vector<DeviceId> devices = query.devices;
  const auto together = reader().series(query);
  ASSERT_TRUE(together.has_value());
  ASSERT_THAT(*together, SizeIs(3));
  EXPECT_THAT((*together)[0].points, SizeIs(60));
  EXPECT_THAT((*together)[1].points, IsEmpty());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    query.devices = {devices[i]};
    const auto answer = reader().series(query);
    ASSERT_TRUE(answer.has_value());
    const HistorySeries& alone = answer->front();
    EXPECT_EQ((*together)[i].device.text(), devices[i].text());
    EXPECT_EQ((*together)[i].knows_since.has_value(), alone.knows_since.has_value());
    ASSERT_EQ((*together)[i].points.size(), alone.points.size());
    for (std::size_t at = 0; at < alone.points.size(); ++at) {
      EXPECT_EQ((*together)[i].points[at].mean, alone.points[at].mean) << i << " at " << at;
    }
  }
}

TEST_F(History, NeverTakesMoreDiskThanTold) {
  constexpr Bytes at_most{std::uint64_t{2} << 20};
  HistoryStore store = opened({.at_most = at_most, .commit_every = rarely});
  std::mt19937_64 random(5);
  std::int64_t second = 0;
  for (; second < 36'000; second += 10) {
    const auto done = store.append(noisy_look(second, random));
    ASSERT_TRUE(done.has_value()) << done.error().message();
    ASSERT_LE(store.disk_used().count(), at_most.count()) << "at second " << second;
  }
  EXPECT_EQ(store.lost_samples(), 0U);
  ASSERT_TRUE(store.flush().has_value());
  const auto recent = reader().series({.devices = {DeviceId("GPU-3")},
                                       .metric = "power_draw_milliwatts",
                                       .since = {start + (second - 3600) * 1000},
                                       .until = {start + second * 1000},
                                       .points = 3600});
  ASSERT_TRUE(recent.has_value());
  EXPECT_THAT(recent->front().points, SizeIs(360)) << "what is new is kept, what is old goes";
  const auto oldest = reader().series({.devices = {DeviceId("GPU-3")},
                                       .metric = "power_draw_milliwatts",
                                       .since = {start},
                                       .until = {start + 600'000},
                                       .points = 600});
  ASSERT_TRUE(oldest.has_value());
  EXPECT_GE(oldest->front().step_ms, 60'000) << "the oldest samples have gone";
  EXPECT_FALSE(oldest->front().points.empty()) << "their roll-ups have not";
  const auto facts = reader().facts();
  EXPECT_EQ(facts->knows_since->unix_ms / 1'000'000, start / 1'000'000)
      << "roll-ups and usage reach further back than samples";
}

TEST_F(History, ForgetsSamplesByTheirAgeAndKeepsTheirRollups) {
  HistoryStore store = opened({.raw_for = std::chrono::hours(2), .commit_every = rarely});
  for (std::int64_t second = 0; second < 6 * 3600; second += 10) {
    ASSERT_TRUE(store.append(look_at(second)).has_value());
  }
  ASSERT_TRUE(store.flush().has_value());
  const HistorySeries old = series("power_draw_milliwatts", 0, 1800, 1800);
  EXPECT_EQ(old.step_ms, 60'000) << "the samples have gone, their minutes have not";
  EXPECT_THAT(old.points, SizeIs(30));
  EXPECT_EQ(series("power_draw_milliwatts", 5 * 3600, 6 * 3600, 3600).step_ms, 1000);
}

TEST_F(History, ForgetsMinutesByTheirAgeAndKeepsTheirHours) {
  HistoryStore store = opened({.raw_for = std::chrono::hours(1),
                               .minutes_for = std::chrono::hours(2),
                               .commit_every = rarely});
  for (std::int64_t second = 0; second < 6 * 3600; second += 10) {
    ASSERT_TRUE(store.append(look_at(second)).has_value());
  }
  ASSERT_TRUE(store.flush().has_value());
  const HistorySeries old = series("power_draw_milliwatts", 0, 7200, 120);
  EXPECT_EQ(old.step_ms, 3'600'000);
  EXPECT_THAT(old.points, SizeIs(2));
  EXPECT_EQ(series("power_draw_milliwatts", 5 * 3600, 6 * 3600, 60).step_ms, 60'000);
}

TEST_F(History, ForgetsAllByAge) {
  HistoryStore store = opened({.raw_for = std::chrono::hours(1),
                               .minutes_for = std::chrono::hours(1),
                               .hours_for = std::chrono::hours(24),
                               .commit_every = rarely});
  const HistoryEvent event{.at = {start},
                           .kind = "xid",
                           .device = DeviceId("GPU-a"),
                           .code = "79",
                           .text = "it fell off the bus",
                           .uid = std::nullopt};
  ASSERT_TRUE(store.add(event).has_value());
  for (std::int64_t second = 0; second < 72 * 3600; second += 300) {
    ASSERT_TRUE(store.append(look_at(second)).has_value());
  }
  ASSERT_TRUE(store.flush().has_value());
  EXPECT_THAT(series("power_draw_milliwatts", 0, 24 * 3600, 24).points, IsEmpty());
  EXPECT_FALSE(series("power_draw_milliwatts", 60 * 3600, 72 * 3600, 12).points.empty());
  EXPECT_GE(reader().facts()->knows_since->unix_ms, start + 40 * 3'600'000LL)
      << "what nobody can know any more is not claimed";
  const auto events = reader().events({start - 10'000}, {start + 60'000});
  ASSERT_TRUE(events.has_value());
  EXPECT_THAT(*events, IsEmpty());
}

TEST_F(History, ForgetsNothingBecauseAClockJumpedAhead) {
  write_seconds(0, 1300);
  write_seconds(400LL * 86'400, 400LL * 86'400 + 1300, 10);
  EXPECT_THAT(series("power_draw_milliwatts", 0, 1300, 1300).points, SizeIs(1300));
}

TEST_F(History, TakesAtMostTwoBytesPerReading) {
  // Of a server of eight GPUs and 64 processes; what a long run takes is in doc/BENCHMARKS.md.
  constexpr std::int64_t looks = 600;
  {
    HistoryStore store = opened({.commit_every = rarely});
    history::ExampleLoad load;
    for (std::int64_t second = 0; second <= looks; ++second) {
      ASSERT_TRUE(store.append(load.look({start}, second)).has_value());
    }
  }
  auto database = history::Database::open(path, history::Database::Access::read);
  ASSERT_TRUE(database.has_value());
  const auto blocks = database->number("SELECT sum(length(data)) FROM block");
  const auto times = database->number("SELECT sum(length(times)) FROM chunk");
  ASSERT_TRUE(blocks.has_value() && times.has_value());
  const auto readings =
      static_cast<double>(looks * std::int64_t{history::ExampleLoad::readings_per_look});
  EXPECT_GT(blocks->value_or(0), 0);
  EXPECT_LT(static_cast<double>(blocks->value_or(0) + times->value_or(0)) / readings, 2.0);
}

// For work that takes no time: a wait of this length is a failure.
constexpr std::chrono::seconds patience{60};

TEST_F(History, AWriterKeepsWhatItIsOffered) {
  {
    auto writer = HistoryWriter::start(path, {}, clock, 1000);
    for (std::int64_t second = 0; second < 100; ++second) {
      EXPECT_TRUE(writer->offer(std::make_shared<Snapshot>(look_at(second))));
    }
    EXPECT_TRUE(writer->stop(patience));
    EXPECT_EQ(writer->status().taken, 100U);
    EXPECT_EQ(writer->status().dropped, 0U);
    EXPECT_FALSE(writer->offer(std::make_shared<Snapshot>(look_at(100))));
    EXPECT_EQ(writer->status().dropped, 1U);
  }
  EXPECT_THAT(series("power_draw_milliwatts", 0, 100, 100).points, SizeIs(100));
}

TEST_F(History, AWriterDropsRatherThanWait) {
  auto writer = HistoryWriter::start(path, {}, clock, 2);
  std::uint64_t taken = 0;
  for (std::int64_t second = 0; second < 2000; ++second) {
    if (writer->offer(std::make_shared<Snapshot>(look_at(second)))) ++taken;
  }
  EXPECT_TRUE(writer->stop(patience));
  EXPECT_EQ(writer->status().taken, taken);
  EXPECT_EQ(writer->status().dropped, 2000 - taken);
}

TEST_F(History, AWriterThatALibraryEndedHasFailedAndSaysSo) {
  const auto writer = HistoryWriter::start(
      path, {}, clock, 10, [](WallTime) -> Snapshot { throw std::runtime_error("out of luck"); });
  EXPECT_TRUE(writer->stop(patience));
  EXPECT_EQ(writer->status().stage, HistoryStage::failed);
  EXPECT_THAT(writer->status().trouble, HasSubstr("out of luck"));
}

TEST_F(History, AWriterSaysWhyItCouldNotOpenItsFile) {
  const HistoryStore first = opened();
  const auto writer = HistoryWriter::start(path, {}, clock);
  writer->wait_until_open(patience);
  EXPECT_EQ(writer->status().stage, HistoryStage::failed);
  EXPECT_THAT(writer->status().trouble, HasSubstr("already writes"));
  EXPECT_FALSE(writer->status().disk_used.has_value()) << "what is not open has no size";
}

TEST_F(History, HoursOfAnEarlierBootCountOn) {
  constexpr std::int64_t hour = 3600;
  write_seconds(0, hour, 5);
  clock = FakeClock();  // a steady clock begins anew, and so do the driver's counters
  {
    HistoryStore store = opened({.commit_every = rarely});
    for (std::int64_t second = 0; second < hour; second += 5) {
      Snapshot look = look_at(second);
      look.taken = {start + (12 * hour + second) * 1000};
      ASSERT_TRUE(store.append(look));
    }
  }
  EXPECT_NEAR(hours_of("alice"), 2, 0.05) << "an hour before the night, and one since";
}

TEST(HistoryColumns, WeighEachStepByItsSamplesAndFillWhatItStandsFor) {
  const auto point = [](std::int64_t at_ms, double mean, std::uint64_t samples) {
    return SeriesPoint{{at_ms}, mean, mean, mean, mean, samples};
  };
  const HistorySeries series{
      .step_ms = 200,
      .points = {point(-200, 9, 1), point(-100, 1, 1), point(100, 3, 3), point(500, 5, 1)}};
  std::vector<std::optional<double>> means;
  for (const Aggregate<>& one : in_columns(series, {0}, {600}, 6)) {
    means.push_back(one.is_empty() ? std::nullopt : std::optional(one.mean()));
  }
  EXPECT_THAT(means, ElementsAre(1, 3, 3, std::nullopt, std::nullopt, 5));
  EXPECT_EQ(in_columns(series, {0}, {600}, 1).front().mean(), (1 + 3 * 3 + 5) / 5.0);
  EXPECT_TRUE(in_columns(series, {600}, {600}, 1).front().is_empty());
}

}  // namespace
}  // namespace berth
