#include "host_environment/cdi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_environment/yaml.h"

#include <nlohmann/json.hpp>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As nvidia-ctk 1.14 writes it, hooks and mounts of a machine left out.
constexpr std::string_view by_the_toolkit = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  deviceNodes:
  - path: /dev/nvidia-uvm
  - path: /dev/nvidiactl
  hooks:
  - args:
    - nvidia-ctk
    - hook
    - update-ldcache
    hookName: createContainer
    path: /usr/bin/nvidia-ctk
  mounts:
  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05
    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05
    options:
    - ro
    - nosuid
devices:
- containerEdits:
    deviceNodes:
    - hostPath: /dev/nvidia0
      path: /dev/nvidia0
  name: "0"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/nvidia1
  name: all
)";

TEST(CdiSpec, IsReadAsTheToolkitWritesIt) {
  const auto spec = parse_cdi_spec(by_the_toolkit);
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->version, "0.5.0");
  EXPECT_EQ(spec->kind, "nvidia.com/gpu");
  EXPECT_THAT(spec->devices, ElementsAre(CdiDevice{"0", {"/dev/nvidia0"}},
                                         CdiDevice{"all", {"/dev/nvidia0", "/dev/nvidia1"}}));
  EXPECT_EQ(spec->needs, "0.5.0");
  EXPECT_FALSE(needs_more_than_it_says(*spec));
  EXPECT_EQ(spec->unknown_field, "");
}

TEST(CdiSpec, NothingAtAllIsNone) {
  EXPECT_FALSE(parse_cdi_spec({}));
  EXPECT_FALSE(parse_cdi_spec(""));
}

TEST(CdiSpec, JsonIsReadTheSameWay) {
  const auto spec = parse_cdi_spec(
      R"({"cdiVersion": "0.4.0", "kind": "nvidia.com/gpu",
          "devices": [{"name": "gpu0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0",
                       "major": 195, "minor": 0}]}}]})");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_THAT(spec->devices, ElementsAre(CdiDevice{"gpu0", {"/dev/nvidia0"}}));
  EXPECT_EQ(spec->needs, "");
}

TEST(CdiSpec, NamesTheFieldThatOlderEnginesRefuseItFor) {
  const auto spec = parse_cdi_spec(
      "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\n"
      "containerEdits:\n  additionalGids:\n  - 44\n");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->needs, "0.7.0");
  EXPECT_EQ(spec->needed_by, "containerEdits.additionalGids");
  EXPECT_TRUE(needs_more_than_it_says(*spec));
}

TEST(CdiSpec, NamesAFieldOfNoVersion) {
  const auto spec = parse_cdi_spec(
      "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n"
      "devices:\n- name: gpu0\n  containerEdits:\n    deviceNods: []\n");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->unknown_field, "devices[gpu0].containerEdits.deviceNods");
}

TEST(CdiSpec, WhatIsNoneSaysWhere) {
  EXPECT_THAT(parse_cdi_spec("a: [1, 2").error().message(), HasSubstr("line"));
  EXPECT_THAT(parse_cdi_spec("kind: x/y\n").error().message(), HasSubstr("cdiVersion"));
  EXPECT_FALSE(parse_cdi_spec("just words"));
  EXPECT_FALSE(parse_cdi_spec(""));
}

TEST(CdiName, IsByUuidElseByTheCardsOwnFile) {
  const std::vector<CdiSpec> specs = {*parse_cdi_spec(by_the_toolkit)};
  EXPECT_EQ(cdi_name_of("GPU-x", "/dev/nvidia0", "nvidia.com/gpu", specs), "nvidia.com/gpu=0");
  EXPECT_FALSE(cdi_name_of("GPU-x", "/dev/nvidia1", "nvidia.com/gpu", specs))
      << "\"all\" is more than this card";
  EXPECT_FALSE(cdi_name_of("GPU-x", "/dev/nvidia0", "amd.com/gpu", specs));
  EXPECT_EQ(cdi_name_of("0", "", "nvidia.com/gpu", specs), "nvidia.com/gpu=0");
  EXPECT_FALSE(cdi_name_of("GPU-x", "", "nvidia.com/gpu", specs));
}

TEST(CdiName, AFileThatEnginesRefuseNamesNobody) {
  auto spec = *parse_cdi_spec(by_the_toolkit);
  spec.unknown_field = "devices[0].x";
  EXPECT_FALSE(cdi_name_of("0", "", "nvidia.com/gpu", {spec}));
}

TEST(Yaml, RefusesWhatGrowsWithoutBound) {
  EXPECT_EQ(parse_yaml("a: &a [1]\nb: *a\n").error().code(), ErrorCode::unsupported);
  std::string deep(200, '[');
  EXPECT_FALSE(parse_yaml(deep));
  EXPECT_EQ(parse_yaml("a: 1\na: 2\n").error().code(), ErrorCode::invalid);
}

}  // namespace
}  // namespace berth
