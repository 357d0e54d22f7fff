// The same divided card as each generation of drivers draws it: the layouts differ in width, in the
// heading, in the titles of the MIG table and in the room for process numbers. The lines were held
// against tables of real machines with these drivers.

#include <gtest/gtest.h>

#include "smi/example_cards.h"
#include "smi/smi.h"

namespace berth::smi {
namespace {

std::string drawn_by(const std::string& driver, const std::string& cuda) {
  Snapshot host = example::divided_card();
  host.host.driver_version = driver;
  host.host.cuda_version_supported = cuda;
  return render_table(host, {}, {});
}

TEST(SmiTableOf, Driver470) {
  EXPECT_EQ(drawn_by("470.256.02", "11.4"), R"(
)");
}

TEST(SmiTableOf, Driver535) {
  EXPECT_EQ(drawn_by("535.183.01", "12.2"), R"(
)");
}

TEST(SmiTableOf, Driver550) {
  EXPECT_EQ(drawn_by("550.163.01", "12.4"), R"(
)");
}

TEST(SmiTableOf, Driver575) {
  EXPECT_EQ(drawn_by("575.64.05", "12.9"), R"(
)");
}

TEST(SmiTableOf, Driver610) {
  EXPECT_EQ(drawn_by("610.43.02", "13.3"), R"(
)");
}

}  // namespace
}  // namespace berth::smi
