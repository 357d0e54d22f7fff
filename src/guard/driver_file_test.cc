#include "guard/driver_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/loader.h"
#include "base/temporary_directory.h"
#include "guard/elf_image.h"
#include "guard/elf_view.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A machine below a folder of the test's own.
class FindDriver : public ::testing::Test {
 protected:
  std::string put(const std::string& path, const std::string& bytes) {
    const std::string whole = root_ / path;
    EXPECT_TRUE(make_directories(whole.substr(0, whole.rfind('/'))));
    EXPECT_TRUE(write_file_atomically(whole, bytes));
    return whole;
  }
  static std::string driver() { return *read_file(BERTH_SMALL_DRIVER, 8 << 20); }
  [[nodiscard]] std::expected<DriverFile, Sentence> find(const std::string& library_path = "") {
    return find_driver(
        {.library_path = library_path, .working_directory = root_ / "work", .root = root_.path()});
  }
  std::string why_not(const std::string& library_path = "") {
    const auto found = find(library_path);
    return found ? "found " + found->path : found.error().english();
  }
  TemporaryDirectory root_;
};

/// The newer format, as ldconfig of glibc 2.32 and later writes it.
std::string cache_of(const std::vector<std::pair<std::string, std::string>>& files,
                     std::uint32_t kind) {
  std::string entries;
  std::string texts;
  const auto number = [](std::string& to, auto value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const std::size_t texts_at = 48 + files.size() * 24;
  for (const auto& [name, path] : files) {
    number(entries, kind);
    number(entries, static_cast<std::uint32_t>(texts_at + texts.size()));
    texts += name + '\0';
    number(entries, static_cast<std::uint32_t>(texts_at + texts.size()));
    texts += path + '\0';
    number(entries, std::uint32_t{0});
    number(entries, std::uint64_t{0});
  }
  std::string cache = "glibc-ld.so.cache1.1";
  number(cache, static_cast<std::uint32_t>(files.size()));
  number(cache, static_cast<std::uint32_t>(texts.size()));
  cache.resize(48);
  return cache + entries + texts;
}
constexpr std::uint32_t wide = elf::our_machine == EM_AARCH64 ? 0x0a03 : 0x0303;

TEST_F(FindDriver, TakesTheUsersPathThenTheCacheThenTheDefaultFolders) {
  const std::string by_default = put("usr/lib64/libcuda.so.1", driver());
  EXPECT_EQ(find()->path, by_default);
  const std::string by_cache = put("opt/driver/libcuda.so.1", driver());
  put("etc/ld.so.cache", cache_of({{"libcuda.so.1", "/opt/driver/libcuda.so.1"}}, wide));
  EXPECT_EQ(find()->path, by_cache);
  const std::string compat = put("cuda/compat/libcuda.so.1", driver());
  EXPECT_EQ(find("/nowhere:" + (root_ / "cuda/compat"))->path, compat);
  EXPECT_EQ(find("../cuda/compat/")->path, compat);  // from the working directory
  EXPECT_FALSE(find("$ORIGIN/x")->path.empty());
  EXPECT_EQ(find()->object.build_id.size(), 40U);
}

TEST_F(FindDriver, PassesOverAFileFor32BitPrograms) {
  put("a/libcuda.so.1", empty_object_for_32_bits(elf::our_machine));
  EXPECT_THAT(why_not(root_ / "a"), HasSubstr("not for 64-bit programs: " + (root_ / "a")));
  const std::string wide_one = put("b/libcuda.so.1", driver());
  EXPECT_EQ(find((root_ / "a") + ":" + (root_ / "b"))->path, wide_one);
}

TEST_F(FindDriver, PassesOverAShimOfOurs) {
  const auto image = make_guard_image(*read_file(BERTH_SMALL_TEMPLATE, 8 << 20),
                                      *read_shared_object(driver()), "/driver", false);
  put("shim/libcuda.so.1", *image);
  EXPECT_THAT(why_not(root_ / "shim"), HasSubstr("there is no libcuda.so.1"));
  const std::string real = put("usr/lib/libcuda.so.1", driver());
  EXPECT_EQ(find(root_ / "shim")->path, real);
}

TEST_F(FindDriver, StepsAsideForHami) {
  put("hami/libvgpu.so", driver());
  std::filesystem::create_symlink("libvgpu.so", root_ / "hami/libcuda.so.1");
  EXPECT_THAT(why_not(root_ / "hami"),
              HasSubstr("HAMi's libvgpu caps memory here: " + root_.path()));
}

TEST_F(FindDriver, SaysWhatItCannotRead) {
  put("a/libcuda.so.1", driver().substr(0, 2000));
  put("usr/lib/libcuda.so.1", driver());
  // The loader would stop there, too.
  EXPECT_THAT(why_not(root_ / "a"), HasSubstr("a/libcuda.so.1 cannot be read: not a sound"));
}

TEST(LoaderCache, HasFilesOfOurKindAlone) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"libcuda.so.1", "/a/libcuda.so.1"}, {"libc.so.6", "/libc"}};
  EXPECT_THAT(libraries_in_cache(cache_of(files, wide)),
              ElementsAre(CachedLibrary{"libcuda.so.1", "/a/libcuda.so.1"},
                          CachedLibrary{"libc.so.6", "/libc"}));
  EXPECT_THAT(libraries_in_cache(cache_of(files, 3)), IsEmpty());
}

TEST(LoaderCache, OfThisMachineHasItsLibc) {
  if (!is_there("/etc/ld.so.cache")) GTEST_SKIP() << "there is no /etc/ld.so.cache";
  EXPECT_THAT(loader_cache(""), Contains(Field(&CachedLibrary::name, "libc.so.6")));
}

TEST(LoaderCache, CutShortGivesWhatIsLeft) {
  const std::string whole = cache_of({{"libcuda.so.1", "/a/libcuda.so.1"}}, wide);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    (void)libraries_in_cache(std::string_view(whole).substr(0, bytes));
  }
  EXPECT_THAT(libraries_in_cache("glibc-ld.so.cache1.1"), IsEmpty());
}

TEST(LoaderLib, IsAFolderThatHoldsLibraries) {
  EXPECT_THAT(loader_lib(), ::testing::StartsWith("lib"));
  EXPECT_TRUE(is_there("/" + loader_lib()));
}

}  // namespace
}  // namespace berth
