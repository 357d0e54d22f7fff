#include "serve/fleet_report.h"
#include "base/sentence.h"

#include <gmock/gmock.h>

namespace berth::serve {
namespace {

using ::testing::HasSubstr;

const WallTime asked_at{1790000005000};

HttpReply reply(int status, std::string body = "") {
  return {.status = status, .headers = {}, .body = std::move(body)};
}
HttpReply overview(std::string_view further = "") {
  return reply(200, R"({"berth_overview":1,"taken_unix_ms":1790000000000,"devices":[{"id":"A"}])" +
                        std::string(further) + "}");
}
HostReport after(const HostReport& before, const Result<HttpReply>& answer,
                 bool with_token = false) {
  return report_after(before, answer, asked_at, with_token);
}
HostReport first_after(const Result<HttpReply>& answer, bool with_token = false) {
  return after(unasked(parse_member("gpu1").value()), answer, with_token);
}
Result<HttpReply> no_answer(ErrorCode code, std::string message) {
  return fail(code, Sentence(message));
}

TEST(FleetReport, IsStaleBeforeItWasAsked) {
  const HostReport report = unasked(parse_member("gpu1").value());
  EXPECT_EQ(report.state, HostState::stale);
  EXPECT_EQ(report.why.english(), "it has not been asked yet");
  EXPECT_EQ(report.page, "http://gpu1:9700/");
  EXPECT_EQ(report.asked, std::nullopt);
}

TEST(FleetReport, HasNoPageBehindASocket) {
  EXPECT_EQ(unasked(parse_member("unix:/run/x.sock").value()).page, std::nullopt);
}

TEST(FleetReport, IsOkAfterAGoodAnswer) {
  const HostReport report = first_after(overview());
  EXPECT_EQ(report.state, HostState::ok);
  EXPECT_EQ(report.why.english(), "");
  EXPECT_EQ(report.asked, asked_at);
  ASSERT_TRUE(report.seen);
  EXPECT_EQ(report.seen->devices.size(), 1U);
}

TEST(FleetReport, KeepsWhatWasSaidWhereNothingChanged) {
  const HostReport report = after(first_after(overview()), reply(304));
  EXPECT_EQ(report.state, HostState::ok);
  ASSERT_TRUE(report.seen);
}

TEST(FleetReport, IsStaleWhereItSaysSoItself) {
  const HostReport report = first_after(overview(R"(,"stale":true)"));
  EXPECT_EQ(report.state, HostState::stale);
  EXPECT_EQ(report.why.english(), "its newest look at its devices is old");
  EXPECT_TRUE(report.seen);
}

TEST(FleetReport, IsStaleAfterOneMissedAnswerAndUnreachableAfterTwo) {
  const auto refused = no_answer(ErrorCode::io, "cannot connect to gpu1:9700: Connection refused");
  const HostReport once = after(first_after(overview()), refused);
  EXPECT_EQ(once.state, HostState::stale);
  EXPECT_TRUE(once.seen) << "it may be a moment's trouble";
  EXPECT_EQ(once.why.english(), "cannot connect to gpu1:9700: Connection refused");
  const HostReport twice = after(once, refused);
  EXPECT_EQ(twice.state, HostState::unreachable);
  EXPECT_FALSE(twice.seen) << "nobody knows what is there now";
  EXPECT_EQ(twice.taken, WallTime{1790000000000});
  EXPECT_THAT(twice.remedy.english(), HasSubstr("berth serve"));
}

TEST(FleetReport, ComesBack) {
  const auto refused = no_answer(ErrorCode::io, "refused");
  const HostReport back =
      after(after(after(first_after(overview()), refused), refused), overview());
  EXPECT_EQ(back.state, HostState::ok);
  EXPECT_EQ(back.why.english(), "");
  EXPECT_EQ(back.remedy.english(), "");
}

TEST(FleetReport, TellsFailuresApart) {
  const struct {
    ErrorCode code;
    HostState state;
    const char* remedy;
  } cases[] = {{ErrorCode::not_found, HostState::unreachable, "DNS"},
               {ErrorCode::io, HostState::unreachable, "berth serve running"},
               {ErrorCode::timeout, HostState::unreachable, "firewall"},
               {ErrorCode::no_permission, HostState::refused, "ca=FILE"},
               {ErrorCode::unsupported, HostState::incompatible, "http://"},
               {ErrorCode::invalid, HostState::incompatible, "9700"}};
  for (const auto& one : cases) {
    const HostReport report = first_after(no_answer(one.code, "why"));
    EXPECT_EQ(report.state, one.state) << name_of(one.code);
    EXPECT_EQ(report.why.english(), "why");
    EXPECT_THAT(report.remedy.english(), HasSubstr(one.remedy));
  }
}

TEST(FleetReport, TellsAWrongTokenFromNone) {
  EXPECT_EQ(first_after(reply(401)).why, "it wants a token");
  const HostReport wrong = first_after(reply(401), true);
  EXPECT_EQ(wrong.state, HostState::refused);
  EXPECT_EQ(wrong.why.english(), "it does not know the token");
  EXPECT_THAT(wrong.remedy.english(), HasSubstr("berth token create"));
}

TEST(FleetReport, ForgetsAtOnceWhatARefusalTakesBack) {
  const HostReport report = after(first_after(overview()), reply(401), true);
  EXPECT_EQ(report.state, HostState::refused);
  EXPECT_FALSE(report.seen);
}

TEST(FleetReport, NamesEachStatusThatHelps) {
  const struct {
    int status;
    HostState state;
    const char* why;
  } cases[] = {{403, HostState::refused, "let us in"},
               {404, HostState::incompatible, "no overview"},
               {421, HostState::refused, "name"},
               {429, HostState::refused, "left alone"},
               {503, HostState::unreachable, "no answer yet"},
               {302, HostState::incompatible, "elsewhere (status 302)"},
               {500, HostState::incompatible, "status 500"}};
  for (const auto& one : cases) {
    const HostReport report = first_after(reply(one.status));
    EXPECT_EQ(report.state, one.state) << one.status;
    EXPECT_THAT(report.why.english(), HasSubstr(one.why)) << one.status;
    EXPECT_NE(report.remedy.english(), "") << one.status;
  }
}

TEST(FleetReport, SaysWhatIsNoBerthAndWhatIsANewerOne) {
  const HostReport html = first_after(reply(200, "<html>"));
  EXPECT_EQ(html.state, HostState::incompatible);
  const HostReport newer = first_after(reply(200, R"({"berth_overview":7,"version":"9.0"})"));
  EXPECT_EQ(newer.state, HostState::incompatible);
  EXPECT_THAT(newer.why.english(), HasSubstr("newer (9.0)"));
  EXPECT_THAT(newer.remedy.english(), HasSubstr("newer berth"));
}

TEST(FleetReport, SaysThatATokenCannotBeRead) {
  const HostReport report = report_without_token(
      parse_member("gpu1").value(), Error(ErrorCode::not_found, "cannot open /t: none"));
  EXPECT_EQ(report.state, HostState::refused);
  EXPECT_EQ(report.why.english(), "cannot open /t: none");
}

}  // namespace
}  // namespace berth::serve
