#include "guard/shim_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/loader.h"
#include "base/temporary_directory.h"
#include "base/variables.h"
#include "guard/shim_folder.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Environment = std::vector<std::string>;

/// Of the user's own alone, as the folders above it in a test are not: /tmp is sticky.
class Shims : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_directories(driver_folder_));
    ASSERT_TRUE(write_file_atomically(driver_folder_ + "/libcuda.so.1",
                                      *read_file(BERTH_SMALL_DRIVER, 8 << 20)));
  }
  ShimQuestion question(const Environment& more = {}) {
    Environment environment = {"PATH=/bin", "LD_LIBRARY_PATH=" + driver_folder_};
    for (const std::string& one : more) {
      std::erase_if(environment, [&](const std::string& other) {
        return other.starts_with(one.substr(0, one.find('=') + 1));
      });
      environment.push_back(one);
    }
    return {.environment = environment,
            .programs = {},
            .working_directory = "/",
            .folders = {directory_ / "cache"},
            .shim_template = template_,
            .root = directory_ / "root"};
  }
  static Shim made(const ShimQuestion& question) {
    auto shim = prepare_shim(question);
    EXPECT_TRUE(shim) << shim.error().english();
    return shim ? *std::move(shim) : Shim{};
  }
  static std::string why_not(const ShimQuestion& question) {
    const auto shim = prepare_shim(question);
    return shim ? "made " + shim->image : shim.error().english();
  }
  static std::vector<std::string> said(const Shim& shim) {
    std::vector<std::string> all;
    for (const Sentence& one : shim.said) all.push_back(one.english());
    return all;
  }

  TemporaryDirectory directory_;
  std::string driver_folder_ = directory_ / "driver";
  std::string template_ = *read_file(BERTH_SMALL_TEMPLATE, 8 << 20);
};

mode_t mode_of(const std::string& path) {
  struct stat facts{};
  EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 07777U;
}

TEST_F(Shims, AreWrittenOnceForADriver) {
  const Shim shim = made(question());
  EXPECT_THAT(shim.image, StartsWith(directory_ / "cache/"));
  EXPECT_EQ(shim.driver, driver_folder_ + "/libcuda.so.1");
  EXPECT_THAT(shim.driver_build_id, SizeIs(40));
  EXPECT_THAT(shim.said, IsEmpty());
  EXPECT_EQ(*read_link(shim.folder + "/libcuda.so"), "libcuda.so.1");
  EXPECT_TRUE(is_there(shim.folder + "/" + loader_lib() + "/libcuda.so.1"));
  const auto first = std::filesystem::last_write_time(directory_ / "cache");
  const Shim again = made(question());
  EXPECT_EQ(again.image, shim.image);
  EXPECT_EQ(std::filesystem::last_write_time(directory_ / "cache"), first);
}

TEST_F(Shims, ArePreloadedByThePathThatAnswersFastestWherePrograms32BitsWideCannotRun) {
  const Shim shim = made(question());
  EXPECT_EQ(shim.preload, shim.folder + "/berth-shim.so");
  EXPECT_EQ(*read_link(shim.preload), "libcuda.so.1");
  for (const char* sign : {"/lib/ld-linux.so.2", "/lib/ld-linux-armhf.so.3", "/nix/store"}) {
    const std::string path = directory_ / "root" + sign;
    ASSERT_TRUE(make_directories(path));
    EXPECT_EQ(made(question()).preload, shim.folder + "/$LIB/libcuda.so.1") << sign;
    std::filesystem::remove(path);
  }
}

TEST_F(Shims, AreTheirOwnersAlone) {
  const Shim shim = made(question());
  const bool is_root = ::geteuid() == 0;
  EXPECT_EQ(mode_of(shim.folder), is_root ? 0755U : 0700U);
  EXPECT_EQ(mode_of(shim.image), is_root ? 0444U : 0400U);
}

TEST_F(Shims, ChangedBySomebodyAreWrittenAnewAndSaid) {
  const Shim shim = made(question());
  const std::string whole = read_file(shim.image, 8 << 20).value_or("");
  ASSERT_TRUE(write_file_atomically(shim.image, whole.substr(0, 100)));
  const Shim again = made(question());
  EXPECT_THAT(said(again), ElementsAre(HasSubstr("had been changed; it was written anew")));
  EXPECT_EQ(read_file(again.image, 8 << 20).value_or(""), whole);
  // As well as what others could write, or a link in its place.
  ASSERT_EQ(::chmod(again.image.c_str(), 0666), 0);
  EXPECT_THAT(said(made(question())), SizeIs(1));
  std::filesystem::remove(again.image);
  std::filesystem::create_symlink(driver_folder_ + "/libcuda.so.1", again.image);
  EXPECT_THAT(said(made(question())), SizeIs(1));
  EXPECT_EQ(read_file(again.image, 8 << 20).value_or(""), whole);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(again.image.c_str(), 4242, 4242), 0);
    EXPECT_THAT(said(made(question())), SizeIs(1));
  }
  EXPECT_THAT(made(question()).said, IsEmpty());
}

TEST_F(Shims, GoToTheNextFolderWhereOthersCouldWrite) {
  ASSERT_TRUE(make_directories(directory_ / "open"));
  ASSERT_EQ(::chmod((directory_ / "open").c_str(), 0777), 0);
  ShimQuestion asked = question();
  asked.folders = {directory_ / "open/guard", directory_ / "a:b", directory_ / "cache"};
  EXPECT_THAT(made(asked).image, StartsWith(directory_ / "cache/"));
  asked.folders.pop_back();
  EXPECT_THAT(why_not(asked),
              ::testing::AllOf(HasSubstr("no folder can hold the shim: others can write in " +
                                         (directory_ / "open")),
                               HasSubstr("a:b has a character that LD_PRELOAD cannot hold")));
  // In a sticky folder nobody else can put one in the place of ours.
  ASSERT_EQ(::chmod((directory_ / "open").c_str(), 01777), 0);
  EXPECT_TRUE(prepare_shim(asked));
}

TEST_F(Shims, GoToTheNextFolderWhereSomebodyElsesStands) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_TRUE(make_directories(directory_ / "theirs/guard"));
  ASSERT_EQ(::chown((directory_ / "theirs").c_str(), 4242, 4242), 0);
  ShimQuestion asked = question();
  asked.folders = {directory_ / "theirs/guard"};
  EXPECT_THAT(why_not(asked), HasSubstr("theirs belongs to user 4242"));
}

TEST_F(Shims, FollowNoLinkOfSomebodyElses) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  ASSERT_TRUE(make_directories(directory_ / "roots"));
  ASSERT_TRUE(make_directories(directory_ / "sticky"));
  ASSERT_EQ(::chmod((directory_ / "sticky").c_str(), 01777), 0);
  const std::string link = directory_ / "sticky/berth-guard-0";
  std::filesystem::create_directory_symlink(directory_ / "roots", link);
  ShimQuestion asked = question();
  asked.folders = {link};
  EXPECT_TRUE(prepare_shim(asked)) << "root's own";
  ASSERT_EQ(::lchown(link.c_str(), 4242, 4242), 0);
  EXPECT_THAT(why_not(asked), HasSubstr("berth-guard-0 is a link of user 4242"));
}

TEST_F(Shims, StepAsideWhereTheJobSpeaksAgainstThem) {
  EXPECT_THAT(why_not(question({"BERTH_GUARD=off"})), HasSubstr("BERTH_GUARD=off"));
  EXPECT_THAT(why_not(question({"BERTH_GUARD=on"})), StartsWith("made "));
  EXPECT_THAT(why_not(question({"CUDA_INJECTION64_PATH=/opt/nsys/x.so"})),
              HasSubstr("CUDA_INJECTION64_PATH is set"));
  EXPECT_THAT(why_not(question({"LD_PRELOAD=/x/y.so:/usr/local/vgpu/libvgpu.so"})),
              HasSubstr("HAMi's libvgpu"));
  for (const char* program : {"ncu", "nsys", "cuda-gdb", "compute-sanitizer"}) {
    ShimQuestion asked = question();
    asked.programs = {"env", program};
    EXPECT_THAT(why_not(asked), StartsWith(std::string(program) + " "));
  }
  ASSERT_TRUE(make_directories(directory_ / "root/etc"));
  ASSERT_TRUE(
      write_file_atomically(directory_ / "root/etc/ld.so.preload", "/usr/local/vgpu/libvgpu.so\n"));
  EXPECT_THAT(why_not(question()), HasSubstr("HAMi's libvgpu"));
}

TEST_F(Shims, SayWhereThereIsNoDriver) {
  EXPECT_THAT(why_not(question({"LD_LIBRARY_PATH="})), HasSubstr("there is no libcuda.so.1 here"));
  ShimQuestion asked = question();
  asked.shim_template = "";
  EXPECT_THAT(why_not(asked), HasSubstr("built without the shim"));
}

TEST_F(Shims, OfOldDriversAreSweptUnlessAProcessHasThem) {
  const Shim shim = made(question());
  const std::string parent = directory_ / "cache";
  const std::string old = parent + "/0000000000000001";
  const std::string used = parent + "/0000000000000002";
  const std::string recent = parent + "/0000000000000003";
  for (const std::string& folder : {old, used, recent}) {
    ASSERT_TRUE(make_directories(folder));
    ASSERT_TRUE(write_file_atomically(folder + "/libcuda.so.1", "x"));
    if (folder == recent) continue;
    std::filesystem::last_write_time(
        folder + "/libcuda.so.1",
        std::filesystem::last_write_time(shim.image) - std::chrono::hours(24 * 91));
  }
  ASSERT_TRUE(make_directories(directory_ / "proc/77"));
  ASSERT_TRUE(
      write_file_atomically(directory_ / "proc/77/environ",
                            std::string("A=b\0LD_PRELOAD=", 15) + used + "/$LIB/libcuda.so.1"));
  sweep_shim_folders(shim.folder, directory_ / "proc");
  EXPECT_FALSE(is_there(old));
  EXPECT_TRUE(is_there(used));
  EXPECT_TRUE(is_there(recent));
  EXPECT_TRUE(is_there(shim.image));
}

/// A job's environment with the shim in it.
Environment with_shim(const Environment& environment, const Shim& shim, const char* account) {
  return with_variables(environment, shim_variables(environment, shim, account));
}

const Shim some_shim{.folder = "/c/0123",
                     .image = "/c/0123/libcuda.so.1",
                     .preload = "/c/0123/berth-shim.so",
                     .driver = "/d"};

TEST(EnvironmentWithShim, SetsWhatAPlainOneLacks) {
  EXPECT_THAT(
      with_shim({"PATH=/bin"}, some_shim, "/account"),
      ElementsAre("PATH=/bin", "LD_PRELOAD=/c/0123/berth-shim.so", "LD_LIBRARY_PATH=/c/0123",
                  "BERTH_GUARD_ACCOUNT=/account", "ASAN_OPTIONS=verify_asan_link_order=0"));
}

TEST(EnvironmentWithShim, KeepsWhatTheUserChose) {
  const Environment got = with_shim({"LD_PRELOAD=libtcmalloc.so /x/y.so", "LD_LIBRARY_PATH=/a::/b",
                                     "ASAN_OPTIONS=detect_leaks=0", "LD_PRELOADED=1"},
                                    some_shim, "/account");
  EXPECT_THAT(got, Contains("LD_PRELOAD=libtcmalloc.so:/x/y.so:/c/0123/berth-shim.so"));
  EXPECT_THAT(got, Contains("LD_LIBRARY_PATH=/c/0123:/a::/b"));
  EXPECT_THAT(got, Contains("ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"));
  EXPECT_THAT(got, Contains("LD_PRELOADED=1"));
  EXPECT_THAT(got, SizeIs(5));
}

TEST(EnvironmentWithShim, AddsNoEmptyFolderWhichWouldBeTheWorkingDirectory) {
  EXPECT_THAT(with_shim({"LD_LIBRARY_PATH="}, some_shim, "/account"),
              Contains("LD_LIBRARY_PATH=/c/0123"));
}

TEST(EnvironmentWithShim, ReplacesAShimOfAnOuterRun) {
  for (const char* preload : {"/c/outer/berth-shim.so", "/c/outer/$LIB/libcuda.so.1"}) {
    const Shim outer{.folder = "/c/outer", .preload = preload};
    const Environment once = with_shim({"LD_PRELOAD=/x.so", "LD_LIBRARY_PATH=/a"}, outer, "/outer");
    EXPECT_THAT(with_shim(once, some_shim, "/account"),
                ::testing::UnorderedElementsAre(
                    "LD_PRELOAD=/x.so:/c/0123/berth-shim.so", "LD_LIBRARY_PATH=/c/0123:/a",
                    "BERTH_GUARD_ACCOUNT=/account", "ASAN_OPTIONS=verify_asan_link_order=0"))
        << preload;
  }
}

TEST(ShimFolders, BeginInTheUsersCache) {
  EXPECT_THAT(shim_folders({"HOME=/home/u", "XDG_RUNTIME_DIR=/run/user/7"}, 7),
              ElementsAre("/home/u/.cache/berth/guard", "/var/tmp/berth-guard-7",
                          "/tmp/berth-guard-7", "/run/user/7/berth/guard"));
  EXPECT_THAT(shim_folders({"HOME=/home/u", "XDG_CACHE_HOME=/scratch/u"}, 7),
              Contains("/scratch/u/berth/guard"));
  EXPECT_THAT(shim_folders({"HOME=relative"}, 7), SizeIs(2));
  EXPECT_THAT(shim_folders({"HOME=/root"}, 0), Not(Contains(StartsWith("/root"))));
}

}  // namespace
}  // namespace berth
