#include "serve/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "place/job_spec.h"
#include "place/placement.h"
#include "serve/example_context.h"
#include "serve/news.h"
#include "serve/request_handler.h"
#include "serve/settings.h"
#include "snapshot/builder.h"
#include "snapshot/device_kind.h"
#include "snapshot/host_report.h"
#include "snapshot/questions.h"
#include "view/fleet_text.h"

namespace berth::serve {
namespace {

using Json = nlohmann::json;
using Others = Visibility::Others;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Json body(const HttpResponse& response) {
  return response.body ? Json::parse(*response.body, nullptr, false) : Json();
}
Json answered(const std::string& path, const Principal& principal = nobody(),
              const RequestContext& context = example_context()) {
  return body(answer(get(path), principal, context));
}

TEST(Overview, CountsDevicesAndNamesTheirUsers) {
  const Json root = answered("/api/v1/overview");
  EXPECT_EQ(root["berth_overview"], 1);
  EXPECT_EQ(root["sequence"], 7);
  EXPECT_EQ(root["counts"]["leased"], 1);
  EXPECT_EQ(root["counts"]["busy"], 1);
  EXPECT_EQ(root["counts"]["free"], 1);
  EXPECT_EQ(root["devices"][0]["users"], Json({"alice"}));
  EXPECT_EQ(root["devices"][0]["leases"], Json({"lease-0"}));
  EXPECT_EQ(root["asker"]["sees"], "public");
  EXPECT_EQ(root["stale"], false);
}

TEST(Overview, InShortIsWhatAnotherBerthReadsOfIt) {
  RequestContext context = example_context();
  Principal principal;
  principal.admin = true;
  auto read = parse_overview(overview_json(principal, context));
  ASSERT_TRUE(read) << read.error().message();
  read->alerts.reset();
  const auto text = [](HostOverview seen) {
    return fleet_json({{.state = HostState::ok, .seen = seen, .taken = seen.taken}});
  };
  EXPECT_EQ(text(overview_of(*context.snapshot)), text(*read));
  EXPECT_EQ(overview_of(*context.snapshot).waiting, read->waiting);
}

TEST(Overview, AbsentReadingsAreNullWithTheirReason) {
  const Json device = answered("/api/v1/overview")["devices"][0];
  EXPECT_TRUE(device["temperature_celsius"].is_null());
  EXPECT_EQ(device["why"]["temperature_celsius"], "not sampled");
}

TEST(Overview, SaysWhoseProcessRunsUnderWhichLease) {
  const Json process = answered("/api/v1/overview", known(alice))["processes"][0];
  EXPECT_EQ(process["user"], "alice");
  EXPECT_EQ(process["command"], "python alices-secret.py");
  EXPECT_EQ(process["run"], "20260101-000000-aaaaaa");
  EXPECT_EQ(process["lease"], "lease-0");
}

TEST(Overview, ShowsNoCommandToStrangers) {
  const Json root = answered("/api/v1/overview");
  EXPECT_TRUE(root["processes"][0]["command"].is_null());
  EXPECT_EQ(root["processes"][0]["why"]["command"], "no permission");
  EXPECT_TRUE(root["leases"][0]["command"].is_null());
  EXPECT_THAT(root.dump(), Not(HasSubstr("secret")));
}

TEST(Overview, HidesNamesAsNull) {
  const Json root = answered("/api/v1/overview", nobody(), example_context(Others::owner));
  EXPECT_TRUE(root["leases"][0]["user"].is_null());
  EXPECT_TRUE(root["leases"][0]["uid"].is_null());
  EXPECT_TRUE(root["devices"][0]["users"].empty());
  EXPECT_THAT(*answer(get("/gpu-status"), nobody(), example_context(Others::owner)).body,
              Not(HasSubstr("4294967295")));
}

TEST(Overview, TellsWhatIsToBeginAndForWhomByThePolicy) {
  RequestContext context = example_context(Others::owner);
  context.planned = {
      {.id = "at-1",
       .uid = bob,
       .user = "bob",
       .text = {
           .at = WallTime{5000}, .lasts = 2s, .words = {"-n", "2"}, .failed = "bob's secret"}}};
  const Json own = answered("/api/v1/overview", known(bob), context)["planned"][0];
  EXPECT_EQ(own["user"], "bob");
  EXPECT_EQ(own["failed"], "bob's secret");
  EXPECT_EQ(own["starts_unix_ms"], 5000);
  EXPECT_EQ(own["ends_unix_ms"], 7000);
  const Json others = answered("/api/v1/overview", known(carol), context)["planned"][0];
  EXPECT_TRUE(others["user"].is_null() && others["uid"].is_null());
  EXPECT_EQ(others["wants"], "-n 2") << "what is to be taken is everybody's to know";
  EXPECT_THAT(others.dump(), Not(HasSubstr("bob")));
}

TEST(Overview, SaysWhenItIsStale) {
  RequestContext context = example_context();
  context.now.unix_ms += 60'000;
  EXPECT_EQ(answered("/api/v1/overview", nobody(), context)["stale"], true);
  EXPECT_EQ(answer(get("/healthz"), nobody(), context).status, 503);
  EXPECT_EQ(answer(get("/healthz"), nobody(), example_context()).status, 200);
}

TEST(Overview, SimulatedMachinesSaySo) {
  RequestContext context = example_context();
  Snapshot snapshot = *context.snapshot;
  snapshot.simulated = "lab-4";
  context.snapshot = std::make_shared<const Snapshot>(snapshot);
  EXPECT_EQ(answered("/api/v1/overview", nobody(), context)["simulated"], "lab-4");
  EXPECT_EQ(answered("/gpu-status", nobody(), context)["simulated"], "lab-4");
}

RequestContext context_of(const std::vector<std::string>& names) {
  SnapshotBuilder builder;
  for (std::size_t at = 0; at < names.size(); ++at) {
    builder.gpu("GPU-" + std::string(1, static_cast<char>('a' + at)), Bytes(1 << 30))
        .with([&](Device& device) { device.name = names[at]; });
  }
  RequestContext context = example_context();
  context.snapshot = std::make_shared<const Snapshot>(builder.build());
  return context;
}

TEST(VisibleDevices, AreCountedAsTheAskersVariablesSay) {
  const RequestContext context = context_of({"H100", "H100", "H100"});
  const auto seen = [&](const std::string& query) {
    return answered("/api/v1/visible-devices" + query, nobody(), context);
  };
  const std::string by_pci = "CUDA_DEVICE_ORDER=PCI_BUS_ID&CUDA_VISIBLE_DEVICES=";
  EXPECT_EQ(seen("")["numbers"], Json({{"GPU-a", 0}, {"GPU-b", 1}, {"GPU-c", 2}}));
  EXPECT_EQ(seen("?" + by_pci + "2%2C0")["numbers"], Json({{"GPU-c", 0}, {"GPU-a", 1}}));
  EXPECT_EQ(seen("?" + by_pci)["numbers"], Json::object());
  const Json beyond = seen("?" + by_pci + "1%2C7");
  EXPECT_EQ(beyond["numbers"], Json({{"GPU-b", 0}}));
  EXPECT_THAT(beyond["remarks"].dump(), HasSubstr("beyond the last device"));
}

TEST(VisibleDevices, AreNullWhereOnlyCudaKnows) {
  const Json told = answered("/api/v1/visible-devices?CUDA_VISIBLE_DEVICES=0", nobody(),
                             context_of({"L4", "H100"}));
  EXPECT_EQ(told["numbers"], Json({{"GPU-a", nullptr}, {"GPU-b", nullptr}}));
  EXPECT_THAT(told["remarks"].dump(), HasSubstr("CUDA_DEVICE_ORDER"));
}

TEST(Api, BeforeTheFirstLookThereIsNothingToTell) {
  RequestContext context;
  EXPECT_EQ(answer(get("/api/v1/overview"), nobody(), context).status, 503);
  EXPECT_EQ(answer(get("/gpu-status"), administrator(), context).status, 503);
}

TEST(Api, UnknownPathsAndMethodsAreRefused) {
  EXPECT_EQ(answer(get("/api/v2/overview"), nobody(), example_context()).status, 404);
  EXPECT_EQ(answer(get("/api/v1/devices/0/x"), nobody(), example_context()).status, 404);
  HttpRequest request = get("/api/v1/overview");
  request.method = Method::other;
  const HttpResponse refused = answer(request, nobody(), example_context());
  EXPECT_EQ(refused.status, 405);
  EXPECT_THAT(refused.headers, ElementsAre(testing::Pair("allow", "GET, HEAD")));
}

TEST(Api, DeviceIsFoundByIdAndIndex) {
  EXPECT_EQ(answered("/api/v1/devices/GPU-B")["index"], 1);
  EXPECT_EQ(answered("/api/v1/devices/1")["id"], "GPU-B");
  EXPECT_EQ(answer(get("/api/v1/devices/17"), nobody(), example_context()).status, 404);
}

TEST(Api, ListsComeInPages) {
  const Json first = answered("/api/v1/devices?limit=2");
  ASSERT_EQ(first["devices"].size(), 2U);
  EXPECT_EQ(first["next"], "GPU-B");
  const Json second = answered("/api/v1/devices?limit=2&after=GPU-B");
  ASSERT_EQ(second["devices"].size(), 1U);
  EXPECT_EQ(second["devices"][0]["id"], "GPU-C");
  EXPECT_TRUE(second["next"].is_null());
  EXPECT_EQ(answer(get("/api/v1/devices?limit=0"), nobody(), example_context()).status, 400);
  EXPECT_EQ(answer(get("/api/v1/devices?after=x"), nobody(), example_context()).status, 400);
}

TEST(Api, ProcessesAreFilteredByUserAndDevice) {
  EXPECT_EQ(answered("/api/v1/processes?user=bob")["processes"].size(), 1U);
  EXPECT_EQ(answered("/api/v1/processes?device=GPU-A&user=bob")["processes"].size(), 0U);
}

TEST(Api, HistoryThatIsNotKeptIsSaid) {
  const HttpResponse refused = answer(get("/api/v1/usage"), nobody(), example_context());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(body(refused)["error"]["code"], "no_history");
}

TEST(Api, HistoryThatIsStillBeingOpenedIsSaid) {
  RequestContext context = example_context();
  context.is_opening_history = true;
  for (const char* path : {"/api/v1/usage", "/api/v1/timeline", "/api/v1/events-log",
                           "/api/v1/history?device=GPU-A&metric=utilization_gpu_percent"}) {
    const HttpResponse refused = answer(get(path), nobody(), context);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(body(refused)["error"]["code"], "history_opening") << path;
  }
}

class SomeHistory final : public History {
 public:
  Result<std::vector<HistorySeries>> series(const SeriesQuery& query) const override {
    if (query.devices.front().text() != "GPU-A") return fail(ErrorCode::not_found, "never seen");
    return std::vector<HistorySeries>{
        {.device = query.devices.front(),
         .metric = "",
         .unit = "percent",
         .step_ms = 1000,
         .knows_since = WallTime{5},
         .points = {{.at = query.since, .least = 1, .mean = 2, .p95 = 3, .most = 4}}}};
  }
  Result<UsageReport> usage(UsageQuery query) const override {
    return UsageReport{.by = query.by,
                       .price_per_kwh = query.price_per_kwh,
                       .rows = {{.key = "alice", .uid = alice}, {.key = "bob", .uid = bob}}};
  }
  Result<Timeline> timeline(WallTime, WallTime, std::size_t) const override {
    return Timeline{
        .devices = {},
        .spans = {{.kind = history::SpanKind::lease,
                   .device = DeviceId("GPU-A"),
                   .key = "l",
                   .run = "r",
                   .user = "alice",
                   .uid = alice,
                   .title = "secret",
                   .from_ms = 5,
                   .to_ms = 9}},
        .events = {{.at = {7}, .kind = "xid", .device = DeviceId("GPU-A"), .code = "79"}}};
  }
  Result<std::vector<HistoryEvent>> events(WallTime, WallTime) const override {
    return std::vector<HistoryEvent>();
  }
};

TEST(Api, HistoryIsAskedForItsSpan) {
  RequestContext context = example_context();
  const SomeHistory history;
  context.history = &history;
  const Json series =
      answered("/api/v1/history?device=GPU-A&metric=utilization_gpu_percent&since=10&until=20",
               nobody(), context);
  EXPECT_EQ(series["points"], Json::parse("[[10,1.0,2.0,3.0,4.0]]"));
  EXPECT_EQ(answer(get("/api/v1/history?device=X&metric=m"), nobody(), context).status, 404);
  EXPECT_EQ(
      answer(get("/api/v1/history?device=GPU-A&metric=m&since=20&until=10"), nobody(), context)
          .status,
      400);
}

TEST(Api, UsageAndTimelineObeyThePolicy) {
  RequestContext context = example_context(Others::owner);
  const SomeHistory history;
  context.history = &history;
  const Json usage = answered("/api/v1/usage?by=user", known(bob), context);
  ASSERT_EQ(usage["rows"].size(), 1U);
  EXPECT_EQ(usage["rows"][0]["key"], "bob");
  const Json spans = answered("/api/v1/timeline", known(bob), context)["spans"];
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[1]["id"], "79");
  const Json& hidden = spans[0];
  EXPECT_EQ(hidden["kind"], "run");
  EXPECT_TRUE(hidden["user"].is_null());
  EXPECT_TRUE(hidden["id"].is_null()) << "it may be a user's name";
  const Json shown = answered("/api/v1/timeline", known(alice), context)["spans"][0];
  EXPECT_EQ(shown["title"], "secret");
  EXPECT_EQ(shown["id"], "r");
}

// ---------------------------------------------------------------------------------------- acting

class NotedActs final : public Acts {
 public:
  Result<std::string> release(const Claim& claim, std::optional<uid_t> uid) const override {
    done.push_back("release " + claim.id + (uid ? " as " + std::to_string(*uid) : ""));
    return std::string("ended");
  }
  Result<void> signal(ProcessId process, int number, std::optional<uid_t> uid) const override {
    done.push_back("signal " + std::to_string(process.pid) + " " + std::to_string(number) +
                   (uid ? " as " + std::to_string(*uid) : ""));
    return {};
  }
  mutable std::vector<std::string> done;
};

class Acting : public testing::Test {
 protected:
  Acting() { context_.acts = &acts_; }
  int status(const HttpRequest& request, const Principal& principal) {
    return answer(request, principal, context_).status;
  }
  NotedActs acts_;
  RequestContext context_ = example_context();
  const HttpRequest release_ = post("/api/v1/leases/lease-0/release", "{}");
  const HttpRequest term_ =
      post("/api/v1/processes/4711/signal", "{\"signal\":\"TERM\",\"start_ticks\":1}");
};

TEST_F(Acting, OwnerReleasesInHisOwnName) {
  EXPECT_EQ(status(release_, known(alice)), 200);
  EXPECT_THAT(acts_.done, ElementsAre("release lease-0 as 1001"));
}

TEST_F(Acting, AdministratorActsInTheDaemonsName) {
  EXPECT_EQ(status(term_, administrator()), 200);
  EXPECT_THAT(acts_.done, ElementsAre("signal 4711 " + std::to_string(SIGTERM)));
}

TEST_F(Acting, OthersAreRefused) {
  EXPECT_EQ(status(release_, nobody()), 401);
  EXPECT_EQ(status(release_, known(bob)), 403);
  EXPECT_EQ(status(term_, known(bob)), 403);
  EXPECT_THAT(acts_.done, IsEmpty());
}

TEST_F(Acting, ForeignPagesAreRefused) {
  HttpRequest request = release_;
  std::erase_if(request.headers, [](const auto& one) { return one.first == "x-berth"; });
  EXPECT_EQ(status(request, known(alice)), 403);
  EXPECT_THAT(acts_.done, IsEmpty());
}

TEST_F(Acting, AReusedNumberIsNotHit) {
  const HttpRequest other =
      post("/api/v1/processes/4711/signal", "{\"signal\":\"TERM\",\"start_ticks\":2}");
  EXPECT_EQ(status(other, known(alice)), 404);
  EXPECT_THAT(acts_.done, IsEmpty());
}

TEST_F(Acting, OnlyProcessesOnDevicesAreSignalled) {
  const HttpRequest init =
      post("/api/v1/processes/1/signal", "{\"signal\":\"TERM\",\"start_ticks\":1}");
  EXPECT_EQ(status(init, administrator()), 404);
}

TEST_F(Acting, UnderstandsOnlyNamedSignals) {
  for (const char* wrong :
       {"", "{}", "[]", "{\"signal\":9,\"start_ticks\":1}",
        "{\"signal\":\"SEGV\",\"start_ticks\":1}", "{\"signal\":\"TERM\"}",
        "{\"signal\":\"TERM\",\"start_ticks\":-1}", "{\"signal\":\"TERM\",\"start_ticks\":0}"}) {
    EXPECT_EQ(status(post("/api/v1/processes/4711/signal", wrong), known(alice)), 400) << wrong;
  }
}

TEST_F(Acting, NoSimulatedProcessIsSignalled) {
  Snapshot snapshot = *context_.snapshot;
  snapshot.simulated = "lab-4";
  context_.snapshot = std::make_shared<const Snapshot>(snapshot);
  EXPECT_EQ(status(term_, administrator()), 403);
  EXPECT_THAT(acts_.done, IsEmpty());
}

TEST(Compose, SaysTheCommandAndWhatItWouldGet) {
  const Json root =
      body(answer(post("/api/v1/compose",
                       "{\"devices\":1,\"memory\":\"10G\",\"command\":[\"python\",\"my job.py\"]}"),
                  nobody(), example_context()));
  EXPECT_EQ(root["command"], "berth run -n 1 --memory 10G -- python 'my job.py'");
  EXPECT_EQ(root["satisfied"], true);
  EXPECT_EQ(root["chosen"][0]["id"], "GPU-C");
}

std::string composed(const std::string& wishes) {
  const Json root = body(answer(post("/api/v1/compose", wishes), nobody(), example_context()));
  return root.contains("command") ? root["command"].get<std::string>()
                                  : root["error"]["message"].get<std::string>();
}

TEST(Compose, TakesEachMemberOfAJobAsItsFlagIsTyped) {
  EXPECT_EQ(composed(R"({"devices":2,"max_utilization":"10%","only":["0","*H100*"],"hold":true,
                         "allow_failed":false,"time":"2h","wait":"forever"})"),
            "berth run -n 2 --only '0,*H100*' --max-utilization 10 --wait --time 2h --hold -- "
            "COMMAND");
  EXPECT_EQ(composed(R"({"need":null,"prefer":"","wait":"90m"})"),
            "berth run -n 1 --wait=90m -- COMMAND");
}

/// The names of an enumeration's values up to the last, as the document has them.
template <class E>
Json words_up_to(E last) {
  Json words = Json::array();
  for (int i = 0; i <= static_cast<int>(last); ++i) words.push_back(name_of(static_cast<E>(i)));
  return words;
}

TEST(Openapi, ItsWordsAreTheProgramsOwn) {
  const Json schemas = answered("/api/v1/openapi.json")["components"]["schemas"];
  EXPECT_EQ(schemas["DeviceState"]["enum"], words_up_to(DeviceState::unusable));
  EXPECT_EQ(schemas["HealthState"]["enum"], words_up_to(HealthState::failed));
  EXPECT_EQ(schemas["Run"]["properties"]["state"]["enum"], words_up_to(RunState::elsewhere));
  EXPECT_EQ(schemas["Refusal"]["properties"]["rule"]["enum"], words_up_to(Rule::reserved));
  EXPECT_EQ(schemas["JoinedHost"]["properties"]["state"]["enum"],
            words_up_to(HostState::incompatible));
  Json kinds = Json::array();
  for (int i = 0; i <= static_cast<int>(DeviceKind::other); ++i) {
    kinds.push_back(facts_of(static_cast<DeviceKind>(i)).name);
  }
  EXPECT_EQ(schemas["DeviceKind"]["enum"], kinds);
  Json uses = Json::array();
  for (const auto& [use, word] : gpu_uses) uses.push_back(word);
  EXPECT_EQ(schemas["GpuUse"]["enum"], uses);
}

TEST(Compose, TheDescriptionNamesEachMember) {
  const Json root = body(answer(get("/api/v1/openapi.json"), nobody(), example_context()));
  const Json& members = root["paths"]["/api/v1/compose"]["post"]["requestBody"]["content"]
                            ["application/json"]["schema"]["properties"];
  std::size_t known = 1;  // "command"
  for (const JobKey& key : job_keys()) {
    EXPECT_EQ(members.contains(key.name), key.is_for_all) << key.name;
    known += key.is_for_all ? 1U : 0U;
  }
  EXPECT_EQ(members.size(), known);
}

TEST(Compose, SaysOfAWrongMemberWhatItsFlagWouldSay) {
  EXPECT_EQ(composed(R"({"devices":0})"),
            "devices: \"0\" is not a number of devices from 1 to 1024");
  EXPECT_EQ(composed(R"({"max_utilization":"101"})"),
            "max_utilization: \"101\" is not a percentage from 0 to 100");
  EXPECT_EQ(composed(R"({"allow_failed":"no"})"), "allow_failed: \"no\" is neither true nor false");
  EXPECT_EQ(composed(R"({"memory":{}})"), "memory: a text, a number or a list of them is wanted");
  EXPECT_THAT(composed(R"({"retries":2})"), HasSubstr("--retry-on"));
  EXPECT_THAT(composed(R"({"or_cpu":"10m"})"), HasSubstr("there is no or_cpu"));
}

TEST(Compose, RefusalsNameNoCommandOfOthers) {
  const HttpResponse answer_of_two =
      answer(post("/api/v1/compose", "{\"devices\":3}"), nobody(), example_context());
  EXPECT_EQ(body(answer_of_two)["satisfied"], false);
  EXPECT_THAT(*answer_of_two.body, Not(HasSubstr("secret")));
}

TEST(Compose, FollowsThePolicyForWhoAsks) {
  const auto satisfied = [](const Principal& principal, const RequestContext& context) {
    const auto asked = post("/api/v1/compose", "{\"devices\":1,\"memory\":\"10G\"}");
    return body(answer(asked, principal, context))["satisfied"].get<bool>();
  };
  RequestContext context = example_context();
  ASSERT_TRUE(satisfied(known(alice), context));
  Policy policy;
  policy.known[alice].devices_at_most = 0;
  policy.known[bob] = {};
  context.rules = std::make_shared<const Policy>(policy);
  EXPECT_FALSE(satisfied(known(alice), context));
  EXPECT_TRUE(satisfied(known(bob), context));
  EXPECT_TRUE(satisfied(nobody(), context)) << "nobody knows whose rules would hold";
}

TEST(Compose, TypesWhatThePolicySaysOfAJobThatSaysNothing) {
  RequestContext context = example_context();
  Policy policy;
  policy.known[alice] = {.memory = "10G", .time = "2h"};
  policy.known[bob] = {};
  context.rules = std::make_shared<const Policy>(policy);
  const auto command = [&](uid_t user, const std::string& wishes) {
    return body(answer(post("/api/v1/compose", wishes), known(user), context))["command"];
  };
  EXPECT_EQ(command(alice, "{}"), "berth run -n 1 --memory 10G --time 2h -- COMMAND");
  EXPECT_EQ(command(alice, R"({"memory":"default","time":"1h"})"),
            "berth run -n 1 --time 1h -- COMMAND");
  EXPECT_EQ(command(bob, "{}"), "berth run -n 1 -- COMMAND");
}

TEST(Compose, LeavesAGatheredDeviceToAJobThatEndsBefore) {
  RequestContext context = example_context();
  Snapshot snapshot = *context.snapshot;
  snapshot.claims[0].ends = WallTime{snapshot.taken.unix_ms + 7'200'000};
  snapshot.waiters = {{.id = "head",
                       .uid = carol,
                       .request = to_json(Request{.devices = 2}),
                       .since = snapshot.taken,
                       .gathered = {DeviceId("GPU-A"), DeviceId("GPU-C")}}};
  context.snapshot = std::make_shared<const Snapshot>(snapshot);
  const auto does = [&](const std::string& wishes) {
    return body(answer(post("/api/v1/compose", wishes), known(bob), context))["does"];
  };
  EXPECT_EQ(does(R"({"wait":"forever","time":"10m"})"), "starts");
  EXPECT_EQ(does(R"({"wait":"forever","time":"3h"})"), "waits");
  EXPECT_EQ(does(R"({"wait":"forever"})"), "waits");
}

TEST(Compose, PromisesNothingUnderAPolicyThatCannotBeRead) {
  RequestContext context = example_context();
  context.are_rules_unread = true;
  const HttpResponse refused =
      answer(post("/api/v1/compose", "{\"devices\":1}"), known(alice), context);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(*refused.body, HasSubstr("berth policy"));
}

TEST(Compose, SaysWhatIsWrongWithAWish) {
  const HttpResponse refused =
      answer(post("/api/v1/compose", "{\"memory\":\"ten\"}"), nobody(), example_context());
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(*refused.body, HasSubstr("memory"));
  EXPECT_THAT(*answer(post("/api/v1/compose", "{\"device\":3}"), nobody(), example_context()).body,
              HasSubstr("there is no device; there are devices, memory"))
      << "a wish under another name would be passed over in silence";
  EXPECT_EQ(
      answer(post("/api/v1/compose", "{\"allow_failed\":\"no\"}"), nobody(), example_context())
          .status,
      400);
  EXPECT_EQ(answer(post("/api/v1/compose", "[[[[[[1]]]]]]"), nobody(), example_context()).status,
            400);
}

TEST(Compose, RepeatsNoMoreOfAnUnknownKeyThanALine) {
  const std::string body = "{\"" + std::string(60'000, 'x') + "\":1}";
  const HttpResponse refused = answer(post("/api/v1/compose", body), nobody(), example_context());
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(*refused.body, HasSubstr("there is no " + std::string(77, 'x') + "...; there are"));
}

TEST(News, TellWhatWentWrongSinceTheLastLook) {
  const Snapshot before = example_snapshot();
  Snapshot after = before;
  after.devices[1].lost = true;
  const auto well = health_of(before);
  const auto ill = health_of(after);
  const auto news = health_news(well, ill, WallTime{5});
  ASSERT_EQ(news.size(), 1U);
  EXPECT_THAT(to_json(news[0]), HasSubstr("\"device\":\"GPU-B\""));
  EXPECT_THAT(to_json(news[0]), HasSubstr("\"state\":\"failed\""));
  EXPECT_THAT(health_news(ill, ill, WallTime{6}), IsEmpty());
  EXPECT_THAT(health_news({}, ill, WallTime{6}), IsEmpty()) << "at the first look nothing happened";
}

std::vector<DeviceHealth> one_with(std::vector<std::string> codes, std::size_t not_examined = 0) {
  DeviceHealth health{.device = DeviceId("GPU-B")};
  for (std::string& code : codes) {
    health.findings.push_back({.rule = std::move(code), .severity = Severity::error});
  }
  health.not_examined.resize(not_examined);
  return {health};
}

TEST(News, TellOfEachFindingThatItHasGone) {
  const auto news = health_news(one_with({"a", "b"}), one_with({"b"}), WallTime{5});
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].finding.rule, "a");
  EXPECT_TRUE(news[0].is_over);
}

TEST(News, CallNothingWellThatCouldNotBeExamined) {
  EXPECT_THAT(health_news(one_with({"a"}), one_with({}, 2), WallTime{5}), IsEmpty());
}

TEST(News, TellOfADeviceThatTurnsUpFailed) {
  DeviceHealth other{.device = DeviceId("GPU-A")};
  const auto news = health_news({other}, one_with({"driver_gone"}), WallTime{5});
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].finding.rule, "driver_gone");
}

}  // namespace
}  // namespace berth::serve
