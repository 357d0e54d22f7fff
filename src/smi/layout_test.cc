#include "smi/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "smi/csv.h"
#include "smi/dump_rows.h"

namespace berth::smi {
namespace {

TEST(Layout, EveryKeyOfARowIsAField) {
  for (const auto rows : {gpu_rows(), mig_rows()}) {
    for (const LayoutRow& row : rows) {
      if (!row.key.empty()) {
        EXPECT_NE(field_of(row), nullptr) << row.label << ": " << row.key;
      }
      EXPECT_FALSE(row.label.empty() && row.tag.empty());
    }
  }
}

TEST(Layout, RowsAreFoundByTheirOwnPathOnBothSurfaces) {
  for (const Surface surface : {Surface::text, Surface::xml}) {
    std::vector<std::string> path;
    for (const LayoutRow& row : gpu_rows()) {
      path.resize(static_cast<std::size_t>(depth_on(row, surface)));
      path.push_back(normalised(surface == Surface::text ? row.label : row.tag));
      if (path.back().empty() || row.section) continue;
      const LayoutRow* found = gpu_index(surface).find(path);
      ASSERT_NE(found, nullptr) << row.label;
      EXPECT_EQ(found->key, row.key) << row.label;
    }
  }
}

TEST(Layout, LinesThatDriversMovedAreFoundByTheirSection) {
  const auto& index = gpu_index(Surface::text);
  const LayoutRow* moved = index.find({"gpupowerreadings", "somenewpart", "minpowerlimit"});
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(moved->key, "power_limit_min_milliwatts");
  const LayoutRow* renamed = index.find({"temperature", "gpuslowdowntempspecification"});
  ASSERT_NE(renamed, nullptr);
  EXPECT_EQ(renamed->key, "temperature_slowdown_celsius");
  EXPECT_EQ(index.find({"temperature", "gpumoodring"}), nullptr);
  // Two readings share the name: the path decides, never a guess.
  EXPECT_EQ(index.find({"eccerrors", "somewhere", "sramcorrectable"}), nullptr);
}

TEST(Layout, EveryColumnOfTheQueryReadsAField) {
  std::set<std::string_view> names;
  for (const CsvField& column : csv_rows::gpu_fields) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    if (column.name == "power.management") continue;  // deprecated since 580, says only that
    EXPECT_NE(find_field(column.name), nullptr) << column.name;
    if (!column.alias.empty()) {
      EXPECT_EQ(find_field(column.alias), find_field(column.name)) << column.alias;
    }
  }
  EXPECT_EQ(names.size(), 243U);
}

}  // namespace
}  // namespace berth::smi
