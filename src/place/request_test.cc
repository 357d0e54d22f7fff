#include "place/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <tuple>
#include <utility>

#include "place/job_spec.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Device card() {
  Device device = SnapshotBuilder().gpu("GPU-1a2b3c4d-0000", 80_GiB).build().devices[0];
  device.index = 2;
  device.name = std::string("NVIDIA H100 80GB HBM3");
  device.pci_address = std::string("00000000:3b:00.0");
  return device;
}

bool fits(std::string text) { return matches(DevicePattern{std::move(text)}, card()); }

Request full_request() {
  Request request;
  request.devices = 2;
  request.memory = MemoryShare(10_GiB);
  request.only = {{"0"}, {"*H100*"}};
  request.except = {{"GPU-1a"}};
  request.prefer = Preference::listed;
  request.preferred = {{"3"}, {"1"}};
  request.min_compute = ComputeCapability{8, 6};
  request.needs = {Need::bf16, Need::fp8};
  request.max_utilization = 10_percent;
  request.idle_for = Milliseconds{5000};
  request.allow_failed = true;
  return request;
}

TEST(DevicePattern, DigitsAreAnIndexAndNothingElse) {
  EXPECT_TRUE(fits("2"));
  EXPECT_TRUE(fits("02"));
  EXPECT_FALSE(fits("3"));
  EXPECT_FALSE(fits("100"));  // would be in the name
  EXPECT_FALSE(fits("99999999999999999999"));
}

TEST(DevicePattern, UuidMatchesByPrefixInAnyCase) {
  EXPECT_TRUE(fits("GPU-1a2b"));
  EXPECT_TRUE(fits("gpu-1A2B3C4D-0000"));
  EXPECT_FALSE(fits("GPU-2"));
  EXPECT_FALSE(fits("MIG-1a2b"));
}

TEST(DevicePattern, UuidOfACardMatchesItsMigInstances) {
  Device instance = card();
  instance.kind = DeviceKind::nvidia_mig;
  instance.parent = instance.id;
  instance.id = DeviceId("MIG-77");
  instance.uuid = std::string("MIG-77");
  EXPECT_TRUE(matches({"GPU-1a2b"}, instance));
  EXPECT_TRUE(matches({"MIG-7"}, instance));
}

TEST(DevicePattern, PciAddressMatchesWithAndWithoutItsDomain) {
  EXPECT_TRUE(fits("00000000:3b:00.0"));
  EXPECT_TRUE(fits("0000:3B:00.0"));
  EXPECT_TRUE(fits("3b:00.0"));
  EXPECT_FALSE(fits("0001:3b:00.0"));
  EXPECT_FALSE(fits("3c:00.0"));
  EXPECT_FALSE(fits("3b:00.1"));
}

TEST(DevicePattern, NameGlobIgnoresCaseAndCoversTheWholeName) {
  EXPECT_TRUE(fits("*h100*"));
  EXPECT_TRUE(fits("NVIDIA H100 80GB HBM?"));
  EXPECT_FALSE(fits("H100"));
  EXPECT_FALSE(fits("*A100*"));
  EXPECT_TRUE(fits("*"));
  EXPECT_FALSE(fits(""));
}

TEST(DevicePattern, HostileGlobEndsSoon) {
  Device device = card();
  device.name = std::string(2000, 'a');
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(matches({pattern + "b"}, device));
}

TEST(ParsePatterns, ReadsAListAndTrimsItsEntries) {
  const auto patterns = parse_patterns("0, GPU-1a ,*4090*");
  ASSERT_TRUE(patterns);
  EXPECT_EQ(*patterns, (std::vector<DevicePattern>{{"0"}, {"GPU-1a"}, {"*4090*"}}));
}

TEST(ParsePatterns, RefusesAnEmptyEntry) {
  for (const char* text : {"", "0,", ",0", "0,,1", "  "}) {
    EXPECT_FALSE(parse_patterns(text)) << text;
  }
}

TEST(ParsePatterns, NamesAFullWidthCommaAndGivesTheRightLine) {
  const auto patterns = parse_patterns("0，1");
  ASSERT_FALSE(patterns);
  EXPECT_EQ(patterns.error().code(), ErrorCode::invalid);
  EXPECT_THAT(patterns.error().message(), HasSubstr("\"，\""));
  EXPECT_THAT(patterns.error().message(), HasSubstr("write 0,1"));
}

TEST(ParseShare, ReadsSizesAndPercentages) {
  EXPECT_EQ(parse_share("10G").value(), MemoryShare(10_GiB));
  EXPECT_EQ(parse_share(" 512MiB ").value(), MemoryShare(512_MiB));
  EXPECT_EQ(parse_share("50%").value(), MemoryShare(50_percent));
  EXPECT_EQ(parse_share("12.5 %").value(), MemoryShare(Percent(12.5)));
  EXPECT_EQ(parse_share("100%").value(), MemoryShare(100_percent));
}

TEST(ParseShare, RefusesNothingTooMuchAndWhatIsNoSize) {
  for (const char* text : {"0", "0%", "101%", "-5%", "10", "ten", "", "%", "1e3%", "nan%"}) {
    EXPECT_FALSE(parse_share(text)) << text;
  }
}

TEST(ParseShare, NamesFullWidthDigits) {
  const auto share = parse_share("１０G");
  ASSERT_FALSE(share);
  EXPECT_THAT(share.error().message(), HasSubstr("10G"));
  const auto percent = parse_share("５０%");
  ASSERT_FALSE(percent);
  EXPECT_THAT(percent.error().message(), HasSubstr("50%"));
}

/// What the parser of that key makes of the text.
Result<JobSpec> said(std::string_view key, std::string_view text) {
  JobSpec job;
  auto parsed = find_job_key(key)->parse(text, job);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  return job;
}

std::string refusal(std::string_view key, std::string_view text) {
  const auto job = said(key, text);
  return job ? "it was taken" : job.error().message();
}

TEST(JobKeys, PreferenceIsAWordOrAList) {
  EXPECT_EQ(said("prefer", "most-free")->request.prefer, Preference::most_free);
  const Request listed = said("prefer", "3,*A100*")->request;
  EXPECT_EQ(listed.prefer, Preference::listed);
  EXPECT_EQ(listed.preferred, (std::vector<DevicePattern>{{"3"}, {"*A100*"}}));
  JobSpec job{.request = listed};
  ASSERT_TRUE(find_job_key("prefer")->parse("spread", job));
  EXPECT_TRUE(job.request.preferred.empty());
  EXPECT_THAT(refusal("prefer", "bestfit"), HasSubstr("best-fit, most-free, spread"));
}

TEST(JobKeys, ComputeCapabilityHasAPoint) {
  EXPECT_EQ(said("min_compute", "8.6")->request.min_compute, (ComputeCapability{8, 6}));
  EXPECT_EQ(said("min_compute", "12.0")->request.min_compute, (ComputeCapability{12, 0}));
  EXPECT_EQ(said("min_compute", "9")->request.min_compute, (ComputeCapability{9, 0}));
  for (const char* text : {"", "86", "8.", ".6", "8.6.1", "-8.0", "8,6", "0.5", "sm_86"}) {
    EXPECT_FALSE(said("min_compute", text)) << text;
  }
  EXPECT_THAT(refusal("min_compute", "８.6"), HasSubstr("8.6"));
}

TEST(JobKeys, NeedsAreFeaturesOnceEach) {
  EXPECT_EQ(said("need", "bf16,fp8,BF16")->request.needs,
            (std::vector<Need>{Need::bf16, Need::fp8}));
  EXPECT_FALSE(said("need", "fp4"));
  EXPECT_FALSE(said("need", ""));
}

TEST(JobKeys, HaveNamesAndFlagsOfTheirOwn) {
  for (const JobKey& key : job_keys()) {
    EXPECT_EQ(find_job_key(key.name), &key) << key.name;
    std::string flag = "--" + std::string(key.name);
    std::ranges::replace(flag, '_', '-');
    EXPECT_THAT(key.flag, HasSubstr(flag)) << "one name, written in two ways";
    EXPECT_EQ(key.alone.empty(), *key.form != '\0' && *key.form != '[') << key.name;
  }
}

/// A text for each key that is not what the member is by itself.
constexpr std::pair<std::string_view, std::string_view> texts[] = {
    {"devices", "2"},         {"memory", "10G"},        {"only", "0,*H100*"},
    {"except", "GPU-1a"},     {"kind", "amd"},          {"prefer", "3,1"},
    {"min_compute", "8.6"},   {"need", "bf16,fp8"},     {"max_utilization", "10"},
    {"idle_for", "5s"},       {"allow_failed", "true"}, {"together", "nvlink"},
    {"wait", "30m"},          {"or_cpu", "10m"},        {"cpu", "true"},
    {"priority", "low"},      {"after", "a1-b2,c3-d4"}, {"time", "2h"},
    {"warn_signal", "USR1"},  {"warn_ahead", "90s"},    {"hold", "true"},
    {"isolate", "true"},      {"bind", "true"},         {"linger", "5m"},
    {"cap", "watchdog"},      {"cap_action", "stop"},   {"on_gpu_fault", "signal=TERM"},
    {"retry_on", "gpu-lost"}, {"retries", "3"},         {"retry_oom", "2"},
    {"name", "lr 1e-4, 二"},  {"project", "vision"},    {"cpus", "8"},
    {"host_memory", "64G"},   {"ddp", "torchrun"},      {"nodes", "2"}};

TEST(JobKeys, ReadWhatTheyType) {
  ASSERT_EQ(std::size(texts), job_keys().size()) << "a key without a text here";
  for (const auto& [name, text] : texts) {
    const auto job = said(name, text);
    ASSERT_TRUE(job) << name << ": " << refusal(name, text);
    EXPECT_EQ(find_job_key(name)->typed(*job), text) << name;
    EXPECT_NE(*job, JobSpec()) << name;
  }
}

/// All members but the command. One that is new does not compile until it is named here, and then
/// wants a key.
auto members_of(const JobSpec& job) {
  const auto& [command, name, project, request, priority, after, cpus, host_memory, where, ranks_by,
               nodes, wait, cpu_after, time_limit, warning_signal, warning_ahead, linger, hold,
               bind, isolate, cap, cap_action, on_gpu_fault, fault_signal, retry_on, retries,
               retry_oom] = job;
  const auto& [devices, memory, only, except, kind, prefer, preferred, min_compute, needs,
               max_utilization, idle_for, allow_failed, together] = request;
  return std::tie(name, project, cpus, host_memory, priority, after, where, ranks_by, nodes, wait,
                  cpu_after, time_limit, warning_signal, warning_ahead, linger, hold, bind, isolate,
                  cap, cap_action, on_gpu_fault, fault_signal, retry_on, retries, retry_oom,
                  devices, memory, only, except, kind, prefer, preferred, min_compute, needs,
                  max_utilization, idle_for, allow_failed, together);
}

using Members = decltype(members_of(std::declval<JobSpec&>()));
constexpr std::size_t member_count = std::tuple_size_v<Members>;

template <std::size_t... Places>
std::array<bool, member_count> differing(const Members& a, const Members& b,
                                         std::index_sequence<Places...>) {
  return {(std::get<Places>(a) != std::get<Places>(b))...};
}

TEST(JobKeys, EachMemberIsSaidByOne) {
  std::array<bool, member_count> said_by_one{};
  const JobSpec by_itself;
  for (const auto& [name, text] : texts) {
    const auto job = said(name, text);
    ASSERT_TRUE(job) << name;
    const auto differ = differing(members_of(*job), members_of(by_itself),
                                  std::make_index_sequence<member_count>());
    for (std::size_t place = 0; place < member_count; ++place) said_by_one[place] |= differ[place];
  }
  for (std::size_t place = 0; place < member_count; ++place) {
    EXPECT_TRUE(said_by_one[place]) << "no key says member " << place << " of members_of()";
  }
}

TEST(JobKeys, RefuseWhatIsNoneOfTheirs) {
  for (const auto& [name, text] : texts) {
    const std::string taken = name == "only" || name == "except"    ? "0,,"
                              : name == "name" || name == "project" ? "two\nlines"
                                                                    : "no such";
    EXPECT_FALSE(said(name, taken)) << name;
  }
  EXPECT_EQ(refusal("devices", "0"), "\"0\" is not a number of devices from 1 to 1024");
  EXPECT_EQ(refusal("allow_failed", "yes"), "\"yes\" is neither true nor false");
}

TEST(JobKeys, ANameIsShortAndNothingThatATerminalObeys) {
  EXPECT_EQ(said("name", "  train 7 ")->name, "train 7");
  for (const std::string& text : {std::string(), std::string("  "), std::string("\x1b[2J"),
                                  std::string(65, 'x'), std::string("a\tb")}) {
    EXPECT_FALSE(said("name", text)) << text;
  }
}

TEST(JobKeys, TypedMembersMakeTheSameJob) {
  JobSpec job;
  EXPECT_THAT(typed_members(job), ElementsAre(testing::Pair("devices", "1")));
  for (const auto& [name, text] : texts) {
    if (name != "cpu") {
      ASSERT_TRUE(find_job_key(name)->parse(text, job));
    }
  }
  JobSpec again;
  for (const auto& [name, text] : typed_members(job)) {
    ASSERT_TRUE(find_job_key(name)->parse(text, again)) << name << ": " << text;
  }
  EXPECT_EQ(again, job);
}

TEST(JobKeys, HowOftenIsNothingWithoutAfterWhat) {
  JobSpec job = *said("retries", "3");
  EXPECT_FALSE(settle(job));
  job = *said("retry_on", "gpu-lost");
  ASSERT_TRUE(settle(job));
  EXPECT_EQ(job.retries, 1);
}

TEST(RunLine, CanBePastedBack) {
  JobSpec job;
  EXPECT_EQ(run_line(job), "berth run -n 1 -- COMMAND");
  job.command = {"python", "my job.py"};
  job.wait.reset();
  EXPECT_EQ(run_line(job), "berth run -n 1 --wait -- python 'my job.py'");
  job.wait = std::chrono::minutes(90);
  job.hold = true;
  job.time_limit = std::chrono::hours(2);
  EXPECT_EQ(run_line(job), "berth run -n 1 --wait=90m --time 2h --hold -- python 'my job.py'");
}

TEST(RequestJson, GivesBackEveryMember) {
  const Request request = full_request();
  const auto back = request_from_json(to_json(request));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, request);
  Request half = request;
  half.memory = MemoryShare(Percent(12.5));
  half.prefer = Preference::spread;
  half.preferred.clear();
  EXPECT_EQ(request_from_json(to_json(half)).value(), half);
  EXPECT_EQ(request_from_json(to_json(Request{})).value(), Request{});
}

/// A ticket is read by programs of other versions: byte for byte what they have always written.
TEST(RequestJson, IsWrittenAsEver) {
  EXPECT_EQ(to_json(Request{}), R"({"berth_request":1,"devices":1,"prefer":"best-fit"})");
  EXPECT_EQ(to_json(full_request()),
            R"({"berth_request":1,"devices":2,"memory_bytes":10737418240,"only":["0","*H100*"],)"
            R"("except":["GPU-1a"],"prefer":"listed","preferred":["3","1"],"min_compute":"8.6",)"
            R"("needs":["bf16","fp8"],"max_utilization_percent":10.0,"idle_for_ms":5000,)"
            R"("allow_failed":true})");
}

TEST(RequestJson, IsOneLine) {
  Request request = full_request();
  request.only = {{"a\nb\xFF"}};
  EXPECT_EQ(to_json(request).find('\n'), std::string::npos);
}

TEST(RequestJson, IgnoresUnknownKeysOfItsOwnVersion) {
  const auto request = request_from_json(R"({"berth_request":1,"devices":3,"later":[1,{}]})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->devices, 3);
}

TEST(RequestJson, RefusesANewerVersion) {
  const auto request = request_from_json(R"({"berth_request":2,"devices":1})");
  ASSERT_FALSE(request);
  EXPECT_THAT(request.error().message(), HasSubstr("newer"));
}

TEST(RequestJson, RefusesWhatItCannotTrust) {
  for (const std::string text : {R"()",
                                 R"(null)",
                                 R"([])",
                                 R"({})",
                                 R"({"berth_request":"1"})",
                                 R"({"berth_request":0})",
                                 R"({"berth_request":1,"devices":0})",
                                 R"({"berth_request":1,"devices":-1})",
                                 R"({"berth_request":1,"devices":1.5})",
                                 R"({"berth_request":1,"devices":99999999999})",
                                 R"({"berth_request":1,"memory_bytes":-1})",
                                 R"({"berth_request":1,"memory_percent":0})",
                                 R"({"berth_request":1,"memory_percent":1e300})",
                                 R"({"berth_request":1,"memory_bytes":1,"memory_percent":1})",
                                 R"({"berth_request":1,"only":"0"})",
                                 R"({"berth_request":1,"only":[0]})",
                                 R"({"berth_request":1,"prefer":"fastest"})",
                                 R"({"berth_request":1,"needs":["fp4"]})",
                                 R"({"berth_request":1,"min_compute":8.0})",
                                 R"({"berth_request":1,"idle_for_ms":-5})",
                                 R"({"berth_request":1,"allow_failed":1})",
                                 R"({"berth_request":1,"max_utilization_percent":101})"}) {
    const auto request = request_from_json(text);
    ASSERT_FALSE(request) << text;
    EXPECT_EQ(request.error().code(), ErrorCode::invalid) << text;
  }
  EXPECT_FALSE(request_from_json(std::string(100'000, '[')));
  EXPECT_FALSE(request_from_json(std::string(100'000, ' ') + "{}"));
}

TEST(AsTyped, CanBePastedBack) {
  EXPECT_EQ(as_typed(Request{}), "-n 1");
  EXPECT_EQ(as_typed(full_request()),
            "-n 2 --memory 10G --only '0,*H100*' --except GPU-1a --prefer 3,1 --min-compute 8.6 "
            "--need bf16,fp8 --max-utilization 10 --idle-for 5s --allow-failed");
  Request odd;
  odd.memory = MemoryShare(Percent(12.5));
  odd.prefer = Preference::most_free;
  odd.idle_for = Milliseconds{250};
  EXPECT_EQ(as_typed(odd), "-n 1 --memory 12.5% --prefer most-free --idle-for 250ms");
  odd = Request{.memory = MemoryShare(1536_MiB)};
  EXPECT_EQ(as_typed(odd), "-n 1 --memory 1536M");
}

TEST(AsTyped, SaysWhatIsWantedWhereThereIsNoDevice) {
  const auto typed = [](RunWhere where, int devices, int ms) {
    return as_typed(JobSpec{.request = {.devices = devices},
                            .where = where,
                            .cpu_after = std::chrono::milliseconds(ms)});
  };
  EXPECT_EQ(typed(RunWhere::cpu, 2, 0), "--cpu");
  EXPECT_EQ(typed(RunWhere::gpu, 2, 0), "-n 2");
  EXPECT_EQ(typed(RunWhere::gpu_or_cpu, 1, 0), "-n 1 --or-cpu");
  EXPECT_EQ(typed(RunWhere::gpu_or_cpu, 1, 600'000), "-n 1 --or-cpu=10m");
  EXPECT_EQ(typed(RunWhere::gpu_or_cpu, 1, 1500), "-n 1 --or-cpu=1500ms");
}

}  // namespace
}  // namespace berth
