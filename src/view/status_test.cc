#include "view/status.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "base/tr.h"
#include "health/health.h"
#include "snapshot/json.h"
#include "view/csv.h"
#include "view/example_server.h"
#include "view/golden_file.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  lines.pop_back();  // behind the last line break
  return lines;
}

std::string without_colour(std::string text) {
  for (std::size_t at = text.find('\033'); at != std::string::npos; at = text.find('\033')) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  return text;
}

void expect_fits(const std::string& text, const Style& style) {
  for (const std::string& line : lines_of(without_colour(text))) {
    EXPECT_LE(display_width(line), style.width) << line;
  }
}

class InChinese : public ::testing::Test {
 protected:
  void SetUp() override { set_language(Language::simplified_chinese); }
  void TearDown() override { set_language(Language::english); }
};

TEST(Status, DividedCardWithoutInstancesIsNotFree) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 80_GiB)
                            .with([](Device& device) { device.mig_mode = true; })
                            .gpu("B", 80_GiB)
                            .build();
  EXPECT_THAT(render_status(host, {}), HasSubstr("1 of 2 free: 1  1 divided"));
}

TEST(Status, NamesTheVendorsWhereThereAreSeveral) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  host.host.software_of(Runtime::cuda) = {.driver = std::string("590.48.01"),
                                          .runtime = std::string("13.1")};
  const Style style{.width = 160};
  EXPECT_THAT(render_status(host, style),
              HasSubstr("driver 590.48.01  CUDA up to 13.1 (highest supported, not installed)\n"));
  VendorSoftware& amd = host.host.software_of(Runtime::rocm);
  amd = {.driver = std::string("6.10.5"), .runtime = std::string("6.3.0-39")};
  EXPECT_THAT(render_status(host, style),
              HasSubstr("NVIDIA driver 590.48.01  CUDA up to 13.1 (highest supported, not "
                        "installed)  AMD driver 6.10.5  ROCm 6.3.0-39\n"));
  amd = {.driver = Absent::unsupported, .runtime = Absent::unsupported};
  EXPECT_THAT(render_status(host, style),
              HasSubstr("not installed)  AMD: in-tree driver of this kernel\n"));
  host.host.software_of(Runtime::cuda) = {};
  EXPECT_THAT(render_status(host, style), HasSubstr("in-tree driver of this kernel\n"));
  EXPECT_THAT(render_status(host, style), Not(HasSubstr("AMD")));
}

TEST(Status, LooksLikeItsPictureAtEachWidth) {
  for (const int width : {40, 80, 132, 200}) {
    const Style style{.width = width};
    const std::string drawn = render_status(example::server(), style);
    expect_golden("status_" + std::to_string(width), drawn);
    expect_fits(drawn, style);
  }
}

TEST(Status, LooksLikeItsPictureInAsciiAndInColour) {
  expect_golden("status_80_ascii", render_status(example::server(), {.width = 80, .utf8 = false}));
  const std::string coloured = render_status(example::server(), {.width = 80, .colour = true});
  expect_golden("status_80_colour", coloured);
  EXPECT_EQ(without_colour(coloured), render_status(example::server(), {.width = 80}));
}

TEST(Status, SaysWhatIsFreeBeforeAnythingElse) {
  const std::string first = lines_of(render_status(example::server(), {}))[0];
  EXPECT_TRUE(first.starts_with("2 of 9 free: 2  1 waiting  2 leased")) << first;
  EXPECT_THAT(first, HasSubstr("1 lost"));
}

TEST(Status, CardKeptForAWaiterIsReservedAndNotFree) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).build();
  host.waiters = {{.user = "alice", .command = "python a.py", .wants = "-n 1"},
                  {.user = "bob", .command = "python b.py", .wants = "--memory 2G"}};
  host.waiters[0].reserved = {{DeviceId("A"), std::nullopt}};
  host.waiters[1].reserved = {{DeviceId("B"), 2_GiB}};
  host.waiters[1].stuck = true;
  const std::string shown = render_status(host, {.width = 132});
  EXPECT_TRUE(shown.starts_with("0 of 2 free  2 waiting  2 reserved")) << shown;
  EXPECT_THAT(shown, AllOf(HasSubstr("reserved, waits"), HasSubstr("2.0G reserved, waits")));
  EXPECT_THAT(shown, HasSubstr("does not answer, passed over"));
  const auto columns = parse_field_list("state,users,reserved_for");
  ASSERT_TRUE(columns);
  EXPECT_THAT(render_csv(host, *columns), HasSubstr("reserved,,alice"));
}

Snapshot worn_server() {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 8_GiB)
                      .gpu("B", 8_GiB)
                      .with([](Device& device) {
                        device.ecc_uncorrected = std::uint64_t{12};
                        device.throttle_reasons = ClockReasons(0x48);
                      })
                      .process(700, "ann", 1_GiB)
                      .gpu("C", 8_GiB)
                      .with([](Device& device) {
                        device.details.set(Detail::remapped_rows_failed, Reading<bool>(true));
                      })
                      .gpu("D", 8_GiB)
                      .with([](Device& device) { device.ecc_corrected = std::uint64_t{5}; })
                      .gpu("E", 8_GiB)
                      .with([](Device& device) { device.lost = true; })
                      .build();
  host.faults = failed_devices(host);
  return host;
}

/// The lines that stand under devices and say how well they are.
std::vector<std::string> health_lines(const std::string& status) {
  std::vector<std::string> found;
  for (const std::string& line : lines_of(status)) {
    const std::string text(trimmed(line));
    if (text.starts_with("degraded") || text.starts_with("failed: ")) found.push_back(text);
  }
  return found;
}

TEST(Status, SaysUnderEachDeviceWhatIsNotOkAndNothingUnderTheOthers) {
  EXPECT_THAT(health_lines(render_status(example::server(), {})), ::testing::IsEmpty());
  for (const int width : {80, 132, 200}) {
    const Style style{.width = width};
    const std::string drawn = render_status(worn_server(), style);
    expect_fits(drawn, style);
    EXPECT_THAT(health_lines(drawn),
                ::testing::ElementsAre(
                    HasSubstr("12 memory errors were not corrected"),
                    "failed: a broken row of memory could not be replaced: no spare is left"))
        << drawn;
    EXPECT_LT(drawn.find("12 memory errors"), drawn.find("failed: "));
  }
  EXPECT_THAT(render_status(worn_server(), {}),
              HasSubstr("degraded (first of 2): 12 memory errors"));
}

TEST(Status, ColoursATemperatureByTheCardsOwnLimits) {
  const auto drawn = [](std::int64_t temperature, Reading<Celsius> limit) {
    const auto heat = [&](Device& device) {
      device.temperature = Celsius(temperature);
      device.temperature_slowdown = limit;
    };
    const Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).with(heat).build();
    return render_status(host, {.width = 80, .colour = true});
  };
  EXPECT_THAT(drawn(93, Celsius(87)), HasSubstr("\033[31m93°C"));
  EXPECT_THAT(drawn(83, Celsius(87)), HasSubstr("\033[33m83°C"));
  EXPECT_THAT(drawn(81, Celsius(87)), HasSubstr(" 81°C"));
  EXPECT_THAT(drawn(93, Celsius(105)), Not(HasSubstr("m93°C")));
  EXPECT_THAT(drawn(93, Absent::unsupported), Not(HasSubstr("m93°C")));
}

TEST(Status, SaysUnderADeviceThatErrorsPassedTheMakersThreshold) {
  const auto worn = [](Device& device) {
    device.details.set(Detail::ecc_sram_threshold_exceeded, Reading<bool>(true));
  };
  const Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).with(worn).build();
  EXPECT_THAT(health_lines(render_status(host, {})),
              ::testing::ElementsAre(HasSubstr("passed the maker's threshold")));
  EXPECT_TRUE(wanted_by_status().has(Detail::ecc_sram_threshold_exceeded));
}

TEST(Status, SaysUnderADeviceThatItCouldNotBeJudged) {
  const auto unread = [](Device& device) {
    device.details.put(Detail::recovery_action, Absent::failed);
  };
  const Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).with(unread).build();
  EXPECT_THAT(render_status(host, {}),
              HasSubstr("unknown: could not be examined: recovery action: reading it failed"));
}

TEST(Status, ABrokenDeviceIsNotCalledFreeToTake) {
  const std::string first = lines_of(render_status(worn_server(), {}))[0];
  EXPECT_TRUE(first.starts_with("2 of 5 free: 0 3  1 held  1 failed  1 lost")) << first;
}

TEST(Status, StateOfABrokenDeviceIsBrokenInItsRowAndFailedForPrograms) {
  const Snapshot host = worn_server();
  const std::vector<std::string> lines = lines_of(render_status(host, {.width = 120}));
  const auto row = std::ranges::find_if(
      lines, [](const std::string& line) { return trimmed(line).starts_with("2 Test GPU"); });
  ASSERT_NE(row, lines.end());
  EXPECT_THAT(*row, ::testing::AllOf(HasSubstr("failed"), Not(HasSubstr("free"))));
  const auto columns = parse_field_list("id,state,failed_because");
  ASSERT_TRUE(columns);
  EXPECT_THAT(render_csv(host, *columns),
              HasSubstr("C,failed,a broken row of memory could not be replaced: no spare is left"));
  EXPECT_THAT(to_json(host, JsonLayout::compact),
              HasSubstr(R"("state":"failed","failed_because":"a broken row)"));
}

TEST(Status, ABrokenDeviceThatSomebodyIsOnIsBusyAndItsLineSaysThatItIsBroken) {
  Snapshot host = worn_server();
  host.claims.push_back({.user = "ann", .devices = {{DeviceId("C"), std::nullopt}}});
  const std::string drawn = render_status(host, {.width = 120});
  EXPECT_TRUE(lines_of(drawn)[0].starts_with("2 of 5 free: 0 3  1 leased  1 held  1 lost"))
      << drawn;
  EXPECT_THAT(drawn, HasSubstr("failed: a broken row of memory"));
}

TEST(Status, WhatIsNotOkFitsANarrowTerminalAndIsColoured) {
  expect_fits(render_status(worn_server(), {.width = 40}), {.width = 40});
  const std::string coloured = render_status(worn_server(), {.width = 80, .colour = true});
  EXPECT_THAT(coloured, HasSubstr("\033[31mfailed: "));
  EXPECT_THAT(coloured, HasSubstr("\033[33mdegraded ("));
}

TEST(Status, SaysInHealthLinesWhatTheRowOfALostDeviceDoesNot) {
  EXPECT_THAT(render_status(worn_server(), {}), Not(HasSubstr("fell off the bus")));
  EXPECT_THAT(render_status(worn_server(), {}), HasSubstr("no longer answers the driver"));
}

TEST_F(InChinese, StatusSaysWhatIsNotOk) {
  const std::string drawn = render_status(worn_server(), {.width = 120});
  EXPECT_THAT(drawn, HasSubstr("故障："));
  EXPECT_THAT(drawn, Not(HasSubstr("failed")));
  EXPECT_THAT(drawn, Not(HasSubstr("memory errors")));
}

TEST(Status, JoinsFreeIndicesIntoRanges) {
  SnapshotBuilder builder;
  for (const char* id : {"A", "B", "C", "D", "E", "F"}) builder.gpu(id, 8_GiB);
  Snapshot host = builder.build();
  host.devices[4].lost = true;
  EXPECT_THAT(render_status(host, {}), HasSubstr("5 of 6 free: 0-3 5  1 lost"));
}

TEST(Status, MarksASimulatedServerFirstOfAllAlsoWithoutDevices) {
  Snapshot host = example::server();
  host.simulated = "h100x8";
  EXPECT_TRUE(render_status(host, {.width = 40}).starts_with("SIMULATED h100x8"));
  EXPECT_TRUE(
      render_status(host, {}, {.devices = {}, .user = "nobody"}).starts_with("SIMULATED h100x8"));
  host.devices.clear();
  EXPECT_TRUE(render_status(host, {}).starts_with("SIMULATED h100x8"));
}

TEST(Status, WithoutDevicesSaysWhatWasLookedAtAndWhatToDo) {
  Snapshot host;
  host.sources = {{"nvml", false}, {"pci", true}};
  host.problems.push_back({"nvml",
                           {},
                           "library_not_found",
                           Sentence("cannot open libnvidia-ml.so.1"),
                           Sentence("install the driver")});
  const std::string text = render_status(host, {});
  EXPECT_TRUE(text.starts_with("No GPU found")) << text;
  EXPECT_THAT(text, HasSubstr("Looked at: nvml (could not be asked), pci (nothing there)."));
  EXPECT_THAT(text, HasSubstr("lspci -k"));
  EXPECT_THAT(text, HasSubstr("! cannot open libnvidia-ml.so.1\n  → install the driver\n"));
}

TEST(Status, SaysAProblemAndASharedRemedyOnce) {
  Snapshot host = example::server();
  host.problems.push_back(host.problems[0]);
  host.problems.push_back({"nvml", {}, "x", Sentence("another message"), host.problems[0].remedy});
  const std::string text = render_status(host, {.width = 200});
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count(host.problems[0].message.english()), 1);
  EXPECT_EQ(count(host.problems[0].remedy.english()), 1);
  EXPECT_GT(text.find(host.problems[0].remedy.english()), text.find("another message"));
}

TEST(Status, ShowsAbsentReadingsAsADashNeverAsZero) {
  Snapshot host = SnapshotBuilder().gpu("A", Absent::no_permission).build();
  host.devices[0].utilization_gpu = Absent::failed;
  const std::string row = lines_of(render_status(host, {})).back();
  EXPECT_THAT(row, HasSubstr("–"));
  EXPECT_THAT(row, Not(HasSubstr("0%")));
  EXPECT_THAT(row, Not(HasSubstr("0.0")));
}

TEST(Status, SaysHowAProcessStandsToTheLeases) {
  Snapshot host = example::devices();
  example::add_claim(host, "alice", 100, {{DeviceId("GPU-0a"), 1_GiB}}, "python a.py");
  example::add_process(host, "GPU-0a", 100, "alice", {"python", "a.py"}, 2_GiB, 5);
  example::add_process(host, "GPU-1b", 101, "alice", {"python", "b.py"}, 2_GiB, 5);
  host.processes.back().ancestors = {100, 99, 1};
  example::add_process(host, "GPU-0a", 102, "bob", {"./c"}, 2_GiB, 5);
  example::add_process(host, "GPU-2c", 103, "carol", {"Xorg"}, 2_GiB, 5);
  host.gpu_processes.back().use = GpuUse::graphics;
  const std::string text = render_status(host, {.width = 100});
  EXPECT_THAT(text, HasSubstr("over its 1.0G"));
  EXPECT_THAT(text, HasSubstr("outside its lease"));
  EXPECT_THAT(text, HasSubstr("no lease"));
  EXPECT_THAT(text, HasSubstr("desktop"));
}

TEST(Status, ShowsALeaseWithoutAProcessAndMemoryWithoutAnOwner) {
  const std::string text = render_status(example::server(), {.width = 100});
  EXPECT_THAT(text, HasSubstr("lease 10.0G, unused"));
  EXPECT_THAT(text, HasSubstr("held by no visible process"));
}

TEST(Status, FiltersByDeviceAndByUser) {
  const std::string one = render_status(example::server(), {}, {.devices = {{"0"}}, .user = {}});
  EXPECT_THAT(one, HasSubstr("train.py"));
  EXPECT_THAT(one, Not(HasSubstr("serve.py")));
  const std::string his = render_status(example::server(), {}, {.devices = {}, .user = "bob"});
  EXPECT_THAT(his, HasSubstr("serve.py"));
  EXPECT_THAT(his, Not(HasSubstr("jupyter")));
  EXPECT_THAT(his, Not(HasSubstr("a.out")));
  EXPECT_EQ(shown_devices(example::server(), {.devices = {{"6"}}, .user = {}}).size(), 3U);
}

TEST(Status, NarrowedKeepsOnlyWhatWasAskedFor) {
  const auto part = narrowed(example::server(), {.devices = {{"1"}}, .user = {}});
  ASSERT_TRUE(part.has_value());
  ASSERT_EQ(part->devices.size(), 1U);
  EXPECT_EQ(part->claims.size(), 2U);
  ASSERT_EQ(part->processes.size(), 1U);
  EXPECT_EQ(part->processes[0].id.pid, 4802);
  EXPECT_TRUE(part->problems.empty());
  const auto none = narrowed(example::server(), {.devices = {{"77"}}, .user = {}});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code(), ErrorCode::not_found);
  EXPECT_THAT(none.error().message(), HasSubstr("\"77\"; there are: 0 1 2"));
}

TEST(Status, NeverSendsControlBytesFromStrangersToTheTerminal) {
  for (const std::string evil : {"\033[2J\033]0;x\007", "a\nb\r\tc", "\xff\xfe\xc3",
                                 "\xe2\x80\xae"
                                 "evil",
                                 "\xc2\x9b"
                                 "31m"}) {
    Snapshot host = example::server();
    for (Device& device : host.devices) device.name = evil;
    host.devices.back().unusable_because = WhyUnusable(evil);
    for (HostProcess& process : host.processes) {
      process.user = evil;
      process.command = std::vector<std::string>{evil, evil};
      process.container = evil;
    }
    for (Claim& claim : host.claims) claim.user = claim.command = evil;
    host.waiters[0].user = host.waiters[0].wants = host.waiters[0].command = evil;
    host.problems[0].message = host.problems[0].remedy = Sentence(evil);
    host.host.name = host.host.software_of(Runtime::cuda).driver =
        host.host.software_of(Runtime::cuda).runtime = evil;
    host.simulated = evil;
    for (const int width : {40, 80, 200}) {
      const Style style{.width = width};
      const std::string text = render_status(host, style);
      for (const std::string& line : lines_of(text)) EXPECT_EQ(printable(line), line);
      expect_fits(text, style);
      for (const char c : render_status(host, {.width = width, .utf8 = false})) {
        EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
      }
    }
  }
}

TEST_F(InChinese, KeepsColumnsUnderEachOtherWithWideCharacters) {
  Snapshot host = example::server();
  for (HostProcess& process : host.processes) process.user = std::string("王小明");
  host.processes[0].command = std::vector<std::string>{"python", "训练模型.py", "--数据", "中文"};
  for (const int width : {40, 80, 132})
    expect_fits(render_status(host, {.width = width}), {.width = width});
  const auto lines = lines_of(render_status(host, {.width = 100}));
  int start = -1;
  for (const std::string& line : lines) {
    const std::size_t at = line.find("4711");
    if (at != std::string::npos) start = display_width(line.substr(0, at));
  }
  for (const std::string& line : lines) {
    const std::size_t at = line.find("5100");
    if (at != std::string::npos) {
      EXPECT_EQ(display_width(line.substr(0, at)), start);
    }
  }
  EXPECT_GT(start, 0);
}

Snapshot random_snapshot(std::mt19937& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto text = [&] {
    constexpr std::array<const char*, 8> bits = {"a", "Zq",   " ",    "界",
                                                 "é", "\033", "\xff", "-_/x9"};
    std::string made;
    for (std::uint64_t i = below(20); i > 0; --i) made += bits[below(bits.size())];
    return made;
  };
  SnapshotBuilder builder;
  for (std::uint64_t i = below(12); i > 0; --i) {
    builder.gpu(text() + std::to_string(i), Bytes(below(1ULL << 40))).with([&](Device& device) {
      device.memory_used = Bytes(below(1ULL << 41));
      if (below(3) != 0) device.name = text();
      if (below(4) == 0) device.memory_total = Absent::failed;
      if (below(3) == 0) device.power_draw = Milliwatts(below(1ULL << 40));
      if (below(3) == 0) device.temperature = Celsius(static_cast<std::int64_t>(below(2000)));
      if (below(3) == 0) device.utilization_gpu = Percent(static_cast<double>(below(100'000)));
      if (below(6) == 0) device.unusable_because = WhyUnusable(text() + "x");
      device.lost = below(6) == 0;
    });
    for (std::uint64_t k = below(4); k > 0; --k) {
      builder.process(static_cast<pid_t>(below(4'000'000)), text(), Bytes(below(1ULL << 42)));
    }
    if (below(2) == 0)
      builder.claim(text(), below(2) == 0 ? std::optional(Bytes(below(1ULL << 36))) : std::nullopt);
  }
  Snapshot made = builder.build();
  if (below(2) == 0) made.simulated = text();
  if (below(2) == 0) made.host.name = text();
  for (std::uint64_t i = below(3); i > 0; --i) {
    made.waiters.push_back({.id = text(), .user = text(), .command = text(), .wants = text()});
    made.problems.push_back({text(), {}, text(), Sentence(text()), Sentence(text())});
  }
  return made;
}

TEST(Status, NoLineIsWiderThanTheTerminalWhateverTheMachine) {
  std::mt19937 random(20251009);
  for (int i = 0; i < 60; ++i) {
    const Snapshot host = random_snapshot(random);
    for (const int width : {20, 40, 61, 80, 132, 200}) {
      const Style style{.width = width, .colour = i % 2 == 0, .utf8 = i % 3 != 0};
      expect_fits(render_status(host, style), style);
    }
  }
}

TEST(Status, ShowsSixtyFourDevicesAndAThousandProcesses) {
  Snapshot host;
  SnapshotBuilder builder;
  for (int i = 0; i < 64; ++i) builder.gpu("GPU-" + std::to_string(i), 80_GiB);
  host = builder.build();
  for (int i = 0; i < 1000; ++i) {
    example::add_process(host, "GPU-" + std::to_string(i % 64), 1000 + i, "user", {"job"}, 1_GiB,
                         i);
  }
  EXPECT_EQ(lines_of(render_status(host, {})).size(), 2U + 64U + 1000U);
}

}  // namespace
}  // namespace berth
