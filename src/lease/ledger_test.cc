#include "lease/ledger.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "base/lock.h"
#include "base/process.h"
#include "base/temporary_directory.h"
#include "lease/lease_text.h"
#include "lease/ledger_directory.h"
#include "lease/ledger_locks.h"
#include "lease/setup.h"
#include "lease/watch.h"

namespace berth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using namespace literals;

/// A ledger in a folder of its own that goes with the test.
class LedgerTest : public testing::Test {
 protected:
  Ledger open_ledger() {
    auto ledger = Ledger::open({.directory = path_, .kind = LedgerPlace::Kind::named}, clock_);
    EXPECT_TRUE(ledger) << ledger.error().message();
    return *std::move(ledger);
  }
  Result<Lease> claim(Ledger& ledger, std::vector<ClaimedDevice> devices) {
    const auto lock = ledger.lock(seconds(1));
    if (!lock) return std::unexpected(lock.error());
    return ledger.claim(*lock, {.run = "r1", .command = "python a.py", .devices = devices});
  }
  Ticket queue(Ledger& ledger, const std::string& command) {
    auto ticket = ledger.queue({.command = command, .wants = "-n 1", .request = to_json(Request{})},
                               {DeviceId("A"), DeviceId("B"), DeviceId("C")});
    EXPECT_TRUE(ticket) << ticket.error().message();
    return *std::move(ticket);
  }
  /// A file as a stranger or a newer berth would leave it; locked while the Fd lives.
  Fd put(const std::string& name, const std::string& text, bool locked = true) {
    Fd fd(::open((path_ + "/" + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    EXPECT_TRUE(write_all(fd.get(), text));
    if (locked) {
      EXPECT_TRUE(take_ofd_lock(fd.get()));
    }
    return fd;
  }
  static LedgerView read(const Ledger& ledger) {
    auto view = ledger.read();
    EXPECT_TRUE(view) << view.error().message();
    return view.value_or(LedgerView{});
  }
  static std::vector<std::string> codes(const LedgerView& view) {
    std::vector<std::string> codes;
    for (const Problem& problem : view.problems) codes.push_back(problem.code);
    return codes;
  }
  static std::vector<std::string> commands(const LedgerView& view) {
    std::vector<std::string> commands;
    for (const Waiter& waiter : view.waiters) commands.push_back(waiter.command);
    return commands;
  }
  std::vector<std::string> names() { return *list_directory(path_); }

  TemporaryDirectory directory_;
  std::string folder_ = directory_.path();
  std::string path_ = folder_ + "/ledger";
  FakeClock clock_;
};

std::vector<ClaimedDevice> whole(const std::string& name) {
  return {{DeviceId(name), std::nullopt}};
}

TEST_F(LedgerTest, AgesAreWhatTheSteadyClockSaysWhereTheDateWasSet) {
  Ledger ledger = open_ledger();
  const auto lease = claim(ledger, {{DeviceId("GPU-A"), std::nullopt}});
  ASSERT_TRUE(lease) << lease.error().message();
  const Ticket ticket = queue(ledger, "waits");
  clock_.advance(seconds(90));
  for (const std::int64_t hours : {-5, 0, 5}) {
    const WallTime now{1'760'000'000'000 + hours * 3'600'000};
    clock_.set_wall(now);
    const auto view = ledger.read();
    EXPECT_NEAR(static_cast<double>(now.unix_ms - view->claims.at(0).since.unix_ms), 90e3, 1e3);
    EXPECT_NEAR(static_cast<double>(now.unix_ms - view->waiters.at(0).since.unix_ms), 90e3, 1e3);
  }
}

TEST_F(LedgerTest, ShowsAClaimUntilItEnds) {
  Ledger ledger = open_ledger();
  auto lease = claim(ledger, {{DeviceId("A"), 10_GiB}, {DeviceId("B"), 5_GiB}});
  ASSERT_TRUE(lease) << lease.error().message();
  const LedgerView view = read(ledger);
  ASSERT_THAT(view.claims, SizeIs(1));
  EXPECT_EQ(view.claims[0].id, lease->id());
  EXPECT_EQ(view.claims[0].run, "r1");
  EXPECT_EQ(view.claims[0].uid, ::geteuid());
  EXPECT_EQ(view.claims[0].command, "python a.py");
  EXPECT_EQ(view.claims[0].devices[1], (ClaimedDevice{DeviceId("B"), 5_GiB}));
  EXPECT_EQ(view.claims[0].job, std::nullopt);
  EXPECT_THAT(view.problems, IsEmpty());
  ASSERT_TRUE(lease->end(ledger));
  EXPECT_THAT(read(ledger).claims, IsEmpty());
  EXPECT_THAT(names(), ElementsAre("host.lock"));
  EXPECT_TRUE(lease->end(ledger)) << "ending twice is fine";
}

TEST_F(LedgerTest, ClaimsWithADescriptorFarFromTheJobsOwn) {
  Ledger ledger = open_ledger();
  auto lease = claim(ledger, whole("A"));
  ASSERT_TRUE(lease);
  EXPECT_GE(lease->descriptor(), 100);
  EXPECT_NE(::fcntl(lease->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(LedgerTest, NamesTheKeeperAndTheJobOnceDescribed) {
  Ledger ledger = open_ledger();
  auto lease = claim(ledger, whole("A"));
  ASSERT_TRUE(lease);
  ASSERT_TRUE(lease->describe({.keeper = ProcessId{10, 1}}));
  EXPECT_EQ(read(ledger).claims[0].keeper->pid, 10);
  EXPECT_EQ(read(ledger).claims[0].job, std::nullopt);
  ASSERT_TRUE(lease->describe({.keeper = ProcessId{10, 1}, .job = ProcessId{11, 2}}));
  EXPECT_EQ(read(ledger).claims[0].job, (ProcessId{11, 2}));
}

TEST_F(LedgerTest, IgnoresALeaseWhoseLastHolderHasGoneAndSweepsItsOwn) {
  Ledger ledger = open_ledger();
  auto lease = claim(ledger, whole("A"));
  ASSERT_TRUE(lease);
  lease->let_go();
  EXPECT_THAT(read(ledger).claims, IsEmpty());
  EXPECT_THAT(names(), SizeIs(2)) << "reading removes nothing";
  EXPECT_EQ(ledger.sweep(), 1U);
  EXPECT_THAT(names(), ElementsAre("host.lock"));
}

TEST_F(LedgerTest, SweepsWhatDiedBeforeItWasPublishedAndNothingAlive) {
  Ledger ledger = open_ledger();
  auto lease = claim(ledger, whole("A"));
  const Ticket ticket = queue(ledger, "waits");
  put(".new-lease-dead", "berth-le", false);
  const Fd being_written = put(".new-lease-young", "berth-le");
  put("notes.txt", "somebody's", false);
  clock_.set_wall(SystemClock().wall_now());
  EXPECT_EQ(ledger.sweep(), 0U) << "its writer may be about to lock it";
  clock_.advance(seconds(2));
  EXPECT_EQ(ledger.sweep(), 1U);
  EXPECT_THAT(names(), Contains("notes.txt"));
  EXPECT_THAT(names(), Contains(".new-lease-young"));
  EXPECT_THAT(read(ledger).claims, SizeIs(1));
  EXPECT_THAT(read(ledger).waiters, SizeIs(1));
}

TEST_F(LedgerTest, KeepsALeaseAliveWhileAnInheritedDescriptorIsOpen) {
  Ledger ledger = open_ledger();
  auto lease = claim(ledger, whole("A"));
  ASSERT_TRUE(lease);
  const Fd inherited(::dup(lease->descriptor()));  // the same description, as over fork
  lease->let_go();
  EXPECT_THAT(read(ledger).claims, SizeIs(1));
}

TEST_F(LedgerTest, EndLeavesAFileAloneThatIsNotItsOwn) {
  Ledger ledger = open_ledger();
  auto lease = claim(ledger, whole("A"));
  ASSERT_TRUE(lease);
  const std::string path = path_ + "/lease-" + lease->id();
  ASSERT_EQ(::unlink(path.c_str()), 0);
  const Fd other = put("lease-" + lease->id(), "berth-lease 1 1 0 1 B\n");
  EXPECT_TRUE(lease->end(ledger));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(LedgerTest, HonoursANewerFormatByItsFirstLine) {
  Ledger ledger = open_ledger();
  const Fd newer = put("lease-x", "berth-lease 7 " + std::to_string(::geteuid()) +
                                      " 0 1 A\n\x01\x02 not lines at all");
  const LedgerView view = read(ledger);
  ASSERT_THAT(view.claims, SizeIs(1));
  EXPECT_FALSE(view.claims[0].parsed);
  EXPECT_EQ(view.claims[0].devices[0].device, DeviceId("A"));
  EXPECT_THAT(codes(view), ElementsAre("newer_format"));
}

TEST_F(LedgerTest, SurvivesWhateverLiesInIt) {
  Ledger ledger = open_ledger();
  const Fd broken = put("lease-broken", "nonsense");
  const Fd empty = put("lease-empty", "");
  const Fd odd_ticket = put("ticket-broken", "berth-ticket\n");
  put("lease-dead-and-broken", "nonsense", false);
  put("README", "hello", false);
  ASSERT_EQ(::mkfifo((path_ + "/lease-fifo").c_str(), 0644), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (path_ + "/lease-link").c_str()), 0);
  ASSERT_EQ(::symlink("lease-loop", (path_ + "/lease-loop").c_str()), 0);
  ASSERT_EQ(::mkdir((path_ + "/lease-folder").c_str(), 0755), 0);
  const LedgerView view = read(ledger);
  EXPECT_THAT(view.claims, IsEmpty());
  EXPECT_THAT(view.waiters, IsEmpty());
  EXPECT_THAT(codes(view), testing::UnorderedElementsAre("broken", "broken", "broken",
                                                         "foreign_file", "not_a_file", "unreadable",
                                                         "unreadable", "not_a_file"));
  for (const Problem& problem : view.problems) {
    EXPECT_THAT(problem.message.english(), HasSubstr(path_)) << "names the file";
    EXPECT_FALSE(problem.remedy.empty()) << problem.message.english();
  }
}

TEST_F(LedgerTest, HonoursHugeAndHardLinkedLeasesOnceAndSaysSo) {
  Ledger ledger = open_ledger();
  const std::string me = std::to_string(::geteuid());
  const Fd huge = put("lease-huge", "berth-lease 1 " + me + " 0 1 A\n");
  ASSERT_EQ(::ftruncate(huge.get(), off_t{1} << 40), 0);
  const Fd linked = put("lease-one", "berth-lease 1 " + me + " 0 1 B\n");
  ASSERT_EQ(::link((path_ + "/lease-one").c_str(), (path_ + "/lease-two").c_str()), 0);
  const LedgerView view = read(ledger);
  EXPECT_THAT(view.claims, SizeIs(2));
  EXPECT_THAT(codes(view), Contains("too_large"));
  EXPECT_THAT(codes(view), Contains("hard_linked"));
}

TEST_F(LedgerTest, GoesByTheFilesOwnerAndNotByWhatItSays) {
  Ledger ledger = open_ledger();
  const Fd liar = put("lease-liar", "berth-lease 1 54321 0 1 A\n");
  const LedgerView view = read(ledger);
  ASSERT_THAT(view.claims, SizeIs(1));
  EXPECT_EQ(view.claims[0].uid, ::geteuid());
  EXPECT_THAT(codes(view), ElementsAre("wrong_owner"));
}

TEST_F(LedgerTest, PublishesNothingWhenTheDiskIsFull) {
  Ledger ledger = open_ledger();
  // A file size limit stands for the full disk: write(2) fails half-way either way.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 20;
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto lease = claim(ledger, whole("A"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(lease);
  EXPECT_THAT(lease.error().message(), HasSubstr(path_));
  EXPECT_THAT(names(), ElementsAre("host.lock"));
}

TEST_F(LedgerTest, NamesTheHolderOfALockHeldForEver) {
  Ledger ledger = open_ledger();
  const auto held = ledger.lock(seconds(1));
  ASSERT_TRUE(held);
  const Instant before = clock_.now();
  const auto lock = ledger.lock(seconds(3));
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code(), ErrorCode::timeout);
  EXPECT_THAT(lock.error().message(), HasSubstr("process " + std::to_string(::getpid())));
  EXPECT_THAT(lock.error().message(), Not(HasSubstr("kill"))) << "it runs, and may be innocent";
  EXPECT_GE(clock_.now() - before, seconds(3));
}

/// A process that has the host lock, and what it is to do with it.
pid_t holder_of_the_lock(const Ledger& ledger, const std::function<void()>& then) {
  std::array<int, 2> told{};
  EXPECT_EQ(::pipe2(told.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = open_host_lock(ledger.directory());
    const bool has_it = lock && ::flock(lock->get(), LOCK_EX) == 0;
    (void)!::write(told[1], has_it ? "y" : "n", 1);
    then();
    ::_exit(0);
  }
  char said = 0;
  EXPECT_EQ(::read(told[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  ::close(told[0]);
  ::close(told[1]);
  return child;
}

TEST_F(LedgerTest, SaysOfAHolderThatIsStoppedAllTheTimeHowItGoesOn) {
  Ledger ledger = open_ledger();
  const pid_t child = holder_of_the_lock(ledger, [] { ::raise(SIGSTOP); });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  const auto lock = ledger.lock(seconds(3));
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().message(), HasSubstr("kill -CONT " + std::to_string(child)));
  EXPECT_THAT(lock.error().message(), Not(HasSubstr("KILL")));
  ::kill(child, SIGCONT);
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(ledger.lock(seconds(3)));
}

TEST_F(LedgerTest, TheLockGoesFromHandToHandForAsLongAsThatTakes) {
  SystemClock clock;
  auto ledger = Ledger::open({.directory = path_, .kind = LedgerPlace::Kind::named}, clock);
  ASSERT_TRUE(ledger);
  // Six in a row hold it longer together than anybody's patience with one.
  std::vector<pid_t> line;
  for (int i = 0; i < 6; ++i) {
    line.push_back(::fork());
    if (line.back() == 0) {
      bool got = false;
      if (const auto lock = ledger->lock(seconds(60))) {
        got = true;
        clock.wait_until(clock.now() + milliseconds(300));
      }
      ::_exit(got ? 0 : 1);
    }
  }
  clock.wait_until(clock.now() + milliseconds(100));
  EXPECT_TRUE(ledger->lock(milliseconds(900)));
  for (const pid_t child : line) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(LedgerTest, ReadersLocksKeepNoWaiterFromShowingWhatItDoes) {
  Ledger ledger = open_ledger();
  Ticket ticket = queue(ledger, "waits");
  const std::string file = path_ + "/" + std::string(ticket_prefix) + ticket.id();
  // All that a reader is granted: wherever the owner holds no lock.
  const Fd reader(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(reader.is_open());
  off_t from = 0;
  int granted = 0;
  while (true) {
    struct flock wanted{
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = 0, .l_pid = 0};
    struct flock found = wanted;
    ASSERT_EQ(::fcntl(reader.get(), F_OFD_GETLK, &found), 0);
    wanted.l_len = found.l_type == F_UNLCK ? 0 : found.l_start - from;
    if (found.l_type == F_UNLCK || wanted.l_len > 0) {
      granted += ::fcntl(reader.get(), F_OFD_SETLK, &wanted) == 0 ? 1 : 0;
    }
    if (found.l_type == F_UNLCK || found.l_len == 0) break;
    from = found.l_start + found.l_len;
  }
  ASSERT_GT(granted, 0);
  const Instant first = clock_.now();
  for (int i = 0; i < 5; ++i) {
    const bool odd = i % 2 == 0;
    clock_.advance(seconds(2));
    ticket.beat(clock_.now());
    ticket.set_passed(odd);
    ticket.set_gathered(odd ? std::vector<DeviceId>{DeviceId("B")} : std::vector<DeviceId>{});
    const LedgerView view = read(ledger);
    ASSERT_THAT(view.states, SizeIs(1));
    EXPECT_EQ(view.states[0].passed, odd) << i;
    ASSERT_TRUE(view.states[0].beat);
    EXPECT_GE(*view.states[0].beat, first + seconds(2 * (i + 1)) - milliseconds(2)) << i;
    EXPECT_EQ(view.waiters[0].gathered.size(), odd ? 1U : 0U) << i;
  }
}

TEST_F(LedgerTest, AStrangersNameFromTheFarFuturePutsNobodyBehindThoseWhoComeLater) {
  Ledger ledger = open_ledger();
  put("ticket-8999999999000000000-x", "", false);
  std::vector<Ticket> tickets;
  tickets.reserve(4);
  for (int i = 0; i < 4; ++i) {
    tickets.push_back(queue(ledger, std::to_string(i)));
    clock_.advance(milliseconds(5));
    SystemClock().wait_until(SystemClock().now() +
                             milliseconds(20));  // st_ctime has a coarse clock
  }
  std::vector<std::string> order;
  for (const Waiter& waiter : read(ledger).waiters) order.push_back(waiter.command);
  EXPECT_THAT(order, ElementsAre("0", "1", "2", "3"));
}

TEST_F(LedgerTest, WhatIsNoTicketIsNobodyBeforeUsHoweverItIsLocked) {
  Ledger ledger = open_ledger();
  const Ticket ticket = queue(ledger, "waits");
  const Fd locked = put("ticket-0000000000000000000-x", "");
  EXPECT_FALSE(ledger.waiter_state("0000000000000000000-x"));
  EXPECT_TRUE(ledger.waiter_state(ticket.id()));
}

TEST_F(LedgerTest, EachSweepLooksAtAFewAndAllOfThemGo) {
  Ledger ledger = open_ledger();
  for (int i = 0; i < 100; ++i) put("lease-dead-" + std::to_string(i), "dead", false);
  EXPECT_LE(ledger.sweep(), 16U);
  for (int i = 0; i < 400 && names().size() > 1; ++i) (void)ledger.sweep();
  EXPECT_THAT(names(), ElementsAre("host.lock"));
}

TEST_F(LedgerTest, QueuesInTheOrderOfArrivalWithWhatEachShows) {
  Ledger ledger = open_ledger();
  Ticket first = queue(ledger, "first");
  Ticket second = queue(ledger, "second");
  first.set_gathered({DeviceId("B"), DeviceId("C"), DeviceId("unheard of")});
  second.set_passed(true);
  clock_.advance(milliseconds(1500));
  second.beat(clock_.now());
  const LedgerView view = read(ledger);
  EXPECT_THAT(commands(view), ElementsAre("first", "second"));
  EXPECT_THAT(view.waiters[0].gathered, ElementsAre(DeviceId("B"), DeviceId("C")));
  EXPECT_EQ(view.waiters[0].process, own_process_id());
  EXPECT_THAT(view.waiters[1].gathered, IsEmpty());
  EXPECT_FALSE(view.states[0].passed);
  EXPECT_TRUE(view.states[1].passed);
  EXPECT_EQ(view.states[1].beat, clock_.now());
  EXPECT_EQ(view.states[0].beat, clock_.now() - milliseconds(1500));
  first.set_gathered({});
  EXPECT_THAT(read(ledger).waiters[0].gathered, IsEmpty());
}

TEST_F(LedgerTest, ATicketGathersNoDeviceWhoseNameIsNoPlainWord) {
  Ledger ledger = open_ledger();
  auto ticket = ledger.queue({.command = "waits"}, {DeviceId("A"), DeviceId("B")});
  ASSERT_TRUE(ticket);
  ticket->set_gathered({DeviceId("A"), DeviceId("B")});
  const std::string file = path_ + "/ticket-" + ticket->id();
  std::string text = *read_file(file);
  text.replace(text.find("A,B"), 3, "%0a,B");
  const Fd stranger(::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  ASSERT_TRUE(write_all(stranger.get(), text));
  EXPECT_THAT(read(ledger).waiters[0].gathered, ElementsAre(DeviceId("B")));
}

TEST_F(LedgerTest, ShowsUntilWhenATicketGathersAndMovesItFurtherAwayAlone) {
  Ledger ledger = open_ledger();
  Ticket ticket = queue(ledger, "gathers");
  const Instant came = clock_.now();
  const auto until = [&]() -> std::optional<std::int64_t> {
    const Waiter waiter = read(ledger).waiters[0];
    if (!waiter.gathers_until) return std::nullopt;
    return waiter.gathers_until->unix_ms - waiter.since.unix_ms;
  };
  ticket.set_gathers_until(came + std::chrono::minutes(10));
  EXPECT_EQ(until(), std::nullopt) << "it gathers nothing";
  ticket.set_gathered({DeviceId("B")});
  EXPECT_EQ(until(), 600'000);
  ticket.set_gathers_until(came + std::chrono::minutes(5));
  EXPECT_EQ(until(), 600'000);
  ticket.set_gathers_until(came + std::chrono::hours(2));
  EXPECT_EQ(until(), 7'200'000);
  EXPECT_THAT(read(ledger).waiters[0].gathered, ElementsAre(DeviceId("B")));
}

TEST_F(LedgerTest, PutsWhoMayGoFirstFirstWhateverAnybodyElseClaims) {
  Ledger ledger = open_ledger();
  Policy policy;
  policy.rules.push_back({.rules = {.highest_priority = Priority::high}});
  const Waiter low{.command = "low", .priority = Priority::low};
  const Waiter high{.command = "high", .priority = Priority::high};
  const auto first = ledger.queue(low, {});
  const Ticket second = queue(ledger, "normal");
  const auto third = ledger.queue(high, {});
  ledger.set_policy(std::make_shared<const Policy>(policy));
  EXPECT_THAT(commands(read(ledger)), ElementsAre("high", "normal", "low"));
  EXPECT_THAT(ledger.tickets_before(second.id()).value(), ElementsAre(third->id()));
  ledger.set_policy(std::make_shared<const Policy>());
  EXPECT_THAT(commands(read(ledger)), ElementsAre("normal", "high", "low"));
  EXPECT_EQ(read(ledger).waiters[1].priority, Priority::normal)
      << "it counts as what its owner may";
}

TEST_F(LedgerTest, ForgetsATicketThatGoes) {
  Ledger ledger = open_ledger();
  std::string id;
  {
    const Ticket ticket = queue(ledger, "goes");
    id = ticket.id();
    EXPECT_TRUE(ledger.waiter_state(id));
  }
  EXPECT_FALSE(ledger.waiter_state(id));
  EXPECT_THAT(names(), ElementsAre("host.lock"));
}

TEST_F(LedgerTest, KeepsTheOrderWhenTheDateIsSetBack) {
  Ledger ledger = open_ledger();
  // Somebody who came when the date was years ahead.
  const Fd early =
      put("ticket-2000000000000000000-x", "berth-ticket 1 " + std::to_string(::geteuid()) +
                                              " 1 2000000000000000000\ncommand=early\n");
  const Ticket late = queue(ledger, "late");
  EXPECT_THAT(commands(read(ledger)), ElementsAre("early", "late"));
}

TEST_F(LedgerTest, ReadsTheTicketsAskedForAlone) {
  Ledger ledger = open_ledger();
  const Ticket first = queue(ledger, "first");
  const Ticket second = queue(ledger, "second");
  const auto view = ledger.read_with_tickets({second.id(), "gone"});
  ASSERT_TRUE(view);
  EXPECT_THAT(commands(*view), ElementsAre("second"));
  EXPECT_THAT(view->problems, IsEmpty());
}

TEST_F(LedgerTest, WatchSeesALeaseEnd) {
  Ledger ledger = open_ledger();
  auto lease = claim(ledger, whole("A"));
  auto watch = LedgerWatch::open(ledger.directory());
  if (!watch) GTEST_SKIP() << "no inotify instance left: " << watch.error().message();
  EXPECT_FALSE(watch->drain());
  lease->let_go();  // as a SIGKILLed keeper would
  EXPECT_TRUE(watch->drain());
}

TEST_F(LedgerTest, FollowsNoSymlinkForItsLock) {
  std::filesystem::create_directory(path_);
  ASSERT_EQ(::symlink("/etc/passwd", (path_ + "/host.lock").c_str()), 0);
  const auto ledger = Ledger::open({.directory = path_, .kind = LedgerPlace::Kind::named}, clock_);
  ASSERT_FALSE(ledger);
  EXPECT_THAT(ledger.error().message(), HasSubstr("host.lock"));
}

TEST_F(LedgerTest, SimulatedServersHaveAPartEachThatTheWholeDoesNotSee) {
  const LedgerPlace whole{.directory = path_, .kind = LedgerPlace::Kind::named};
  Ledger real = open_ledger();
  ::chmod(path_.c_str(), 01777);
  const LedgerPlace place = part_for_simulated(whole, "lab-4");
  auto part = Ledger::open(place, clock_);
  ASSERT_TRUE(part) << part.error().message();
  struct stat facts{};
  ASSERT_EQ(::stat(place.directory.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 01777U) << "who shares the ledger shares its parts";
  const auto lease = claim(*part, {{DeviceId("A"), std::nullopt}});
  ASSERT_TRUE(lease);
  EXPECT_THAT(part->read()->claims, SizeIs(1));
  EXPECT_THAT(real.read()->claims, IsEmpty());
  EXPECT_THAT(real.read()->problems, IsEmpty());
  auto other = Ledger::open(part_for_simulated(whole, "desktop"), clock_);
  ASSERT_TRUE(other);
  EXPECT_THAT(other->read()->claims, IsEmpty());
  EXPECT_EQ(real.sweep(), 0U);
  EXPECT_TRUE(std::filesystem::exists(place.directory));
}

TEST_F(LedgerTest, PartOfASimulatedServerIsBelowTheLedgerWhateverItIsCalled) {
  const LedgerPlace whole{.directory = path_, .kind = LedgerPlace::Kind::named};
  EXPECT_EQ(part_for_simulated(whole, "../../etc").directory, path_ + "/.new-sim-_._.._etc");
  EXPECT_EQ(part_for_simulated(whole, "/a b/$(x).json").directory,
            path_ + "/.new-sim-_a_b___x_.json");
  EXPECT_LT(part_for_simulated(whole, std::string(5000, 'x')).directory.size(), path_.size() + 120);
  const LedgerPlace own{.directory = "/var/tmp/berth-7", .kind = LedgerPlace::Kind::own};
  EXPECT_EQ(part_for_simulated(own, "lab-4").directory, "/var/tmp/berth-7-sim/lab-4");
  std::filesystem::create_directory(path_);
  ASSERT_EQ(::symlink("/tmp", (path_ + "/.new-sim-x").c_str()), 0);
  EXPECT_FALSE(Ledger::open(part_for_simulated(whole, "x"), clock_));
}

TEST_F(LedgerTest, OwnIsPrivateAndNoSymlink) {
  const auto place = find_ledger(std::nullopt, folder_ + "/none", folder_);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->directory, folder_ + "/berth-" + std::to_string(::geteuid()));
  EXPECT_EQ(place->kind, LedgerPlace::Kind::own);
  ASSERT_TRUE(Ledger::open(*place, clock_));
  EXPECT_TRUE(Ledger::open(*place, clock_)) << "a second time";

  ::chmod(place->directory.c_str(), 0755);
  const auto open_to_all = Ledger::open(*place, clock_);
  ASSERT_FALSE(open_to_all);
  EXPECT_THAT(open_to_all.error().message(), HasSubstr("chmod 700"));

  std::filesystem::rename(place->directory, folder_ + "/elsewhere");
  ASSERT_EQ(::symlink((folder_ + "/elsewhere").c_str(), place->directory.c_str()), 0);
  EXPECT_FALSE(Ledger::open(*place, clock_));
}

TEST_F(LedgerTest, NamedComesFirstAndABrokenSharedOneIsSaidNotPassedOver) {
  EXPECT_EQ(find_ledger("/x/y", folder_, folder_)->directory, "/x/y");
  EXPECT_EQ(find_ledger("/x/y", folder_, folder_)->kind, LedgerPlace::Kind::named);
  EXPECT_FALSE(find_ledger("x/y", folder_, folder_)) << "another one from each folder";
  EXPECT_EQ(find_ledger(std::nullopt, path_, folder_)->kind, LedgerPlace::Kind::own);
  std::filesystem::create_directory(path_);  // not sticky, no lock
  const auto broken = find_ledger(std::nullopt, path_, folder_);
  EXPECT_EQ(broken->kind, LedgerPlace::Kind::shared);
  const auto opened = Ledger::open(*broken, clock_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("sudo berth setup"));
}

TEST(LedgerDirectory, TicketFactsAreFilledFromNameAndFileAlone) {
  struct stat facts{};
  facts.st_uid = 1001;
  facts.st_ctim = {.tv_sec = 5, .tv_nsec = 7};
  const std::string name = "ticket-0000000006000000000-x-high";
  // A member that is new does not compile until it is here: ticket_facts() has to fill it.
  const auto& [uid, asked, place, arrived, ticket] = ticket_facts(name, facts);
  EXPECT_EQ(uid, 1001U);
  EXPECT_EQ(asked, Priority::high);
  EXPECT_EQ(arrived, 5'000'000'007);
  EXPECT_EQ(place, 6'000'000'000);
  EXPECT_EQ(ticket, name);
  EXPECT_EQ(ticket_facts("ticket-0000000006000000000-x", facts).asked, Priority::normal);
}

TEST(LedgerDirectory, TrustsNoNetworkFileSystem) {
  EXPECT_FALSE(is_local_file_system(0x6969)) << "NFS";
  EXPECT_FALSE(is_local_file_system(0x65735546)) << "FUSE";
  EXPECT_FALSE(is_local_file_system(0xFF534D42)) << "CIFS";
  EXPECT_TRUE(is_local_file_system(0xEF53)) << "ext4";
  EXPECT_TRUE(is_local_file_system(0x01021994)) << "tmpfs";
}

TEST_F(LedgerTest, SetupMakesWhatIsTrustedAndRepeatsQuietly) {
  const SetupPaths paths{.root = folder_};
  const auto made = make_shared_ledger(paths);
  if (::geteuid() != 0) {
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message(), HasSubstr("sudo berth setup"));
    GTEST_SKIP() << "needs root: making a root-owned ledger";
  }
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->done, Not(IsEmpty()));
  EXPECT_EQ(find_ledger(std::nullopt, folder_ + "/run/berth", folder_)->kind,
            LedgerPlace::Kind::shared);
  EXPECT_THAT(*read_file(folder_ + "/etc/systemd/system/run-berth.mount"), HasSubstr("size=16M"));
  EXPECT_THAT(*read_file(folder_ + "/etc/tmpfiles.d/berth.conf"),
              HasSubstr("f /run/berth/host.lock 0666 root root"));
  const auto again = make_shared_ledger(paths);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->done, IsEmpty());
  EXPECT_THAT(again->unchanged, SizeIs(4));
}

TEST_F(LedgerTest, SetupRemovesNothingThatIsInTheWay) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: making a root-owned ledger";
  ASSERT_TRUE(make_directories(folder_ + "/run"));
  ASSERT_TRUE(write_file_atomically(folder_ + "/run/berth", "mine"));
  const auto made = make_shared_ledger({.root = folder_});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("move it away"));
  EXPECT_EQ(*read_file(folder_ + "/run/berth"), "mine");
}

TEST_F(LedgerTest, AReservationOfAnEarlierBootHoldsNothingAndIsTakenAway) {
  Ledger ledger = open_ledger();
  const auto text = write_lease(
      {.steady_ms = 1'000'000'000'000,  // of a machine that was up long
       .time_limit = std::chrono::hours(4),
       .claim = {
           .run = "r1", .uid = ::geteuid(), .command = "berth reserve", .devices = whole("A")}});
  put("lease-00000000-0000000000000001", *text, false);
  EXPECT_THAT(read(ledger).claims, IsEmpty()) << "its lock went with its processes";
  EXPECT_EQ(ledger.sweep(), 1U);
}

TEST_F(LedgerTest, ATicketThatIsNotUnderstoodDoesNotSayItsAge) {
  Ledger ledger = open_ledger();
  clock_.advance(std::chrono::hours(5));
  const std::string years_ago = "berth-ticket 1 0 2 0\nsteady_ms=1\nrequest=";
  const Fd of_nobody = put("ticket-1-a", years_ago + "?\n");
  const Fd of_ours = put("ticket-2-b", years_ago + to_json(Request{}) + "\n");
  struct stat facts{};
  ASSERT_EQ(::fstat(of_nobody.get(), &facts), 0);
  const LedgerView view = read(ledger);
  ASSERT_THAT(view.waiters, SizeIs(2));
  EXPECT_EQ(view.waiters[0].since.unix_ms / 1000, facts.st_ctim.tv_sec) << "as its file tells";
  EXPECT_NE(view.waiters[1].since.unix_ms / 1000, facts.st_ctim.tv_sec) << "the date is set back";
  clock_.set_wall(WallTime{SystemClock().wall_now().unix_ms + 2000});
  for (const Waiter& waiter : read(ledger).waiters) {
    EXPECT_EQ(waiter.since.unix_ms / 1000, facts.st_ctim.tv_sec)
        << "no ticket is older than its file";
  }
}

}  // namespace
}  // namespace berth
