#include "smi/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "smi/csv.h"
#include "smi/dump_rows.h"
#include "smi/help.h"

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

void expect_rows_found(Surface surface, Named when) {
  std::vector<std::string> path;
  for (const LayoutRow& row : gpu_rows()) {
    path.resize(static_cast<std::size_t>(depth_on(row, surface)));
    path.push_back(normalised(name_of(row, surface, when)));
    if (path.back().empty() || row.section) continue;
    const LayoutRow* found = gpu_index(surface).find(path);
    ASSERT_NE(found, nullptr) << row.label;
    EXPECT_EQ(found->key, row.key) << row.label;
  }
}

TEST(Layout, RowsAreFoundByTheirOwnPathOnBothSurfaces) {
  for (const Surface surface : {Surface::text, Surface::xml}) {
    for (const Named when : {Named::today, Named::before}) expect_rows_found(surface, when);
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

TEST(Layout, TheHelpNamesEachSectionThatARowIsAbout) {
  const std::string help = help_text();
  for (const LayoutRow& row : gpu_rows()) {
    EXPECT_TRUE(row.topic.empty() || is_topic(row.topic));
    EXPECT_NE(help.find(row.topic), std::string::npos) << row.topic;
  }
  EXPECT_FALSE(is_topic("")) << "rows below a section have none of their own";
  EXPECT_FALSE(is_topic("PROCESSES"));
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
