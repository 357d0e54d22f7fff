#include "guard/account_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary_directory.h"
#include "guard/account.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::HasSubstr;

class Account : public ::testing::Test {
 protected:
  Result<AccountFile> make() {
    return AccountFile::make(
        path_,
        {{.uuid = "GPU-00000000-0000-4000-8000-0000000000ff", .limit = 10_GiB, .context = 500_MiB},
         {.uuid = "MIG-0a000000-0000-4000-8000-000000000001"}});
  }
  [[nodiscard]] berth_account bytes() const {
    berth_account account;
    const Fd fd = *open_fd(path_, O_RDONLY);
    EXPECT_EQ(::read(fd.get(), &account, sizeof account), ssize_t{sizeof account});
    return account;
  }
  void write(const berth_account& account) {
    const Fd fd = *open_fd(path_, O_WRONLY);
    EXPECT_EQ(::write(fd.get(), &account, sizeof account), ssize_t{sizeof account});
  }
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memory_account";
};

TEST_F(Account, SaysItsDevicesAndLimits) {
  ASSERT_TRUE(make());
  const berth_account_header header = bytes().header;
  EXPECT_EQ(header.magic, BERTH_ACCOUNT_MAGIC);
  EXPECT_EQ(header.file_bytes, sizeof(berth_account));
  ASSERT_EQ(header.device_count, 2U);
  EXPECT_EQ(header.devices[0].uuid[15], 0xff);
  EXPECT_EQ(header.devices[0].uuid[6], 0x40);
  EXPECT_EQ(header.devices[0].limit_bytes, (10_GiB).count());
  EXPECT_EQ(header.devices[0].context_bytes, (500_MiB).count());
  EXPECT_EQ(header.devices[1].uuid[0], 0x0a);
  EXPECT_EQ(header.devices[1].limit_bytes, 0U);
}

TEST_F(Account, IsItsOwnersAlone) {
  ASSERT_TRUE(make());
  struct stat facts{};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_GE(facts.st_blocks * 512, static_cast<blkcnt_t>(sizeof(berth_account)));
  EXPECT_FALSE(make());  // never over one that is there
}

TEST_F(Account, TellsWhatProcessesHaveCharged) {
  const auto file = make();
  berth_account account = bytes();
  account.slots[0].pid = 10;
  account.slots[0].charged[0] = (3_GiB).count() + 2 * BERTH_ACCOUNT_TENTATIVE;
  account.slots[7].pid = 11;
  account.slots[7].charged[0] = (1_GiB).count();
  account.slots[8].charged[0] = (9_GiB).count();  // of nobody
  account.slots[9].pid = BERTH_ACCOUNT_EMPTYING;
  account.slots[9].charged[0] = (9_GiB).count();
  account.results[0].highest_bytes = (5_GiB).count();
  account.results[0].refusals = 3;
  write(account);
  const auto told = file->told();
  ASSERT_TRUE(told);
  ASSERT_EQ(told->size(), 2U);
  EXPECT_EQ((*told)[0].charged, 4_GiB);
  EXPECT_EQ((*told)[0].highest, 5_GiB);
  EXPECT_EQ((*told)[0].refusals, 3U);
  EXPECT_EQ((*told)[1].charged, 0_B);
}

TEST_F(Account, HasWhatNoShimSawBesideTheCharges) {
  auto file = make();
  file->tell_unseen(0, 1_GiB);
  EXPECT_EQ(bytes().results[0].unseen_bytes, (1_GiB).count());
  file->tell_unseen(0, 0_B);
  EXPECT_EQ(bytes().results[0].unseen_bytes, 0U);
  file->tell_unseen(99, 3_GiB);  // no such place
}

TEST_F(Account, ThatTheJobDamagedIsAnError) {
  const auto file = make();
  EXPECT_TRUE(AccountFile::open(path_));
  ASSERT_EQ(::truncate(path_.c_str(), 5000), 0);
  const auto told = file->told();
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message(), HasSubstr("damaged by the job"));
  EXPECT_FALSE(AccountFile::open(path_));
}

TEST_F(Account, IsRefusedForADeviceWithoutUuid) {
  EXPECT_FALSE(AccountFile::make(path_, {{.uuid = "0000:3b:00.0"}}));
  EXPECT_FALSE(AccountFile::make(path_, {{.uuid = "GPU-12"}}));
  EXPECT_FALSE(is_there(path_));
}

TEST_F(Account, HasPlaceForSixteenDevicesAndRefusesMore) {
  const AccountDevice one{.uuid = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10", .limit = 1_GiB};
  EXPECT_TRUE(AccountFile::make(path_, std::vector<AccountDevice>(16, one)));
  const auto more = AccountFile::make(directory_ / "more", std::vector<AccountDevice>(17, one));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message(), "a memory account has no place for 17 devices");
}

TEST_F(Account, SlotIsGivenBackOnlyWhereItsProcessIsGoneToTheLast) {
  auto account = make();
  ASSERT_TRUE(account);
  berth_account all = bytes();
  all.slots_used = 2;
  for (std::uint64_t number = 0; number < 2; ++number) {
    all.slots[number].pid = 7 + number;
    all.slots[number].start_time = 70;
    all.slots[number].charged[0] = (1_GiB).count();
  }
  write(all);
  const auto slots = account->slots();
  ASSERT_TRUE(slots);
  ASSERT_EQ(slots->size(), 2U);
  EXPECT_EQ(slots->at(1).sum(), 1_GiB);
  EXPECT_FALSE(account->give_back(slots->at(0), [] { return false; }));  // it began to charge
  EXPECT_EQ(bytes().slots[0].pid, 7U);
  EXPECT_EQ(account->told()->at(0).charged, 2_GiB);
  EXPECT_TRUE(account->give_back(slots->at(0), [] { return true; }));
  EXPECT_EQ(bytes().slots[0].pid, 0U);
  EXPECT_EQ(account->told()->at(0).charged, 1_GiB);
  all = bytes();
  all.slots[1].start_time = 71;  // another process took it meanwhile
  write(all);
  EXPECT_FALSE(account->give_back(slots->at(1), [] { return true; }));
  EXPECT_EQ(bytes().slots[1].pid, 8U);
}

TEST_F(Account, IsNamedInMapsAsTheKernelNamesIt) {
  const auto account = make();
  ASSERT_TRUE(account);
  const std::string name = account->name_in_maps("/proc");
  struct stat facts{};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_THAT(name, ::testing::EndsWith(" " + std::to_string(facts.st_ino) + " "));
  EXPECT_THAT(*read_file("/proc/self/maps", 64 << 20), HasSubstr(name));
}

TEST(ShimMapped, IsReadFromTheProcessesMaps) {
  TemporaryDirectory proc;
  ASSERT_TRUE(make_directories(proc / "7"));
  ASSERT_TRUE(write_file_atomically(
      proc / "7/maps",
      "7f0000000000-7f0000001000 r--p 00000000 fe:00 12   /home/u/.cache/x/libcuda.so.1\n"
      "7f0000001000-7f0000002000 r-xp 00001000 fe:00 13   /usr/lib/libc.so.6\n"));
  EXPECT_EQ(has_shim_mapped(7, "/home/u/.cache/x/libcuda.so.1", proc.path()), Reading<bool>(true));
  EXPECT_EQ(has_shim_mapped(7, "/x/libcuda.so.1", proc.path()), Reading<bool>(false));
  EXPECT_EQ(has_shim_mapped(8, "/x/libcuda.so.1", proc.path()), Reading<bool>(false));
}

}  // namespace
}  // namespace berth
