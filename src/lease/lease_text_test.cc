#include "lease/lease_text.h"

#include <gmock/gmock.h>

namespace berth {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace literals;

LeaseText a_share() {
  return {.steady_ms = 86'400'123,
          .time_limit = std::chrono::hours(2),
          .claim = {.run = "r1",
                    .uid = 1000,
                    .keeper = ProcessId{.pid = 4711, .start_ticks = 99},
                    .job = ProcessId{.pid = 4712, .start_ticks = 100},
                    .command = "python -c 'print(1)\n' 100%",
                    .devices = {{DeviceId("GPU-a"), 10_GiB}, {DeviceId("GPU-b"), 5_GiB}},
                    .container = "4f5e6d",
                    .held_by = CapTier::watchdog,
                    .isolated_by = "landlock"}};
}

TEST(LeaseText, ComesBackAsItWasWritten) {
  const auto text = write_lease(a_share());
  ASSERT_TRUE(text) << text.error().message();
  const auto back = parse_lease(*text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, a_share());
}

TEST(LeaseText, NamesTheContainerOnceItIsKnown) {
  const std::string container(64, 'a');
  const auto lease =
      parse_lease("berth-lease 1 1 0 1 GPU-a\n" + write_description({.container = container}));
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(lease->claim.container, container);
  const auto long_one =
      parse_lease("berth-lease 1 1 0 1 GPU-a\ncontainer=" + std::string(65, 'a') + "\n");
  EXPECT_EQ(long_one->claim.container, "") << "written by a stranger";
}

TEST(LeaseText, NamesNoProcessThatASignalWouldTakeForOthers) {
  for (const std::string process : {"0 5", "-1 5", "4294967297 5", "7", "7 x", "7 5 6", "all"}) {
    const auto lease = parse_lease("berth-lease 1 1 0 1 GPU-a\njob=" + process +
                                   "\nkeeper=" + process + "\nrun=r1\n");
    ASSERT_TRUE(lease) << process;
    EXPECT_EQ(lease->claim.job, std::nullopt) << process;
    EXPECT_EQ(lease->claim.keeper, std::nullopt) << process;
    EXPECT_EQ(lease->claim.run, "r1") << process;
    const auto ticket = parse_ticket("berth-ticket 1 1 2 0\nprocess=" + process + "\n");
    ASSERT_TRUE(ticket) << process;
    EXPECT_EQ(ticket->waiter.process, ProcessId{}) << process;
  }
}

TEST(LeaseText, SaysNothingOfWhatItsFileTellsItself) {
  const auto lease = parse_lease(
      "berth-lease 1 1 0 1 GPU-a\nid=x\nuid=0\nuser=root\nsince_unix_ms=1\ndevices=GPU-b\n");
  ASSERT_TRUE(lease);
  EXPECT_EQ(*lease, (LeaseText{.claim = {.uid = 1, .devices = {{DeviceId("GPU-a"), {}}}}}));
}

TEST(LeaseText, OfATimeThatNoClockHoldsSaysNone) {
  for (const char* time : {"99999999999999999999", "3155760000001", "-1", "soon", ""}) {
    const auto lease =
        parse_lease(std::string("berth-lease 1 1 0 1 GPU-a\ntime_ms=") + time + "\n");
    ASSERT_TRUE(lease) << time;
    EXPECT_EQ(lease->time_limit, std::nullopt) << time;
  }
}

TEST(LeaseText, LineOneIsFrozen) {
  EXPECT_THAT(*write_lease(a_share()),
              StartsWith("berth-lease 1 1000 10737418240,5368709120 0 GPU-a,GPU-b\n"));
  const LeaseText whole{
      .claim = {.uid = 7, .devices = {{DeviceId("00000000:3b:00.0"), std::nullopt}}}};
  EXPECT_THAT(*write_lease(whole), StartsWith("berth-lease 1 7 0 1 00000000:3b:00.0\n"));
}

TEST(LeaseText, SaysNothingOfATierThatItDoesNotKnow) {
  const auto lease =
      parse_lease("berth-lease 1 1 1024 0 GPU-a\nheld_by=magic\nisolated_by=magic\nrun=r1\n");
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(lease->claim.held_by, std::nullopt);
  EXPECT_EQ(lease->claim.isolated_by, "");
  EXPECT_EQ(lease->claim.run, "r1");
}

TEST(LeaseText, TakesTheLastWordOnEachKey) {
  const auto lease = parse_lease(
      "berth-lease 1 1 0 1 GPU-a\nisolated_by=landlock\ntime_ms=1\nkeeper=7 5\nkeeper=8 6\n"
      "isolated_by=systemd\ntime_ms=2\n");
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->claim.isolated_by, "systemd");
  EXPECT_EQ(lease->time_limit, std::chrono::milliseconds(2));
  EXPECT_EQ(lease->claim.keeper, (ProcessId{8, 6}));
}

TEST(LeaseText, OfANewerFormatIsReadAsFarAsLineOne) {
  const auto lease =
      parse_lease("berth-lease 9 1000 0 1 GPU-a,GPU-b more fields\nrun: {\"x\": 1}\n");
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(lease->format, 9U);
  ASSERT_EQ(lease->claim.devices.size(), 2U);
  EXPECT_EQ(lease->claim.devices[1].device, DeviceId("GPU-b"));
  EXPECT_EQ(lease->claim.devices[1].promised, std::nullopt);
}

TEST(LeaseText, PromisesNoMoreThanAllOfThemCanSumUpTo) {
  const auto lease = parse_lease("berth-lease 1 1 18446743998547886080 0 GPU-a\n");
  ASSERT_TRUE(lease) << lease.error().message();
  const Bytes promised = lease->claim.devices[0].promised.value_or(Bytes{0});
  EXPECT_GT(promised, Bytes(std::uint64_t{1} << 40)) << "more than any card has: none is left";
  EXPECT_LT(promised, Bytes(UINT64_MAX / 4096)) << "and no sum of them becomes small";
}

TEST(LeaseText, WhoseLastLineWasCutByACrashKeepsTheOthers) {
  const auto lease = parse_lease("berth-lease 1 1 0 1 GPU-a\nrun=r1\nkeeper=4711 12");
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->claim.run, "r1");
  EXPECT_EQ(lease->claim.keeper, std::nullopt);
}

TEST(LeaseText, IsRefusedWhereLineOneSaysNoClaim) {
  for (const std::string text :
       {"", "\n", "berth-lease", "berth-lease 1 1 0 1 GPU-a", "lease 1 1 0 1 GPU-a\n",
        "berth-lease 0 1 0 1 GPU-a\n", "berth-lease x 1 0 1 GPU-a\n",
        "berth-lease 1 -1 0 1 GPU-a\n", "berth-lease 1 1 0 2 GPU-a\n",
        "berth-lease 1 1 x 0 GPU-a\n", "berth-lease 1 1 0 1 \n",
        "berth-lease 1 1 0 1 GPU-a,,GPU-b\n", "berth-lease 1 1 10 0 GPU-a,GPU-b\n",
        "berth-lease 1 99999999999 0 1 GPU-a\n"}) {
    EXPECT_FALSE(parse_lease(text)) << text;
  }
}

TEST(LeaseText, CannotBeWrittenForWhatWouldBreakLineOne) {
  for (const std::string name : {"", "a b", "a,b", "a\nb", "a\x7f"}) {
    EXPECT_FALSE(write_lease({.claim = {.devices = {{DeviceId(name), std::nullopt}}}})) << name;
  }
  EXPECT_FALSE(write_lease({}));
  EXPECT_FALSE(write_lease(
      {.claim = {.devices = {{DeviceId("GPU-a"), std::nullopt}, {DeviceId("GPU-b"), 1_GiB}}}}));
}

TEST(TicketText, ComesBackAsItWasWritten) {
  const TicketText ticket{.not_before_ns = 1'760'000'000'000'000'000,
                          .waiter = {.run = "20251009-065020-k3f9q2",
                                     .uid = 1000,
                                     .process = {.pid = 12, .start_ticks = 34},
                                     .command = "a=b\tc",
                                     .wants = "-n 2",
                                     .request = "{\"devices\":2}",
                                     .time_limit = std::chrono::hours(1)},
                          .devices = {DeviceId("GPU-a"), DeviceId("GPU-b")}};
  const auto back = parse_ticket(write_ticket(ticket));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, ticket);
}

TEST(TicketText, OfANewerFormatKeepsItsPlace) {
  const auto ticket = parse_ticket("berth-ticket 2 1000 5 77 whatever\nrequest=new\n");
  ASSERT_TRUE(ticket);
  EXPECT_EQ(ticket->not_before_ns, 77);
  EXPECT_EQ(ticket->order, 5U);
  EXPECT_EQ(ticket->waiter.request, "");
}

TEST(TicketText, IsRefusedWhereLineOneIsBroken) {
  for (const std::string text : {"", "berth-ticket 1 1 1\n", "berth-ticket 1 1 1 x\n",
                                 "berth-ticket 1 1 1 99999999999999999999\n"}) {
    EXPECT_FALSE(parse_ticket(text)) << text;
  }
}

TEST(PlannedText, ComesBackAsItWasWritten) {
  const PlannedText planned{.at = WallTime{1'795'000'000'000},
                            .lasts = std::chrono::hours(4),
                            .words = {"--devices=2", "--name=a b\nc"},
                            .homes = {"HOME=/home/ana"},
                            .begun = true,
                            .failed = "100%"};
  EXPECT_EQ(parse_planned(write_planned(planned)), planned);
}

TEST(PlannedText, HasAHomeAndNoOtherVariable) {
  const auto planned = parse_planned(
      "berth-planned 1 5 1000\nhome=LD_PRELOAD=/x.so\nhome=HOME=here\nhome=PATH=/x\n"
      "home=XDG_STATE_HOME=/s\nuid=0\n");
  ASSERT_TRUE(planned);
  EXPECT_THAT(planned->homes, testing::ElementsAre("XDG_STATE_HOME=/s"));
}

TEST(PlannedText, OfAnotherFormatOrWithoutATimeIsNone) {
  for (const char* text :
       {"", "berth-planned 1 5 1000", "berth-planned 2 5 1000\n", "berth-planned 1 5 0\n",
        "berth-planned 1 -5 1000\n", "berth-planned 1 5\n", "berth-lease 1 5 1000 1\n",
        "berth-planned 1 99999999999999999999 1000\n", "berth-planned 1 9999999999999 1000\n"}) {
    EXPECT_FALSE(parse_planned(text)) << text;
  }
}

TEST(PlannedText, IsDueFromItsTimeOnUntilSomebodyHasTried) {
  PlannedText planned{.at = WallTime{5000}, .lasts = std::chrono::seconds(2)};
  EXPECT_FALSE(planned.is_due(WallTime{4999}));
  EXPECT_TRUE(planned.is_due(WallTime{5000}));
  EXPECT_EQ(planned.end(), WallTime{7000});
  planned.begun = true;
  EXPECT_FALSE(planned.is_due(WallTime{5000}));
  planned.begun = false;
  planned.failed = "no such user";
  EXPECT_FALSE(planned.is_due(WallTime{5000}));
}

TEST(LimitText, ComesBackAsItWasWritten) {
  const LimitText limit{.process = {.pid = 7, .start_ticks = 9},
                        .limits = {{"GPU-a", Bytes(5)}, {"GPU-b", Bytes(6)}},
                        .instead_of = "limit-00000001",
                        .uid = 1000,
                        .group = "/sys/fs/cgroup/a b",
                        .is_held = true,
                        .failed = "50%\n"};
  EXPECT_EQ(parse_limit(write_limit(limit)), limit);
}

TEST(LimitText, HasNoLimitOfNothingAndNoDeviceThatIsNoPlainWord) {
  const auto limit = parse_limit(
      "berth-limit 1 7 9\nlimit=0 GPU-a\nlimit=5 GPU a\nlimit=-1 GPU-b\nlimit=5\nlimit=5 GPU-c\n");
  ASSERT_TRUE(limit);
  EXPECT_THAT(limit->limits, testing::ElementsAre(testing::Pair("GPU-c", Bytes(5))));
}

TEST(LimitText, OfAnotherFormatOrWithoutAProcessIsNone) {
  for (const char* text : {"", "berth-limit 1 7 9", "berth-limit 2 7 9\n", "berth-limit 1 0 9\n",
                           "berth-limit 1 7\n", "berth-planned 1 7 9\n"}) {
    EXPECT_FALSE(parse_limit(text)) << text;
  }
}

}  // namespace
}  // namespace berth
