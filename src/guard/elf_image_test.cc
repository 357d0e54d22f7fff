#include "guard/elf_image.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "guard/elf_view.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string small_template() { return *read_file(BERTH_SMALL_TEMPLATE, 8 << 20); }
std::string small_driver() { return *read_file(BERTH_SMALL_DRIVER, 8 << 20); }
SharedObject driver_object() { return *read_shared_object(small_driver()); }

std::vector<std::string> names_of(const SharedObject& object) {
  std::vector<std::string> names;
  std::ranges::transform(object.exports, std::back_inserter(names), &ExportedSymbol::name);
  return names;
}

const ExportedSymbol& symbol_of(const SharedObject& object, std::string_view name) {
  return *std::ranges::find(object.exports, name, &ExportedSymbol::name);
}

TEST(SharedObject, ShowsFunctionsAndDataAndNothingHidden) {
  const SharedObject driver = driver_object();
  EXPECT_THAT(
      names_of(driver),
      ElementsAre("cuCallsHidden", "cuDriverGetVersion", "cuGLRegisterBufferObject", "cuInit",
                  "cuIsWeak", "cuSumOfSeven", "cudbgAligned", "cudbgSmallText", "cudbgZero"));
  EXPECT_EQ(driver.soname, "libcuda.so.1");
  EXPECT_EQ(driver.build_id.size(), 40U);
  EXPECT_EQ(driver.machine, elf::our_machine);
  const ExportedSymbol& text = symbol_of(driver, "cudbgSmallText");
  EXPECT_TRUE(text.is_data);
  EXPECT_EQ(text.bytes, std::string("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", 16));
  EXPECT_EQ(symbol_of(driver, "cudbgZero").bytes, std::string(8, '\0'));
  EXPECT_EQ(symbol_of(driver, "cudbgAligned").alignment, 64U);
  EXPECT_FALSE(symbol_of(driver, "cuInit").is_data);
}

TEST(SharedObject, CutShortAnywhereIsAnError) {
  const std::string whole = small_driver();
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 61) {
    const auto read = read_shared_object(std::string_view(whole).substr(0, bytes));
    // What comes last in a file are sections, which no loader reads.
    if (read) {
      EXPECT_EQ(names_of(*read), names_of(driver_object())) << bytes;
    }
  }
  EXPECT_FALSE(read_shared_object(""));
  EXPECT_FALSE(read_shared_object(std::string_view(whole).substr(0, 700)));
}

TEST(SharedObject, OfA32BitProgramIsToldApartFromADamagedOne) {
  const auto narrow = read_shared_object(empty_object_for_32_bits(elf::our_machine));
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code(), ErrorCode::unsupported);
  EXPECT_EQ(read_shared_object("#!/bin/sh").error().code(), ErrorCode::invalid);
}

TEST(ElfImage, ShowsExactlyWhatTheDriverDoes) {
  const auto image = make_guard_image(small_template(), driver_object(), "/driver", false);
  ASSERT_TRUE(image) << image.error().message();
  const auto read = read_shared_object(*image);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(names_of(*read), names_of(driver_object()));
  EXPECT_EQ(read->soname, "libcuda.so.1");
  EXPECT_EQ(read->machine, elf::our_machine);
  for (const ExportedSymbol& of_driver : driver_object().exports) {
    const ExportedSymbol& ours = symbol_of(*read, of_driver.name);
    EXPECT_EQ(ours.is_data, of_driver.is_data) << of_driver.name;
    EXPECT_EQ(ours.bytes, of_driver.bytes) << of_driver.name;
    EXPECT_GE(ours.alignment, of_driver.alignment) << of_driver.name;
  }
  EXPECT_TRUE(is_guard_image(*image));
  EXPECT_FALSE(is_guard_image(small_driver()));
}

TEST(ElfImage, NeedsLibdlOnlyWhereDlopenIsThere) {
  const auto here = make_guard_image(small_template(), driver_object(), "/driver", false);
  const auto old = make_guard_image(small_template(), driver_object(), "/driver", true);
  EXPECT_THAT(read_shared_object(*here)->needed, Not(Contains("libdl.so.2")));
  EXPECT_THAT(read_shared_object(*old)->needed, Contains("libdl.so.2"));
}

TEST(ElfImage, IsTheSameForTheSameDriver) {
  const auto once = make_guard_image(small_template(), driver_object(), "/driver", false);
  EXPECT_EQ(*once, *make_guard_image(small_template(), driver_object(), "/driver", false));
  EXPECT_NE(*once, *make_guard_image(small_template(), driver_object(), "/another", false));
}

TEST(ElfImage, SegmentsAscendAndHoldTheNewTables) {
  const auto image = make_guard_image(small_template(), driver_object(), "/driver", false);
  const auto view = elf::view(*image);
  ASSERT_TRUE(view);
  std::uint64_t before = 0;
  for (const Elf64_Phdr& segment : view->segments) {
    if (segment.p_type != PT_LOAD) continue;
    EXPECT_GE(segment.p_vaddr, before);
    EXPECT_EQ(segment.p_vaddr % segment.p_align, segment.p_offset % segment.p_align);
    EXPECT_LE(segment.p_offset + segment.p_filesz, image->size());
    before = segment.p_vaddr + segment.p_memsz;
  }
  EXPECT_EQ(std::ranges::count(view->segments, PT_GNU_STACK, &Elf64_Phdr::p_type), 1);
}

TEST(ElfImage, IsRefusedForWhatTheTemplateIsNotMadeFor) {
  SharedObject strange = driver_object();
  strange.machine = 3;
  EXPECT_THAT(make_guard_image(small_template(), strange, "/driver", false).error().message(),
              HasSubstr("another machine"));
  SharedObject large = driver_object();
  for (int i = 0; i < 2100; ++i) large.exports.push_back({.name = "cu" + std::to_string(i)});
  EXPECT_THAT(make_guard_image(small_template(), large, "/driver", false).error().message(),
              HasSubstr("more than 2048 functions"));
  EXPECT_FALSE(make_guard_image(small_driver(), driver_object(), "/driver", false));
  EXPECT_FALSE(make_guard_image(small_template(), driver_object(), std::string(5000, '/'), false));
  // An image is no template.
  const auto image = make_guard_image(small_template(), driver_object(), "/driver", false);
  EXPECT_FALSE(make_guard_image(*image, driver_object(), "/driver", false));
}

#if defined(__x86_64__)
class LoadedImage : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto image =
        make_guard_image(small_template(), driver_object(), BERTH_SMALL_DRIVER, false);
    ASSERT_TRUE(write_file_atomically(path_, *image));
    library_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    // By a path, so that the loader does not give us what has the same name already.
    driver_ = ::dlopen(BERTH_SMALL_DRIVER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(driver_, nullptr) << ::dlerror();
  }
  void TearDown() override {
    ::dlclose(library_);
    ::dlclose(driver_);
  }
  template <class Type>
  Type* named(const char* name) {
    return reinterpret_cast<Type*>(::dlsym(library_, name));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "libcuda.so.1";
  void* library_ = nullptr;
  void* driver_ = nullptr;
};

TEST_F(LoadedImage, CallsTheDriverByItsTrampolines) {
  ASSERT_NE(named<int(unsigned)>("cuInit"), ::dlsym(driver_, "cuInit"));
  EXPECT_EQ(named<int(unsigned)>("cuInit")(0), 0);
  EXPECT_EQ(named<int(unsigned)>("cuInit")(1), 1);
  EXPECT_EQ(named<int()>("cuIsWeak")(), 42);
  EXPECT_EQ(named<int(unsigned)>("cuGLRegisterBufferObject")(7), 7);
  const auto sum = named<long(long, long, long, long, long, long, long)>("cuSumOfSeven");
  EXPECT_EQ(sum(1, 1, 1, 1, 1, 1, 1), 28);
  EXPECT_EQ(sum(7, 6, 5, 4, 3, 2, 1), 7 + 12 + 15 + 16 + 15 + 12 + 7);
}

TEST_F(LoadedImage, HasItsWrappersInPlaceOfTheDrivers) {
  int version = 0;
  EXPECT_EQ(named<int(int*)>("cuDriverGetVersion")(&version), 0);
  EXPECT_EQ(version, 12021);
}

TEST_F(LoadedImage, HasNoNameThatTheDriverHasNot) {
  EXPECT_EQ(::dlsym(library_, "cuOfNoDriver"), nullptr);
  EXPECT_EQ(::dlsym(library_, "berth_guard_tramp_0"), nullptr);
  EXPECT_EQ(::dlsym(library_, "cuIsHidden"), nullptr);
  for (const std::string& name : names_of(driver_object())) {
    EXPECT_NE(::dlsym(library_, name.c_str()), nullptr) << name;
  }
}

TEST_F(LoadedImage, HasDataOfItsOwnAsTheDriverHadItAtFirst) {
  int* numbers = named<int>("cudbgSmallText");
  EXPECT_THAT(std::vector<int>(numbers, numbers + 4), ElementsAre(1, 2, 3, 4));
  EXPECT_STREQ(named<char>("cudbgAligned"), "aligned");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(named<char>("cudbgAligned")) % 64, 0U);
  EXPECT_EQ(*named<long>("cudbgZero"), 0);
  *named<long>("cudbgZero") = 5;
  EXPECT_EQ(*static_cast<long*>(::dlsym(driver_, "cudbgZero")), 0);
}
#endif

}  // namespace
}  // namespace berth
