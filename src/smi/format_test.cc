#include "smi/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reading.h"

namespace berth::smi {
namespace {

Cell value(Scalar inner) { return Cell(std::move(inner)); }

TEST(Format, MebibytesAreRoundedUpSoPartsMayAddUpToMore) {
  EXPECT_EQ(shown(Scalar(std::uint64_t{1}), Format::memory, Surface::text), "1 MiB");
  EXPECT_EQ(shown(Scalar(std::uint64_t{1} << 20), Format::memory, Surface::text), "1 MiB");
  EXPECT_EQ(shown(Scalar((std::uint64_t{1} << 20) + 1), Format::memory, Surface::csv), "2 MiB");
  EXPECT_EQ(shown(Scalar(std::uint64_t{0}), Format::memory, Surface::csv_without_units), "0");
  EXPECT_EQ(mebibytes(~std::uint64_t{0}), std::uint64_t{1} << 44);
}

TEST(Format, UnitsDifferBetweenTextAndCsv) {
  struct Case {
    Scalar value;
    Format format;
    std::string text, xml, csv, plain;
  };
  const std::vector<Case> cases = {
      {std::uint64_t{69'850}, Format::watts, "69.85 W", "69.85 W", "69.85 W", "69.85"},
      {100.0, Format::percent_exact, "100.00%", "100.00%", "100.00 %", "100.00"},
      {38.0, Format::percent, "38 %", "38 %", "38 %", "38"},
      {std::int64_t{-8}, Format::celsius, "-8 C", "-8 C", "-8", "-8"},
      {std::uint64_t{16}, Format::width, "16x", "16x", "16", "16"},
      {std::uint64_t{2560}, Format::banks, "2560 bank(s)", "2560 bank(s)", "2560", "2560"},
      {std::uint64_t{8}, Format::performance_state, "P8", "P8", "P8", "P8"},
      {std::uint64_t{12}, Format::pci_part, "0x0C", "0C", "0x0C", "0x0C"},
      {std::string("10de:2330"), Format::pci_number, "0x233010DE", "233010DE", "0x233010DE",
       "0x233010DE"},
      {std::uint64_t{0x1ff}, Format::mask, "0x00000000000001FF", "0x00000000000001FF",
       "0x00000000000001FF", "0x00000000000001FF"},
      {std::uint64_t{0xd52b}, Format::hex_wide, "0x000000000000d52b", "0x000000000000d52b",
       "0x000000000000d52b", "0x000000000000d52b"},
      {std::string("00000000:0c:00.0"), Format::bus_id, "00000000:0C:00.0", "00000000:0C:00.0",
       "00000000:0C:00.0", "00000000:0C:00.0"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(shown(one.value, one.format, Surface::text), one.text);
    EXPECT_EQ(shown(one.value, one.format, Surface::xml), one.xml);
    EXPECT_EQ(shown(one.value, one.format, Surface::csv), one.csv);
    EXPECT_EQ(shown(one.value, one.format, Surface::csv_without_units), one.plain);
    EXPECT_EQ(read_back(one.text, one.format), value(one.value)) << one.text;
    EXPECT_EQ(read_back(one.xml, one.format), value(one.value)) << one.xml;
    EXPECT_EQ(read_back(one.csv, one.format), value(one.value)) << one.csv;
  }
}

TEST(Format, AbsenceHasItsReasonInWords) {
  EXPECT_EQ(shown_absent(Absent::unsupported, Failure::unknown_error, Surface::text), "N/A");
  EXPECT_EQ(shown_absent(Absent::unsupported, Failure::unknown_error, Surface::csv), "[N/A]");
  EXPECT_EQ(shown_absent(Absent::failed, Failure::gpu_is_lost, Surface::csv), "[GPU is lost]");
  EXPECT_EQ(shown_absent(Absent::failed, Failure::requires_reset, Surface::csv),
            "[GPU requires reset]");
  EXPECT_EQ(shown_absent(Absent::failed, Failure::unknown_error, Surface::xml), "Unknown Error");
  for (const Absent why : {Absent::unsupported, Absent::no_permission, Absent::failed}) {
    for (const Surface surface : {Surface::text, Surface::csv}) {
      EXPECT_EQ(absent_from(shown_absent(why, Failure::requires_reset, surface)), why);
    }
  }
  EXPECT_EQ(absent_from("[Requested functionality has been deprecated]"), Absent::unsupported);
  EXPECT_EQ(absent_from("None"), std::nullopt);
}

TEST(Format, WhatIsNotOfTheFormatIsNoReading) {
  EXPECT_EQ(read_back("lots", Format::memory), std::nullopt);
  EXPECT_EQ(read_back("99999999999999999999 MiB", Format::memory), std::nullopt);
  EXPECT_EQ(read_back("-1 MiB", Format::memory), std::nullopt);
  EXPECT_EQ(read_back("Maybe", Format::yes_no), std::nullopt);
  EXPECT_EQ(read_back("0x", Format::hex), std::nullopt);
  EXPECT_EQ(read_back("0x12345678901234567", Format::mask), std::nullopt);
  EXPECT_EQ(read_back("zz:00.0", Format::bus_id), std::nullopt);
  EXPECT_EQ(read_back("Q3", Format::performance_state), std::nullopt);
  EXPECT_EQ(read_back("yesterday", Format::date), std::nullopt);
}

TEST(Format, ShortDomainsOfOldDriversAreOneAddressWithLongOnes) {
  EXPECT_EQ(read_back("0000:0A:00.0", Format::bus_id),
            value(Scalar(std::string("00000000:0a:00.0"))));
}

}  // namespace
}  // namespace berth::smi
