#include "top/render.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "top/layout.h"
#include "top/screen_writer.h"
#include "top/terminal_model_test.h"
#include "view/example_server.h"
#include "view/golden_file.h"

namespace berth::top {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Style utf8{.width = 80, .colour = true, .utf8 = true};
const Style ascii{.width = 80, .colour = true, .utf8 = false};

/// The example server as it was watched for a minute and a half.
struct Shown {
  explicit Shown(Size size) {
    state.size = size;
    state.viewer.uid = 1000;
    for (int second = 0; second < 90; ++second) look(second);
  }
  void look(int second) {
    Snapshot snapshot = example::server();
    snapshot.taken.unix_ms += second * 1000;
    snapshot.faults = faults;
    for (std::size_t i = 0; i < 4; ++i) {
      Device& device = snapshot.devices[i];
      const int wave = (second * 7 + static_cast<int>(i) * 31) % 100;
      device.utilization_gpu = Percent(second == 40 ? 0 : wave);
      device.power_draw = Milliwatts(static_cast<std::uint64_t>(100'000 + wave * 5'000));
      device.temperature = Celsius(40 + wave / 3);
    }
    for (HostProcess& process : snapshot.processes) {
      process.uid = uid_t{1000};
      process.cpu_time = Milliseconds(second * 750);
      process.memory_resident = Bytes(std::uint64_t{3} << 30);
      process.state = std::string("S");
    }
    history.add(snapshot);
    state = update(std::move(state), Tick{snapshot.taken});
    state = update(std::move(state),
                   Looked{std::make_shared<const Seen>(std::move(snapshot)), history.cpu()});
  }
  Shown& press(std::string_view keys) {
    for (const char key : keys) {
      state =
          update(std::move(state), Key{.name = Key::Name::character, .text = std::string(1, key)});
    }
    return *this;
  }
  [[nodiscard]] std::string picture(const Style& style = utf8) const {
    return render(state, history, style).text();
  }
  std::vector<DeviceFault> faults;
  State state;
  History history{std::chrono::seconds(1)};
};

class Chinese {
 public:
  Chinese() { set_language(Language::simplified_chinese); }
  ~Chinese() { set_language(Language::english); }
  Chinese(const Chinese&) = delete;
  Chinese& operator=(const Chinese&) = delete;
};

TEST(TopPicture, Of40By10IsKept) { expect_golden("top_40x10", Shown({40, 10}).picture()); }
TEST(TopPicture, Of80By24IsKept) { expect_golden("top_80x24", Shown({80, 24}).picture()); }
TEST(TopPicture, Of200By60IsKept) { expect_golden("top_200x60", Shown({200, 60}).picture()); }
TEST(TopPicture, InAsciiIsKept) {
  const std::string picture = Shown({120, 40}).picture(ascii);
  expect_golden("top_120x40_ascii", picture);
  EXPECT_EQ(printable(picture).find_first_not_of(" \n"), 0U);
  for (const char c : picture) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F));
}
TEST(TopPicture, InChineseIsKept) {
  const Chinese language;
  expect_golden("top_100x30_zh", Shown({100, 30}).picture());
  expect_golden("top_100x30_zh_help", Shown({100, 30}).press("?").picture());
}
TEST(TopPicture, OfHelpIsKept) {
  expect_golden("top_80x24_help", Shown({80, 24}).press("?").picture());
}
TEST(TopPicture, OfLeasesIsKept) {
  expect_golden("top_80x24_leases", Shown({80, 24}).press("l").picture());
}
TEST(TopPicture, OfAProcessIsKept) {
  Shown watched({100, 44});
  watched.state = update(watched.state, Key{.name = Key::Name::enter, .text = {}});
  watched.state = update(
      watched.state,
      ProcessDetails{.process = {4711, 1},
                     .environment_names = std::vector<std::string>{"CUDA_VISIBLE_DEVICES", "PATH"},
                     .device_files = std::vector<std::string>{"/dev/nvidia0", "/dev/nvidiactl"}});
  expect_golden("top_100x44_process", watched.picture());
}
TEST(TopPicture, EachLoadOfAProcessIsTold) {
  Shown watched({160, 50});
  Snapshot snapshot = example::server();
  GpuProcess& use = snapshot.gpu_processes.front();
  use.utilization_sm = Percent{91};
  use.utilization_memory = Percent{43};
  use.utilization_encoder = Percent{7};
  use.utilization_decoder = Absent::unsupported;
  snapshot.taken.unix_ms += 100'000;
  watched.state = update(watched.state, Looked{std::make_shared<const Seen>(std::move(snapshot))});
  EXPECT_THAT(watched.picture(), AllOf(HasSubstr("  SM%  MEM%  ENC%  DEC%   CPU%"),
                                       HasSubstr("  91%   43%    7%     –  ")));
  watched.state = update(watched.state, Key{.name = Key::Name::enter, .text = {}});
  EXPECT_THAT(watched.picture(),
              HasSubstr("load there      SM 91%, memory 43%, encoder 7%, decoder –"));
  EXPECT_THAT(Shown({120, 40}).picture(), Not(HasSubstr("ENC%")));
}
TEST(TopPicture, OfAQuestionIsKept) {
  expect_golden("top_80x24_question", Shown({80, 24}).press("kt").picture());
}

TEST(TopPicture, ABrokenCardIsMarkedWithoutItsReadingsBeingHidden) {
  Shown watched({200, 60});
  EXPECT_THAT(watched.picture(), Not(HasSubstr("failed")));
  watched.faults = {{.device = example::server().devices[1].id}};
  watched.look(90);
  EXPECT_THAT(watched.picture(),
              AllOf(HasSubstr("1! "), HasSubstr(" failed "), HasSubstr("31.0/79.6G")));
  watched.state.size = {40, 10};
  EXPECT_THAT(watched.picture(), HasSubstr("1! ")) << "too narrow for the word";
}

TEST(TopPicture, ACardKeptForAWaiterIsReservedForWhom) {
  Snapshot snapshot = SnapshotBuilder()
                          .gpu("A", Bytes{std::uint64_t{80} << 30})
                          .gpu("B", Bytes{std::uint64_t{80} << 30})
                          .build();
  snapshot.waiters = {{.user = "alice", .wants = "-n 1"}};
  snapshot.waiters[0].reserved = {{DeviceId("B"), std::nullopt}};
  State state;
  state.size = {120, 30};
  state = update(std::move(state), Looked{std::make_shared<const Seen>(snapshot)});
  const auto shown = [](const State& now) {
    return render(now, History(std::chrono::seconds(1)), utf8).text();
  };
  EXPECT_THAT(shown(state),
              AllOf(HasSubstr(" reserved →alice"), HasSubstr("1* "), Not(HasSubstr("0*"))));
  state = update(std::move(state), Key{.name = Key::Name::character, .text = "l"});
  EXPECT_THAT(shown(state), HasSubstr("GPU 1 (whole) is reserved for it"));
}

TEST(TopPicture, ALineTellsStateHoldersRunAndTheRestWhereThereIsRoom) {
  Snapshot snapshot = SnapshotBuilder().gpu("A", Bytes{std::uint64_t{80} << 30}).build();
  Device& device = snapshot.devices[0];
  device.fan_speed = Percent(41);
  device.clock_sm = Megahertz(1980);
  device.pcie_generation = 5U;
  device.pcie_width = 16U;
  Claim claim{.id = "a", .run = "20251009-065020-k3f9q2", .user = "ana"};
  claim.devices = {{DeviceId("A"), std::nullopt}};
  snapshot.claims = {claim};
  const auto shown = [&](int columns) {
    State state;
    state.size = {columns, 30};
    state = update(std::move(state), Looked{std::make_shared<const Seen>(snapshot)});
    return render(state, History(std::chrono::seconds(1)), utf8).text();
  };
  EXPECT_THAT(shown(150), AllOf(HasSubstr("FAN"), HasSubstr("CLOCK"), HasSubstr("PCIE"),
                                HasSubstr(" 41%"), HasSubstr("1980 MHz"), HasSubstr("5x16"),
                                HasSubstr(" leased   ana      k3f9q2")));
  EXPECT_THAT(shown(80), AllOf(HasSubstr("STATE"), HasSubstr(" leased"), Not(HasSubstr("FAN"))));
  EXPECT_THAT(shown(60), Not(HasSubstr("STATE")));
}

TEST(TopPicture, OneReadingIsChartedOfAsManyDevicesAsFitWithItsAxis) {
  Shown watched({140, 50});
  const auto count = [](const std::string& text, std::string_view part) {
    int found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  const int strips = layout_of(watched.state).chart_columns;
  const std::string load = watched.press("m").picture();
  EXPECT_GT(layout_of(watched.state).chart_columns, strips);
  EXPECT_THAT(load, AllOf(HasSubstr(" util "), HasSubstr("100%"), Not(HasSubstr(" power "))));
  const std::string memory = watched.press("m").picture();
  EXPECT_THAT(memory, AllOf(HasSubstr(" memory "), Not(HasSubstr(" util "))));
  EXPECT_GT(count(memory, "79.6G"), count(load, "79.6G")) << "the axis";
  EXPECT_GT(count(memory, " memory "), 1);
  EXPECT_THAT(watched.press("mm").picture(), HasSubstr("°C"));
  EXPECT_EQ(watched.press("mmmmm").picture(), Shown({140, 50}).picture());
}

TEST(TopPicture, WhatNobodyRecordsIsChartedByChoice) {
  Shown shown({120, 40});
  shown.state.seen = nullptr;
  Snapshot snapshot = example::server();
  snapshot.taken.unix_ms += 90'000;
  for (Device& device : snapshot.devices) {
    device.utilization_encoder = Percent(37);
    device.fan_speed = Absent::unsupported;
  }
  shown.history.add(snapshot);
  shown.state = update(std::move(shown.state), Looked{std::make_shared<const Seen>(snapshot)});
  EXPECT_THAT(shown.press("mmmmm").picture(), AllOf(HasSubstr("encoder"), HasSubstr("37%")));
  EXPECT_THAT(shown.press("m").picture(), HasSubstr("decoder"));
  EXPECT_THAT(shown.press("m").picture(), AllOf(HasSubstr("fan"), Not(HasSubstr("100%"))))
      << "what is not told has no axis";
  EXPECT_THAT(shown.press("m").picture(), HasSubstr("SM clock"));
  EXPECT_THAT(shown.press("m").picture(), AllOf(Not(HasSubstr("SM clock")), HasSubstr("power")));
}

TEST(TopPicture, TemperaturesAreInFahrenheitWhereWanted) {
  Shown shown({120, 30});
  shown.look(90);  // 40 + (90 * 7 % 100) / 3
  EXPECT_THAT(shown.picture(), HasSubstr("50°C"));
  EXPECT_THAT(shown.press("F").picture(), AllOf(HasSubstr("122°F"), Not(HasSubstr("°C"))));
}

TEST(TopPicture, PanelOfTheHostChartsItAndTheMeanOfItsDevices) {
  Shown shown({120, 40});
  EXPECT_THAT(shown.press("H").picture(),
              AllOf(HasSubstr("all devices, busy"), HasSubstr("nothing is known of this host"),
                    Not(HasSubstr("host CPU"))));
  shown.state.host = {.cpu_percent = 42, .load = 3.5};
  shown.history.add_host(shown.state.host);
  EXPECT_THAT(shown.picture(), AllOf(HasSubstr("host CPU"), HasSubstr("42%"), HasSubstr("3.5")));
}

TEST(TopPicture, PanelOfTheDeviceHasEachReadingThatItHas) {
  Snapshot host = example::server();
  host.devices[0].clock_memory = Megahertz(1593);
  host.devices[0].fan_speed = Reading<Percent>(Absent::unsupported);
  State state = update(State{.size = {100, 200}, .viewer = {.uid = 1000}},
                       Looked{std::make_shared<const Seen>(std::move(host))});
  state = update(std::move(state), Key{.name = Key::Name::character, .text = "d"});
  const std::string told = render(state, History{std::chrono::seconds(1)}, utf8).text();
  EXPECT_THAT(told, AllOf(HasSubstr("All readings of the device"),
                          HasSubstr("clock_memory_megahertz                1593 MHz"),
                          HasSubstr("uuid "), Not(HasSubstr("fan_speed_percent"))));
}

TEST(TopPicture, IsTheSameInTheMemoryOfAnyOther) {
  Shown watched({80, 24});
  Screen used({133, 7});
  for (int row = 0; row < 7; ++row) used.put(0, row, std::string(100, 'x') + "中文", Tone::bad);
  const Screen fresh = render(watched.state, watched.history, utf8);
  const Screen again = render(watched.state, watched.history, utf8, std::move(used));
  EXPECT_EQ(changes(&fresh, again, Theme::dark), "");
  EXPECT_EQ(again.text(), fresh.text());
}

/// One look at such a server.
State at(Snapshot snapshot, Size size = {100, 30}) {
  State state;
  state.size = size;
  state.viewer.uid = 1000;
  return update(std::move(state), Looked{std::make_shared<const Seen>(std::move(snapshot))});
}
State pressed(State state, std::string_view keys) {
  for (const char key : keys) {
    state =
        update(std::move(state), Key{.name = Key::Name::character, .text = std::string(1, key)});
  }
  return state;
}
std::string picture_of(const State& state) {
  return render(state, History(std::chrono::seconds(1)), utf8).text();
}

Snapshot with_a_broken_card() {
  Snapshot snapshot = example::server();
  Device& broken = snapshot.devices[0];
  broken.details.set(Detail::remapped_rows_failed, Reading<bool>(true));
  snapshot.faults = {
      {.device = broken.id,
       .code = "row_remap_failed",
       .evidence = Sentence("a broken row of memory could not be replaced: no spare is left")}};
  snapshot.devices[1].throttle_reasons = Absent::no_permission;
  snapshot.devices[2].ecc_uncorrected = Absent::failed;
  return snapshot;
}

TEST(TopPicture, WhatIsWrongTellsTheHealthOfEachCardAndTheProblems) {
  Snapshot snapshot = with_a_broken_card();
  snapshot.problems = {
      {.source = "ledger", .message = Sentence("no leases"), .remedy = Sentence("setup")}};
  const std::string shown = picture_of(pressed(at(std::move(snapshot), {100, 60}), "!"));
  EXPECT_THAT(shown, AllOf(HasSubstr("GPU 0: failed (NVIDIA H100 80GB HBM3)"),
                           HasSubstr("  a broken row of memory could not be replaced"),
                           HasSubstr("    → ask for its replacement")));
  EXPECT_THAT(shown,
              AllOf(HasSubstr("GPU 2: unknown"), HasSubstr("memory errors: reading it failed")));
  EXPECT_THAT(shown, HasSubstr("GPU 4: notice"));
  EXPECT_THAT(shown, HasSubstr("are held by no process in the driver's list"));
  EXPECT_THAT(shown, HasSubstr("could not be examined: throttling: no permission to read it"));
  EXPECT_THAT(shown, AllOf(HasSubstr("ledger: no leases"), HasSubstr("  setup")));
  EXPECT_THAT(shown, Not(HasSubstr("nothing is wrong")));
}

TEST(TopPicture, NothingIsWrongOnlyWhereTheCardsAreWellToo) {
  const Snapshot well = SnapshotBuilder().gpu("A", Bytes{std::uint64_t{80} << 30}).build();
  EXPECT_THAT(picture_of(pressed(at(well), "!")), HasSubstr("nothing is wrong"));
  EXPECT_THAT(picture_of(at(well)), Not(HasSubstr("(! shows all)")));
}

TEST(TopPicture, TheNoticeCountsBrokenCardsWithTheProblems) {
  Snapshot snapshot = with_a_broken_card();
  snapshot.problems.clear();
  EXPECT_THAT(picture_of(at(snapshot)),
              AllOf(HasSubstr("GPU 0 has failed: a broken row of memory"),
                    HasSubstr("(! shows all)"), Not(HasSubstr(" more  (!"))));
  snapshot.problems = {{.source = "ledger", .message = Sentence("no leases")}};
  EXPECT_THAT(picture_of(at(snapshot)), HasSubstr("no leases; 1 more  (! shows all)"));
}

Snapshot with_one_who_cannot_be_seen(Reading<std::string> user, const char* view) {
  Snapshot snapshot = SnapshotBuilder().gpu("A", Bytes{std::uint64_t{80} << 30}).build();
  snapshot.host.process_view = std::string(view);
  snapshot.gpu_processes = {{.device = DeviceId("A"), .pid = 4711}};
  HostProcess process{.id = {.pid = 4711}};
  process.user = std::move(user);
  process.command = Absent::failed;
  snapshot.processes = {process};
  return snapshot;
}

TEST(TopPicture, AProcessThatHasGoneIsCalledThat) {
  State gone = at(with_one_who_cannot_be_seen(Absent::failed, "whole"), {140, 30});
  EXPECT_THAT(picture_of(gone), HasSubstr("gone (ended; its memory is still held)"));
  gone = update(gone, Key{.name = Key::Name::enter, .text = {}});
  EXPECT_THAT(picture_of(gone),
              HasSubstr("command         gone (ended; its memory is still held)"));
  EXPECT_THAT(picture_of(at(with_one_who_cannot_be_seen(Absent::failed, "namespace"))),
              HasSubstr("(outside this container)"));
  EXPECT_THAT(picture_of(at(with_one_who_cannot_be_seen(Absent::no_permission, "whole"))),
              HasSubstr("(not visible from here)"));
}

TEST(TopPicture, WhoCouldNotBeReadIsNotNobody) {
  Snapshot snapshot = SnapshotBuilder().gpu("A", Bytes{std::uint64_t{80} << 30}).build();
  EXPECT_THAT(picture_of(at(snapshot)), HasSubstr("no process uses a GPU"));
  for (const Absent why : {Absent::failed, Absent::no_permission}) {
    snapshot.devices[0].process_count = why;
    EXPECT_THAT(picture_of(at(snapshot)), HasSubstr("Who is on the devices could not be read."));
  }
  snapshot.problems = {{.source = "nvml",
                        .device = DeviceId("A"),
                        .message = Sentence("the list of processes: error 999")}};
  const std::string shown = picture_of(at(snapshot));
  EXPECT_THAT(shown, HasSubstr("could not be read: the list of processes: error 999"));
  EXPECT_THAT(shown, Not(HasSubstr("no process uses a GPU")));
}

TEST(TopPicture, GpusThatCouldNotBeReadAreNotNone) {
  Snapshot snapshot;
  EXPECT_THAT(picture_of(at(snapshot)), HasSubstr("no GPU was found"));
  snapshot.problems = {{.source = "nvml", .message = Sentence("the driver said no")}};
  const std::string shown = picture_of(at(snapshot));
  EXPECT_THAT(shown, HasSubstr("which GPUs there are could not be read: the driver said no"));
  EXPECT_THAT(shown, Not(HasSubstr("no GPU was found")));
}

TEST(TopPicture, CardsWithoutRoomAreCounted) {
  for (const Size size : {Size{80, 24}, Size{200, 24}, Size{40, 10}}) {
    SnapshotBuilder builder;
    for (int i = 0; i < 64; ++i)
      builder.gpu("A" + std::to_string(i), Bytes{std::uint64_t{1} << 30});
    const State state = at(builder.build(), size);
    const Layout layout = layout_of(state);
    const int shown = layout.meter_rows * layout.meter_columns;
    ASSERT_GE(shown, 2);
    EXPECT_THAT(picture_of(state),
                HasSubstr("\n     " + std::to_string(64 - shown) + " more devices"));
  }
  EXPECT_THAT(Shown({200, 60}).picture(), Not(HasSubstr("more devices")));
}

TEST(TopPicture, ARecordingHasNoFilesOfAProcess) {
  Shown watched({100, 44});
  watched.state.viewer.replay = true;
  watched.state = update(watched.state, Key{.name = Key::Name::enter, .text = {}});
  EXPECT_THAT(watched.picture(),
              AllOf(HasSubstr("a recording has nothing of a process's own files"),
                    Not(HasSubstr("reading its files"))));
}

TEST(TopPicture, ACardCloseToItsSlowdownIsMarkedAndOneThatIsSlowedIsBad) {
  const auto tone_at = [](std::int64_t degrees) {
    Snapshot snapshot = SnapshotBuilder().gpu("A", Bytes{std::uint64_t{80} << 30}).build();
    snapshot.devices[0].temperature = Celsius(degrees);
    snapshot.devices[0].temperature_slowdown = Celsius(87);
    const State state = at(std::move(snapshot), {80, 24});
    const Screen screen = render(state, History(std::chrono::seconds(1)), utf8);
    const std::string shown = std::to_string(degrees);
    for (int column = 0; column + 1 < 80; ++column) {
      const int row = layout_of(state).meters_row;
      if (screen.at(column, row).text() == shown.substr(0, 1) &&
          screen.at(column + 1, row).text() == shown.substr(1, 1)) {
        return screen.at(column, row).tone;
      }
    }
    ADD_FAILURE() << "no temperature is shown";
    return Tone::plain;
  };
  EXPECT_EQ(tone_at(81), Tone::plain);
  EXPECT_EQ(tone_at(82), Tone::high);
  EXPECT_EQ(tone_at(87), Tone::bad);
}

TEST(TopPicture, LightThemeDiffersInColoursAlone) {
  Shown watched({80, 24});
  const Screen screen = render(watched.state, watched.history, utf8);
  const std::string dark = changes(nullptr, screen, Theme::dark);
  const std::string light = changes(nullptr, screen, Theme::light);
  EXPECT_NE(dark, light);
  for (const char* invisible : {";93m", ";97m", ";96m", ";33m", ";36m"}) {
    EXPECT_THAT(light, Not(HasSubstr(invisible)));
  }
}

TEST(TopPicture, DriverThatDoesNotAnswerIsSaid) {
  Shown watched({100, 30});
  watched.state = update(watched.state, Unanswered{WallTime{example::taken_ms}});
  EXPECT_THAT(watched.picture(), HasSubstr("the driver does not answer since 08:53:20"));
}

TEST(TopPicture, FilterThatHidesProcessesIsSaid) {
  Shown watched({100, 30});
  EXPECT_THAT(watched.press("/nothinglikethat").picture(), HasSubstr("no process passes"));
}

TEST(TopPicture, NarrowestScreensAreDrawn) {
  Shown plain({80, 24});
  Shown help = plain;
  help.press("?");
  Shown asked = plain;
  asked.press("kt");
  for (int columns = 0; columns <= 45; ++columns) {
    for (int rows = 0; rows <= 16; ++rows) {
      for (Shown* watched : {&plain, &help, &asked}) {
        watched->state = update(std::move(watched->state), Resized{{columns, rows}});
        const std::string picture = watched->picture();
        ASSERT_EQ(std::count(picture.begin(), picture.end(), '\n'), rows);
      }
    }
  }
}

// --- whatever happens -----------------------------------------------------------------------

using Random = std::mt19937;

int pick(Random& random, int below) {
  return static_cast<int>(random() % static_cast<unsigned>(below));
}

std::string nasty_text(Random& random) {
  static const std::vector<std::string> pieces = {"python",
                                                  "\033[2J",
                                                  "\n",
                                                  "\x9B"
                                                  "31m",
                                                  "中文",
                                                  "\xE2\x80\xAE",
                                                  "\xFF",
                                                  "e\xCC\x81",
                                                  std::string(1, '\0'),
                                                  "\r",
                                                  "\a",
                                                  "a b",
                                                  "🚀",
                                                  "\xC2\x9D",
                                                  std::string(300, 'x')};
  std::string text;
  for (int i = pick(random, 4); i >= 0; --i) {
    text += pieces[static_cast<std::size_t>(pick(random, static_cast<int>(pieces.size())))];
  }
  return text;
}

template <class T>
Reading<T> maybe(Random& random, T value) {
  if (pick(random, 4) == 0) return static_cast<Absent>(pick(random, 4));
  return value;
}

Snapshot random_snapshot(Random& random, std::int64_t time) {
  Snapshot snapshot{.taken = {time}};
  snapshot.host.name = maybe(random, nasty_text(random));
  if (pick(random, 5) == 0) snapshot.simulated = nasty_text(random);
  for (int i = pick(random, 12); i > 0; --i) {
    Device device{.id = DeviceId("GPU-" + std::to_string(pick(random, 12)))};
    if (pick(random, 8) != 0) device.index = pick(random, 64);
    if (pick(random, 6) == 0) device.parent = DeviceId("GPU-" + std::to_string(pick(random, 12)));
    if (pick(random, 6) == 0) device.partition = Partition{1, 2};
    if (pick(random, 6) == 0) device.unusable_because = WhyUnusable(nasty_text(random));
    device.name = maybe(random, nasty_text(random));
    device.memory_total = maybe(random, Bytes(random()));
    device.memory_used = maybe(random, Bytes(std::uint64_t{random()} << pick(random, 32)));
    device.utilization_gpu =
        maybe(random, Percent(pick(random, 2) == 0 ? 1e300 : pick(random, 120)));
    device.power_draw = maybe(random, Milliwatts(random()));
    device.power_limit = maybe(random, Milliwatts(static_cast<std::uint64_t>(pick(random, 3))));
    device.temperature = maybe(random, Celsius(pick(random, 300) - 100));
    snapshot.devices.push_back(std::move(device));
  }
  for (int i = pick(random, 40); i > 0; --i) {
    const pid_t pid = pick(random, 60);
    snapshot.gpu_processes.push_back({.device = DeviceId("GPU-" + std::to_string(pick(random, 14))),
                                      .pid = pid,
                                      .use = static_cast<GpuUse>(pick(random, 4)),
                                      .memory = maybe(random, Bytes(random())),
                                      .utilization_sm = maybe(random, Percent(pick(random, 101)))});
    if (pick(random, 5) == 0) continue;
    HostProcess process{.id = {pid, static_cast<std::uint64_t>(pick(random, 3))}};
    for (int a = pick(random, 4); a > 0; --a) process.ancestors.push_back(pick(random, 60));
    process.uid = maybe(random, static_cast<uid_t>(pick(random, 2)));
    process.user = maybe(random, nasty_text(random));
    process.command =
        maybe(random, std::vector<std::string>{nasty_text(random), nasty_text(random)});
    process.executable_name = maybe(random, nasty_text(random));
    process.started = maybe(random, WallTime{static_cast<std::int64_t>(random()) - (1 << 20)});
    process.cpu_time = maybe(random, Milliseconds(pick(random, 1 << 20)));
    process.state = maybe(random, std::string(1, "RSDTZ"[pick(random, 5)]));
    process.container = maybe(random, nasty_text(random));
    snapshot.processes.push_back(std::move(process));
  }
  for (int i = pick(random, 3); i > 0; --i) {
    snapshot.claims.push_back({.id = nasty_text(random),
                               .user = nasty_text(random),
                               .command = nasty_text(random),
                               .devices = {{DeviceId("GPU-1"), std::nullopt}}});
    snapshot.waiters.push_back({.user = nasty_text(random), .wants = nasty_text(random)});
    snapshot.problems.push_back({.source = "nvml",
                                 .message = Sentence(nasty_text(random)),
                                 .remedy = Sentence(nasty_text(random))});
  }
  return snapshot;
}

Event random_key(Random& random) {
  static constexpr std::string_view letters = "qqhl!/utsSacgwL U kzrp+-.,[]0123456789yn?tk";
  if (pick(random, 4) == 0) {
    return Key{.name = static_cast<Key::Name>(1 + pick(random, 18)), .text = {}};
  }
  if (pick(random, 6) == 0) {
    return Mouse{.what = static_cast<Mouse::What>(pick(random, 4)),
                 .column = pick(random, 300),
                 .row = pick(random, 100)};
  }
  if (pick(random, 12) == 0) return Key{.name = Key::Name::character, .text = "中"};
  return Key{
      .name = Key::Name::character,
      .text = std::string(
          1, letters[static_cast<std::size_t>(pick(random, static_cast<int>(letters.size())))])};
}

Event random_event(Random& random, std::int64_t time) {
  switch (pick(random, 12)) {
    case 0:
      return Resized{{pick(random, 4) == 0 ? 500 : pick(random, 130),
                      pick(random, 4) == 0 ? 200 : pick(random, 50)}};
    case 1:
      return Looked{std::make_shared<const Seen>(random_snapshot(random, time))};
    case 2:
      return Tick{{time}};
    case 3:
      return Outcome{.text = nasty_text(random), .good = pick(random, 2) == 0};
    case 4:
      return ProcessDetails{
          .process = {pick(random, 60), 1},
          .environment_names = maybe(random, std::vector<std::string>{nasty_text(random), "PATH"}),
          .device_files = std::vector<std::string>{nasty_text(random)}};
    default:
      return random_key(random);
  }
}

TEST(TopPicture, WhateverHappensTheTerminalShowsTheScreenAndNothingRaw) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    State state;
    state.viewer.uid = 1;
    History history(std::chrono::seconds(1));
    Screen before;
    std::optional<TerminalModel> terminal;
    for (int step = 0; step < 125; ++step) {
      Event event = random_event(random, 1'760'000'000'000 + step * 1000);
      if (auto* looked = std::get_if<Looked>(&event)) {
        history.add(looked->seen->snapshot);
        looked->cpu = history.cpu();
      }
      state = update(std::move(state), event);
      state.quits = false;
      state.wanted.clear();
      const Screen now = render(state, history, pick(random, 3) == 0 ? ascii : utf8);
      ASSERT_EQ(now.size(), state.size);
      if (!terminal || before.size() != now.size()) terminal.emplace(now.size());
      terminal->feed(changes(&before, now, state.theme));
      ASSERT_EQ(terminal->text(), now.text());
      before = now;
    }
  }
}

}  // namespace
}  // namespace berth::top
