#include "diagnose/bottleneck/activity_json.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "diagnose/bottleneck/activity_builder_test.h"

namespace berth::bottleneck {
namespace {

constexpr std::string_view header =
    R"({"berth_activity":1,"taken_unix_ms":5,"devices":[{"id":"GPU-A","index":0}]})"
    "\n";

TEST(ActivityJson, WhatIsWrittenIsRead) {
  auto builder = ActivityBuilder(3);
  builder.device([](DeviceStep& one) {
    one.throttle = Throttle{.power = true, .heat = true};
    one.nvlink = Absent::unsupported;
    one.lost = true;
  });
  builder.each(
      [](ActivitySample& step) { step.processes[1].storage_read = Absent::no_permission; });
  builder.with([](Activity& one) {
    one.simulated = "lab-4";
    one.ranks = std::uint64_t{4};
    one.taken_by = TakenBy::run_samples;
    one.cpu_side = CpuFacts{.device_files = Absent::no_permission,
                            .age = Milliseconds(5),
                            .visible_devices = std::string("-1"),
                            .hiding_variable = "HIP_VISIBLE_DEVICES",
                            .kind = DeviceKind::amd_gpu,
                            .framework_for_cpu = true};
    one.life = WholeLife{Milliseconds(7), 8, Percent(9), 1_GiB};
  });
  const auto read = activity_from_lines(to_lines(builder.build()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, builder.build());
}

/// Names each member, so that a new one does not compile here before it is written and read.
TEST(ActivityJson, EachReadingOfADeviceComesBack) {
  auto builder = ActivityBuilder(3);
  builder.device([](DeviceStep& step) {
    auto& [lost, utilization, least, most, memory_share, memory, power, temperature, clock,
           throttle, sent, received, nvlink, sm, tensor, dram, others, others_share] = step;
    lost = true;
    const auto fail = [](auto&... readings) { ((readings = Absent::failed), ...); };
    fail(utilization, least, most, memory_share, memory, power, temperature, clock, throttle, sent,
         received, nvlink, sm, tensor, dram, others, others_share);
  });
  const auto read = activity_from_lines(to_lines(builder.build()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, builder.build());
}

TEST(ActivityJson, AHidingVariableWithoutANameOrWithNoneOfTheirsIsCudas) {
  for (const std::string name : {"", R"(,"hiding_variable":"A; halt")"}) {
    const auto read = activity_from_lines(
        R"({"berth_activity":1,"taken_unix_ms":5,"cpu_side":{"visible_devices":"-1")" + name +
        R"(},"devices":[{"id":"GPU-A","index":0}]})" + "\n");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->cpu_side.value().hiding_variable, "CUDA_VISIBLE_DEVICES");
  }
}

TEST(ActivityJson, WholeNumbersMayHaveAFractionAndTextsAreCut) {
  const std::string name(600, 'x');
  const auto read = activity_from_lines(
      std::string(header) +
      R"({"t_ms":500,"span_ms":500,"devices":[{"power_milliwatts":310000.6}],)" +
      R"("processes":[{"pid":1,"name":")" + name +
      R"(","cpu_ms":1.5,"threads":[[7,"S",2.5,"newer"]]}]})");
  ASSERT_TRUE(read && read->steps.size() == 1);
  const ProcessStep& process = read->steps[0].processes[0];
  EXPECT_EQ(read->steps[0].devices[0].power, Reading<Milliwatts>(Milliwatts(310'001)));
  EXPECT_EQ(process.name, name.substr(0, 512));
  EXPECT_EQ(process.cpu, Reading<Milliseconds>(Milliseconds(2)));
  EXPECT_EQ(process.threads.get()->at(0).cpu, Milliseconds(3));
}

TEST(ActivityJson, StaysAsItWasWritten) {
  Activity activity{.taken = {5}, .subject = "GPU 0", .framework = Framework::torch};
  activity.cpus = std::uint64_t{8};
  activity.cpus_allowed = 2.5;
  activity.devices = {{.id = DeviceId("GPU-A"), .index = 0, .name = Absent::failed}};
  ActivitySample step{.end = Milliseconds(500), .span = Milliseconds(500)};
  step.devices = {{.utilization = Percent(42), .power = Milliwatts(5), .sm = Percent(1.0 / 3)}};
  step.devices[0].throttle = Throttle{.power = true, .heat = false, .other = true};
  step.processes = {{.pid = 4711, .parent = 1, .name = "python", .state = 'R', .devices = {0}}};
  step.processes[0].threads = std::vector<ThreadStep>{{4711, 'S', Milliseconds(470)}};
  step.host.iowait = Absent::no_permission;
  activity.steps = {step};
  EXPECT_EQ(to_lines(activity),
            R"({"berth_activity":1,"taken_unix_ms":5,"taken_by":"watch","simulated":null,)"
            R"("subject":"GPU 0","framework":"torch","host":{"cpus":8,"cpus_allowed":2.5},)"
            R"("devices":[{"id":"GPU-A","index":0,"name":"failed"}]})"
            "\n"
            R"({"t_ms":500,"span_ms":500,"devices":[{"utilization_percent":42.0,)"
            R"("power_milliwatts":5,"throttle":["power","other"],"sm_percent":0.33}],)"
            R"("processes":[{"pid":4711,"parent":1,"name":"python","devices":[0],"state":"R",)"
            R"("threads":[[4711,"S",470]]}],"host":{"iowait_percent":"no permission"}})"
            "\n");
  const auto read = activity_from_lines(to_lines(activity));
  activity.steps[0].devices[0].sm = Percent(0.33);
  EXPECT_EQ(read.value_or(Activity{}), activity);
}

TEST(ActivityJson, ATornLineIsCountedAndTheRestIsRead) {
  const std::string lines = to_lines(ActivityBuilder(4).build());
  const auto read = activity_from_lines(lines.substr(0, lines.size() - 30));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->steps.size(), 3U);
  EXPECT_EQ(read->torn_lines, 1U);
}

TEST(ActivityJson, WhatIsNoSeriesIsRefusedWithWhatItShouldBe) {
  for (const std::string_view text : {"", "\n", "[]", "{}", "hello", "{\"berth_snapshot\":1}"}) {
    const auto read = activity_from_lines(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message().find("--save"), std::string::npos);
  }
  const auto newer = activity_from_lines("{\"berth_activity\":2}");
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().message().find("newer"), std::string::npos);
}

TEST(ActivityJson, HostileStepsAreLeftOut) {
  for (const std::string_view step :
       {R"({"t_ms":500,"span_ms":0})", R"({"t_ms":500,"span_ms":-5})",
        R"({"t_ms":1e400,"span_ms":5})", R"({"t_ms":5,"span_ms":500})",
        R"({"t_ms":500,"span_ms":500,"devices":[{},{}]})",
        R"({"t_ms":500,"span_ms":500,"devices":[{"utilization_percent":-3}]})",
        R"({"t_ms":500,"span_ms":500,"processes":[{"pid":1,"devices":[7]}]})",
        R"({"t_ms":500,"span_ms":500,"processes":[{"pid":99999999999}]})",
        R"({"t_ms":500,"span_ms":500,"processes":[{"pid":1,"state":"\u001b"}]})",
        R"({"t_ms":500,"span_ms":500,"processes":[{"pid":1,"threads":[[1]]}]})",
        R"([[[[[[[[[[[[[[[]]]]]]]]]]]]]]])"}) {
    const auto read = activity_from_lines(std::string(header) + std::string(step) + "\n");
    ASSERT_TRUE(read) << step;
    EXPECT_EQ(read->steps.size(), 0U) << step;
    EXPECT_EQ(read->torn_lines, 1U) << step;
  }
}

TEST(ActivityJson, AMissingKeyWasNotSampledAndAWordSaysWhyNot) {
  const auto read = activity_from_lines(
      std::string(header) +
      R"({"t_ms":500,"span_ms":500,"devices":[{"sm_percent":"unsupported","new_key":[1]}]})");
  ASSERT_TRUE(read && read->steps.size() == 1);
  EXPECT_EQ(read->steps[0].devices[0].sm.why(), Absent::unsupported);
  EXPECT_EQ(read->steps[0].devices[0].dram.why(), Absent::not_sampled);
}

TEST(ActivityJson, StepsThatGoBackInTimeAreLeftOut) {
  const std::string step = R"({"t_ms":1000,"span_ms":500})";
  const auto read = activity_from_lines(std::string(header) + step + "\n" + step + "\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->steps.size(), 1U);
  EXPECT_EQ(read->torn_lines, 1U);
}

}  // namespace
}  // namespace berth::bottleneck
