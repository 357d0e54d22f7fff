#include "probe/containers/parse.h"

#include <gtest/gtest.h>

namespace berth::containers {
namespace {

TEST(ContainerTexts, OfTheWrongShapeNameNothing) {
  for (const std::string_view text :
       {"", "{", "[]", "null", "7", R"({"Name": 7, "Config": []})", R"({"Name": "/"})",
        R"([{"id": 7}, 8, {"id": "x", "names": {}, "metadata": "{"}])",
        R"({"annotations": {"nerdctl/name": ["x"]}})", R"({"annotations": 1})"}) {
    EXPECT_FALSE(docker_names(text).value_or(Names{}).name) << text;
    EXPECT_EQ(storage_names(text, "x").value_or(Names{}), Names{}) << text;
    EXPECT_FALSE(bundle_names(text)) << text;
    EXPECT_FALSE(docker_data_root(text)) << text;
  }
  EXPECT_FALSE(docker_data_root(R"({"data-root": "relative"})"));
}

TEST(ContainerTexts, NameLongerThanRuntimesAllowIsNone) {
  const std::string endless(600, 'x');
  EXPECT_FALSE(docker_names(R"({"Name": "/)" + endless + R"("})")->name);
}

TEST(PodLogNames, AreTakenApartOnlyWhereTheyHaveThreeParts) {
  EXPECT_EQ(name_in_log_link("llm-0_team-a_worker-77.log", "77"), "team-a/llm-0/worker");
  for (const std::string_view name :
       {"", "-77.log", "a_b-77.log", "a_b_c_d-77.log", "a_b_-77.log", "a_b_c-78.log"}) {
    EXPECT_FALSE(name_in_log_link(name, "77")) << name;
  }
  EXPECT_FALSE(name_in_log_link("a_b_c-.log", ""));
  EXPECT_EQ(name_in_log_folder("team-a_llm-0_u-1", "u-1"), "team-a/llm-0");
  for (const std::string_view name : {"", "a_b", "a_b_u-2", "_b_u-1", "a__u-1"}) {
    EXPECT_FALSE(name_in_log_folder(name, "u-1")) << name;
  }
}

}  // namespace
}  // namespace berth::containers
