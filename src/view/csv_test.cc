#include "view/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "view/example_server.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

TEST(Csv, PrintsOurKeysAlsoForTheVendorsNamesAndLeavesAbsentEmpty) {
  const Snapshot host = example::server();
  const auto columns = parse_field_list("index, memory.used,utilization_gpu_percent,state");
  ASSERT_TRUE(columns.has_value());
  const std::string text = render_csv(host, *columns);
  EXPECT_TRUE(text.starts_with(
      "index,memory_used_bytes,utilization_gpu_percent,state\n0,55834574848,97,leased\n"))
      << text;
  EXPECT_THAT(text, HasSubstr("\n5,,,lost\n"));
}

TEST(Csv, QuotesByRfc4180AndEscapesControlCharacters) {
  Snapshot host = example::devices();
  host.devices.resize(1);
  host.devices[0].name = std::string("a \"b\", c\r\nd");
  const auto columns = parse_field_list("name");
  ASSERT_TRUE(columns.has_value());
  EXPECT_EQ(render_csv(host, *columns), "name\n\"a \"\"b\"\", c\\x0D\\x0Ad\"\n");
}

TEST(Csv, NamesTheNearestFieldsForAnUnknownOne) {
  const auto columns = parse_field_list("index,memory_usd_bytes");
  ASSERT_FALSE(columns.has_value());
  EXPECT_EQ(columns.error().code(), ErrorCode::invalid);
  EXPECT_THAT(columns.error().message(),
              HasSubstr("no field \"memory_usd_bytes\"; near it: memory_used_bytes"));
  EXPECT_FALSE(parse_field_list("").has_value());
  EXPECT_FALSE(parse_field_list("index,,name").has_value());
  const auto full_width = parse_field_list("index，name");
  ASSERT_FALSE(full_width.has_value());
  EXPECT_THAT(full_width.error().message(), HasSubstr("did you mean index,name?"));
}

TEST(Fields, ListsEachKeyWholeAndFitsTheTerminal) {
  for (const int width : {80, 120}) {
    const std::string text = render_fields({.width = width});
    for (const Field& field : fields()) EXPECT_THAT(text, HasSubstr(std::string(field.key)));
    for (const std::string_view line : split(text, '\n')) {
      EXPECT_LE(display_width(line), width) << line;
    }
  }
}

TEST(Fields, MetricsDocumentHasARowPerField) {
  const std::string text = render_metrics_markdown();
  EXPECT_THAT(text, HasSubstr("| `memory_used_bytes` | bytes | `memory.used` | "
                              "`berth_device_memory_used_bytes` | Memory allocated, without"));
  const auto rows = std::count(text.begin(), text.end(), '\n');
  EXPECT_GT(rows, static_cast<std::ptrdiff_t>(fields().size()));
}

}  // namespace
}  // namespace berth
