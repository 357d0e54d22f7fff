#pragma once
// Pictures kept as files in src/view/goldens, to be looked at by people. For tests only.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace berth {

/// Compares with goldens/NAME.txt. On a difference it writes the drawn text beside the test's other
/// temporary files, and says how to accept it.
inline void expect_golden(const std::string& name, const std::string& drawn) {
  // __FILE__ may be relative to where the compiler ran, which is where the test program lies.
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path here = program.parent_path() / __FILE__;
  const std::string path = here.parent_path() / "goldens" / (name + ".txt");
  std::ostringstream wanted;
  wanted << std::ifstream(path, std::ios::binary).rdbuf();
  if (wanted.str() == drawn) return;
  const std::string other = ::testing::TempDir() + "berth_golden_" + name + ".txt";
  std::ofstream(other, std::ios::binary) << drawn;
  ADD_FAILURE() << name << " is drawn otherwise now:\n"
                << drawn << "if this is wanted: cp " << other << " " << path;
}

}  // namespace berth
