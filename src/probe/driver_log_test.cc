#include "probe/driver_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/fd.h"

namespace berth {
namespace {

/// A kernel log of one record per read, and the time since boot.
class KernelLog : public testing::Test {
 protected:
  KernelLog() : folder_(testing::TempDir() + "berth-driver-log") {
    std::filesystem::create_directories(folder_);
    std::filesystem::remove(path());
    EXPECT_EQ(::mkfifo(path().c_str(), 0600), 0);
    auto end = open_fd(path(), O_RDWR | O_NONBLOCK);
    EXPECT_TRUE(end);
    end_ = std::move(*end);
    EXPECT_EQ(::fcntl(end_.get(), F_SETFL, O_NONBLOCK | O_DIRECT), 0);  // a record per read
    const auto uptime = open_fd(folder_ + "/uptime", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_TRUE(write_all(uptime->get(), "100.00 200.00\n"));
  }
  ~KernelLog() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return folder_ + "/kmsg"; }
  void say(int second, const std::string& text) {
    EXPECT_TRUE(write_all(end_.get(), "4,1," + std::to_string(second) + "000000,-;" + text + "\n"));
  }
  const std::string folder_;
  Fd end_;
};

constexpr WallTime now{1'000'000};  // booted 100 s ago: at 900'000
constexpr const char* load = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.10";

TEST_F(KernelLog, TellsErrorsAndTheLastLoadOfTheDriverInOnePass) {
  say(1, load);
  say(2, "NVRM: Xid (PCI:0000:01:00): 62, pid=7, name=python, x");
  say(3, "usb 1-1: new device");
  say(9, load);
  DriverLog log(path(), folder_);
  const DriverMessages told = log.read(now);
  ASSERT_TRUE(told.errors.get());
  ASSERT_EQ(told.errors.get()->size(), 1U);
  EXPECT_EQ(told.errors.get()->front().code, 62U);
  EXPECT_EQ(told.errors.get()->front().at, WallTime{902'000});
  EXPECT_EQ(told.loaded, Reading<WallTime>(WallTime{909'000}));
}

TEST_F(KernelLog, GoesOnWhereItStoodAndRemembersTheLoad) {
  say(1, load);
  DriverLog log(path(), folder_);
  EXPECT_EQ(log.read(now).loaded, Reading<WallTime>(WallTime{901'000}));
  say(5, "NVRM: Xid (PCI:0000:01:00): 31, x");
  const DriverMessages next = log.read(now);
  ASSERT_EQ(next.errors.get().value().size(), 1U);
  EXPECT_EQ(next.loaded, Reading<WallTime>(WallTime{901'000}));
  EXPECT_THAT(log.read(now).errors.get().value(), testing::IsEmpty());
}

TEST_F(KernelLog, FromItsEndOnNewErrorsAreToldOnceAndOldOnesNever) {
  const std::string file = folder_ + "/file";  // which, as the kernel's, can be sought in
  const auto end = open_fd(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  ASSERT_TRUE(end);
  ASSERT_TRUE(write_all(end->get(), "4,1,1000,-;NVRM: Xid (PCI:0000:3b:00): 31, old\n"));
  DriverLog log(file, folder_, DriverLog::From::end);
  EXPECT_THAT(log.read(now).errors.get().value(), testing::IsEmpty());
  ASSERT_TRUE(write_all(end->get(), "4,2,2000,-;NVRM: Xid (PCI:0000:3b:00): 79, lost\n"));
  const DriverMessages next = log.read(now);
  ASSERT_EQ(next.errors.get().value().size(), 1U);
  EXPECT_EQ(next.errors.get()->front().code, 79U);
  EXPECT_THAT(log.read(now).errors.get().value(), testing::IsEmpty());
}

TEST_F(KernelLog, WhatTheLogDoesNotTellIsNotKnown) {
  say(5, "NVRM: Xid (PCI:0000:01:00): 31, x");
  DriverLog log(path(), folder_);
  EXPECT_EQ(log.read(now).loaded, Reading<WallTime>(Absent::not_sampled));
  DriverLog none(folder_ + "/none", folder_);
  for (int look = 0; look < 2; ++look) {
    EXPECT_EQ(none.read(now).errors, Reading<std::vector<XidEvent>>(Absent::failed));
  }
}

}  // namespace
}  // namespace berth
