#include "serve/run_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/temporary_directory.h"
#include "base/tr.h"
#include "record/record_writer.h"
#include "serve/api.h"
#include "serve/example_context.h"

namespace berth::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

TEST(StateDirectories, AreThoseOfPeopleWhereverTheirHomesLie) {
  const auto found = state_directories_of_all(
      "root:x:0:0::/root:/bin/bash\n"
      "daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n"
      "alice:x:1001:1001::/home/alice:/bin/bash\n"
      "bob:x:1002:1005::/nfs/people/bob:/bin/zsh\n"
      "kiosk:x:1003:1003::/:/bin/false\n"
      "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
      "broken:x:no:1::/home/broken:/bin/sh\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, "/home/alice/.local/state/berth");
  EXPECT_EQ(found[1].path, "/nfs/people/bob/.local/state/berth");
  ASSERT_TRUE(found[1].as);
  EXPECT_EQ(found[1].as->uid, uid_t{1002});
  EXPECT_EQ(found[1].as->gid, gid_t{1005});
}

bool everybody(uid_t) { return true; }
bool no_one(uid_t) { return false; }

/// Runs of our own, in a state directory of the test's.
class Runs : public testing::Test {
 protected:
  Runs() { source_.look_in({{.path = state_, .as = {}}}); }

  void record(const std::string& id) const {
    Manifest manifest;
    manifest.id = id;
    manifest.command = {"true"};
    const auto made = RecordWriter::create(state_, manifest);
    ASSERT_TRUE(made) << made.error().message();
  }
  void copy(const std::string& id, const std::string& name) const {
    const std::string runs = runs_directory(state_) + "/";
    std::filesystem::copy(runs + id, runs + name, std::filesystem::copy_options::recursive);
  }
  std::vector<std::string> listed(std::size_t limit, const std::optional<RunPlace>& after) const {
    std::vector<std::string> names;
    for (const FoundRun& run : source_.list(limit, after, everybody).runs) {
      names.push_back(run.place.name);
    }
    return names;
  }
  std::string refusal(const std::string& id) const {
    const auto run = source_.find(id, std::nullopt, everybody);
    return run ? "found" : run.error().message();
  }

  TemporaryDirectory directory_;
  std::string state_ = directory_ / "state";
  RunSource source_;
};

TEST_F(Runs, AreListedFromThePlaceOnWhereThePageBeforeEnded) {
  for (const char* id : {"20260101-a", "20260102-b", "20260103-c"}) record(id);
  const auto first = source_.list(1, std::nullopt, everybody);
  ASSERT_EQ(first.runs.size(), 1U);
  EXPECT_EQ(first.next, (RunPlace{.name = "20260103-c", .whose = ::geteuid()}));
  EXPECT_EQ(source_.list(3, std::nullopt, everybody).next, std::nullopt) << "these are the last";
  EXPECT_THAT(listed(9, first.next), ElementsAre("20260102-b", "20260101-a"));
}

TEST_F(Runs, GoOnBehindANameAloneAsClientsOfEarlierServersSayIt) {
  for (const char* id : {"20260101-a", "20260102-b", "20260103-c"}) record(id);
  EXPECT_THAT(listed(9, run_place_in("20260103-c")), ElementsAre("20260102-b", "20260101-a"));
  EXPECT_THAT(listed(9, run_place_in("20260101-a")), IsEmpty());
}

TEST_F(Runs, UnderTheNameOfAnotherAreNone) {
  record("20260101-a");
  copy("20260101-a", "20260102-b");
  EXPECT_THAT(listed(9, std::nullopt), ElementsAre("20260101-a"));
  EXPECT_EQ(refusal("20260101-a"), "found");
  EXPECT_EQ(refusal("20260102-b"),
            "there is no run 20260102-b: its folder holds the record of another run, copied or "
            "renamed");
}

TEST_F(Runs, ThatCannotBeReadSayWhyWithoutTheirPath) {
  std::filesystem::create_directories(runs_directory(state_) + "/20260101-a");
  EXPECT_THAT(refusal("20260101-a"), HasSubstr("what its folder holds is no record of one"));
  EXPECT_THAT(refusal("20260101-a"), Not(HasSubstr(state_)));
  std::filesystem::create_directories(runs_directory(state_) + "/20260104-d/manifest.json");
  EXPECT_THAT(refusal("20260104-d"), HasSubstr("what its folder holds is no record of one"));
  // There, and not to be read: nothing that is so for ever.
  record("20260103-c");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit no_descriptor{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &no_descriptor), 0);
  const auto unread = source_.find("20260103-c", std::nullopt, everybody);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().code(), ErrorCode::io);
  EXPECT_EQ(unread.error().message(), "the record of run 20260103-c cannot be read now");
  EXPECT_EQ(refusal("20260102-b"), "there is no run 20260102-b");
}

TEST_F(Runs, OfWhomNothingIsShownAreAsIfTheyWereNot) {
  record("20260101-a");
  copy("20260101-a", "20260102-b");
  for (const std::string id : {"20260101-a", "20260102-b"}) {
    const auto run = source_.find(id, std::nullopt, no_one);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().message(), "there is no run " + id);
  }
  EXPECT_THAT(source_.list(9, std::nullopt, no_one).runs, IsEmpty());
}

/// With a secret in all that only its owner may see.
Manifest with_secrets(const std::string& id) {
  Manifest manifest;
  manifest.id = id;
  manifest.command = {"secret-command"};
  manifest.working_directory = manifest.machine_id = manifest.boot_id = "/secret";
  manifest.inside = "secret-lease";
  manifest.log = "/secret/log";
  manifest.machine.cpu_model = std::string("secret CPU");
  manifest.git = GitFacts{.root = "/secret"};
  manifest.python = PythonFacts{.interpreter = "/secret/python"};
  manifest.variables = {{"SECRET", "secret"}};
  manifest.variables_set = manifest.variables;
  manifest.toolkit = ToolkitFacts{.libraries = {{"secret", "1"}}};
  manifest.wanted = "-n 1";
  return manifest;
}

/// The tests act with their own user's rights, so the runs are that user's.
TEST_F(Runs, OfTheApiShowOthersNoCommandLogOrEnvironment) {
  ASSERT_TRUE(RecordWriter::create(state_, with_secrets("20260101-a")));
  std::ofstream(runs_directory(state_) + "/20260101-a/marks") << "5 secret=1\n";
  RequestContext context = example_context();
  context.runs = &source_;
  const auto told = [&](const std::string& path, const Principal& principal) {
    const HttpResponse response = answer(get("/api/v1/runs" + path), principal, context);
    return response.body ? *response.body : std::string();
  };
  const Principal other = known(::geteuid() + 1);
  for (const char* path : {"", "/20260101-a"}) {
    EXPECT_THAT(told(path, administrator()), HasSubstr("secret-command"));
    EXPECT_THAT(told(path, other), HasSubstr("\"wanted\":\"-n 1\""))
        << "what runs is nobody's secret";
    EXPECT_THAT(told(path, other), HasSubstr("\"command\":null"));
    EXPECT_THAT(told(path, other), Not(HasSubstr("secret")));
    EXPECT_THAT(told(path, nobody()), Not(HasSubstr("secret")));
  }
  for (const char* path : {"/20260101-a/log", "/20260101-a/samples", "/20260101-a/explanation",
                           "/20260101-a/report"}) {
    EXPECT_THAT(told(path, other), HasSubstr("not_yours"));
  }
  context.visibility.others = Visibility::Others::owner;
  EXPECT_EQ(told("", other), "{\"runs\":[],\"next\":null}\n");
}

class EchoingJudge final : public RunJudge {
 public:
  [[nodiscard]] std::string explanation(const RunRecord& run) const override {
    return run.manifest.id + ": " + std::string(tr("nobody waits"));
  }
  [[nodiscard]] std::string report(const RunRecord& run) const override {
    return "<p>" + explanation(run);
  }
};

TEST_F(Runs, AreExplainedAndReportedInTheLanguageOfWhoAsks) {
  record("20260101-a");
  const EchoingJudge judge;
  RequestContext context = example_context();
  context.runs = &source_;
  const auto said = [&](const std::string& part) {
    return answer(get("/api/v1/runs/20260101-a/" + part), administrator(), context);
  };
  EXPECT_EQ(said("report").status, 503) << "nobody judges here";
  context.judge = &judge;
  EXPECT_EQ(*said("explanation").body, "20260101-a: nobody waits");
  EXPECT_THAT(*said("explanation?lang=zh").body, Not(HasSubstr("nobody waits")));
  EXPECT_EQ(*said("explanation?lang=en").body, "20260101-a: nobody waits");
  const HttpResponse report = said("report");
  EXPECT_EQ(*report.body, "<p>20260101-a: nobody waits");
  EXPECT_THAT(report.type, HasSubstr("text/html"));
  EXPECT_THAT(report.headers,
              ElementsAre(Pair("content-security-policy", HasSubstr("default-src 'none'"))))
      << "it is a page of strangers' texts: no script may run in it";
}

TEST_F(Runs, OfTheApiShowWhoSeesCommandsTheseAlone) {
  ASSERT_TRUE(RecordWriter::create(state_, with_secrets("20260101-a")));
  RequestContext context = example_context();
  context.runs = &source_;
  context.visibility.commands_are_open = true;
  const HttpResponse response = answer(get("/api/v1/runs"), known(::geteuid() + 1), context);
  const auto run = nlohmann::json::parse(*response.body)["runs"][0];
  EXPECT_EQ(run["command"], nlohmann::json({"secret-command"}));
  for (const char* hidden : {"log", "variables", "variables_set", "working_directory", "machine",
                             "directory", "marks", "events", "problems", "job", "keeper"}) {
    EXPECT_FALSE(run.contains(hidden)) << hidden;
  }
}

/// One that uses GPU 3 and is called, and calls itself, so.
Manifest of_device_3(const std::string& id, const std::string& name, const std::string& command) {
  using namespace literals;
  Manifest manifest;
  manifest.id = id;
  manifest.command = {"python", command};
  manifest.spec = {{"name", name}};
  manifest.started = WallTime{5000};
  manifest.given = SnapshotBuilder().gpu("GPU-D", 80_GiB).build();
  manifest.given.devices[0].index = 3;
  return manifest;
}

TEST_F(Runs, OfTheApiAreNarrowedToWhatIsAskedFor) {
  ASSERT_TRUE(RecordWriter::create(state_, with_secrets("20260101-a")));
  ASSERT_TRUE(RecordWriter::create(state_, of_device_3("20260102-b", "Big One", "train.py")));
  RequestContext context = example_context();
  context.runs = &source_;
  const auto found = [&](const std::string& query, const Principal& principal) {
    const HttpResponse said = answer(get("/api/v1/runs?" + query), principal, context);
    std::vector<std::string> ids;
    const auto told = nlohmann::json::parse(*said.body);
    for (const auto& run : told.value("runs", nlohmann::json::array())) ids.push_back(run["id"]);
    return ids;
  };
  const Principal all = administrator();
  EXPECT_THAT(found("words=big%20one", all), ElementsAre("20260102-b")) << "by its name";
  EXPECT_THAT(found("words=TRAIN", all), ElementsAre("20260102-b")) << "by its command";
  EXPECT_THAT(found("words=20260101", all), ElementsAre("20260101-a")) << "by its id";
  EXPECT_THAT(found("device=3", all), ElementsAre("20260102-b"));
  EXPECT_THAT(found("device=GPU-D", all), ElementsAre("20260102-b"));
  EXPECT_THAT(found("since=4000&until=6000", all), ElementsAre("20260102-b"));
  EXPECT_THAT(found("user=mallory", all), IsEmpty());
  EXPECT_THAT(found("state=failed", all), IsEmpty());
  EXPECT_THAT(found("state=&user=&device=&words=", all), ElementsAre("20260102-b", "20260101-a"));
  const Principal other = known(::geteuid() + 1);
  EXPECT_THAT(found("words=secret", all), ElementsAre("20260101-a"));
  EXPECT_THAT(found("words=secret", other), IsEmpty()) << "nor learns that it is in there";
  EXPECT_EQ(answer(get("/api/v1/runs?state=odd"), all, context).status, 400);
}

TEST_F(Runs, LookedThroughInVainGoOnFromWhereTheSearchCame) {
  for (int i = 0; i < 1003; ++i) record("20260101-" + std::to_string(10'000 + i));
  const auto is_first = [](const RunRecord& run) { return run.manifest.id == "20260101-10000"; };
  const auto page = source_.list(9, std::nullopt, everybody, is_first);
  EXPECT_THAT(page.runs, IsEmpty());
  ASSERT_TRUE(page.next);
  const auto rest = source_.list(9, page.next, everybody, is_first);
  EXPECT_EQ(rest.runs.size(), 1U);
  EXPECT_EQ(rest.next, std::nullopt);
}

TEST_F(Runs, OfTheApiComeInPagesThatGoOnByWhatTheOneBeforeSaid) {
  for (const char* id : {"20260101-a", "20260102-b", "20260103-c"}) record(id);
  RequestContext context = example_context();
  context.runs = &source_;
  for (const char* size : {"1", "2"}) {
    std::vector<std::string> seen;
    std::string after;
    for (int page = 0; page < 9; ++page) {
      const HttpResponse said =
          answer(get("/api/v1/runs?limit=" + std::string(size) + "&after=" + after),
                 administrator(), context);
      ASSERT_EQ(said.status, 200) << *said.body;
      const auto told = nlohmann::json::parse(*said.body);
      for (const auto& run : told["runs"]) seen.push_back(run["id"]);
      if (told["next"].is_null()) break;
      after = told["next"];
    }
    EXPECT_THAT(seen, ElementsAre("20260103-c", "20260102-b", "20260101-a")) << size << " a page";
  }
}

}  // namespace
}  // namespace berth::serve
