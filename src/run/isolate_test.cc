#include "run/isolate.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"
#include "place/visible_devices.h"
#include "run/device_scope.h"
#include "snapshot/builder.h"
#include "snapshot/device_kind.h"

namespace berth {
namespace {

using namespace literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> words_of(const std::vector<Sentence>& sentences) {
  std::vector<std::string> words;
  for (const Sentence& one : sentences) words.push_back(one.english());
  return words;
}

/// A server of four cards whose minor numbers run against their indices.
Snapshot four_cards() {
  SnapshotBuilder builder;
  for (const char* name : {"GPU-a", "GPU-b", "GPU-c", "GPU-d"}) {
    builder.gpu(name, 10_GiB).with([](Device& device) {
      device.minor_number = 3U - static_cast<std::uint64_t>(*device.index);
      device.pci_address = "00000000:0" + std::to_string(*device.index + 1) + ":00.0";
    });
  }
  return builder.build();
}

IsolationFacts facts_of_server() {
  IsolationFacts facts{.landlock = 7};
  facts.files = {"/dev", "/home", "/usr", "/tmp"};
  for (const char* name : {"null", "nvidia0", "nvidia1", "nvidia2", "nvidia3", "nvidiactl",
                           "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-nvswitch0",
                           "kfd", "shm", "dri", "nvidia-caps"}) {
    facts.files.push_back(std::string("/dev/") + name);
  }
  for (const char* name : {"card0", "card1", "renderD128", "renderD129", "by-path"}) {
    facts.files.push_back(std::string("/dev/dri/") + name);
  }
  facts.display_files = {{"/dev/dri/card0", "0000:02:00.0"},
                         {"/dev/dri/renderD128", "0000:02:00.0"},
                         {"/dev/dri/card1", "0000:03:00.0"},
                         {"/dev/dri/renderD129", "0000:03:00.0"}};
  for (const int minor : {1, 2, 3, 4, 12, 13, 21, 22}) {
    facts.files.push_back("/dev/nvidia-caps/nvidia-cap" + std::to_string(minor));
  }
  facts.instance_files =
      "config 1\nmonitor 2\ngpu2/gi1/access 12\ngpu2/gi1/ci0/access 13\ngpu2/gi2/access 21\n"
      "gpu2/gi2/ci0/access 22\n";
  return facts;
}

std::string refusal(const std::vector<DeviceId>& given, const Snapshot& host,
                    const IsolationFacts& facts) {
  const auto plan = plan_isolation(given, host, facts);
  return plan ? "" : plan.error().message();
}

TEST(PlanOfIsolation, ClosesEachOtherCardByItsMinorNumberNotItsIndex) {
  const auto plan = plan_isolation({DeviceId("GPU-b")}, four_cards(), facts_of_server());
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_THAT(plan->own, UnorderedElementsAre("/dev/nvidia2", "/dev/nvidiactl", "/dev/nvidia-uvm",
                                              "/dev/dri/card0", "/dev/dri/renderD128"));
  EXPECT_THAT(
      plan->closed,
      AllOf(Contains("/dev/nvidia0"), Contains("/dev/nvidia1"), Contains("/dev/nvidia3"),
            Contains("/dev/dri/card1"), Contains("/dev/dri/renderD129"),
            Contains("/dev/nvidia-caps/nvidia-cap12"), Contains("/dev/nvidia-caps/nvidia-cap1")));
  EXPECT_THAT(plan->open, AllOf(Contains("/home"), Contains("/dev/null"), Contains("/dev/shm"),
                                Contains("/dev/nvidia-uvm-tools"), Contains("/dev/nvidia-modeset"),
                                Contains("/dev/nvidia-nvswitch0"), Contains("/dev/kfd"),
                                Contains("/dev/dri/by-path")));
}

TEST(PlanOfIsolation, KnowsACardsDisplayInADomainOfFiveDigits) {
  Snapshot host = four_cards();
  host.devices[1].pci_address = std::string("00010000:02:00.0");
  IsolationFacts facts = facts_of_server();
  facts.display_files[0].second = "10000:02:00.0";
  const auto plan = plan_isolation({DeviceId("GPU-b")}, host, facts);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_THAT(plan->own, Contains("/dev/dri/card0"));
  EXPECT_THAT(plan->own, Not(Contains("/dev/dri/renderD128"))) << "that is another card's now";
}

TEST(PlanOfIsolation, SaysWhoseCardsCannotBeIsolatedYet) {
  for (const DeviceKindFacts& kind : device_kinds()) {
    if (!kind.is_supported || !kind.file_maker.empty()) continue;
    Snapshot host = four_cards();
    host.devices[1].kind = kind.kind;
    EXPECT_THAT(refusal({DeviceId("GPU-b")}, host, facts_of_server()),
                HasSubstr(std::string(kind.vendor) + "'s cards cannot be isolated yet"))
        << kind.name;
  }
}

TEST(PlanOfIsolation, ClosesTheCardsOfEachKind) {
  IsolationFacts facts = facts_of_server();
  facts.files.emplace_back("/dev/cambricon_ctl");
  std::vector<std::string> cards;
  for (const DeviceKindFacts& kind : device_kinds()) {
    for (const std::string_view beginning : kind.numbered_files) {
      cards.push_back(std::string(beginning) + "77");
      facts.files.push_back(cards.back());
    }
  }
  const auto plan = plan_isolation({DeviceId("GPU-b")}, four_cards(), facts);
  ASSERT_TRUE(plan) << plan.error().message();
  for (const std::string& card : cards) EXPECT_THAT(plan->closed, Contains(card));
  EXPECT_THAT(plan->closed, AllOf(Contains("/dev/cambricon_dev77"), Contains("/dev/neuron77")));
  EXPECT_THAT(plan->open, Contains("/dev/cambricon_ctl"));
}

TEST(PlanOfIsolation, OpensNoFolderThatACardsFilesLieIn) {
  const auto plan = plan_isolation({DeviceId("GPU-b")}, four_cards(), facts_of_server());
  ASSERT_TRUE(plan);
  for (const char* folder : {"/dev", "/dev/dri", "/dev/nvidia-caps", "/"}) {
    EXPECT_THAT(plan->open, Not(Contains(folder)));
    EXPECT_THAT(plan->own, Not(Contains(folder)));
  }
}

TEST(PlanOfIsolation, AnInstanceHasItsOwnTwoFilesAndItsCards) {
  Snapshot host = four_cards();
  Device instance;
  instance.id = DeviceId("MIG-1");
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = DeviceId("GPU-b");
  instance.partition = Partition{.gpu_instance = 1, .compute_instance = 0};
  host.devices.push_back(instance);
  const auto plan = plan_isolation({DeviceId("MIG-1")}, host, facts_of_server());
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_THAT(plan->own, AllOf(Contains("/dev/nvidia2"), Contains("/dev/nvidia-caps/nvidia-cap12"),
                               Contains("/dev/nvidia-caps/nvidia-cap13")));
  EXPECT_THAT(plan->closed, AllOf(Contains("/dev/nvidia-caps/nvidia-cap21"),
                                  Contains("/dev/nvidia-caps/nvidia-cap22")));
  EXPECT_THAT(plan->open, Contains("/dev/nvidia-caps/nvidia-cap2")) << "to look at instances";
  IsolationFacts silent = facts_of_server();
  silent.instance_files.clear();
  EXPECT_THAT(refusal({DeviceId("MIG-1")}, host, silent), HasSubstr("MIG-1's is not known"));
}

TEST(PlanOfIsolation, WithoutADeviceClosesAll) {
  const auto plan = plan_isolation({}, {}, facts_of_server());
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->own, IsEmpty());
  EXPECT_THAT(plan->closed, AllOf(Contains("/dev/nvidia0"), Contains("/dev/nvidia3")));
}

TEST(PlanOfIsolation, IsRefusedWithTheReasonWhereTheKernelCannot) {
  const Snapshot host = four_cards();
  const std::vector<DeviceId> given = {DeviceId("GPU-a")};
  IsolationFacts facts = facts_of_server();
  facts.landlock = 1;
  EXPECT_THAT(refusal(given, host, facts), HasSubstr("moving files between folders"));
  facts.landlock = 0;
  facts.landlock_error = ENOSYS;
  EXPECT_THAT(refusal(given, host, facts), HasSubstr("has no Landlock"));
  facts.landlock_error = EOPNOTSUPP;
  EXPECT_THAT(refusal(given, host, facts), HasSubstr("lsm="));
  facts.landlock_error = EPERM;
  EXPECT_THAT(refusal(given, host, facts), HasSubstr("seccomp"));
}

TEST(PlanOfIsolation, OfRootOnAnOldKernelIsSystemds) {
  IsolationFacts facts = facts_of_server();
  facts.is_privileged = true;
  facts.systemd_run = "/usr/bin/systemd-run";
  const auto plan = [&] { return plan_isolation({DeviceId("GPU-a")}, four_cards(), facts); };
  EXPECT_EQ(plan()->systemd_run, "") << "Landlock where there is one: root cannot leave it";
  EXPECT_EQ(means_of(facts), by_landlock);
  facts.landlock = 1;
  EXPECT_EQ(plan()->systemd_run, "/usr/bin/systemd-run");
  EXPECT_EQ(means_of(facts), by_systemd);
  EXPECT_THAT(words_of(costs_of(*plan())), Contains(HasSubstr("another control group")));
  facts.systemd_run.clear();
  EXPECT_THAT(refusal({DeviceId("GPU-a")}, four_cards(), facts),
              HasSubstr("nor does a systemd run here"));
}

TEST(DeviceScope, IsTheCommandBehindARuleForEachFile) {
  EXPECT_THAT(in_device_scope("/usr/bin/systemd-run", {"/dev/null", "/dev/nvidia3"},
                              {"python", "-p", "train.py"}),
              ElementsAre("/usr/bin/systemd-run", "--scope", "--quiet", "-p", "DevicePolicy=strict",
                          "-p", "DeviceAllow=char-pts rw", "-p", "DeviceAllow=/dev/null rw", "-p",
                          "DeviceAllow=/dev/nvidia3 rw", "--", "python", "-p", "train.py"));
}

TEST(DeviceScope, HasTheDeviceFilesOfFoldersAndNoLinkOrPlainFile) {
  const auto files = device_files_in({.open = {"/dev/null", "/dev/fd", "/dev", "/etc/passwd"}});
  EXPECT_THAT(files, ElementsAre("/dev/null")) << "what lies outside of /dev is no device";
}

TEST(PlanOfIsolation, NamesTheFileThatNobodyCouldMakeInsideAnyMore) {
  IsolationFacts facts = facts_of_server();
  std::erase(facts.files, "/dev/nvidia-uvm");
  EXPECT_THAT(
      refusal({DeviceId("GPU-b")}, four_cards(), facts),
      AllOf(HasSubstr("/dev/nvidia-uvm is not there"), HasSubstr("nvidia-modprobe -u -c=2")));
}

TEST(PlanOfIsolation, OfACardWhoseFileIsNotKnownNothingIsGuessed) {
  Snapshot host = four_cards();
  host.devices[0].minor_number = Absent::no_permission;
  EXPECT_THAT(refusal({DeviceId("GPU-a")}, host, facts_of_server()),
              HasSubstr("GPU-a's is not known"));
}

TEST(SeenInside, IndicesCountFromZeroInTheOrderThatTheyHad) {
  const std::vector<DeviceId> given = {DeviceId("GPU-d"), DeviceId("GPU-b")};
  const Snapshot inside = seen_inside(given, four_cards());
  EXPECT_EQ(inside.devices.size(), 2U);
  EXPECT_EQ(write_visible_devices(given, VisibleFormat::indices, inside).value(), "1,0");
  EXPECT_EQ(write_visible_devices(given, VisibleFormat::uuids, inside).value(), "GPU-d,GPU-b");
}

TEST(FitsIsolation, WhatWouldStartOutsideOrWantsRightsIsRefused) {
  EXPECT_TRUE(fits_isolation({"python", "train.py"}, false));
  EXPECT_FALSE(fits_isolation({"/usr/bin/docker", "run", "x"}, true));
  EXPECT_FALSE(fits_isolation({"nice", "-n", "5", "docker", "run", "x"}, true));
  EXPECT_FALSE(fits_isolation({"bash", "-c", "cd /x && exec apptainer exec a.sif b"}, true));
  EXPECT_TRUE(fits_isolation({"nice", "python", "train.py", "docker"}, true));
  const auto sudo = fits_isolation({"sudo", "python"}, false);
  ASSERT_FALSE(sudo);
  EXPECT_THAT(sudo.error().message(), HasSubstr("sudo berth run --isolate"));
  EXPECT_TRUE(fits_isolation({"sudo", "python"}, true)) << "root has nothing to gain by it";
}

TEST(CostsOfIsolation, AnOldLandlockSaysWhomItDoesNotKeepOut) {
  EXPECT_THAT(words_of(costs_of({.landlock = 4})),
              Contains(HasSubstr("One that is made for it passes")));
  EXPECT_THAT(words_of(costs_of({.landlock = 7})), Not(Contains(HasSubstr("made for it"))));
  EXPECT_THAT(words_of(costs_of({.landlock = 7, .is_privileged = true})),
              Not(Contains(HasSubstr("sudo"))));
}

// --- with the kernel --------------------------------------------------------------------------

/// What `body` says in a process that may open these paths alone, and what is below.
std::string restricted(const std::vector<std::string>& open,
                       const std::function<std::string()>& body) {
  const IsolationFacts facts = gather_isolation_facts();
  SystemClock clock;
  const auto answer = ask_child(
      [&] {
        const auto done = restrict_to(
            {.landlock = facts.landlock, .is_privileged = facts.is_privileged, .open = open});
        return write_all(1, done ? body() : done.error().message()) ? 0 : 1;
      },
      clock, std::chrono::seconds(20));
  return answer ? answer->out : answer.error().message();
}

class Restricted : public testing::Test {
 protected:
  void SetUp() override {
    const IsolationFacts facts = gather_isolation_facts();
    if (!plan_isolation({}, {}, facts)) GTEST_SKIP() << refusal({}, {}, facts);
    make_directories(folder_ / "open/a").value();
    make_directories(folder_ / "open/b").value();
    make_directories(folder_ / "shut").value();
    write_file_atomically(folder_ / "open/a/file", "x").value();
    write_file_atomically(folder_ / "shut/file", "x").value();
  }
  static std::string opened(const std::string& path, int flags = O_RDWR) {
    const auto file = open_fd(path, flags, 0600);
    return file ? "opens" : file.error().message();
  }
  TemporaryDirectory folder_;
};

TEST_F(Restricted, OpensWhatIsOpenAndNothingElse) {
  const std::vector<std::string> open = {folder_ / "open"};
  EXPECT_EQ(restricted(open, [&] { return opened(folder_ / "open/a/file"); }), "opens");
  EXPECT_THAT(restricted(open, [&] { return opened(folder_ / "shut/file"); }),
              HasSubstr("Permission denied"));
}

TEST_F(Restricted, ALinkOpensNothingOfWhatItLeadsTo) {
  ASSERT_EQ(::symlink((folder_ / "shut").c_str(), (folder_ / "link").c_str()), 0);
  EXPECT_THAT(restricted({folder_ / "link"}, [&] { return opened(folder_ / "link/file"); }),
              HasSubstr("Permission denied"));
}

TEST_F(Restricted, FilesMoveBetweenFolders) {
  EXPECT_EQ(restricted({folder_ / "open"},
                       [&] {
                         const int moved = ::rename((folder_ / "open/a/file").c_str(),
                                                    (folder_ / "open/b/file").c_str());
                         return std::string(moved == 0 ? "moved" : std::strerror(errno));
                       }),
            "moved");
}

TEST_F(Restricted, WhatIsOpenedNeitherToReadNorToWriteDoesNothingEither) {
  if (gather_isolation_facts().landlock < 5) GTEST_SKIP() << "from Linux 6.10 on";
  const std::vector<std::string> all_but_null = {"/dev/zero", "/usr"};
  const auto asked = [](const char* path) {
    const Fd file(::open(path, O_ACCMODE | O_CLOEXEC));
    if (!file.is_open()) return std::string("not opened");
    char settings[256];
    return std::string(::ioctl(file.get(), TCGETS, settings) == 0 ? "answered"
                                                                  : std::strerror(errno));
  };
  EXPECT_EQ(restricted(all_but_null, [&] { return asked("/dev/null"); }), "Permission denied");
  EXPECT_NE(restricted(all_but_null, [&] { return asked("/dev/zero"); }), "Permission denied");
}

TEST_F(Restricted, NobodyMakesADeviceFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes device files";
  EXPECT_EQ(restricted({folder_ / "open"},
                       [&] {
                         const int made = ::mknod((folder_ / "open/null").c_str(), S_IFCHR | 0600,
                                                  makedev(1, 3));
                         return std::string(made == 0 ? "made" : std::strerror(errno));
                       }),
            "Permission denied");
}

TEST_F(Restricted, AnIsolatedProcessIsolatesFurther) {
  const std::vector<std::string> open = {folder_ / "open"};
  EXPECT_THAT(restricted({folder_.path()},
                         [&] {
                           const std::string before = opened(folder_ / "shut/file");
                           const auto again = restrict_to(
                               {.landlock = gather_isolation_facts().landlock, .open = open});
                           if (!again) return again.error().message();
                           return before + ", then " + opened(folder_ / "shut/file");
                         }),
              AllOf(testing::StartsWith("opens, then "), HasSubstr("Permission denied")));
}

TEST_F(Restricted, CanBeTriedHere) {
  SystemClock clock;
  const auto tried = try_isolation(gather_isolation_facts(), clock);
  EXPECT_TRUE(tried) << tried.error().message();
}

}  // namespace
}  // namespace berth
